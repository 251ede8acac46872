"""The ladder on the graph: a captured graph that fails the same way by itself answers for every backend in moments.

The script is then only run where it must be, uncompiled and on the rung below the boundary, beside the reduction. Where a
check of the script's own fails, its graphs are compared first: the one that is wrong answers. It is not asked of failures
whose graph says nothing by itself: Dynamo's own tracing, hangs, backends that the script brings, programs of several ranks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from triage.judge.comparison import ComparisonOracle
from triage.judge.judgement import CandidateResult, Oracle
from triage.judge.oracle import SignatureOracle
from triage.judge.signature import FailureSignature
from triage.locate import comparing
from triage.locate.conclude import Conclusion
from triage.locate.ladder import suspect
from triage.locate.outcomes import is_comparison, is_script_check
from triage.model.outcome import Outcome
from triage.model.rungs import AS_IS, UNCOMPILED, Rung
from triage.model.stage import OutcomeKind, Stage, Verdict
from triage.probe.run import Probe
from triage.reduce.failing_comparison import comparison_of
from triage.reduce.torch_setup import ask_then_with_setup, failing_source
from triage.stories import rounding_doubts
from triage.stories.captured import captured
from triage.stories.findings import Findings, GraphAnswer
from triage.stories.limits import seconds_for
from triage.stories.problem import compares, comparison_for, problem_of
from triage.trial.pool import Query
from triage.trial.share import Limit

ASKING_SECONDS = 30.0  # within which whole graphs are asked, however quick the script


def worth_asking(found: Findings) -> bool:
    """Whether the first run failed in compiled code, or by what it gave, and left a graph that may fail so by itself.

    What one rank gives comes of the others, too; what it raises comes of its own graph, as in a program of one process.
    """
    walk, first = found.walk, found.walk.start
    outcome = first.outcome
    if found.runner is None or first.signature is None or not first.graphs or walk.own_rung.name == AS_IS:
        return False
    compares = is_comparison(outcome) or comparing.worth_checking_first(walk)
    return (compares and not first.notes.distributed) or _raised_in_graph(outcome, first.signature)


def _raised_in_graph(outcome: Outcome, signature: FailureSignature) -> bool:
    if outcome.kind not in (OutcomeKind.EXCEPTION, OutcomeKind.CRASH) or is_script_check(outcome):
        return False
    exception = outcome.exception
    if exception is not None and not exception.in_compiled_code:
        return False
    return suspect(signature, outcome) is not Stage.DYNAMO


def asked(found: Findings) -> bool:
    """Ask the captured graphs, beside the runs of the script that confirm the answer. Whether they settle the stage."""
    walk = found.walk
    caught = walk.start.outcome.exception is not None and walk.start.outcome.exception.swallowed
    if caught or walk.failed_beside():  # what the program handles may be what it meets uncompiled, too
        walk.visit([UNCOMPILED])
        if walk.conclusion().fails_uncompiled or (caught and walk.spoiled is not None):
            return False  # of a script that cannot be run twice only its graph can tell
    walk.confirm_beside()
    wrong = not is_script_check(walk.start.outcome)
    if not wrong:
        wrong = comparing.check_first(walk)
        rounding_doubts.trace_back(found)
    if (wrong or comparing.compiled_nothing_again(walk)) and walk.heard_of_graph(_answers(found)):
        return True
    forget(found)
    walk.confirmed()
    return False


def forget(found: Findings) -> None:
    """The script's own ladder is to be walked: of what its graphs told nothing counts, nor does a candidate compare them."""
    found.forget()
    found.walk.checked = None
    if found.runner is not None:
        found.runner.compare(None)


class _Shown(NamedTuple):
    """A whole graph that fails the same way: its script, what it did on the rung at this place, and who judged that."""

    source: str
    result: CandidateResult
    place: int
    oracle: Oracle


