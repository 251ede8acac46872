"""One version on trial: run the script in its environment as often as needed, and say good, bad or skip.

How often depends on the failure: one that came back every time at the bad end is believed after one run; one that comes and
goes is looked for until a pass would be a coincidence of less than 5 %. Every run starts with an empty compiler cache, which
is not switched off: some failures exist only with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from triage.bisect.points import Ready
from triage.bisect.verdict import Face, Judged, judge
from triage.model.bisection import Standing, TestedVersion
from triage.model.rungs import UNCOMPILED
from triage.model.stage import OutcomeKind
from triage.probe.run import Probe, ProbeRequest, run_probe
from triage.session.clock import BudgetSpentError
from triage.session.session import Session

MOST_RUNS = 10
COINCIDENCE = 0.05
FIRST_PASSES = 3  # runs of the bad end that must pass before it is believed to
# Older releases know only some of these, and ignore the others.
CACHES_OFF = {
    "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",
    "TORCH_COMPILE_FORCE_DISABLE_CACHES": "1",
    "TORCHINDUCTOR_FX_GRAPH_CACHE": "0",
    "TORCHINDUCTOR_AUTOGRAD_CACHE": "0",
}


@dataclass(frozen=True)
class Sought:
    """The failure that is looked for, and in which share of its runs the bad end shows it."""

    face: Face | None = None
    rate: float = 1.0

    def passes_needed(self) -> int:
        """Runs that must pass before a version is believed to be good."""
        if self.rate >= 1.0:
            return 1
        return min(MOST_RUNS, math.ceil(math.log(COINCIDENCE) / math.log(1.0 - max(self.rate, 0.05))))


@dataclass(frozen=True)
class Tried:
    """The runs of one version so far."""

    runs: tuple[Judged, ...] = ()
    standing: Standing = Standing.SKIP
    seconds: float = 0.0
    log: str | None = None

    def failures(self) -> int:
        return sum(judged.standing is Standing.BAD for judged in self.runs)


@dataclass
class Trial:
    """Runs and judges. `env` is set for every run, e.g. to switch caches off; `stdin` is a file that every run reads."""

    session: Session
    env: Mapping[str, str] = field(default_factory=dict)
    probe: Callable[..., Probe] = run_probe
    stdin: Path | None = None

    def run(self, ready: Ready, sought: Sought, runs: int, before: Tried | None = None) -> Tried:
        """`runs` more runs, fewer where one settles the matter."""
        tried = before or Tried()
        for _ in range(runs):
            judged, probe = self.once(ready, sought, f"{ready.point.name}-run{len(tried.runs) + 1}")
            tried = replace(
                tried,
                runs=(*tried.runs, judged),
                seconds=tried.seconds + probe.outcome.seconds,
                log=f"logs/{probe.log.name}" if judged.standing is not Standing.GOOD or not tried.log else tried.log,
            )
            tried = replace(tried, standing=standing_of(tried, sought))
            if judged.standing is Standing.SKIP or (judged.standing is Standing.BAD and sought.rate < 1.0):
                break
        return tried

    def once(
        self, ready: Ready, sought: Sought, name: str, extra: Mapping[str, str] | None = None
    ) -> tuple[Judged, Probe]:
        """One run, judged. Raises BudgetSpentError where the budget ended it."""
        probe = self._probe(ready, name, None, extra)
        judged = judge(probe.outcome, probe.notes, sought.face)
        first = sought.face is None and judged.standing is Standing.BAD  # nobody knows yet what it is
        if judged.face is not None and (judged.standing is Standing.SKIP or (first and _may_be_eager(judged.face))):
            judged = self._second_opinion(ready, name, judged)
        self.session.emit(
            "bisect_run",
            version=ready.point.name,
            name=name,
            verdict=judged.standing,
            error=judged.error,
            seconds=round(probe.outcome.seconds, 1),
        )
        return judged, probe

    def _second_opinion(self, ready: Ready, name: str, judged: Judged) -> Judged:
        """Another failure, or the first one: does the script run without torch.compile there at all?

        Where it then lacks an interface it is untestable; else only what is said of it depends on it.
        """
        plain = self._probe(ready, f"{name}-uncompiled", UNCOMPILED.name, None)
        if not plain.outcome.failed:
            return judged
        again = judge(plain.outcome, plain.notes, None)
        if again.standing is Standing.SKIP:
            return replace(again, face=judged.face)
        if judged.standing is Standing.BAD:
            return replace(judged, note="fails without torch.compile too")
        return replace(judged, error=f"fails without torch.compile too: {again.error}")

    def _probe(self, ready: Ready, name: str, rung: str | None, extra: Mapping[str, str] | None) -> Probe:
        request = ProbeRequest(
            name=name,
            target=replace(ready.target, stdin=self.stdin),
            rung=rung,
            timeout=self.session.probe_timeout(),
            directory=self.session.directory,
            extra_env={**ready.extra_env, **self.env, **(extra or {})},
            neutral=ready.toolchain,
            verbose_logs=False,
        )
        probe = self.probe(request, self.session.cancel)
        if probe.outcome.kind is OutcomeKind.HANG and request.timeout < self.session.settings.timeout:
            raise BudgetSpentError  # it was the budget that ended it, not the limit of a run
        return probe


def _may_be_eager(face: Face) -> bool:
    """Whether torch raised it: what a program checks by itself, and any crash, hang or wrong result, is of compiled code."""
    return face.signature.kind is OutcomeKind.EXCEPTION and not face.own_check


def standing_of(tried: Tried, sought: Sought) -> Standing:
    """What the runs say together. Of a failure that is always there, the majority; else one failure is proof."""
    told = [judged.standing for judged in tried.runs if judged.standing is not Standing.SKIP]
    if not told:
        return Standing.SKIP
    bad = told.count(Standing.BAD)
    if sought.rate < 1.0:
        return Standing.BAD if bad else Standing.GOOD
    return Standing.BAD if 2 * bad > len(told) else Standing.GOOD


def taken_up(row: TestedVersion) -> Tried:
    """The runs behind a row that an earlier bisection wrote down."""
    failed = Judged(Standing.BAD, row.error, row.note if row.failures == row.runs else None)
    runs = (*(failed,) * row.failures, *(Judged(Standing.GOOD),) * (row.runs - row.failures))
    return Tried(runs, row.verdict, log=row.log)


def summary_of(ready: Ready, tried: Tried) -> TestedVersion:
    """The row of the table."""
    failing = [judged for judged in tried.runs if judged.standing is Standing.BAD]
    skipped = [judged for judged in tried.runs if judged.standing is Standing.SKIP]
    if tried.standing is Standing.SKIP:
        error, note = skipped[-1].error if skipped else None, None
    else:
        error = failing[0].error if failing else None
        note = failing[0].note if failing else None
    count = len(tried.runs) - len(skipped)
    if 0 < len(failing) < count:
        note = "; ".join(filter(None, [f"fails in {len(failing)} of {count} runs", note]))
    return TestedVersion(
        version=ready.point.name,
        verdict=tried.standing,
        error=error,
        git_version=ready.git_version,
        seconds=round(tried.seconds, 1),
        runs=count,
        failures=len(failing),
        note=note,
        packages=ready.packages,
        log=tried.log,
    )
