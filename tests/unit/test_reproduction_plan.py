"""The plan of a reproduction: which engines are tried for which conclusion, in which order, with which oracle and patience."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from printer_cases import case, meta, node, tensor

from triage.judge.comparison import ComparisonOracle, FirstComparisonOracle, PrintedOracle
from triage.judge.oracle import SignatureOracle
from triage.judge.signature import signature_of
from triage.locate.conclude import Conclusion
from triage.locate.doors import Door
from triage.model import accuracy
from triage.model.accuracy import Comparison, WrongResult
from triage.model.outcome import AgentNotes, Frame, Outcome, RaisedException
from triage.model.rungs import AS_IS, LADDER, OWN_BACKEND, UNCOMPILED
from triage.model.stage import Direction, OutcomeKind, Stage, Symptom, Verdict
from triage.probe.run import Probe
from triage.probe.target import Target
from triage.reduce.graph.engine import NativeEngine
from triage.reduce.interface import NoReduction
from triage.reduce.minifier.engine import ReproAfterEngine
from triage.reduce.text import engine as engine_of_text
from triage.reduce.text.engine import SourceEngine
from triage.session.clock import Clock
from triage.session.settings import Settings
from triage.stories.attempts import (
    CHECK_NOTE,
    PRINTED_NOTE,
    PRINTED_TEXT_NOTE,
    VALUE_NOTE,
    Uncompared,
    attempts_for,
    full_header,
)
from triage.stories.limits import (
    COLD_SECONDS,
    HANG_SECONDS,
    MISSED,
    MOST_REPEATS,
    UNTIL_HANG_FACTOR,
    patience_for,
    repeats_for,
    seconds_for,
    seconds_to_show,
    start_seconds,
)
from triage.stories.problem import compares, comparison_for, problem_of
from triage.trial.interface import Resources
from triage.trial.runner import ForkServerRunner

GRAPH = case([tensor("x", 4)], [node("y", "torch.relu", "%x", out=meta(4))], "%y")
GRAPHS, MINIFIER, TEXT = NativeEngine, ReproAfterEngine, SourceEngine


def raised(phase: str = "compile", kind: OutcomeKind = OutcomeKind.EXCEPTION) -> Outcome:
    return Outcome(kind, 3.0, 1, exception=RaisedException("ValueError", "bad operand", phase=phase))


LOWERING = raised()
TRACING = replace(LOWERING, exception=RaisedException("torch._dynamo.exc.Unsupported", "no such call", phase="compile"))
CHECK = raised("uncaught", OutcomeKind.WRONG_RESULT)  # the program's own assert_close
COMPARED = raised(accuracy.PHASE, OutcomeKind.WRONG_RESULT)  # nobody noticed but the agent
PRINTED = raised(accuracy.PRINTED, OutcomeKind.WRONG_RESULT)  # and nobody but who reads it
OVERWRITTEN = replace(
    LOWERING,
    exception=RaisedException(
        "RuntimeError", "Error: accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run."
    ),
)
HANG = Outcome(OutcomeKind.HANG, 300.0, detail="inductor compiles")


def concluded(outcome: Outcome = LOWERING, stage: Stage = Stage.INDUCTOR, **more: Any) -> Conclusion:
    rungs = (*LADDER, OWN_BACKEND)
    place = next(index for index, rung in enumerate(rungs) if rung.stage is stage)
    return Conclusion(
        stage, Symptom.EXCEPTION, signature_of(outcome), outcome, failing=rungs[place], passing=rungs[place - 1], **more
    )


def found(conclusion: Conclusion, folder: Path, *, cases: tuple[Any, ...] = (GRAPH,), engine: str = "auto") -> Any:
    """What a run has learned: the failing rung failed, the one below it took two seconds."""
    assert conclusion.outcome is not None
    ended = {conclusion.failing.name: conclusion.outcome, conclusion.passing.name: Outcome(OutcomeKind.OK, 2.0, 0)}
    seen = {name: [Probe(name, name, end, signature_of(end), AgentNotes(), Path("x"))] for name, end in ended.items()}
    script = folder / "train.py"
    return SimpleNamespace(
        cases=cases,
        also_wrong=(),
        target=Target("python", ("python", str(script)), folder, script),
        walk=SimpleNamespace(
            checked=None,
            seen=seen,
            evidence=seen,
            start=seen[conclusion.failing.name][0],
            rungs=LADDER,
            own_rung=LADDER[-1],
        ),
        session=SimpleNamespace(
            settings=Settings(engine=engine), directory=folder, neutral=None, cancel=None, recalled={}, verified={}
        ),
    )


def planned(conclusion: Conclusion, folder: Path, **more: Any) -> list[Any]:
    assert conclusion.signature is not None
    return attempts_for(found(conclusion, folder, **more), conclusion, SignatureOracle(conclusion.signature))


@pytest.mark.parametrize(
    ("conclusion", "engines"),
    [
        (concluded(), [GRAPHS, TEXT, MINIFIER]),
        (concluded(stage=Stage.AOT_AUTOGRAD), [GRAPHS, TEXT, MINIFIER]),
        (concluded(stage=Stage.DYNAMO), [TEXT]),  # no graph is to blame for what tracing does
        (concluded(TRACING, Stage.AOT_AUTOGRAD), [TEXT]),
        (
            concluded(stage=Stage.BACKEND),
            [TEXT],
        ),  # nor can a graph's script be run, where the user's backend has no text
        (concluded(OVERWRITTEN), [TEXT]),  # by how the program calls the graph, which does not fail by itself
        (concluded(CHECK), [GRAPHS, TEXT, MINIFIER]),
        (concluded(COMPARED), [GRAPHS]),  # the program's text never fails by itself
        (replace(concluded(), signature=None), []),
        (replace(concluded(), outcome=None), []),
    ],
)
def test_the_engines_of_a_conclusion(tmp_path, conclusion, engines):
    plan = attempts_for(
        found(concluded(stage=conclusion.stage) if conclusion.outcome is None else conclusion, tmp_path),
        conclusion,
        SignatureOracle(signature_of(LOWERING)),
    )
    assert [type(attempt.engine) for attempt in plan] == engines


@pytest.mark.parametrize("outcome", [LOWERING, CHECK])
def test_graphs_come_first_where_they_bring_the_programs_own_backend(tmp_path, outcome):
    conclusion, own = concluded(outcome, Stage.BACKEND), replace(GRAPH, own_backend=("accel", "def accel(gm, x): ..."))
    assert [type(attempt.engine) for attempt in planned(conclusion, tmp_path, cases=(own,))] == [GRAPHS, TEXT]


@pytest.mark.parametrize(("outcome", "engines"), [(LOWERING, [TEXT]), (CHECK, [TEXT]), (COMPARED, [])])
def test_without_a_captured_graph_only_the_text_is_left(tmp_path, outcome, engines):
    assert [type(attempt.engine) for attempt in planned(concluded(outcome), tmp_path, cases=())] == engines


def test_of_what_a_program_only_prints_a_call_is_tried_first_and_then_its_text(tmp_path):
    conclusion = concluded(PRINTED, Stage.DYNAMO)
    oracle = PrintedOracle(conclusion.signature)
    of_call, of_text = attempts_for(found(conclusion, tmp_path), conclusion, oracle)
    assert isinstance(of_call.oracle, FirstComparisonOracle) and of_text.oracle is oracle
    assert (of_call.note, of_text.note) == (PRINTED_NOTE, PRINTED_TEXT_NOTE)
    first, second = of_call.engine, of_text.engine
    assert first.patience is second.patience and first.traced is second.traced, "what one has learned the other knows"


@pytest.mark.parametrize(("engine", "engines"), [("native", [GRAPHS, TEXT]), ("repro_after", [MINIFIER])])
def test_an_engine_that_is_asked_for_by_name_is_the_only_one(tmp_path, engine, engines):
    assert [type(attempt.engine) for attempt in planned(concluded(), tmp_path, engine=engine)] == engines


def test_a_check_of_the_programs_own_is_compared_anew_where_its_graphs_are_reduced(tmp_path):
    graphs, text, minifier = planned(concluded(CHECK), tmp_path)
    assert isinstance(graphs.oracle, ComparisonOracle) and graphs.oracle is minifier.oracle
    assert graphs.note == minifier.note == CHECK_NOTE
    assert isinstance(text.oracle, SignatureOracle) and text.note is None


def test_where_the_script_raises_by_a_wrong_value_the_reproducer_is_said_not_to_raise_that(tmp_path):
    wrong = WrongResult("0/0", 1, "output 0", "forward")
    for outcome in (raised("call"), raised("uncaught")):  # in another compiled graph, or outside of any
        conclusion = concluded(outcome, wrong=wrong)
        graphs = planned(conclusion, tmp_path)[0]
        assert isinstance(graphs.oracle, ComparisonOracle) and graphs.note == VALUE_NOTE
    checks = replace(conclusion, symptom=Symptom.WRONG_RESULT)
    assert planned(checks, tmp_path)[0].note == CHECK_NOTE


def test_an_exception_is_judged_by_its_signature_alone(tmp_path):
    assert {type(attempt.oracle) for attempt in planned(concluded(), tmp_path)} == {SignatureOracle}
    assert {attempt.note for attempt in planned(concluded(), tmp_path)} == {None}


@pytest.mark.parametrize(("failures", "runs"), [(1, 2), (1, 4), (3, 4), (1, 100)])
def test_a_failure_that_comes_and_goes_is_repeated_until_it_would_have_shown(failures, runs):
    flaky = replace(concluded(), symptom=Symptom.NONDETERMINISTIC, failures=failures, runs=runs)
    repeats = repeats_for(flaky).runs
    missed = (1 - failures / runs) ** repeats
    assert missed <= MISSED or repeats == MOST_REPEATS
    assert math.pow(1 - failures / runs, repeats - 1) > MISSED, "once less would be too little"


def test_a_failure_that_always_comes_is_run_once():
    assert repeats_for(concluded()).runs == 1
    assert repeats_for(replace(concluded(), symptom=Symptom.NONDETERMINISTIC, failures=3, runs=3)).runs == 1


def test_only_a_hang_needs_patience(tmp_path):
    hang = concluded(HANG)
    patience = patience_for(found(hang, tmp_path), hang)
    assert patience.seconds() == HANG_SECONDS  # five times two seconds is less
    assert patience_for(found(concluded(), tmp_path), concluded()) is None


def test_a_candidate_has_the_time_that_the_passing_rung_needs_for_its_compile(tmp_path):
    hang = concluded(HANG)
    known = found(hang, tmp_path)
    (passing,) = known.walk.seen[hang.passing.name]
    for name, seconds in ((UNCOMPILED.name, 6.0), (hang.passing.name, 26.0)):
        known.walk.seen[name] = [replace(passing, outcome=replace(passing.outcome, seconds=seconds))]
    patience = patience_for(known, hang)
    patience.saw(Verdict.NO_FAILURE, 0.5)
    assert patience.seconds() == UNTIL_HANG_FACTOR * 20.0


@pytest.mark.parametrize(
    ("stage", "crumb", "least"),
    [
        (Stage.INDUCTOR, "inductor compiles forward graph 0/0", UNTIL_HANG_FACTOR * 8.0),
        (Stage.INDUCTOR, "run graph 0/0", UNTIL_HANG_FACTOR * 20.0),  # of what was compiled for it nothing is known
        (Stage.BACKEND, "compile graph 0/0", UNTIL_HANG_FACTOR * 8.0),
        (Stage.DECOMP_PARTITION, "compile graph 0/0", UNTIL_HANG_FACTOR * 20.0),
    ],
)
def test_where_the_script_was_heard_of_it_tells_how_long_a_candidate_needs(tmp_path, stage, crumb, least):
    hang = concluded(HANG, stage)
    known = found(hang, tmp_path)
    (passing,) = known.walk.seen[hang.passing.name]
    for name, seconds in ((UNCOMPILED.name, 6.0), (hang.passing.name, 26.0)):
        known.walk.seen[name] = [replace(passing, outcome=replace(passing.outcome, seconds=seconds))]
    known.walk.start = replace(known.walk.start, notes=AgentNotes(last_breadcrumb=crumb, reached=8.0))
    patience = patience_for(known, hang)
    patience.saw(Verdict.NO_FAILURE, 0.5)
    assert patience.seconds() == least


def test_a_hang_is_shown_within_more_than_a_cold_compile_takes(tmp_path):
    hang = concluded(HANG)
    known = found(hang, tmp_path)
    patience = patience_for(known, hang)
    patience.saw(Verdict.NO_FAILURE, 0.5)
    assert patience.seconds() < COLD_SECONDS
    assert seconds_to_show(known, patience) == COLD_SECONDS + start_seconds(known)
    patience.was_short(80.0)
    assert seconds_to_show(known, patience) == 100.0 + start_seconds(known), "what passes takes longer than that"
    assert seconds_to_show(known, None) == seconds_for(known)


def test_a_hang_in_another_door_waits_as_long_as_a_plain_call_there_suggests(tmp_path):
    hang = concluded(HANG)
    learned = found(hang, tmp_path)
    learned.walk.in_place = learned.walk.seen[hang.passing.name][0]
    hang = replace(hang, passing=None, door=Door("torch.export", Stage.NONE))
    patience = patience_for(learned, hang)
    assert patience.seconds() == HANG_SECONDS


def test_the_problem_names_the_rung_that_shows_it_and_the_one_that_passes(tmp_path):
    conclusion = concluded(stage=Stage.AOT_AUTOGRAD, direction=Direction.BACKWARD)
    problem = problem_of(found(conclusion, tmp_path), conclusion)
    assert (problem.rung, problem.passing, problem.direction) == ("aot_eager", "eager", "backward")
    assert problem.cases == (GRAPH,) and problem.workdir.is_dir()


def test_a_backend_of_the_users_is_reduced_as_the_script_has_it(tmp_path):
    conclusion = concluded(stage=Stage.BACKEND)
    assert conclusion.failing.name == AS_IS
    assert problem_of(found(conclusion, tmp_path), conclusion).rung == LADDER[-1].name


def test_where_nothing_is_known_to_pass_the_control_is_uncompiled(tmp_path):
    conclusion = concluded()
    known = found(conclusion, tmp_path)
    assert problem_of(known, replace(conclusion, passing=None)).passing == UNCOMPILED.name


def test_nothing_is_compared_behind_another_door():
    check = concluded(CHECK)  # what torch.export raises has no wrapper either
    assert compares(check) and not compares(replace(check, door=Door("torch.export", Stage.INDUCTOR)))


@pytest.mark.parametrize(
    ("conclusion", "compared"),
    [
        (concluded(CHECK), Comparison(gradients=True)),  # nothing was found yet: look everywhere
        (concluded(COMPARED), Comparison(gradients=False)),
        (concluded(COMPARED, direction=Direction.BACKWARD), Comparison(gradients=True)),
        (concluded(CHECK, wrong=WrongResult("0/0", 0, "output 0", "forward")), Comparison(gradients=False)),
        (concluded(CHECK, wrong=WrongResult("0/0", 0, "output 0", "forward", small=True)), Comparison(fine=True)),
    ],
)
def test_what_candidates_are_compared_on(conclusion, compared):
    assert comparison_for(conclusion) == compared


def test_a_script_of_another_encoding_whose_run_cannot_be_watched_is_not_reduced(tmp_path, monkeypatch):
    monkeypatch.setattr(engine_of_text, "trace", lambda *_, **__: None)  # as where the program ends with os._exit
    conclusion = concluded(stage=Stage.DYNAMO)
    known = found(conclusion, tmp_path)
    known.target.script.write_bytes(b"# coding: latin-1\nname = '\xe9'\n")
    (attempt,) = attempts_for(known, conclusion, SignatureOracle(conclusion.signature))
    runner = SimpleNamespace(jobs=1)
    done = attempt.engine.reduce(
        problem_of(known, conclusion), Resources(runner, attempt.oracle, Clock(0.0), lambda *_, **__: None)
    )
    assert isinstance(done, NoReduction) and done.reason == "the program's run could not be watched"


def raised_in(*functions: str, file: str = "_dynamo/utils.py", phase: str = "compile") -> Outcome:
    """Outermost first, as a traceback has them."""
    frames = tuple(Frame(f"/venv/lib/python3.11/site-packages/torch/{file}", 7, name) for name in functions)
    error = RaisedException("RuntimeError", "no such size", frames=frames, phase=phase)
    return Outcome(OutcomeKind.EXCEPTION, 3.0, 1, exception=error)


@pytest.mark.parametrize(
    ("outcome", "stage", "says"),
    [
        (raised_in("get_fake_value"), Stage.DYNAMO, "Stage dynamo in torch/_dynamo/utils.py:get_fake_value; passes"),
        (
            raised_in("get_fake_value", "_wrap_errors", "_wrap_errors", "_wrap_errors", "<lambda>"),
            Stage.DYNAMO,
            "Stage dynamo in torch/_dynamo/utils.py:get_fake_value; passes",
        ),
        (raised_in("<lambda>"), Stage.DYNAMO, "Stage dynamo; passes uncompiled. Seen"),
        (
            raised_in("assert_close", file="testing/_comparison.py", phase="uncaught"),
            Stage.DYNAMO,
            "Stage dynamo; passes",
        ),
        (raised_in("__call__", file="__init__.py"), Stage.BACKEND, "Stage backend; passes with inductor. Seen"),
    ],
)
def test_the_place_on_top_of_a_reproducer_is_one_in_the_compiler(
    outcome: Outcome, stage: Stage, says: str, tmp_path: Path
) -> None:
    conclusion = concluded(outcome, stage)
    assert f"\n{says}" in full_header(found(conclusion, tmp_path), conclusion)


def test_of_a_text_the_agent_compares_nothing_while_it_is_reduced() -> None:
    asked: list[Comparison | None] = []
    runner = ForkServerRunner(sys.executable, jobs=1)
    runner.compare(Comparison())

    class Asking:
        name, subject = "native", "the program's text"

        def reduce(self, *_: object) -> NoReduction:
            asked.append(runner._fresh.accuracy)  # with which each candidate is run
            return NoReduction("nothing")

    try:
        assert Uncompared(Asking(), runner).reduce(*[None] * 2).reason == "nothing"  # type: ignore[arg-type]
        assert asked == [None]
        assert runner._fresh.accuracy == Comparison()  # what comes next is compared again
    finally:
        runner.close()
