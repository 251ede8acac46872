"""From a located failure to a small, verified reproducer and its ablation: the engines, runner and oracle put together."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path

from triage.culprit.known_causes import lies_in_environment
from triage.culprit.operation import operators_in
from triage.judge.asking import Budget
from triage.judge.comparison import ComparisonOracle, FirstComparison, PrintedOracle
from triage.judge.judgement import Oracle
from triage.judge.likeness import same_failure
from triage.judge.oracle import SignatureOracle
from triage.judge.printed import judged_beside
from triage.judge.signature import one_line, place_of
from triage.locate.conclude import Conclusion, is_comparison, is_printed, is_script_check, rung_that_shows
from triage.model.accuracy import Comparison
from triage.model.rungs import AS_IS, BACKENDS, DEFAULT_BACKEND, UNCOMPILED, in_place_of
from triage.model.stage import Direction, OutcomeKind, Stage, Symptom, Verdict
from triage.probe.run import Probe
from triage.reduce.choose import Attempt, InterruptedReductionError, choose
from triage.reduce.compare import Passing, Shows, comparison_of, forms_of
from triage.reduce.graph.engine import NativeEngine
from triage.reduce.in_time import InTime
from triage.reduce.interface import Problem
from triage.reduce.minifier.engine import MINIFY_SECONDS, ReproAfterEngine
from triage.reduce.prepared import below_own_backend, failing_source, prepared
from triage.reduce.printing.printer import Form
from triage.reduce.text.checks import PrintedRunner
from triage.reduce.text.engine import SECONDS, Seen, SourceEngine
from triage.reduce.text.polish import Polished
from triage.reduce.verifying import Shown
from triage.session.clock import BudgetSpentError
from triage.stories.blame import blame
from triage.stories.captured import passes_alone
from triage.stories.early import EarlyNews
from triage.stories.findings import Asked, Findings, candidate_runner
from triage.stories.several_wrong import cut_to_one, shown_alone, told_apart
from triage.trial.driver import Repeats, digest
from triage.trial.patience import Patience
from triage.trial.runner import ForkServerRunner, verify, verify_with_control
from triage.trial.share import Reserving

VERIFY_TIMEOUT_SECONDS = 120.0
# A hang is told from a slow compile by the time that the program takes on the rung below.
HANG_FACTOR = 5.0
HANG_SECONDS = 20.0
VERIFYING_RUNS = 3.0  # of the script in time: four of the reproducer, two at a time, on a busy machine
HANG_REDUCTION_SECONDS = 600.0  # of the source engine: each candidate that hangs costs its whole limit
# A candidate that fails at the rate seen is taken for a passing one this often, at most so many runs allowing.
MISSED = 0.03
MOST_REPEATS = 12
FALLBACK_SECONDS = 120.0
# The script's own check lies outside the graph; the reproducer compares by itself.
SCRIPT_ALONE = "The script itself is what reproduces the failure."
CHECK_NOTE = "The reproducer compares compiled with eager itself, in the place of the script's own check."
PRINTED_NOTE = (
    "The reproducer compares one compiled call with the same call uncompiled; the script only prints what it gives."
)
PRINTED_TEXT_NOTE = (
    "The script only prints what is wrong: the reproducer is what is left of it, judged by those values."
)
PRINTED_ALONE = "What is wrong is what the whole script prints: it is the script that reproduces it."


def reproduce_small(found: Findings, conclusion: Conclusion) -> None:
    """Reduce, verify, ablate; fills `reproduced`, `reproducer_note`, `ablation` and `workarounds` of the findings."""
    session = found.session
    assert conclusion.signature is not None and conclusion.failing is not None
    runner = found.runner or candidate_runner(found)
    if compares(conclusion):
        runner.compare(comparison_for(conclusion))
        conclusion = told_apart(found, conclusion, runner, seconds_for(found))
        runner.compare(comparison_for(conclusion))
    assert conclusion.signature is not None
    problem = problem_of(found, conclusion)
    compared = conclusion.outcome is not None and is_comparison(conclusion.outcome)
    prints = conclusion.outcome is not None and is_printed(conclusion.outcome)
    signature, behind_door = conclusion.signature, conclusion.door is not None
    oracle: Oracle = ComparisonOracle(signature) if compared else SignatureOracle(signature, compiled=not behind_door)
    oracle = PrintedOracle(signature) if prints else oracle
    patience = patience_for(found, conclusion)
    late, end = session.clock.spent, session.clock.end()
    searching = Reserving(session.clock, seconds_to_verify(found))
    late_search = partial(found.shorten, "the reproducer was as small as it can be")
    news = EarlyNews(found, conclusion)

    def verified(source: str, runs: int) -> Shown:
        # A fresh process also takes the time until its first compile, which no candidate does.
        limit = seconds_for(found) if patience is None else patience.seconds() + start_seconds(found)
        results, control = verify_with_control(
            source,
            found.target.python,
            problem.passing,
            runs=runs,
            timeout=limit,
            neutral=session.neutral,
            end=end,
            warm=None if prints else runner,  # its random numbers may be others than those of a fresh process
        )
        results = judged_beside(results, control) if prints else results
        own = None
        if problem.own_rung is not None and all(each.outcome.failed for each in results):
            own = (PrintedRunner(runner) if prints else runner).run(source, rung=problem.own_rung, timeout=limit)
        allowed = runs * repeats_for(conclusion).runs
        while len(results) < allowed and sum(each.outcome.failed for each in results) < runs and not late():
            results += verify(source, found.target.python, runs=2, timeout=limit, neutral=session.neutral, end=end)
        return Shown(results, control, own)

    try:
        with session.timed("reduce"):
            attempts = attempts_for(found, conclusion, oracle, patience)
            if conclusion.stage is Stage.BACKEND and problem.cases:
                problem = _with_backend(problem, compares(conclusion))
            if found.asked is not None and found.walk.on_graph:
                problem, attempts = _as_asked(problem, attempts, found.asked)
            elif conclusion.outcome is not None and (compared or is_script_check(conclusion.outcome)):
                steady = repeats_for(conclusion) == Repeats()
                if_none = passes_alone(conclusion.wrong)
                problem, attempts = comparing(problem, attempts, runner, searching, found.passing, steady, if_none)
            elif any(case.setup for case in problem.cases):
                limit = seconds_for(found) if patience is None else patience.seconds()
                problem, _ = prepared(problem, failing_source(runner, oracle, searching, limit))
            found.reproduced, notes = choose(
                problem,
                [replace(attempt, engine=InTime(Polished(attempt.engine), late_search)) for attempt in attempts],
                runner,
                oracle,
                verified,
                searching,
                news.emit,
                None if compared else _single_file(found),
                header_of(found, conclusion),
                forms_of(conclusion.signature.wrong)[0] if compared else None,
                news.reduced,
            )
            if found.reproduced is None:
                last = "Run triage on the script to see it again." if compared else SCRIPT_ALONE
                last = PRINTED_ALONE if prints else last
                found.reproducer_note = " ".join(filter(None, [*notes, found.capture_note, last]))
        made = found.reproduced
        if made is not None and made.verified:
            news.verified(made.source)
        wanted = not session.settings.reproducer_only and not problem.door  # the settings are those of torch.compile
        wanted = wanted and not lies_in_environment(conclusion.outcome, conclusion.stage)
        wanted = wanted and not (made is not None and made.prints)  # of what only prints nothing can be asked
        if made is not None and made.verified and wanted:
            blame(found, made, problem, runner, made.oracle or oracle, patience)
    except InterruptedReductionError as interrupt:
        found.reproduced = interrupt.best
        raise
    if session.clock.spent():
        raise BudgetSpentError


def compares(conclusion: Conclusion) -> bool:
    """Whether candidates are judged by what the agent finds wrong with their graphs."""
    outcome = conclusion.outcome
    if (
        outcome is None
        or conclusion.signature is None
        or conclusion.stage is Stage.DYNAMO
        or conclusion.door is not None
    ):
        return False
    return is_comparison(outcome) or conclusion.wrong is not None or is_script_check(outcome)


def comparison_for(conclusion: Conclusion) -> Comparison:
    """What is compared in each candidate: what was wrong in the script."""
    assert conclusion.signature is not None and conclusion.outcome is not None
    wrong = conclusion.signature.wrong
    found = conclusion.wrong is not None or is_comparison(conclusion.outcome)
    backward = conclusion.direction is Direction.BACKWARD or not found
    return Comparison(gradients=backward, signs=wrong is not None and wrong.kind == "zero_sign")


def seconds_for(found: Findings) -> float:
    """The time limit of a candidate whose failure is no hang."""
    return min(VERIFY_TIMEOUT_SECONDS, found.session.settings.timeout)


def patience_for(found: Findings, conclusion: Conclusion) -> Patience | None:
    """For a failure that is a hang: at first some times what the whole program takes where it passes."""
    probes = found.walk.evidence[conclusion.passing.name] if conclusion.passing is not None else [found.walk.in_place]
    passing = [probe.outcome.seconds for probe in probes if probe is not None]
    if conclusion.outcome is None or conclusion.outcome.kind is not OutcomeKind.HANG or not passing:
        return None
    return Patience(min(seconds_for(found), max(HANG_SECONDS, HANG_FACTOR * min(passing))))


def seconds_to_verify(found: Findings) -> float:
    """What is kept of the budget to verify what the search finds: some runs of the script, a third of what is left at most."""
    return min(VERIFYING_RUNS * found.walk.start.outcome.seconds, found.session.clock.left() / 3)


def start_seconds(found: Findings) -> float:
    """What the program takes at least, where it passes."""
    probes = [probe for probes in list(found.walk.seen.values()) for probe in list(probes)]  # others add to it
    return min((probe.outcome.seconds for probe in probes if not probe.outcome.failed), default=0.0)


def repeats_for(conclusion: Conclusion) -> Repeats:
    """How often a candidate is run before it is said to pass: so often that a failure of the rate seen would have shown."""
    if conclusion.symptom is not Symptom.NONDETERMINISTIC or not 0 < conclusion.failures < conclusion.runs:
        return Repeats()
    rate = conclusion.failures / conclusion.runs
    return Repeats(min(MOST_REPEATS, math.ceil(math.log(MISSED) / math.log(1 - rate))), 1)


def problem_of(found: Findings, conclusion: Conclusion) -> Problem:
    """What the engines are given."""
    assert conclusion.signature is not None and conclusion.failing is not None
    outcome = conclusion.outcome
    folder = found.session.directory / "reduce"
    folder.mkdir(exist_ok=True)
    failing = rung_that_shows(conclusion, found.walk.evidence).name
    return Problem(
        signature=conclusion.signature,
        stage=conclusion.stage,
        rung=DEFAULT_BACKEND if failing == AS_IS else failing,
        direction=conclusion.direction.value if conclusion.direction else None,
        cases=cut_to_one(found),
        met=shown_alone(found, conclusion.signature),
        workdir=folder,
        recalled=found.session.recalled,
        verified=found.session.verified,
        evidence=operators_in(outcome.exception if outcome else None),
        torch_version=_torch_version(found.walk.start),
        passing=_passing(conclusion),
        own_rung=_own_rung(found, conclusion),
        door=conclusion.door is not None,
    )


def _with_backend(problem: Problem, compared: bool) -> Problem:
    """With the graphs below the source of the program's own backend; where none has it, on the one that torch knows by name."""
    cases = below_own_backend(problem.cases)
    if cases:
        return replace(problem, cases=cases, rung="")
    return replace(problem, rung=problem.cases[0].backend) if compared else problem


