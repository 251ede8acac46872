"""The ladder on the graph: a captured graph that fails the same way by itself answers for every backend in moments.

The script is then only run where it must be, uncompiled and on the rung below the boundary, beside the reduction. It is not
asked of failures whose graph says nothing by itself: Dynamo's own tracing, hangs, verdicts of the script's own on results,
backends that the script brings, programs of several ranks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from triage.judge.judgement import CandidateResult
from triage.judge.oracle import SignatureOracle
from triage.locate.conclude import is_script_check
from triage.locate.ladder import suspect
from triage.model.rungs import AS_IS, Rung
from triage.model.stage import OutcomeKind, Stage, Verdict
from triage.probe.run import Probe
from triage.stories.captured import captured
from triage.stories.findings import Findings
from triage.trial.pool import Query

RAISED_IN = ("compile", "call", "backward")


def worth_asking(found: Findings) -> bool:
    """Whether the first run failed in compiled code, and left a graph that may fail so by itself."""
    walk, first = found.walk, found.walk.start
    outcome, exception = first.outcome, first.outcome.exception
    if found.runner is None or first.signature is None or not first.graphs or first.notes.distributed:
        return False
    if outcome.kind not in (OutcomeKind.EXCEPTION, OutcomeKind.CRASH) or is_script_check(outcome):
        return False
    if exception is not None and (exception.swallowed or exception.phase not in RAISED_IN):
        return False
    top = walk.rungs[walk.top]
    return top.name != AS_IS and suspect(first.signature, outcome) is not Stage.DYNAMO


def answers(found: Findings) -> Mapping[str, Probe]:
    """What the graph does on each rung; nothing where no captured graph fails the same way as the script."""
    from triage.reduce.prepared import failing_source, prepared
    from triage.stories.reproduce import problem_of, seconds_for

    walk, runner = found.walk, found.runner
    conclusion = walk.conclusion()  # of the first run alone
    assert runner is not None and conclusion.signature is not None
    found.cases, _ = captured(walk, conclusion)
    if not found.cases:
        return {}
    found.session.emit("engine_step", text="asking the captured graph by itself")
    limit, oracle = seconds_for(found), SignatureOracle(conclusion.signature)
    problem = replace(problem_of(found, conclusion), cases=found.cases)
    _, source = prepared(problem, failing_source(runner, oracle, found.session.clock, limit))
    if source is None:
        return {}
    rungs = walk.rungs[: walk.top + 1]
    told = dict(runner.run_queries([Query(source, rung.name, limit) for rung in rungs]))
    if any(result.outcome.kind is OutcomeKind.INVALID for result in told.values()):
        return {}
    if oracle.judge(told[walk.top]).verdict is not Verdict.SAME_FAILURE:  # not steadily
        return {}
    return {rung.name: _as_probe(rung, told[number]) for number, rung in enumerate(rungs)}


def _as_probe(rung: Rung, result: CandidateResult) -> Probe:
    return Probe(
        f"graph-{rung.name}", rung.force, result.outcome, result.signature, result.notes, Path("none"), on="graph"
    )