def _answers(found: Findings) -> Mapping[str, Probe]:
    """What the graph does on each rung; nothing where no captured graph fails the same way as the script."""
    walk, runner = found.walk, found.runner
    conclusion = walk.conclusion()  # of the first run, and what has ended beside it
    assert runner is not None
    if conclusion.fails_uncompiled or conclusion.outcome is None:
        return {}
    found.cases = (*filter(None, [found.alone]), *captured(walk, conclusion)[0])
    if not found.cases:
        return {}
    found.session.emit("engine_step", text="asking the captured graph by itself")
    shown = _by_comparison(found, conclusion) if compares(conclusion) else _by_exception(found, conclusion)
    if shown is None:
        return {}
    limit, below = seconds_for(found), walk.rungs[: shown.place]
    told = dict(runner.run_queries([Query(shown.source, rung.name, limit) for rung in below]))
    told[shown.place] = shown.result
    answers = {}
    for place, result in told.items():
        answer = _answer(walk.rungs[place], result, shown.oracle, conclusion)
        if answer is None:
            return {}
        answers[walk.rungs[place].name] = answer
    return answers


def _answer(rung: Rung, result: CandidateResult, oracle: Oracle, conclusion: Conclusion) -> Probe | None:
    """What a whole graph tells of a rung as it is judged there, not by its exit status; None where it tells nothing.

    Its own check is finer than the judge, and may be failed by rounding, or by other random numbers, on a rung below.
    """
    probe, judged = _graph_probe(rung, result), oracle.judge(result)
    if judged.verdict is Verdict.NO_FAILURE:
        return replace(probe, outcome=Outcome(OutcomeKind.OK, result.outcome.seconds, 0), signature=None)
    if judged.verdict is Verdict.SAME_FAILURE:  # a candidate's own check raises, a wrong result does not
        assert conclusion.outcome is not None
        outcome = replace(probe.outcome, kind=conclusion.outcome.kind)
        return replace(probe, outcome=outcome, signature=conclusion.signature)
    return probe if judged.sibling is not None else None


def _time_to_ask(found: Findings) -> Limit:
    """As long as the script itself took: after that its own ladder is the quicker way."""
    return Limit(found.session.clock, max(ASKING_SECONDS, found.walk.start.outcome.seconds))


def _by_exception(found: Findings, conclusion: Conclusion) -> _Shown | None:
    """On the rung that the failure suggests, which is cheaper than those above it; else on that of the script as it is."""
    walk, runner = found.walk, found.runner
    assert runner is not None and conclusion.signature is not None and conclusion.failing is not None
    oracle, budget = SignatureOracle(conclusion.signature), _time_to_ask(found)
    for place in dict.fromkeys((min(walk.suspected(), walk.rungs.index(conclusion.failing)), walk.top)):
        problem = replace(problem_of(found, conclusion), rung=walk.rungs[place].name)
        ask = failing_source(runner, oracle, budget, seconds_for(found))
        problem, failing = ask_then_with_setup(problem, ask)
        if failing is not None:
            found.graph_answer = GraphAnswer(problem, failing.source)
            return _Shown(failing.source, failing.result, place, oracle)
    return None


def _by_comparison(found: Findings, conclusion: Conclusion) -> _Shown | None:
    walk, runner = found.walk, found.runner
    assert runner is not None and conclusion.signature is not None
    runner.compare(comparison_for(conclusion))
    unseen = conclusion.outcome is not None and is_script_check(conclusion.outcome) and conclusion.wrong is None
    oracle, budget = ComparisonOracle(conclusion.signature, lenient=unseen), _time_to_ask(found)
    problem = problem_of(found, conclusion)
    place = [rung.name for rung in walk.rungs].index(problem.rung)
    problem, shows = ask_then_with_setup(
        problem, lambda problem: comparison_of(problem, runner, oracle, budget, found.passing_graphs)
    )
    if shows is None:
        return None
    wrong = shows.result.notes.checked_by(conclusion.outcome).wrong
    if unseen and wrong is not None:  # the script did not show it again, so what its graph shows counts
        probe = _graph_probe(walk.rungs[place], shows.result)
        walk.checked = replace(probe, notes=probe.notes.checked_by(conclusion.outcome))
        problem = replace(problem, signature=replace(problem.signature, wrong=wrong.wrongness))
        oracle = ComparisonOracle(problem.signature)
    found.graph_answer = GraphAnswer(problem, shows.source, shows)
    return _Shown(shows.source, shows.result, place, oracle)


def _graph_probe(rung: Rung, result: CandidateResult) -> Probe:
    name = f"graph-{rung.name}"
    return Probe(name, rung.force, result.outcome, result.signature, result.notes, Path("none"), on="graph")