def _own_rung(found: Findings, conclusion: Conclusion) -> str | None:
    """The rung that the script itself stands on, above the one that is blamed, where its result is wrong in the same way."""
    walk, blamed = found.walk, rung_that_shows(conclusion, found.walk.evidence)
    own = walk.rungs[walk.top]
    if conclusion.symptom is not Symptom.WRONG_RESULT or own.force not in BACKENDS or own is blamed:
        return None
    seen = [probe.signature for probe in walk.evidence.get(own.name, []) if probe.signature is not None]
    alike = conclusion.signature is not None and any(same_failure(each, conclusion.signature) for each in seen)
    return own.name if alike else None


def _passing(conclusion: Conclusion) -> str:
    """What a reproducer must pass with."""
    if conclusion.door is not None:
        return in_place_of(conclusion.door.name)
    return conclusion.passing.name if conclusion.passing else UNCOMPILED.name


def attempts_for(
    found: Findings, conclusion: Conclusion, oracle: Oracle, patience: Patience | None = None
) -> list[Attempt]:
    """The engines to try, in order, each with its oracle: graphs first where there are any, then the program's text."""
    if conclusion.outcome is None or conclusion.signature is None:
        return []
    chosen = found.session.settings.engine
    if is_comparison(conclusion.outcome):  # the program's text never fails by itself: only its graphs can be reduced
        return (
            [Attempt(native_engine(conclusion, forms_of(conclusion.signature.wrong)[0]), oracle)] if found.cases else []
        )
    of_text = texts_for(found, conclusion, oracle, patience) if chosen in ("auto", "native") else []
    own_backend = conclusion.stage is Stage.BACKEND
    if own_backend and not below_own_backend(found.cases):
        return of_text
    if not found.cases or conclusion.stage is Stage.DYNAMO:
        return of_text
    judge, note = oracle, None
    if is_script_check(conclusion.outcome):
        judge = ComparisonOracle(conclusion.signature, lenient=conclusion.wrong is None)
        note = CHECK_NOTE
    attempts: list[Attempt] = []
    if chosen in ("auto", "native"):
        form = forms_of(conclusion.signature.wrong)[0] if note else None
        attempts.append(Attempt(native_engine(conclusion, form, patience), judge, note))
    if chosen in ("auto", "repro_after") and not own_backend:
        engine = ReproAfterEngine(
            found.target,
            found.session.directory,
            neutral=found.session.neutral,
            # Second in line it must not cost more than the first was worth; asked for by name it may take its time.
            minify_seconds=FALLBACK_SECONDS if chosen == "auto" else MINIFY_SECONDS,
        )
        attempts.append(Attempt(engine, judge, note))
    return attempts + of_text


