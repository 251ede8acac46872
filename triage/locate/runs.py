"""One run of the script on a rung: what it is asked, how long it may take, and how listeners are told of it.

Which rungs are run, and what their runs say together, is not decided here (`visits.py`, `walk.py`).
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypedDict

from triage.environments.machine import runs_that_fit, usable_cores
from triage.judge.naming import first_words, in_short
from triage.locate.conclude import Conclusion, discount, expected_exceptions, face
from triage.locate.leftovers import compiled_nothing
from triage.model.accuracy import Comparison
from triage.model.outcome import BoundaryPoint
from triage.model.rungs import LADDER, UNCOMPILED, Rung
from triage.model.stage import OutcomeKind
from triage.model.text import clip
from triage.probe.launch import Cancel
from triage.probe.run import GO_FILE, Late, Probe, ProbeRequest, run_probe
from triage.probe.standby import Standby
from triage.probe.starvation import STILL_SECONDS, StandsStill, to_spare
from triage.probe.target import Target
from triage.session.clock import BudgetSpentError
from triage.session.session import Session

if TYPE_CHECKING:
    from typing_extensions import Unpack

# A rung hangs that takes so many times what those below it took, and at least so long.
HANG_FACTOR = 20.0
HANG_SECONDS = 120.0
DEVICE_SHARE = 0.9  # of a GPU's memory, for runs side by side


class Asked(TypedDict, total=False):
    """What one run is asked besides, or otherwise than the others: fields of its `ProbeRequest` (`probe/run.py`)."""

    accuracy: Comparison | None
    as_compiled: bool
    begins_at: Standby | None
    begun: Callable[[Path], None]
    held: str
    late: Late
    makes: Standby | None
    opcheck: tuple[str, ...]
    other_stream: str
    overlay: Mapping[Path, bytes]
    rounds_otherwise: bool
    seed: int | None
    stop_later: bool
    stop_seconds: float
    timed: bool
    uncompiled_graphs: tuple[str, ...]
    unwrapped: bool
    unwritten: Mapping[str, object]
    values_of_call: tuple[str, int] | None
    capture: bool
    record_values: bool


@dataclass
class Runs(ABC):
    """The script's runs, per rung: what was `seen` is readable at any moment, also after an interrupt."""

    session: Session
    target: Target
    rungs: tuple[Rung, ...] = LADDER
    top: int = len(LADDER) - 1
    seen: dict[str, list[Probe]] = field(default_factory=dict)
    stop_after: BoundaryPoint | None = None
    comparison: Comparison | None = None  # what the agents are asked to compare from here on
    printed: Callable[[Probe], Probe] | None = None  # where what is printed is wrong: fails runs that print it, too
    one_at_a_time: bool = False  # they write over each other's files, and these are what is compared
    probe: Callable[..., Probe] = run_probe
    env: Mapping[str, str] = field(default_factory=dict)  # variables of every run
    make_ready: Callable[[], None] = lambda: None  # for what is asked of a failure; may be called more than once
    _told_early: set[str] = field(default_factory=set)  # names of those that ended while the first one went on
    _ended_by_us: list[str] = field(default_factory=list)  # names of runs that did not come to an end of their own

    @abstractmethod
    def conclusion(self) -> Conclusion:
        """What is known now."""

    @property
    def own_rung(self) -> Rung:
        """The rung that the script as it is stands on."""
        return self.rungs[self.top]

    @property
    def as_it_is(self) -> list[Probe]:
        """The runs of the script as it is that count."""
        return self.seen.get(self.own_rung.name, [])

    @property
    def start(self) -> Probe:
        """The first run of the script as it is, or the one that compared, if that found the failure."""
        return self.as_it_is[0]

    def _patience(self) -> float:
        """The limit in seconds of one probe. A script that hangs has told nothing by its time, the rungs that pass have."""
        every = [probe.outcome for probes in list(self.seen.values()) for probe in list(probes)]  # others add to it
        passed = [outcome.seconds for outcome in every if outcome.kind is OutcomeKind.OK]
        if passed and self.start.outcome.kind is OutcomeKind.HANG:
            return max(HANG_SECONDS, HANG_FACTOR * max(passed))
        return float("inf")

    def _hung(self) -> bool:
        """Whether the script did not end. Then the other runs print no graphs: that may be what takes so long, where the sizes
        in them are long expressions, and so a backend would hang that does not without our logs.
        """
        return bool(self.as_it_is) and self.start.outcome.kind is OutcomeKind.HANG

    def values_matter(self) -> bool:
        """Whether the failure may depend on the values the script had: it did not come while compiling."""
        failed = next((probe for probe in self.as_it_is if probe.outcome.failed), None)
        exception = failed.outcome.exception if failed is not None else None
        return failed is not None and (exception is None or exception.phase != "compile")

    def jobs(self) -> int:
        """Probes side by side: as asked for, else one per three gigabytes and core, at most four.

        A program with ranks meets at an address, which two runs of it would have to share: one at a time. And as many as the
        memory of a GPU has room for, if it uses one.
        """
        every = [probe.notes for probes in list(self.seen.values()) for probe in list(probes)]
        share = max((notes.device_share for notes in every), default=0.0)
        if self.one_at_a_time or any(notes.distributed for notes in every) or share > DEVICE_SHARE / 2:
            return 1
        if self.session.settings.jobs:
            return self.session.settings.jobs
        fit = int(DEVICE_SHARE / share) if share else runs_that_fit()
        return max(1, min(usable_cores(), runs_that_fit(), fit, 4))

    def ask(
        self,
        rung: Rung,
        name: str,
        *,
        cancel: Cancel | None = None,
        limit: float = float("inf"),
        extra_env: Mapping[str, str] = MappingProxyType({}),
        **asked: Unpack[Asked],
    ) -> Probe:
        """Run the script once on a rung, for `limit` seconds at most. Raises BudgetSpentError where the budget ended it.

        `asked` is what is asked of this run besides, or otherwise than of others.
        """
        # The failing rung's graphs may be needed where the first run did not get that far.
        asked["capture"], asked["record_values"] = rung.force != UNCOMPILED.force, self.values_matter()
        asked.setdefault("values_of_call", self._died_in())
        asked.setdefault("accuracy", None if "opcheck" in asked else self.comparison)
        return self._ask(rung, name, limit, cancel, few_logs=self._hung(), extra_env=extra_env, **asked)

    def ask_changed(
        self,
        rung: Rung,
        name: str,
        overlay: Mapping[Path, bytes],
        limit: float,
        enough: float,
        comparison: Comparison | None = None,
        cancel: Cancel | None = None,
        held: Callable[[Path], None] | None = None,
    ) -> Probe:
        """Run the script on a rung with another text in the place of some of its files, for `limit` seconds at most.

        It is run to its end, or for `enough` seconds where it goes on past the point of the failure, and it is measured.
        With `held` it waits at its first compiled call until somebody has it `go_on`; that is told the channel for it.
        """
        asked: Asked = {"accuracy": comparison, "overlay": overlay, "timed": True}
        asked["stop_seconds"] = min(enough, self._limit(limit) / 2)
        if held is not None:
            asked["held"], asked["begun"] = GO_FILE, held
        return self._ask(rung, name, limit, cancel, few_logs=True, **asked)  # nobody asks how it passes

    def _died_in(self) -> tuple[str, int] | None:
        """The graph in which the script as it is died, and the call, where that was not its first."""
        died = [probe.notes.died_in for probe in self.as_it_is]
        return next((place for place in died if place is not None and place[1] > 1), None)

    def _limit(self, limit: float) -> float:
        return min(self._patience(), self.session.settings.timeout, limit)

    def _ask(
        self,
        rung: Rung,
        name: str,
        limit: float,
        cancel: Cancel | None,
        *,
        few_logs: bool,
        extra_env: Mapping[str, str] = MappingProxyType({}),
        **asked: Unpack[Asked],
    ) -> Probe:
        """`few_logs`: no graphs are printed."""
        patience = self._limit(limit)
        if self._hung() and self.start.outcome.still:
            asked.setdefault("late", StandsStill(STILL_SECONDS))
        timeout = min(self.session.probe_timeout(), patience)
        logs = {"TORCH_LOGS": os.environ.get("TORCH_LOGS") or "recompiles"} if few_logs else {}
        request = ProbeRequest(
            name=name,
            target=self.target,
            rung=rung.force,
            timeout=timeout,
            spare=to_spare(timeout, self.session.clock.left()),
            directory=self.session.directory,
            stop_after=self.stop_after,
            neutral=self.session.neutral,
            kernels=self.session.kernels,
            extra_env={**logs, **self.env, **extra_env},
            verbose_logs=not few_logs,
            **asked,
        )
        self.session.emit("probe_started", rung=rung.name, name=request.name, timeout=request.timeout)
        probe = self.probe(request, cancel or self.session.cancel)
        outcome = probe.outcome
        if outcome.kind is OutcomeKind.HANG and not outcome.late and request.timeout < patience > outcome.seconds:
            self.session.emit("probe_cancelled", rung=rung.name, name=request.name)
            raise BudgetSpentError  # it was the budget that ended it, not the limit of a probe (nor that of a resumed run's)
        if probe.cancelled or probe.notes.stopped_early or probe.outcome.kind is OutcomeKind.HANG:
            self._ended_by_us.append(request.name)
        if not probe.cancelled and not self.session.cancel.is_set():
            self.session.emit("probe_facts", probe=probe)
        return self._judged(probe)

    def _judged(self, probe: Probe) -> Probe:
        return self.printed(probe) if self.printed is not None else probe

    def announce(self, rung: Rung, probe: Probe, *, cut: bool = False) -> None:
        """Tell the listeners how a probe ended; `cut`: at a limit that says nothing of the script."""
        judged, idle = discount(probe, expected_exceptions(self.seen)), self.compiled_nothing(rung, probe)
        self.session.emit(
            "probe_ended",
            **ended_facts(rung, probe, judged),
            told_early=probe.name in self._told_early and judged.outcome.kind is probe.outcome.kind and not idle,
            idle=idle,
            face=face(judged, self.conclusion().signature),
            stopped_early=probe.notes.stopped_early,
            later=None if probe.later is None else in_short(probe.later),
            on=probe.on,
            cut=cut,
        )

    def compiled_nothing(self, rung: Rung, probe: Probe) -> bool:
        """Whether a run passed and had compiled nothing, on a rung that compiles, where the script had compiled and failed."""
        return compiled_nothing(rung, probe, self.as_it_is)


def ended_facts(rung: Rung, probe: Probe, judged: Probe) -> dict[str, object]:
    """How a probe ended, as listeners are told."""
    return {
        "rung": rung.name,
        "name": probe.name,
        "outcome": judged.outcome.kind,
        "signal": probe.outcome.signal,
        "seconds": round(probe.outcome.seconds, 2),
        "message": clip(first_words(judged.signature.message), 200) if judged.signature else "",
        "exception": judged.signature.exception_type if judged.signature else None,
    }
