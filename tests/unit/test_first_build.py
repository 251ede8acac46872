"""Whether the first C++ build of the machine is made beside the search: only where a candidate on the CPU is going to need it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from triage.judge.signature import signature_of
from triage.model.outcome import AgentNotes, Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind
from triage.stories.first_build import BUILD, begin_build_for_cpu


class AtOnce:
    """A thread whose work is done when it is started."""

    def __init__(self, target: Any, args: Any, kwargs: Any, daemon: bool) -> None:
        assert daemon
        self.start = partial(target, *args, **kwargs)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> Callable[..., bool]:
    monkeypatch.setattr("triage.stories.first_build.threading.Thread", AtOnce)

    def asked(outcome: Outcome, share: float = 0.1) -> bool:
        ran: list[str] = []
        runner = SimpleNamespace(beside=lambda: SimpleNamespace(run=lambda source, timeout: ran.append(source)))
        start = SimpleNamespace(outcome=outcome, signature=signature_of(outcome), notes=AgentNotes(device_share=share))
        found: Any = SimpleNamespace(runner=runner, walk=SimpleNamespace(start=start))
        begin_build_for_cpu(found)
        return ran == [BUILD]

    return asked


def raised(kind: str, message: str, *files: str) -> Outcome:
    frames = tuple(Frame(f"/site-packages/{file}", 1, "run", "") for file in files)
    return Outcome(OutcomeKind.EXCEPTION, exception=RaisedException(kind, message, frames=frames))


def test_a_failure_of_inductor_on_a_gpu_is_tried_on_the_cpu(built: Callable[..., bool]) -> None:
    failed = raised("RuntimeError", "bad", "torch/_inductor/codecache.py")
    assert built(failed)
    assert not built(failed, share=0.0), "it uses no GPU"


@pytest.mark.parametrize(
    "failed",
    [
        raised("CompilationError", "at 5:11", "torch/_inductor/runtime/triton_heuristics.py"),
        raised("AcceleratorError", "CUDA error: device-side assert triggered", "train.py"),
        raised("torch._dynamo.exc.Unsupported", "graph break", "torch/_dynamo/symbolic_convert.py"),
    ],
    ids=["of Triton", "in a kernel", "of Dynamo"],
)
def test_what_the_cpu_cannot_fail_with_or_fails_with_before_any_build_is_not(
    built: Callable[..., bool], failed: Outcome
) -> None:
    assert not built(failed)
