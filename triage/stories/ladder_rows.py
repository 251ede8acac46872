"""The ladder as the report shows it: a row per rung, and another where one did several things."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from triage.judge.naming import in_short
from triage.locate.conclude import Conclusion, discount, expected_exceptions, face
from triage.locate.walk import Walk
from triage.model.report import LadderRow
from triage.model.rungs import AS_IS, Rung
from triage.model.stage import OutcomeKind, Symptom
from triage.probe.run import Probe
from triage.stories.spoiled import met_on


def ladder_rows(walk: Walk, conclusion: Conclusion) -> tuple[LadderRow, ...]:
    """What each rung did, from the bottom to the top, and why one was not run."""
    expected = expected_exceptions(walk.seen)
    idle = _idle(walk, conclusion)
    rows: list[LadderRow] = []
    for rung in walk.rungs:
        probes = walk.evidence.get(rung.name) or _passed_beside(rung, walk, conclusion)
        if not probes:
            why = idle or _cut_short(rung, walk) or why_not_run(rung, walk.rungs, walk.evidence)
            rows.append(met_on(walk, rung.name) or LadderRow(rung.name, "script", "not_run", 0.0, note=why))
        for number, probe in enumerate(probes):
            judged = discount(probe, expected)
            if number and judged.outcome.words() == rows[-1].outcome and rows[-1].rung in (rung.name, AS_IS):
                continue  # a repeat that says the same
            row = _row(rung, judged, conclusion, len(probes))
            if idle is not None and rung is walk.own_rung:  # that backend was asked for nothing: it does not pass
                row = replace(row, rung=AS_IS, note="; ".join(filter(None, (idle, row.note))))
            rows.append(row)
    return tuple(rows)


def _idle(walk: Walk, conclusion: Conclusion) -> str | None:
    """Why no rung of a script that passes says anything; None where something was compiled."""
    runs = walk.as_it_is if conclusion.failing is None else []
    if not runs or any(probe.outcome.kind is not OutcomeKind.OK for probe in runs):
        return None
    if not any(probe.notes.compile_calls for probe in runs):
        return "torch.compile is never called"
    return "nothing was compiled" if conclusion.compiled_nothing else None


def _passed_beside(rung: Rung, walk: Walk, conclusion: Conclusion) -> list[Probe]:
    """Of a script that passes, what passed on another rung while it ran, though nobody had to ask."""
    probe = walk.passed_beside.get(rung.name)
    told = probe is not None and conclusion.failing is None and not walk.compiled_nothing(rung, probe)
    return [probe] if probe is not None and told else []


def _cut_short(rung: Rung, walk: Walk) -> str | None:
    """Of the rung that the script as it is stands on, where that was ended early."""
    if rung is not walk.own_rung or walk.first_cut is None:
        return None
    return f"had not ended after {walk.first_cut:.0f} s"


def why_not_run(rung: Rung, rungs: Sequence[Rung], evidence: Mapping[str, list[Probe]]) -> str | None:
    """What passes answers for a rung with less of the compiler, what fails for one with more; None where neither was seen."""
    place = rungs.index(rung)
    for other in rungs[place + 1 :]:
        if any(probe.outcome.kind is OutcomeKind.OK for probe in evidence.get(other.name, [])):
            return f"{other.name}, which does more, passes"
    for other in rungs[:place]:
        if any(probe.outcome.failed for probe in evidence.get(other.name, [])):
            return f"{other.name}, which does less, fails"
    return None


def _row(rung: Rung, probe: Probe, conclusion: Conclusion, runs: int) -> LadderRow:
    notes = []
    if probe.notes.stopped_early:
        notes.append("stopped once past the point of the failure")
    if probe.later is not None:
        notes.append(f"past the point of the failure, it fails by {in_short(probe.later)}")
    if probe.outcome.exception is not None and probe.outcome.exception.swallowed:
        notes.append("the program went on after it")
    if runs > 1:
        notes.append(f"{runs} runs")
    alike = face(probe, conclusion.signature)
    if conclusion.symptom is Symptom.WRONG_RESULT and alike == "same" and probe.outcome.kind is OutcomeKind.EXCEPTION:
        notes.append("what it raises comes of a wrong result")
    if alike == "other" and probe.signature is not None:
        notes.append(in_short(probe.signature))
    return LadderRow(
        rung=rung.name,
        on=probe.on,
        outcome=probe.outcome.words(),
        seconds=round(probe.outcome.seconds, 2),
        face=alike,
        note="; ".join(notes) or None,
        log=f"logs/{probe.log.name}" if probe.on == "script" else None,
    )
