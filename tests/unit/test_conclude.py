"""What the rungs showed, and what that means."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from triage.judge.signature import signature_of
from triage.locate.conclude import (
    Conclusion,
    conclude,
    direction_of,
    discount,
    expected_exceptions,
    face,
    is_script_check,
    not_to_blame,
    rung_that_shows,
)
from triage.locate.ladder import ladder_for, suspect
from triage.locate.walk import Walk
from triage.model.outcome import AgentNotes, BoundaryPoint, CompileCall, Frame, Outcome, RaisedException
from triage.model.report import ReportVerdict, TriageReport
from triage.model.rungs import LADDER, OWN_BACKEND
from triage.model.stage import Direction, OutcomeKind, Stage, Symptom
from triage.probe.run import Probe
from triage.stories.assemble import exit_code
from triage.stories.headline import summary_sentence
from triage.stories.ladder_rows import ladder_rows, why_not_run

TOP = len(LADDER) - 1
NAMES = [rung.name for rung in LADDER]
SITE = "/opt/venv/lib/python3.11/site-packages/torch"


def error(
    kind: str = "TypeError", message: str = "bad operand", file: str = "_inductor/ir.py", **more: object
) -> RaisedException:
    return RaisedException(
        kind, message, (Frame("/home/ann/train.py", 3, "main"), Frame(f"{SITE}/{file}", 7, "f")), **more
    )


def probe(outcome: Outcome, *raised: RaisedException, cancelled: bool = False) -> Probe:
    return Probe(
        "x",
        None,
        outcome,
        signature_of(outcome),
        AgentNotes(started=True, raised=raised),
        Path("x"),
        cancelled=cancelled,
    )


OK = probe(Outcome(OutcomeKind.OK, exit_code=0))
INVALID = probe(Outcome(OutcomeKind.INVALID, detail="cancelled"), cancelled=True)


def fails(exception: RaisedException | None = None, kind: OutcomeKind = OutcomeKind.EXCEPTION, code: int = 1) -> Probe:
    exception = exception or error()
    return probe(Outcome(kind, exit_code=code, exception=exception), exception)


def crashes(signal: str = "SIGSEGV") -> Probe:
    return probe(Outcome(OutcomeKind.CRASH, exit_code=-11, signal=signal, detail="run graph 0/0"))


def hangs() -> Probe:
    return probe(Outcome(OutcomeKind.HANG, seconds=300.0, detail="compile graph 0/0"))


def handled(*exceptions: RaisedException, code: int = 0) -> Probe:
    """The program met these and went on."""
    met = tuple(replace(exception, swallowed=True) for exception in exceptions)
    return probe(Outcome(OutcomeKind.EXCEPTION, exit_code=code, exception=met[0]), *met)


def met_uncompiled(*exceptions: RaisedException) -> Probe:
    return probe(Outcome(OutcomeKind.OK, exit_code=0), *(replace(found, swallowed=True) for found in exceptions))


def ladder(*states: Probe | list[Probe] | None) -> Conclusion:
    """The conclusion of the built-in ladder; None for a rung that was not visited."""
    seen = {
        name: state if isinstance(state, list) else [state]
        for name, state in zip(NAMES, states, strict=True)
        if state is not None
    }
    return conclude(LADDER, TOP, seen)


@pytest.mark.parametrize("lowest", range(1, 5))
def test_the_stage_is_that_of_the_lowest_rung_that_fails(lowest: int) -> None:
    found = ladder(*[OK] * lowest, *[fails()] * (5 - lowest))
    assert found.stage is LADDER[lowest].stage
    assert (found.failing, found.passing) == (LADDER[lowest], LADDER[lowest - 1])
    assert found.settled and found.monotone and found.symptom is Symptom.EXCEPTION


@pytest.mark.parametrize("compiled", [fails(), crashes(), hangs(), OK])
def test_a_script_that_fails_uncompiled_is_its_own_culprit_whatever_the_face(compiled: Probe) -> None:
    mistake = fails(RaisedException("IndexError", "index out of range in self"))
    found = ladder(mistake, compiled, compiled, compiled, fails() if compiled is OK else compiled)
    assert (found.stage, found.settled) == (Stage.SCRIPT, True)
    assert found.signature == mistake.signature  # its own face is reported, not what the compiler makes of it


def test_a_script_that_passes_has_nothing_to_report() -> None:
    found = ladder(OK, OK, OK, OK, OK)
    assert (found.stage, found.symptom, found.settled, found.monotone) == (Stage.NONE, Symptom.NONE, True, True)


def test_a_lower_rung_that_fails_alone_is_no_failure_of_the_script() -> None:
    found = ladder(OK, OK, OK, fails(), OK)
    assert (found.stage, found.symptom, found.settled, found.monotone) == (Stage.NONE, Symptom.NONE, True, False)
    assert ladder(fails(), OK, OK, OK, OK).stage is Stage.NONE  # compiled it passes where eager raises


def test_a_rung_above_the_lowest_failing_one_that_passes_is_told() -> None:
    found = ladder(OK, OK, fails(), OK, fails())
    assert (found.stage, found.settled, found.monotone) == (Stage.AOT_AUTOGRAD, True, False)


def test_a_rung_below_passing_ones_that_fails_in_another_way_is_not_to_blame() -> None:
    other = fails(RaisedException("ConnectionError", "no route", (Frame("/home/ann/train.py", 3, "main"),)))
    for trouble in (other, probe(Outcome(OutcomeKind.HANG, detail="run graph 0/0"))):
        found = ladder(OK, trouble, OK, OK, fails())
        assert (found.stage, found.settled, found.monotone) == (Stage.INDUCTOR, True, False)
    assert ladder(OK, other, fails(), fails(), fails()).stage is Stage.DYNAMO  # everything above it fails too
    assert ladder(OK, other, INVALID, INVALID, fails()).stage is Stage.DYNAMO


def test_the_failure_is_reported_as_the_person_saw_it() -> None:
    """The same bug may look otherwise on a lower rung."""
    low, top = fails(RaisedException("NotImplementedError", "in eager mode")), crashes()
    found = ladder(OK, OK, low, low, top)
    assert (found.stage, found.symptom, found.signature) == (Stage.AOT_AUTOGRAD, Symptom.CRASH, top.signature)
    said = summary_sentence(found, top, None)
    assert said.startswith(
        "`eager` passes, `aot_eager` is the first backend that fails, with NotImplementedError: in eager mode; "
    )
    assert said.endswith("the script as it is fails with SIGSEGV while running compiled code.")
    assert "as it is" not in summary_sentence(ladder(OK, OK, top, top, top), top, None)
    assert (
        face(low, found.signature) == "other"
        and face(top, found.signature) == "same"
        and face(OK, found.signature) is None
    )


def test_nothing_is_settled_before_the_rung_below_has_passed() -> None:
    assert not ladder(None, None, None, None, fails()).settled
    assert not ladder(OK, None, None, None, fails()).settled
    assert not ladder(OK, OK, OK, INVALID, fails()).settled
    assert ladder(None, None, None, OK, fails()).settled
    assert not ladder(None, None, None, None, None).settled


def test_a_failure_that_does_not_come_back_has_a_rate() -> None:
    found = ladder(OK, OK, OK, OK, [fails(), OK, OK, fails(), OK])
    assert (found.symptom, found.runs, found.failures, found.stage) == (Symptom.NONDETERMINISTIC, 5, 2, Stage.INDUCTOR)
    alike = ladder(OK, OK, fails(), fails(), [fails(), INVALID])
    assert (alike.symptom, alike.runs, alike.failures) == (Symptom.EXCEPTION, 3, 3)


def test_a_script_whose_check_depends_on_random_numbers_is_not_the_compilers_fault() -> None:
    found = not_to_blame(ladder(OK, OK, OK, fails(), fails()))
    assert (found.stage, found.symptom, found.random_check) == (Stage.NONE, Symptom.NONDETERMINISTIC, True)


def test_the_scripts_own_backend() -> None:
    call = CompileCall("strict_backend", custom_backend=True)
    rungs, top = ladder_for([call])
    assert rungs == (*LADDER, OWN_BACKEND) and top == 5
    seen = {name: [OK] for name in NAMES}
    assert conclude(rungs, top, {**seen, OWN_BACKEND.name: [fails()]}).stage is Stage.BACKEND
    assert conclude(rungs, top, {**seen, OWN_BACKEND.name: [OK]}).stage is Stage.NONE
    lower = {**seen, "aot_eager": [fails()], OWN_BACKEND.name: [fails()]}
    assert conclude(rungs, top, lower).stage is Stage.AOT_AUTOGRAD


@pytest.mark.parametrize(
    ("backends", "top"),
    [(["eager"], 1), (["aot_eager"], 2), ([None], 4), (["inductor", None], 4), (["eager", "inductor"], 4), ([], 4)],
)
def test_the_ladder_ends_where_the_script_stands(backends: list[str | None], top: int) -> None:
    rungs, found = ladder_for([CompileCall(backend) for backend in backends])
    assert (found, len(rungs)) == (top, top + 1)


# -- exceptions that the program handles itself ------------------------------------------------------------------------


def test_a_handled_exception_of_the_compiler_is_a_failure() -> None:
    found = ladder(OK, OK, OK, OK, handled(error()))
    assert (found.stage, found.symptom) == (Stage.INDUCTOR, Symptom.EXCEPTION)


def test_one_that_the_uncompiled_program_meets_too_is_none() -> None:
    expected = RaisedException("ValueError", "batch 3 has no labels")
    found = ladder(met_uncompiled(expected), *[handled(expected)] * 4)
    assert (found.stage, found.symptom) == (Stage.NONE, Symptom.NONE)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (
            "torch._dynamo.exc.TorchRuntimeError",
            "Dynamo failed to run FX node with fake tensors: call_function <built-in function add>(*(FakeTensor(...),), "
            "**{}): got RuntimeError('The size of tensor a (2) must match the size of tensor b (3))')",
        ),
        (
            "torch._dynamo.exc.Unsupported",
            "Observed exception\n  Explanation: Dynamo found no exception handler.\n  Hint: x\n\n  Developer debug context: "
            "raised exception RuntimeError(['The size of tensor a (2) must match the size of tensor b (3)'])",
        ),
    ],
)
def test_dynamo_may_wrap_what_the_program_expects_in_its_own_words(kind: str, message: str) -> None:
    expected = RaisedException("RuntimeError", "The size of tensor a (2) must match the size of tensor b (3)")
    assert ladder(met_uncompiled(expected), *[handled(RaisedException(kind, message))] * 4).symptom is Symptom.NONE


def test_a_short_message_is_not_found_in_every_other() -> None:
    found = ladder(
        met_uncompiled(RaisedException("KeyError", "'w'")), *[handled(RaisedException("TypeError", "no 'w' here"))] * 4
    )
    assert found.stage is Stage.DYNAMO


def test_the_news_among_expected_exceptions_is_what_counts() -> None:
    expected, news = RaisedException("ValueError", "batch 3 has no labels"), error("RuntimeError", "lowering failed")
    found = ladder(met_uncompiled(expected), met_uncompiled(expected), OK, OK, handled(expected, news))
    assert found.stage is Stage.INDUCTOR
    assert found.outcome.exception.message == "lowering failed"


def test_a_status_after_an_expected_exception_has_a_reason_of_its_own() -> None:
    expected = RaisedException("ValueError", "batch 3 has no labels")
    found = ladder(met_uncompiled(expected), OK, OK, OK, handled(expected, code=1))
    assert found.stage is Stage.INDUCTOR
    assert (found.signature.exception_type, found.signature.message) == ("SystemExit", "exit status 1")


def test_a_crash_is_never_discounted() -> None:
    expected = RaisedException("ValueError", "batch 3 has no labels", swallowed=True)
    crash = probe(Outcome(OutcomeKind.CRASH, exit_code=-11, signal="SIGSEGV", exception=expected), expected)
    assert discount(crash, expected_exceptions({"uncompiled": [met_uncompiled(expected)]})) is crash


# -- what a failure says about itself -----------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("symptom", "stage", "complete", "interrupted", "code"),
    [
        (Symptom.EXCEPTION, Stage.DYNAMO, True, False, 0),
        (Symptom.NONDETERMINISTIC, Stage.INDUCTOR, True, False, 0),
        (Symptom.NONE, Stage.NONE, True, False, 1),
        (Symptom.NONDETERMINISTIC, Stage.NONE, True, False, 1),
        (Symptom.EXCEPTION, Stage.SCRIPT, True, False, 3),
        (Symptom.HANG, Stage.SCRIPT, False, False, 3),
        (Symptom.EXCEPTION, Stage.DYNAMO, False, False, 5),
        (Symptom.NONE, Stage.NONE, False, False, 5),
        (Symptom.EXCEPTION, Stage.DYNAMO, False, True, 130),
        (Symptom.EXCEPTION, Stage.SCRIPT, False, True, 130),
    ],
)
def test_exit_codes(symptom: Symptom, stage: Stage, complete: bool, interrupted: bool, code: int) -> None:
    report = TriageReport({}, (), ReportVerdict(symptom, stage), complete=complete)
    assert exit_code(report, interrupted) == code


def test_a_reproducer_shows_what_the_program_showed() -> None:
    """A check of the program's own fails with Inductor, where AOTAutograd alone raises something else."""
    check, other = error("AssertionError", "too far"), error("RuntimeError", "storage too small")
    seen = {"uncompiled": [OK], "eager": [OK], "aot_eager": [fails(other)], "inductor": [fails(check)]}
    found = conclude(LADDER, TOP, seen)
    assert (found.stage, rung_that_shows(found, seen).name) == (Stage.AOT_AUTOGRAD, "inductor")
    alike = {**seen, "aot_eager": [fails(check)]}
    assert rung_that_shows(conclude(LADDER, TOP, alike), alike).name == "aot_eager"


