"""The program in each mode of torch.compile, all of them alive at once, their steps measured in turns.

One process after the other is started and runs until it has compiled what it needs; there it waits. Then each has its turn, round
after round, so that only one of them ever computes. That is done again with new processes, which find the caches of the first:
what one process has by chance (where its memory lies) is in all of its rounds, and only others show how much it is.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from triage.environments.machine import runs_that_fit, usable_cores
from triage.explain.modes import LEAST_ROUNDS, Measured, Mode, row_of
from triage.model.explanation import ModeRow
from triage.model.rungs import UNCOMPILED
from triage.probe.events import Event
from triage.probe.target import Target
from triage.session.session import Session
from triage.stories.explain_run import events_of, failure_of
from triage.stories.turns import GO, NOT_READY, SLOTS, STOP, ModeProcess, Turns, in_turns

ROUNDS = 21
ROUNDS_SECONDS = 120.0  # no round is begun after so long, once there are enough for an interval
SETS = 3  # of processes, one after the other; they share the rounds
SET_SECONDS = 120.0  # a further one that would take longer to start is not worth the wait


def measure_modes(
    session: Session, target: Target, modes: Sequence[Mode], overlay: Mapping[Path, bytes]
) -> tuple[ModeRow, ...]:
    """A row for each mode. `overlay` marks the function that is the step. Raises KeyboardInterrupt; no process is left."""
    with session.timed("modes"), tempfile.TemporaryDirectory(prefix="triage-turns-") as folder:
        sets = _Sets(session, target, overlay, Path(folder))
        sets.first(modes)
        while sets.worth_another():
            sets.another()
    measured, uncompiled = sets.measured, sets.measured.get(UNCOMPILED.name)
    return tuple(sets.left_out.get(mode.name) or row_of(mode, measured[mode.name], uncompiled) for mode in modes)


class _Sets:
    """Sets of processes, one after the other, a process for each mode; and what was measured in all of them."""

    def __init__(self, session: Session, target: Target, overlay: Mapping[Path, bytes], folder: Path) -> None:
        self._session, self._target, self._overlay, self._folder = session, target, overlay, folder
        self._modes: Sequence[Mode] = ()  # that are worth a process of the next set
        self._count = 0
        self._sets = SETS
        self._seconds = 0.0  # what the next set will take to start, as far as that is known
        self.measured: dict[str, Measured] = {}
        self.left_out: dict[str, ModeRow] = {}

    def first(self, modes: Sequence[Mode]) -> None:
        """One after the other, since what compiling takes is measured here."""
        for slot, mode in enumerate(modes):
            if slot >= SLOTS:
                self.left_out[mode.name] = _not_run(mode, f"no more than {SLOTS} modes are measured at once")
        self._modes = modes[:SLOTS]
        self.measured = self._set(side_by_side=1)
        self._modes = [mode for mode in modes if mode.name in self.measured and self.measured[mode.name].blocks]

    def worth_another(self) -> bool:
        """Whether there is anything to measure, and time to start it: a program may take a minute to come to its first step."""
        return (
            self._count < self._sets
            and bool(self._modes)
            and self._seconds < min(SET_SECONDS, self._session.clock.left() / 4)
            and not self._session.clock.spent()
        )

    def another(self) -> None:
        found = self._set(side_by_side=usable_cores())
        for name, before in self.measured.items():
            blocks = found[name].blocks if name in found else ()
            self.measured[name] = replace(before, later=(*before.later, blocks))

    def _set(self, side_by_side: int) -> dict[str, Measured]:
        """What one process of each mode told, of those that there is room and time for."""
        self._count += 1
        path, began = self._folder / f"turns-{self._count}", time.monotonic()
        with in_turns(self._session, self._target, self._overlay, path, len(self._modes)) as turns:
            running = self._all_started(turns, side_by_side)
            for process in running:
                turns.wait(process, NOT_READY)
            if self._count > 1:
                self._seconds = time.monotonic() - began
            elif not self.worth_another():
                self._sets = 1  # which has all rounds, then
            self._rounds(turns, running)
            for process in running:
                turns.give(process, STOP)
            return {process.mode.name: _read(self._session, process, turns) for process in running}

    def _all_started(self, turns: Turns, side_by_side: int) -> list[ModeProcess]:
        """A process for each mode that there is room and time for; so many at most compile at once."""
        running: list[ModeProcess] = []
        again = f"-{self._count}" if self._count > 1 else ""
        began = time.monotonic()
        for slot, mode in enumerate(self._modes):
            reason = _why_not(self._session, slot)
            if reason is not None:
                if self._count == 1:
                    self.left_out[mode.name] = _not_run(mode, reason)
                continue
            running.append(turns.start(mode, slot, f"mode-{mode.slug}{again}", caches=self._folder / mode.slug))
            if len(running) >= side_by_side:
                turns.wait(running[-side_by_side], NOT_READY)
            if self._count == 1 and slot == 0:  # uncompiled: what it takes to come to the first steps
                self._seconds = (time.monotonic() - began) * len(self._modes) / usable_cores()
        return running

    def _rounds(self, turns: Turns, running: Sequence[ModeProcess]) -> None:
        """Give everybody a turn, and again: the first of a round is another one each time."""
        began, rounds = time.monotonic(), ROUNDS // self._sets
        for number in range(rounds):
            alive = [process for process in running if turns.is_ready(process)]
            late = number >= LEAST_ROUNDS // self._sets and time.monotonic() - began > ROUNDS_SECONDS / self._sets
            if not alive or late or self._session.clock.spent():
                return
            text = f"measuring {len(alive)} modes in turns: round {number + 1} of {rounds}"
            text += f", processes {self._count} of {self._sets}" if self._sets > 1 else ""
            self._session.emit("engine_step", text=text)
            first = number % len(alive)
            for process in (*alive[first:], *alive[:first]):
                turns.give(process, GO)
                turns.wait(process, "its turn had not ended")


def _not_run(mode: Mode, reason: str) -> ModeRow:
    return ModeRow(mode.name, "not_run", reason=reason)


def _why_not(session: Session, slot: int) -> str | None:
    if session.clock.left() < session.settings.timeout / 10:
        return "there was no time left"
    if slot and not runs_that_fit():
        return "there is no memory for one more process beside the others"
    return None


def _read(session: Session, process: ModeProcess, turns: Turns) -> Measured:
    probe = turns.ended(process)
    events = events_of(session, process.name)
    return measured_in(events, process.late or failure_of(probe.outcome))


def measured_in(events: Sequence[Event], failure: str | None) -> Measured:
    """What the events of one process tell. A program that was measured before it failed was measured."""
    blocks = tuple(float(event["seconds"]) for event in events if event.get("e") == "block")
    told: Event = next((event for event in events if event.get("e") == "measured"), {})
    not_repeated = next((event["reason"] for event in events if event.get("e") == "not_repeated"), None)
    if failure is None and not blocks and not_repeated is not None:
        failure = f"its last call could not be made again: {not_repeated}"
    return Measured(
        blocks=blocks,
        steps=int(told.get("steps") or 0),
        compiling=told.get("compiling"),
        peak=told.get("memory"),
        device_peak=told.get("device_memory"),
        failure=failure if not blocks else None,
        repeated=bool(told.get("repeated")),
    )
