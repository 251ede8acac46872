"""`triage explain --modes`: which modes there are for the program; once they were measured, whether their results are right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from triage.errors import UsageError
from triage.explain.modes import AS_IT_IS, MODES, Mode, modes_for
from triage.explain.steps import marked
from triage.model.accuracy import Comparison
from triage.model.explanation import ModeRow
from triage.model.outcome import AgentNotes, BoundaryPoint, CompileCall
from triage.model.rungs import UNCOMPILED
from triage.probe.launch import Cancel
from triage.probe.target import Target, run_python
from triage.session.session import Session
from triage.stories.explain_rounds import measure_modes
from triage.stories.explain_run import announced, request_for

COMPARED_CALLS = 3
MOST_FILES = 2000  # of the program, looked at for the function that is its step


@dataclass(frozen=True)
class ModesWanted:
    """What a person asked for: rows by their names, all where none is named."""

    names: tuple[str, ...] = ()

    def check(self, target: Target, timeout: float) -> None:
        """Raises UsageError where a row cannot be named so; the target's torch is asked for its backends where that decides."""
        known = [mode.name for mode in MODES]
        wrong = next((name for name in self.names if not name.replace(" ", "")), None)
        if wrong is not None:
            raise UsageError("--mode is empty.", "A row of the table is named.", f"For example: --mode {known[1]}")
        others = [name for name in self.names if name not in (*known, AS_IT_IS.name)]
        backends = backends_of(target, timeout) if others else []
        if backends:  # a target without any has more to tell than this
            rows_named((), backends, others)

    def measured(
        self,
        session: Session,
        target: Target,
        seen: AgentNotes,
        marks: Mapping[Path, bytes],
    ) -> tuple[ModeRow, ...]:
        """The rows, for what the program was `seen` to do. Raises UsageError for a row that this torch does not have."""
        backends = backends_of(target, session.probe_timeout(), session.cancel)
        modes = rows_named(seen.compile_calls, backends, self.names)
        rows = measure_modes(session, target, modes, marks)
        with session.timed("compare"):
            return tuple(
                _compared(session, target, mode, row, seen.backwards > 0) for mode, row in zip(modes, rows, strict=True)
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


def rows_named(calls: Sequence[CompileCall], backends: Sequence[str], names: Sequence[str]) -> tuple[Mode, ...]:
    """The rows of these names, all where none is named. Raises UsageError for one that this torch does not have."""
    try:
        return modes_for(calls, backends, names)
    except KeyError as error:
        known = [mode.name for mode in modes_for(calls, backends)]
        raise UsageError(
            what=f"There is no mode {error.args[0]}.",
            why="It is neither a mode of torch.compile nor a backend of the target's torch.",
            next=f"One of: {', '.join(known)}",
        ) from None


def backends_of(target: Target, timeout: float, cancel: Cancel | None = None) -> list[str]:
    """What `torch._dynamo.list_backends()` names in the target's interpreter; nothing where it cannot be asked."""
    asked = run_python(target.python, ("-c", _LIST), timeout, cancel)
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


def _compared(session: Session, target: Target, mode: Mode, row: ModeRow, backwards: bool) -> ModeRow:
    """The row, once the first calls of the mode's graphs were compared with eager, in a run of the program as it is."""
    if (
        row.outcome != "measured"
        or mode.rung == UNCOMPILED.name
        or session.clock.left() < session.settings.timeout / 10
    ):
        return row
    request = request_for(
        session,
        target,
        f"mode-{mode.slug}-compared",
        rung=mode.rung,
        seed=0,
        accuracy=Comparison(gradients=backwards, stop=True),
        stop_after=BoundaryPoint(COMPARED_CALLS, COMPARED_CALLS if backwards else 0),
        compile_arguments=dict(mode.arguments),
    )
    probe = announced(session, request, f"{mode.name}, compared with eager")
    wrong = probe.notes.wrong
    if wrong is not None:
        return replace(row, compared=True, wrong=f"{wrong.item} of graph {wrong.graph}: {wrong.face()}")
    return replace(row, compared=bool(probe.notes.compared))