def test_an_error_that_names_another_operation_below_is_another_for_a_reproducer_and_told() -> None:
    """A subclass that nothing handles stops whatever operation is the first to be called with it: not the same on each rung."""
    divides, solves = (error("TypeError", f"Multiple dispatch failed for '{name}'") for name in ("div", "solve"))
    seen = {"uncompiled": [OK], "eager": [OK], "aot_eager": [fails(divides)], "inductor": [fails(solves)]}
    found = conclude(LADDER, TOP, seen)
    assert (found.stage, rung_that_shows(found, seen).name) == (Stage.AOT_AUTOGRAD, "inductor")
    assert found.there is not None and "div" in found.there.message
    assert "`aot_eager` is the first backend that fails, with TypeError: Multiple dispatch failed for 'div'" in (
        summary_sentence(found, fails(solves), None)
    )


def test_a_rung_that_was_not_run_has_its_reason():
    eager, aot, decomp = LADDER[1:4]
    assert why_not_run(aot, LADDER, {decomp.name: [OK]}) == "aot_eager_decomp_partition, which does more, passes"
    assert why_not_run(aot, LADDER, {eager.name: [fails()]}) == "eager, which does less, fails"
    assert why_not_run(aot, LADDER, {eager.name: [OK], decomp.name: [fails(), INVALID]}) is None


