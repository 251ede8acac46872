"""What a program's own modules do to torch goes into the reproducer, where the failure needs it; with real torch."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command import Command
from local_programs import DECOMPOSITION, EVERY_WAY, LOWERING, PASS, PATCH

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]
SLOW = functools.partial(pytest.param, marks=pytest.mark.slow)
AGENT = Path(__file__).resolve().parents[2] / "triage" / "agent"
TELL = """
import importlib, json, runpy, sys
sys.path.insert(0, %r)
import boot
boot.load_agent()
importlib.import_module(boot.PACKAGE + ".capture.surroundings").remember()
import train
sys.modules["__main__"].__file__ = train.__file__
train.main()
effects = importlib.import_module(boot.PACKAGE + ".capture.effects")
import torch._dynamo
context = importlib.import_module(boot.PACKAGE + ".capture.context")
print(json.dumps([*effects.setup([], [], set()), context.config_lines()]))
"""


def written(folder: Path, files: dict[str, str]) -> str:
    """The files of a program; the name of the one that is run."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return next(iter(files))


def test_what_is_done_to_torch_is_told_apart_from_work(tmp_path: Path) -> None:
    written(tmp_path, EVERY_WAY)
    done = subprocess.run(
        [sys.executable, "-c", TELL % str(AGENT)], cwd=tmp_path, capture_output=True, text=True, env=os.environ
    )
    setup, places, config = json.loads(done.stdout.splitlines()[-1])
    text = "\n".join(setup)
    effects = [
        "torch.deeper_marker = 1",
        "torch.first_marker = made()",
        "torch.hooked_marker = patched",
        "torch.set_default_dtype(torch.float64)",
        "torch.backends.mkldnn.enabled = False",
        "torch.utils._pytree.register_pytree_node(",
        'setattr(torch, "my_marker", VALUE)',
        "def late_marker(x)",
    ]
    assert all(effect in text for effect in effects), text
    assert text.index(effects[0]) < text.index(effects[1]) < text.index(effects[3])
    assert "VALUE = 3" in text and "class Pair" in text and "def patched" in text and "def made" in text
    assert not any(work in text for work in ("manual_seed", "net", "TABLE", "epilogue_fusion", "environ"))
    where = {(Path(each["place"]).name, each["text"].splitlines()[0]) for each in places}
    assert ("deeper.py:8", "torch.deeper_marker = 1") in where
    assert ("late.py:9", "@register_lowering(torch.ops.aten.hardshrink)") in where
    assert "torch._inductor.config.epilogue_fusion = False" in config
    assert "torch._inductor.config.max_autotune = True" in config


@pytest.mark.parametrize(
    ("files", "stage", "operation", "kept", "whose"),
    [
        (PATCH, "inductor", "aten.amax", "ir.Reduction.create = ", ("lowering", "compat_patches.py:12")),
        SLOW(DECOMPOSITION, "decomp_partition", "aten.addcmul", "decompositions[", ("decomposition", "decomps.py:12")),
        SLOW(PASS, "inductor", "aten.tanh", ".post_grad_custom_post_pass = ", ("post-grad pass", "passes.py:11")),
        SLOW(LOWERING, "inductor", "aten.erf", "register_lowering(", ("lowering", "lowerings.py:19")),
    ],
    ids=["patch", "decomposition", "pass", "lowering"],
)
def test_the_reproducer_does_it_by_itself(
    tmp_path: Path, files: dict[str, str], stage: str, operation: str, kept: str, whose: tuple[str, str]
) -> None:
    command = Command(tmp_path)
    process = command.start("run", "--out", "out", written(tmp_path, files))
    process.communicate(timeout=800)
    report = command.report()
    assert process.returncode == 0 and report["verdict"]["stage"] == stage
    reproducer, source = report["reproducer"], (command.out / "repro.py").read_text()
    assert (reproducer["case"], reproducer["verified"], reproducer["verified_runs"]) == ("graph", True, 3)
    assert kept in source and "first does to torch what the program's own files did" in reproducer["note"]
    assert reproducer["ops"] <= 3 and report["culprit"]["op"] == operation
    assert (report["own_code"]["role"], report["own_code"]["place"]) == whose
    assert not any(f"import {Path(name).stem}" in source for name in files)