def texts_for(
    found: Findings, conclusion: Conclusion, oracle: Oracle, patience: Patience | None = None
) -> list[Attempt]:
    """The reducer of the program's text. Where Dynamo makes a check of the program's fail, first one call, which is compared.

    A program that only prints other numbers does not fail by itself: what its text prints is compared.
    """
    assert conclusion.outcome is not None
    prints = is_printed(conclusion.outcome)
    engine = source_engine(found, conclusion, patience)
    attempts = [Attempt(engine, oracle, of_text=True)]
    if isinstance(oracle, PrintedOracle):
        attempts = [Attempt(engine.printing(oracle), oracle, PRINTED_TEXT_NOTE, of_text=True)]
    if conclusion.stage is Stage.DYNAMO and (prints or is_script_check(conclusion.outcome)) and patience is None:
        comparison = FirstComparison()
        note = PRINTED_NOTE if prints else CHECK_NOTE
        attempts.insert(0, Attempt(engine.comparing(comparison), comparison, note, of_text=True))
    return attempts


def native_engine(conclusion: Conclusion, form: Form | None, patience: Patience | None = None) -> NativeEngine:
    """The reducer of graphs, with the repetitions and the patience that this failure asks for."""
    return NativeEngine(form=form, repeats=repeats_for(conclusion), patience=patience)


