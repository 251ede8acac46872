"""From a located failure to a small, verified reproducer and its ablation: the engines, runner and oracle put together."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from triage.culprit.matching import lies_in_environment
from triage.culprit.operation import operators_in
from triage.judge.comparison import ComparisonOracle, PrintedOracle
from triage.judge.judgement import Oracle
from triage.judge.likeness import same_failure
from triage.judge.oracle import SignatureOracle
from triage.judge.printed import judged_beside
from triage.locate.conclude import Conclusion, is_comparison, is_printed, is_script_check, rung_that_shows
from triage.model.accuracy import Comparison
from triage.model.rungs import AS_IS, BACKENDS, DEFAULT_BACKEND, UNCOMPILED, in_place_of
from triage.model.stage import Direction, Stage, Symptom
from triage.reduce.choose import BrokenReductionError, InterruptedReductionError, choose
from triage.reduce.compare import forms_of
from triage.reduce.interface import Engine, Problem
from triage.reduce.prepared import below_own_backend, failing_source, prepared
from triage.reduce.sound import Sound
from triage.reduce.text.checks.runners import PrintedRunner
from triage.reduce.text.polish import Polished
from triage.reduce.verifying import Shown
from triage.session.clock import BudgetSpentError
from triage.stories.attempts import as_asked, attempts_for, comparing, header_of
from triage.stories.blame import blame
from triage.stories.captured import passes_alone
from triage.stories.early import EarlyNews
from triage.stories.findings import Findings, candidate_runner
from triage.stories.limits import patience_for, repeats_for, seconds_for, seconds_to_verify, start_seconds
from triage.stories.several_wrong import cut_to_one, shown_alone, told_apart
from triage.trial.driver import Repeats
from triage.trial.fresh import verify, verify_with_control
from triage.trial.share import Reserving

SCRIPT_ALONE = "The script itself is what reproduces the failure."
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
    news = EarlyNews(found)

    def ready(engine: Engine) -> Engine:
        return Sound(Polished(engine), found.met_bug, late_search)

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
            extensions=session.kernels,
            end=end,
            warm=None if prints else runner,  # its random numbers may be others than those of a fresh process
        )
        results = judged_beside(results, control) if prints else results
        own = None
        if problem.own_rung is not None and all(each.outcome.failed for each in results):
            own = (PrintedRunner(runner) if prints else runner).run(source, rung=problem.own_rung, timeout=limit)
        allowed = runs * repeats_for(conclusion).runs
        while len(results) < allowed and sum(each.outcome.failed for each in results) < runs and not late():
            again = partial(verify, source, found.target.python, runs=2, timeout=limit, end=end)
            results += again(neutral=session.neutral, extensions=session.kernels)
        return Shown(results, control, own)

    try:
        with session.timed("reduce"):
            attempts = attempts_for(found, conclusion, oracle, patience)
            if conclusion.stage is Stage.BACKEND and problem.cases:
                problem = _with_backend(problem, compares(conclusion))
            if found.asked is not None and found.walk.on_graph:
                problem, attempts = as_asked(problem, attempts, found.asked)
            elif conclusion.outcome is not None and (
                compared or conclusion.wrong or is_script_check(conclusion.outcome)
            ):
                steady = repeats_for(conclusion) == Repeats()
                if_none = passes_alone(conclusion.wrong, found.also_wrong)
                problem, attempts = comparing(problem, attempts, runner, searching, found.passing, steady, if_none)
            elif any(case.setup for case in problem.cases):
                limit = seconds_for(found) if patience is None else patience.seconds()
                problem, _ = prepared(problem, failing_source(runner, oracle, searching, limit))
            found.reproduced, notes = choose(
                problem,
                [replace(attempt, engine=ready(attempt.engine)) for attempt in attempts],
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
    except BrokenReductionError as broken:
        found.reproduced = broken.best
        raise broken.__cause__ or broken from None
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
        include_data=found.session.settings.include_data,
        workdir=folder,
        recalled=found.session.recalled,
        verified=found.session.verified,
        evidence=operators_in(outcome.exception if outcome else None),
        torch_version=found.walk.start.notes.torch_version or "unknown",
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


def _single_file(found: Findings) -> str | None:
    script: Path | None = found.target.script
    if script is None or script.suffix != ".py" or len(found.target.command) > 2:
        return None  # it has arguments, or is started by something else: alone it is not the same program
    try:
        return script.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
