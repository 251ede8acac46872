"""From how a candidate's process ended, and what its agent wrote, to a `CandidateResult`."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from triage.judge.judgement import CandidateResult
from triage.judge.signature import signature_of
from triage.model.graphcase import GraphCase
from triage.model.outcome import Outcome
from triage.model.rungs import UNCOMPILED
from triage.model.stage import OutcomeKind
from triage.probe import interpret
from triage.probe.events import read_events, read_stacks
from triage.probe.forkclient import ForkExit, ForkRequest
from triage.probe.graphs import read_graphs
from triage.probe.launch import text_of
from triage.probe.notes import agent_notes
from triage.probe.run import Probe
from triage.probe.written import results_written

_WARNING = re.compile(r"^\S*repro\.py:\d+: (\w*Warning): ", re.MULTILINE)


@dataclass(frozen=True)
class ForkFacts:
    """A result, whether some graph of the candidate was cut off on the way to it, and the files that were asked for."""

    result: CandidateResult
    cut: bool
    files: Mapping[str, str] = field(default_factory=dict)


def facts_of_fork(request: ForkRequest, ended: ForkExit) -> ForkFacts:
    """Read the directory of a finished candidate."""
    channel = request.root / "channel"
    events = read_events(channel)
    notes = agent_notes(events)
    printed, logged = text_of(request.root / "stdout.txt"), text_of(request.root / "stderr.txt")
    outcome = interpret.outcome_of(
        ended.exit,
        notes,
        printed,
        logged,
        read_stacks(channel),
        uncompiled=request.rung == UNCOMPILED.name,
    )
    if ended.oom:
        detail = f"more than {request.memory_mb} MiB, last seen: {notes.last_breadcrumb or 'before any compilation'}"
        outcome = Outcome(OutcomeKind.OOM, outcome.seconds, outcome.exit_code, outcome.signal, detail=detail)
    cut = any(event.get("e") == "cut_off" for event in events)
    if cut and outcome.kind is OutcomeKind.OK:
        outcome = replace(outcome, detail=f"cut off after {request.cut_off}")
    result = CandidateResult(
        outcome,
        notes,
        signature_of(outcome),
        bool(notes.compile_calls),
        outcome.own_seconds,
        left=left_in(request.root / "cwd"),
        warned=warned(logged),
        printed=printed,
        logged=logged,
        written=results_written(request.root / "cwd", 0.0) if outcome.kind is OutcomeKind.OK else "",
    )
    return ForkFacts(result, cut)


def warned(stderr: str) -> tuple[str, ...]:
    """The kinds of warnings on standard error that a line of the candidate gave: RuntimeWarning, UserWarning, ..."""
    return tuple(dict.fromkeys(_WARNING.findall(stderr)))


def with_streams(result: CandidateResult, directory: Path) -> CandidateResult:
    """The result of a candidate that had a process of its own, with what it printed, logged and warned of, by its logs there."""
    printed, logged, written = (
        text_of(directory / "logs" / f"candidate.{stream}.log") for stream in ("out", "err", "written")
    )
    return replace(result, warned=warned(logged), printed=printed, logged=logged, written=written)


def left_in(place: Path) -> tuple[str, ...]:
    """What a candidate left in its working directory beside itself; a system's dump of a crash is not its own doing."""
    found: list[str] = []
    with contextlib.suppress(OSError):
        found = sorted(item.name for item in place.iterdir() if item.name not in ("repro.py", "__pycache__"))
    return tuple(name for name in found if name != "core" and not name.startswith("core."))


def result_of_probe(probe: Probe) -> CandidateResult:
    """A candidate that had a process of its own."""
    compiled = bool(probe.notes.compile_calls)
    return CandidateResult(
        probe.outcome, probe.notes, probe.signature, compiled, probe.outcome.own_seconds, _graph_of(probe)
    )


def _graph_of(probe: Probe) -> GraphCase | None:
    """The graph that failed, in the user's own calls where it was seen so: it is the first of the captured ones."""
    return min(read_graphs(probe.graphs).cases, key=lambda case: case.level != "dynamo", default=None)


def not_run(reason: str) -> CandidateResult:
    """No facts: the candidate could not be run, or was not wanted any more."""
    outcome = Outcome(OutcomeKind.INVALID, detail=reason)
    return CandidateResult(outcome, agent_notes([]), None, compiled=False)