@pytest.mark.parametrize("symptom", [Symptom.EXCEPTION, Symptom.WRONG_RESULT])
def test_what_is_raised_over_a_wrong_result_says_so_beside_fails(symptom: Symptom) -> None:
    seen = {"aot_eager": [OK], "inductor": [fails()]}
    rungs = (LADDER[2], LADDER[TOP])
    walk = SimpleNamespace(rungs=rungs, seen=seen, evidence=seen, own_rung=rungs[-1], as_it_is=seen["inductor"])
    concluded = replace(conclude(LADDER, TOP, seen), symptom=symptom)
    notes = [row.note for row in ladder_rows(cast(Walk, walk), concluded)]
    assert notes == [None, "what it raises comes of a wrong result" if symptom is Symptom.WRONG_RESULT else None]


@pytest.mark.parametrize(
    ("calls", "graphs", "why"),
    [
        ((), 0, "torch.compile is never called"),
        ((CompileCall(None),), 0, "nothing was compiled"),
        ((CompileCall(None),), 1, "inductor, which does more, passes"),
    ],
)
def test_no_backend_passes_that_was_asked_for_nothing(calls: tuple[CompileCall, ...], graphs: int, why: str) -> None:
    runs = [replace(OK, notes=replace(OK.notes, compile_calls=calls, graphs=graphs))] * 2
    walk = SimpleNamespace(
        rungs=LADDER, seen={"inductor": runs}, evidence={"inductor": runs}, own_rung=LADDER[TOP], as_it_is=runs,
        passed_beside={}, first_cut=None, met={},
    )  # fmt: skip
    *below, own = ladder_rows(cast(Walk, walk), conclude(LADDER, TOP, walk.seen))
    assert {(row.outcome, row.note) for row in below} == {("not_run", why)}
    assert (own.rung, own.outcome, own.note) == (
        ("inductor", "ok", "2 runs") if graphs else ("as_is", "ok", f"{why}; 2 runs")
    )


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
