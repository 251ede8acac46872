"""What one failing run tells by itself: its symptom, the direction, where to look first."""

from dataclasses import replace
from typing import Any

import pytest
from rung_probes import OK, SITE, crashes, error, fails, hangs, ladder, probe

from triage.locate.ladder import suspect
from triage.locate.outcomes import direction_of, is_script_check
from triage.model.outcome import BoundaryPoint, Frame, Outcome, RaisedException
from triage.model.stage import Direction, OutcomeKind, Stage, Symptom
from triage.probe.run import Probe


@pytest.mark.parametrize(
    ("outcome", "symptom"),
    [
        (fails().outcome, Symptom.EXCEPTION),
        (fails(kind=OutcomeKind.WRONG_RESULT).outcome, Symptom.WRONG_RESULT),
        (fails(kind=OutcomeKind.OOM).outcome, Symptom.EXCEPTION),
        (probe(Outcome(OutcomeKind.OOM, signal="SIGKILL")).outcome, Symptom.CRASH),
        (crashes().outcome, Symptom.CRASH),
        (hangs().outcome, Symptom.HANG),
    ],
)
def test_symptoms(outcome: Outcome, symptom: Symptom) -> None:
    assert ladder(OK, OK, OK, OK, probe(outcome)).symptom is symptom


@pytest.mark.parametrize(
    ("exception", "direction"),
    [
        (error(phase="backward"), Direction.BACKWARD),
        (error(phase="call"), Direction.FORWARD),
        (RaisedException("X", "y", (Frame(f"{SITE}/autograd/__init__.py", 5, "backward"),)), Direction.BACKWARD),
        (
            RaisedException("X", "y", (Frame(f"{SITE}/_functorch/_aot_autograd/runtime_wrappers.py", 5, "backward"),)),
            Direction.BACKWARD,
        ),
    ],
)
def test_direction(exception: RaisedException, direction: Direction) -> None:
    assert direction_of(Outcome(OutcomeKind.EXCEPTION, exception=exception)) is direction
    assert direction_of(Outcome(OutcomeKind.CRASH)) is None


def test_the_direction_of_a_hang_is_told_by_its_stacks() -> None:
    own = 'Current thread 0x1 (most recent call first):\n%s  File "/home/ann/train.py", line 45 in <module>\n'
    back = f'  File "{SITE}/_functorch/_aot_autograd/runtime_wrappers.py", line 3529 in _backward_impl\n'
    for frames, direction in ((back, Direction.BACKWARD), ("", None)):
        assert direction_of(Outcome(OutcomeKind.HANG, stacks=own % frames)) is direction


def test_a_check_of_the_programs_own_says_nothing_about_the_direction() -> None:
    own = Frame("/home/ann/train.py", 62, "main", "assert error < 1e-5")
    checks = Frame(f"{SITE}/testing/_comparison.py", 1631, "assert_close", "raise error_metas[0].to_error(msg)")
    for frames in ((own,), (own, checks)):
        checked = Outcome(OutcomeKind.EXCEPTION, exception=RaisedException("AssertionError", "is off", frames))
        assert direction_of(checked) is None
        compiled = RaisedException("AssertionError", "is off", frames, phase="call")
        assert direction_of(Outcome(OutcomeKind.EXCEPTION, exception=compiled)) is Direction.FORWARD
    raised = RaisedException("ValueError", "no", (own, Frame(f"{SITE}/export/_trace.py", 9, "export")))
    assert direction_of(Outcome(OutcomeKind.EXCEPTION, exception=raised)) is Direction.FORWARD


def test_a_check_of_the_script_is_told_from_an_exception_of_compiled_code() -> None:
    assert is_script_check(fails(RaisedException("AssertionError", "differs")).outcome)
    assert not is_script_check(fails(RaisedException("AssertionError", "differs", phase="call")).outcome)
    assert not is_script_check(fails(RaisedException("AssertionError", "differs", swallowed=True)).outcome)
    assert not is_script_check(crashes().outcome)


@pytest.mark.parametrize(
    ("found", "stage"),
    [
        (crashes(), Stage.INDUCTOR),
        (fails(error("torch._inductor.exc.InductorError", "TypeError: x")), Stage.INDUCTOR),
        (fails(error(file="_inductor/decomposition.py")), Stage.DECOMP_PARTITION),
        (fails(error(file="_refs/__init__.py")), Stage.DECOMP_PARTITION),
        (fails(error("X", "y", "_functorch/aot_autograd.py")), Stage.AOT_AUTOGRAD),
        (fails(error("torch._dynamo.exc.Unsupported", "x", "_dynamo/variables/base.py")), Stage.DYNAMO),
        (fails(error("torch._dynamo.exc.TorchRuntimeError", "x", "_refs/__init__.py")), Stage.DYNAMO),
    ],
)
def test_the_first_failure_suggests_where_to_look(found: Probe, stage: Stage) -> None:
    assert found.signature is not None
    assert suspect(found.signature, found.outcome) is stage


@pytest.mark.parametrize("check", [RaisedException("AssertionError", "is off", (Frame("/home/ann/train.py", 62, "main"),)),
                                   RaisedException("SystemExit", "exit status 1: is off", phase="text")])  # fmt: skip
@pytest.mark.parametrize(
    ("more", "direction"),
    [
        ({"main_ended": True}, Direction.FORWARD),
        ({"main_ended": True, "backwards": 8}, None),  # the gradients may be what is off
        ({"point": BoundaryPoint(calls=1, backwards=1)}, None),
    ],
)
def test_a_check_that_stands_behind_a_backward_pass_tells_no_direction(
    check: RaisedException, more: dict[str, Any], direction: Direction | None
) -> None:
    failed = fails(check)
    off = replace(failed, notes=replace(failed.notes, **more))
    assert ladder(OK, off, off, off, off).direction is direction
    assert ladder(OK, OK, OK, OK, off).direction is direction
    assert ladder(off, OK, OK, OK, off).direction is None  # of no compiler


def test_a_program_that_left_without_a_word_may_have_gone_back() -> None:
    left = fails(RaisedException("SystemExit", "exit status 3", phase="text"))
    assert ladder(OK, left, left, left, left).direction is None
