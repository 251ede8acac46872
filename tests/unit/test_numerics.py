"""How exactly torch was told to compute is part of what a reproducer runs under."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from triage.agent import boot

boot.load_agent()

PROGRAM = """
import sys
from triage.agent import boot
boot.load_agent()
import torch
from _triage_agent.capture.context import config_lines
exec(sys.argv[1])
print(*config_lines(), sep="\\n")
"""
NEW = "torch.backends.cuda.matmul.fp32_precision = 'tf32'"


def told(statements: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, statements], capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout.split("\n")[:-1]


@pytest.mark.e2e
def test_what_differs_is_told_as_a_statement() -> None:
    high, flash = 'torch.set_float32_matmul_precision("high")', "torch.backends.cuda.enable_flash_sdp(False)"
    assert told(f"{high}; {flash}") == [high, flash]
    newer = f"{NEW} if hasattr(torch.backends.cuda.matmul, 'fp32_precision') else torch.set_float32_matmul_precision('high')"
    assert told(newer) in ([NEW.replace("'", '"')], [high])


class Torch(SimpleNamespace):
    """As much of a torch for GPUs as is asked; `mixed` raises where the program has used two ways to say it."""

    def __init__(self, mixed: bool, **cudnn: Any) -> None:
        def precision() -> str:
            if mixed:
                raise RuntimeError("you have used mix of the legacy and new APIs")
            return "highest"

        known = {"enabled": True, "allow_tf32": True, "benchmark": False, "deterministic": False}
        super().__init__(
            get_float32_matmul_precision=precision,
            backends=SimpleNamespace(
                cudnn=SimpleNamespace(is_available=lambda: True, **{**known, **cudnn}),
                cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=True)),
            ),
        )


def test_one_way_to_say_it_is_told_and_cudnns_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    from _triage_agent.capture.numerics import numerics_lines  # type: ignore[import-not-found]

    monkeypatch.setitem(sys.modules, "torch", Torch(mixed=False, benchmark=True))
    assert numerics_lines() == ["torch.backends.cudnn.benchmark = True"]
    monkeypatch.setitem(sys.modules, "torch", Torch(mixed=True, allow_tf32=False))
    assert numerics_lines() == [
        "torch.backends.cuda.matmul.allow_tf32 = True",
        "torch.backends.cudnn.allow_tf32 = False",
    ]
