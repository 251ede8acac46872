"""`triage explain --modes`: the program in each mode of torch.compile, all of them alive at once, their steps measured in turns.

One process after the other is started and runs until it has compiled what it needs; there it waits. Then each has its turn, round
after round, so that only one of them ever computes. What was measured well is run once more, compared with eager.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from triage.environments.machine import runs_that_fit
from triage.errors import UsageError
from triage.explain.modes import LEAST_ROUNDS, MODES, Measured, Mode, modes_for, row_of
from triage.explain.steps import marked
from triage.model.accuracy import Comparison
from triage.model.explanation import ModeRow
from triage.model.outcome import BoundaryPoint, CompileCall
from triage.model.rungs import UNCOMPILED
from triage.probe.interpret import Event, events_in
from triage.probe.run import ProbeRequest, run_probe
from triage.probe.target import Target, run_python
from triage.session.session import Session
from triage.stories.turns import (
    GO,
    NOT_READY,
    READY,
    SLOTS,
    STOP,
    Baton,
    Running,
    ended,
    failure_of,
    processes,
    start,
    wait,
)

ROUNDS = 21
ROUNDS_SECONDS = 120.0  # no round is begun after so long, once there are enough for an interval
COMPARED_CALLS = 3
MOST_FILES = 2000  # of the program, looked at for the function that is its step


@dataclass(frozen=True)
class ModesWanted:
    """What a person asked for: rows by their names, all where none is named."""

    names: tuple[str, ...] = ()

    def check(self) -> None:
        """Raises UsageError where a row cannot be named so."""
        known = [mode.name for mode in MODES]
        wrong = next((name for name in self.names if not name.replace(" ", "")), None)
        if wrong is not None:
            raise UsageError("--mode is empty.", "A row of the table is named.", f"For example: --mode {known[1]}")

    def measured(
        self,
        session: Session,
        target: Target,
        calls: Sequence[CompileCall],
        marks: Mapping[Path, bytes],
        *,
        backwards: bool,
    ) -> tuple[ModeRow, ...]:
        """The rows. `backwards`: the program sends gradients back. Raises UsageError for a row that this torch does not have."""
        backends = backends_of(target, session)
        try:
            modes = modes_for(calls, backends, self.names)
        except KeyError as error:
            names = [mode.name for mode in modes_for(calls, backends)]
            raise UsageError(
                what=f"There is no mode {error.args[0]}.",
                why="It is neither a mode of torch.compile nor a backend of the target's torch.",
                next=f"One of: {', '.join(names)}",
            ) from None
        rows = measure_modes(session, target, modes, marks)
        with session.timed("compare"):
            return tuple(
                _compared(session, target, mode, row, backwards) for mode, row in zip(modes, rows, strict=True)
            )


def step_marked(target: Target, step: str) -> dict[Path, bytes]:
    """The file of the program with the function that is its step, marked. Raises UsageError where there is no such function."""
    try:
        return marked(_texts(target), step)
    except KeyError:
        raise UsageError(
            what=f"There is no function {step}.",
            why="Neither the script nor a file beside it or below defines one of this name.",
            next="Name it as it is defined: --step train_step, or --step Trainer.step",
        ) from None


def backends_of(target: Target, session: Session) -> list[str]:
    """What `torch._dynamo.list_backends()` names in the target's interpreter; nothing where it cannot be asked."""
    asked = run_python(target.python, ("-c", _LIST), session.probe_timeout(), session.cancel)
    lines = [line for line in asked.stdout.splitlines() if line.startswith(_MARK)]
    return lines[-1][len(_MARK) :].split() if lines else []


_MARK = "backends: "
_LIST = f"import torch._dynamo as d; print({_MARK!r} + ' '.join(d.list_backends()))"


def _texts(target: Target) -> Iterator[tuple[Path, bytes]]:
    """The script, then the Python files beside and below it."""
    root = target.script.parent if target.script is not None else target.cwd
    paths = [target.script] if target.script is not None else []
    for path in (*paths, *islice(root.rglob("*.py"), MOST_FILES)):
        with suppress(OSError):
            yield path, path.read_bytes()