def comparing(
    problem: Problem,
    attempts: list[Attempt],
    runner: ForkServerRunner,
    budget: Budget,
    passing: Passing,
    steady: bool,
    if_none: str,
) -> tuple[Problem, list[Attempt]]:
    """For a check of the script's own: the graph and the comparison that show the same, if one is found, come first.

    Where each graph gives what eager gives, on the script's own values, and the failure is a steady one, no graph is reduced:
    what one operation of it does on made-up values is another failure. `if_none` is what is said then.
    """
    first = next((attempt for attempt in attempts if isinstance(attempt.engine, NativeEngine)), None)
    if first is None:
        return problem, attempts
    oracle = first.oracle
    _, found = prepared(problem, lambda problem: comparison_of(problem, runner, oracle, budget, passing))
    if found is not None:
        return _showing(problem, attempts, found)
    of_text = [replace(attempt, note=if_none) for attempt in attempts if attempt.of_text]
    return problem, of_text if of_text and steady and passing.all_of_them else attempts


def _as_asked(problem: Problem, attempts: list[Attempt], asked: Asked) -> tuple[Problem, list[Attempt]]:
    """With the graphs that answered for the rungs, as they were asked, and the answer."""
    known = {digest(asked.problem.rung, asked.source): Verdict.SAME_FAILURE}
    problem = replace(problem, recalled={**problem.recalled, **known})
    if asked.shows is None:
        return replace(problem, cases=asked.problem.cases), attempts
    return _showing(problem, attempts, asked.shows)


