"""Whether the first run shows that we are inside of what compiles."""

from dataclasses import replace
from pathlib import Path

import pytest

from triage.errors import TargetError
from triage.locate.doors import by_compile
from triage.model.outcome import AgentNotes, CompileCall, Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind
from triage.probe.run import Probe
from triage.probe.target import Target
from triage.stories.target import check_started

TORCH = "/venv/lib/python3.11/site-packages/torch"
FRAMES = (
    Frame("/work/job.py", 12, "<module>"),
    Frame(f"{TORCH}/_dynamo/eval_frame.py", 9, "compile_wrapper"),
    Frame(f"{TORCH}/fx/experimental/proxy_tensor.py", 5, "wrapped"),
    Frame(f"{TORCH}/_inductor/ir.py", 3, "make"),
)
PRINTED = RaisedException("torch._inductor.exc.InductorError", "TypeError: no", FRAMES, phase="text")


def probe(folder: Path, error: RaisedException, **notes: object) -> Probe:
    outcome = Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=error)
    log = folder / "as_is.err.log"
    log.touch()
    return Probe("as_is", None, outcome, None, AgentNotes(started=True, **notes), log)


def test_a_process_that_compiles_out_of_our_reach_is_told(tmp_path: Path) -> None:
    target = Target("python", ("python", "farm.py"), tmp_path)
    with pytest.raises(TargetError, match="could not get into the process") as told:
        check_started(probe(tmp_path, PRINTED), target, "run")
    assert told.value.next.endswith("triage run job.py")

    call = CompileCall(None)
    check_started(probe(tmp_path, PRINTED, compile_calls=(call,)), target, "run")
    check_started(probe(tmp_path, replace(PRINTED, phase="compile")), target, "run")
    check_started(probe(tmp_path, replace(PRINTED, frames=FRAMES[:1])), target, "run")
    for file, reached in (
        ("export/__init__.py", True),
        ("_higher_order_ops/cond.py", True),
        ("nn/modules/module.py", False),
    ):
        first = Frame(f"{TORCH}/{file}", 2, "call")
        assert by_compile(replace(PRINTED, frames=(FRAMES[0], first, *FRAMES[1:]))) is not reached


def test_a_backward_out_of_our_reach_is_known_too() -> None:
    called = [Frame(f"{TORCH}/{file}", 2, "call") for file in ("autograd/__init__.py", "autograd/function.py")]
    backward = Frame(f"{TORCH}/_tensor.py", 2, "backward")
    aot = Frame(f"{TORCH}/_functorch/_aot_autograd/runtime_wrappers.py", 7, "backward")
    for frames, compiled in (
        ((FRAMES[0], backward, *called, aot, FRAMES[-1]), True),
        ((FRAMES[0], *called, aot, FRAMES[-1]), True),  # torch.autograd.grad
        ((FRAMES[0], backward, *called, aot), False),  # AOTAutograd by itself
        ((FRAMES[0], backward, *called, FRAMES[0], FRAMES[-1]), False),  # a function of the program's own
        ((FRAMES[0], backward, *called), False),
        ((FRAMES[0], aot, FRAMES[-1]), False),
    ):
        assert by_compile(replace(PRINTED, frames=frames)) is compiled