def measure_modes(
    session: Session, target: Target, modes: Sequence[Mode], overlay: Mapping[Path, bytes]
) -> tuple[ModeRow, ...]:
    """A row for each mode. `overlay` marks the function that is the step. Raises KeyboardInterrupt; no process is left."""
    with session.timed("modes"), tempfile.TemporaryDirectory(prefix="triage-turns-") as folder:
        measured, waiting = _measured(session, target, modes, overlay, Path(folder))
    uncompiled = next((measured[mode.name] for mode in modes if mode.rung == UNCOMPILED.name), None)
    return tuple(waiting.get(mode.name) or row_of(mode, measured[mode.name], uncompiled) for mode in modes)


def _measured(
    session: Session, target: Target, modes: Sequence[Mode], overlay: Mapping[Path, bytes], folder: Path
) -> tuple[dict[str, Measured], dict[str, ModeRow]]:
    """What was measured of each mode; the rows of those that were not run."""
    baton = Baton(folder / "turns")
    running: list[Running] = []
    left_out: dict[str, ModeRow] = {}
    with processes(session, len(modes)) as pool:
        for slot, mode in enumerate(modes):
            reason = _why_not(session, slot)
            if reason is not None:
                left_out[mode.name] = ModeRow(mode.name, "not_run", reason=reason)
                continue
            running.append(start(session, target, mode, overlay, baton, slot, pool, f"mode-{mode.slug}"))
            wait(baton, running[-1], session, NOT_READY)
        _rounds(session, baton, running)
        for each in running:
            baton.give(each.slot, STOP)
        measured = {each.mode.name: _read(session, each) for each in running}
    baton.close()
    return measured, left_out


def _why_not(session: Session, slot: int) -> str | None:
    if slot >= SLOTS:
        return f"no more than {SLOTS} modes are measured at once"
    if session.clock.left() < session.settings.timeout / 10:
        return "there was no time left"
    if slot and not runs_that_fit():
        return "there is no memory for one more process beside the others"
    return None


def _rounds(session: Session, baton: Baton, running: Sequence[Running]) -> None:
    """Give everybody a turn, and again: the first of a round is another one each time."""
    began = time.monotonic()
    for number in range(ROUNDS):
        alive = [each for each in running if not each.probe.done() and baton.state(each.slot) == READY]
        late = number >= LEAST_ROUNDS and time.monotonic() - began > ROUNDS_SECONDS
        if not alive or late or session.clock.spent():
            return
        session.emit("engine_step", text=f"measuring {len(alive)} modes in turns: round {number + 1} of {ROUNDS}")
        first = number % len(alive)
        for each in (*alive[first:], *alive[:first]):
            baton.give(each.slot, GO)
            wait(baton, each, session, "its turn had not ended")


def _read(session: Session, each: Running) -> Measured:
    probe = ended(session, each)
    events = events_in(session.directory / "logs" / f"{each.name}.events.jsonl")
    return measured_in(events, each.late or failure_of(probe))


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


def _compared(session: Session, target: Target, mode: Mode, row: ModeRow, backwards: bool) -> ModeRow:
    """The row, once the first calls of the mode's graphs were compared with eager, in a run of the program as it is."""
    if (
        row.outcome != "measured"
        or mode.rung == UNCOMPILED.name
        or session.clock.left() < session.settings.timeout / 10
    ):
        return row
    name = f"mode-{mode.slug}-compared"
    request = ProbeRequest(
        name,
        target,
        mode.rung,
        session.probe_timeout(),
        session.directory,
        seed=0,
        accuracy=Comparison(gradients=backwards, stop=True),
        stop_after=BoundaryPoint(COMPARED_CALLS, COMPARED_CALLS if backwards else 0),
        compile_arguments=dict(mode.arguments),
        neutral=session.neutral,
        verbose_logs=False,
    )
    session.emit("probe_started", name=name, rung=f"{mode.name}, compared with eager", timeout=request.timeout)
    probe = run_probe(request, session.cancel)
    wrong = probe.notes.wrong
    session.emit(
        "probe_ended",
        name=name,
        rung=f"{mode.name}, compared with eager",
        outcome=probe.outcome.kind,
        signal=None,
        seconds=round(probe.outcome.seconds, 2),
    )
    if wrong is not None:
        return replace(row, compared=True, wrong=f"{wrong.item} of graph {wrong.graph}: {wrong.face()}")
    return replace(row, compared=bool(probe.notes.compared))