def _showing(problem: Problem, attempts: list[Attempt], shows: Shows) -> tuple[Problem, list[Attempt]]:
    """The graph and the comparison that show it come first."""
    chosen: list[Attempt] = []
    for attempt in attempts:
        if isinstance(attempt.engine, NativeEngine):
            chosen.insert(0, replace(attempt, engine=attempt.engine.comparing(shows.form)))
        else:
            chosen.append(attempt)
    return replace(problem, cases=(shows.case,)), chosen


def source_engine(found: Findings, conclusion: Conclusion, patience: Patience | None) -> SourceEngine:
    """The reducer of the program's text, with what the failing run told."""
    assert conclusion.outcome is not None and conclusion.failing is not None
    of_rung = found.walk.seen.get(conclusion.failing.name, [])  # empty where only the graph was asked there
    failing = next((probe for probe in of_rung if probe.outcome.failed), found.walk.start)
    return SourceEngine(
        found.target,
        Seen(
            outcome=failing.outcome,
            calls=failing.notes.point.calls,
            compiled=failing.notes.compile_calls,
            own_check=is_script_check(conclusion.outcome) or is_printed(conclusion.outcome),
            recompiles=failing.notes.recompiles,
        ),
        timeout=seconds_for(found) if patience is None else HANG_SECONDS + start_seconds(found),
        patience=patience,
        seconds=SECONDS if patience is None else HANG_REDUCTION_SECONDS,
        neutral=found.session.neutral,
        header=header_of(found, conclusion),
        cancel=found.session.cancel,
        include_data=found.session.settings.include_data,
    )


def header_of(found: Findings, conclusion: Conclusion) -> str:
    """The comment at the top of a reproducer: what fails, where, and the version it was seen on."""
    signature = conclusion.signature
    assert signature is not None
    first = found.walk.start
    where = _place(conclusion)
    if conclusion.door is not None:
        return f"{one_line(signature)}\nFails in {conclusion.door.name}{where}. Seen on torch {_torch_version(first)}."
    passing = conclusion.passing.name if conclusion.passing else "eager"
    passes = "passes uncompiled" if conclusion.passing is UNCOMPILED else f"passes with {passing}"
    graph_is_wrong = signature.wrong is not None and conclusion.stage is not Stage.DYNAMO
    what = f"Wrong result: {signature.wrong.words()}." if graph_is_wrong and signature.wrong else one_line(signature)
    return f"{what}\nStage {conclusion.stage.value}{where}; {passes}. Seen on torch {_torch_version(first)}."


def _place(conclusion: Conclusion) -> str:
    """` in torch/_inductor/ir.py:realize`; empty where it was raised by a check, or a backend, of the program's own."""
    signature, outcome = conclusion.signature, conclusion.outcome
    if signature is None or outcome is None or is_script_check(outcome) or conclusion.stage is Stage.BACKEND:
        return ""
    place = place_of(signature, outcome.exception)
    return f" in {place}" if place else ""


def _torch_version(probe: Probe) -> str:
    return probe.notes.torch_version or "unknown"


def _single_file(found: Findings) -> str | None:
    script: Path | None = found.target.script
    if script is None or script.suffix != ".py" or len(found.target.command) > 2:
        return None  # it has arguments, or is started by something else: alone it is not the same program
    try:
        return script.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
