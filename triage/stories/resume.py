"""Going on with a run that ended early: what its journal tells is not asked again.

A run is a function of the answers it got: the outcome of each probe, the verdict on each candidate. The journal has both,
so the run is told again from its beginning, with those answers from memory, until it comes to a question that was not
asked yet. Nothing is trusted that the journal does not hold whole: its torn last line is left out. A run that has come to
its end is not told again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triage.environments.files import JOURNAL, read_journal
from triage.errors import UsageError
from triage.locate.lateness import SHARE_OF_LIMIT
from triage.model.codec import decode
from triage.model.report import TriageReport
from triage.model.stage import OutcomeKind, Verdict
from triage.probe.launch import Cancel
from triage.probe.run import Probe, ProbeRequest, run_probe
from triage.probe.target import words_of
from triage.report.store import report_in

ENOUGH = 0.8  # of a limit: a process may be ended a little before it


@dataclass(frozen=True)
class KeptReport:
    """A report with a verified reproducer, and the files that were written with it."""

    report: TriageReport
    files: Mapping[Path, bytes]

    def restore(self) -> None:
        """Write the files again as they were."""
        for path, text in self.files.items():
            path.write_bytes(text)


@dataclass(frozen=True)
class EarlierRun:
    """What an earlier run was asked to do, and the answers it got.

    `verdicts` by the digest of a candidate's question, `verified` (as `choose` wrote it) by that of a reproducer's.
    """

    directory: Path
    command: tuple[str, ...]
    cwd: Path
    python: str
    settings: Mapping[str, Any]
    probes: Mapping[str, Probe]
    verdicts: Mapping[str, Verdict]
    verified: Mapping[str, Any]
    kept: KeptReport | None = None
    ended: int | None = None  # the exit status of its end; None where there is something to go on with

    @property
    def words(self) -> tuple[str | None, bool, list[str]]:
        """What was to be run, as the command line had it."""
        return words_of(self.command)

    def run_probe(
        self,
        request: ProbeRequest,
        cancel: Cancel | None = None,
        otherwise: Callable[..., Probe] | None = None,
        *,
        whole: bool = True,
    ) -> Probe:
        """The probe as it was, if it was run; else run it (`otherwise`).

        One that was ended at a shorter limit is given the time it has now. Where all about the failure is to be told (`whole`),
        one that failed where few logs are kept is run again.
        """
        known = self.probes.get(request.name)
        if known is not None and whole and known.lent and known.outcome.failed:
            known = None
        asked = known is not None and known.rung == request.rung and not _of_more_tests(known, request)
        if known is not None and asked and not _cut_short(known, request.timeout):
            return known
        return (otherwise or run_probe)(request, cancel)


def _of_more_tests(known: Probe, request: ProbeRequest) -> bool:
    """Whether it ran the whole session, and its failing test alone is asked for now: each has a run of this name."""
    return bool(request.target.only_test) and known.notes.tests > 1


def _cut_short(known: Probe, timeout: float) -> bool:
    """Whether a probe hung for clearly less than the limit of today (`--timeout` may be given anew)."""
    enough = SHARE_OF_LIMIT * timeout if known.outcome.late else timeout
    if known.outcome.still:
        return False  # no time helps
    return known.outcome.kind is OutcomeKind.HANG and known.outcome.seconds < ENOUGH * enough


def earlier_run(directory: Path) -> EarlierRun:
    """Read a run directory. Raises UsageError where it is none, or was made by a version that kept too little."""
    events = list(read_journal(directory))
    begun = next((event for event in events if event.get("kind") == "run_started"), None)
    if begun is None or "settings" not in begun:
        raise UsageError(
            what=f"{directory} is not a run that can be gone on with.",
            why=f"Its {JOURNAL} does not say what was run." if events else f"There is no {JOURNAL} in it.",
            next="Name the directory of an earlier run: triage run --resume triage-out/latest",
        )
    probes = _decoded(events, "probe_facts", lambda event: decode(Probe, event["probe"]))
    report = report_in(directory)
    ended = events[-1].get("exit_code") if report is not None and report.complete and _has_ended(events) else None
    return EarlierRun(
        directory=directory.resolve(),
        command=tuple(begun["command"]),
        cwd=Path(begun["cwd"]),
        python=begun["python"],
        settings=begun["settings"],
        probes={probe.name: probe for probe in probes},
        verdicts=dict(_decoded(events, "query", lambda event: (event["digest"], Verdict(event["verdict"])))),
        verified=dict(_decoded(events, "verify_facts", lambda event: (event["digest"], event["count"]))),
        kept=KeptReport(report, _files(directory)) if report is not None and has_verified(report) else None,
        ended=ended,
    )


def has_verified(report: TriageReport) -> bool:
    """Whether it shows a verified reproducer."""
    return report.reproducer is not None and report.reproducer.verified


def _has_ended(events: list[dict[str, Any]]) -> bool:
    return events[-1].get("kind") == "run_ended" and isinstance(events[-1].get("exit_code"), int)


def _files(directory: Path) -> dict[Path, bytes]:
    """What lies in the run directory itself: the report in its formats, the reproducer, and what is attached."""
    return {
        path: path.read_bytes() for path in directory.resolve().iterdir() if path.is_file() and path.name != JOURNAL
    }


def _decoded(events: list[dict[str, Any]], kind: str, read: Callable[[dict[str, Any]], Any]) -> list[Any]:
    found = []
    for event in events:
        if event.get("kind") == kind:
            try:
                found.append(read(event))
            except (KeyError, TypeError, ValueError):  # written by another version
                continue
    return found
