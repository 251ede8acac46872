"""What `triage explain` found, as a page: what is broken up and where, what compiling costs as pictures, the modes as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triage.model.explanation import Explanation, Interval, ModeRow
from triage.model.text import clip
from triage.report import explanation, modes
from triage.report.compile_cost import PHASES
from triage.report.pages import bars, closing_chips, page
from triage.report.wording import plural

_LEFT, _WIDTH = 0.0, 720.0
_LETTER = 7.2  # of the flame's labels, in its own units


def explanation_html(found: Explanation) -> str:
    """The page `explain.html`."""
    return page(
        "explain.html.j2",
        explanation.summary(found),
        **explanation.view(found),
        chips=_chips(found),
        flame=_flame(found),
        modes=[_mode(row) for row in found.modes],
        modes_drawn=_steps(found.modes),
    )


def _chips(found: Explanation) -> list[tuple[str, str]]:
    broken, again = explanation.broken_lines(found), len(found.recompiles)
    chips = [
        ("other", plural(broken, "line") + " with a graph break") if broken else ("good", "no graph breaks"),
        ("other", plural(again, "guard") + " that failed") if again else ("good", "no recompilations"),
    ]
    chips += [("bad", f"wrong results: {row.name}") for row in found.modes if row.wrong]
    return chips + closing_chips(found.complete, found.incomplete_reason, found.environment)


def _flame(found: Explanation) -> dict[str, Any]:
    """All of the compiling in one row, by phase in the next, by graph in the last: as wide as long it took."""
    told = found.compile
    phases = sorted(((PHASES.get(name, name), spent) for name, spent in told.by_phase.items()), key=_longest)
    graphs = sorted(((f"{each.graph} {each.function}", each.seconds) for each in told.by_graph), key=_longest)
    whole = max(told.seconds, sum(spent for _, spent in phases), sum(spent for _, spent in graphs))
    if whole <= 0:
        return {}
    rows = [("whole", [("compiling", told.seconds)]), ("phase", phases), ("graph", graphs)]
    cells = [
        cell for number, (kind, parts) in enumerate(rows) if parts for cell in _row_of_flame(number, kind, parts, whole)
    ]
    words = ", ".join(f"{name} {spent:.1f} s" for name, spent in [*phases, *graphs[: explanation.ROWS]])
    return {"cells": cells, "told": f"{told.seconds:.1f} s of compiling: {words}"}


def _longest(part: tuple[str, float]) -> float:
    return -part[1]


def _row_of_flame(number: int, kind: str, parts: Sequence[tuple[str, float]], whole: float) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = []
    x = _LEFT
    for name, spent in parts:
        width = spent / whole * _WIDTH
        told = f"{name}: {spent:.2f} s"
        fits = int((width - 8) / _LETTER)
        label = told if len(told) <= fits else clip(name, fits) if fits >= 4 else ""
        if width > 1.5:
            cells.append(
                {
                    "kind": kind,
                    "x": round(x, 1),
                    "y": 26 * number,
                    "width": round(width - 1, 1),
                    "told": told,
                    "label": label,
                }
            )
        x += width
    return cells


def _mode(row: ModeRow) -> dict[str, Any]:
    style = "bad" if row.wrong else "not_run" if row.outcome != "measured" else ""
    return {"style": style, "cells": [cell.replace("\n", ", ") for cell in modes.cells(row)]}


def _steps(rows: Sequence[ModeRow]) -> dict[str, Any]:
    """The step of each mode as a bar."""
    measured: list[tuple[str, Interval]] = [(row.name, row.step) for row in rows if row.step is not None]
    return bars([(name, step.value, modes.seconds(step).replace("\n", ", ")) for name, step in measured])
