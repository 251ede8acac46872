"""A program of several processes: what each of them executed, as what one did.

The failing functions were called in one of them. What it was called on comes from that one; a line counts where any process
executed it, since the whole program in one file needs them all (what starts the processes runs in the first).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Facts = Mapping[str, Any]  # as the agent writes them (`agent/trace/lines.py`)


def united(facts: Sequence[Facts], calls: int, rank: int | None = None) -> Facts | None:
    """The facts of the process that failed, with the lines that others executed, and the modules of those of the same script.

    `calls` is the number of the compiled call that fails, `rank` that of its process in its group.
    """
    if not facts:
        return None
    in_order = sorted(facts, key=lambda item: item["began"])
    failed = max(in_order, key=lambda item: _likeness(item, calls, rank))
    found = {**failed, "lines": _lines(facts)}
    alike = [failed, *(item for item in in_order if item is not failed and item["main"][0] == failed["main"][0])]
    for key in ("modules", "origins"):
        found[key] = {name: told for item in reversed(alike) for name, told in item[key].items()}
    found["files"] = list(dict.fromkeys(file for item in alike for file in item["files"]))
    return found


def _likeness(item: Facts, calls: int, rank: int | None) -> tuple[bool, ...]:
    """How much a process looks like the one that failed; of equal ones the first to begin is taken."""
    told = [call for call in item["calls"] if "args" in call] + list(item["moments"])
    return (
        any(call["at"] == calls for call in told) and rank in (None, item["rank"]),
        any(call["at"] == calls for call in told),
        bool(told),
        bool(item["lines"]),
    )


def _lines(facts: Sequence[Facts]) -> dict[str, list[int]]:
    found: dict[str, set[int]] = {}
    for item in facts:
        for file, lines in item["lines"].items():
            found.setdefault(file, set()).update(lines)
    return {file: sorted(lines) for file, lines in found.items()}
