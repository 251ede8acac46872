"""Recompilations from the agent's events: one row per function and kind of guard, and whether a tried cure helped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from triage.explain.cures import CURES, TriedSetting, cure_for
from triage.explain.places import function_of, resumed_at, shown
from triage.model.explanation import Recompilation

Event = dict[str, Any]
VALUES = 12
_GRAPH = re.compile(r"^\[?\d+/\d+(?:_\d+)?\]?: ")
_ACTUAL = re.compile(r"expected (?P<expected>.+?), actual (?P<actual>.+?)\.?$", re.MULTILINE)
_LOCAL = re.compile(r"\bL\['(\w+)'\]")  # newer releases write a local by its name alone
_USED = re.compile(r'File "([^"]+)", line (\d+), in [^\n]*\n([^\n]+)')
_COMMENT = re.compile(r"\s{2,}# .*$|\n+\s*User stack trace:.*", re.MULTILINE | re.DOTALL)


def recompilations(events: Iterable[Event], cwd: Path) -> tuple[Recompilation, ...]:
    """One row per function and kind of guard, in the order of the first time."""
    groups: dict[tuple[str, int, str, str], list[Event]] = {}
    for event in events:
        if event.get("e") == "recompile":
            kind = cure_for(guard_of(event))[0].kind
            key = (str(event.get("file")), int(event.get("line") or 0), str(event.get("function")), kind)
            groups.setdefault(key, []).append(event)
    return tuple(_row(each, cwd) for each in groups.values())


def guard_of(event: Event) -> str:
    """The guard of the newest compiled version, as torch words it."""
    reasons = event.get("reasons") or ["torch found no reason"]
    return _LOCAL.sub(r"\1", _COMMENT.sub("", _GRAPH.sub("", str(reasons[0])))).strip()


def used_at(event: Event, cwd: Path) -> str | None:
    """Where the program uses what the guard is about, where torch says it: `net.py:15: return x * self.steps`."""
    found = _USED.findall(str(next(iter(event.get("reasons") or ()), "")))
    return f"{shown(found[-1][0], cwd)}:{found[-1][1]}: {found[-1][2].strip()}" if found else None


def _row(events: Sequence[Event], cwd: Path) -> Recompilation:
    first, last = events[0], events[-1]
    guard = guard_of(first)
    cure, text = cure_for(guard)
    name = str(first.get("function"))
    limit = first.get("limit")
    beyond = [event for event in events if limit is not None and (event.get("entries") or 0) >= limit]
    count = len(events) - len(beyond)
    after = resumed_at(name)
    return Recompilation(
        function=function_of(name),
        file=shown(str(first.get("file")), cwd),
        line=after or int(first.get("line") or 0),
        guard=guard[:1000],
        count=count,
        cure=text,
        kind=cure.kind,
        used_at=used_at(first, cwd),
        values=_values(events),
        limit=limit,
        left=max(0, limit - (last.get("entries") or 0) - 1) if limit is not None else None,
        limit_hit=bool(beyond),
        note="what follows a graph break in it" if after else None,
    )


def _values(events: Sequence[Event]) -> tuple[str, ...]:
    """What the guard was made for, then what came in its place, call by call."""
    found: list[str] = []
    for event in events:
        told = _ACTUAL.search(guard_of(event))
        if told is not None:
            found += [] if found else [told["expected"]]
            found.append(told["actual"])
        else:
            found += [f"{name} = {value}" for name, value in (event.get("values") or {}).items()]
    return tuple(dict.fromkeys(found))[:VALUES]


def trials(rows: Sequence[Recompilation]) -> tuple[TriedSetting, ...]:
    """What is worth a run of its own: each trial once."""
    kinds = {row.kind for row in rows}
    found = [cure.trial for cure in CURES if cure.kind in kinds and cure.trial is not None]
    return tuple({trial.name: trial for trial in found}.values())


def tried(
    rows: Sequence[Recompilation], trial: TriedSetting, after: Sequence[Recompilation], failure: str | None
) -> tuple[Recompilation, ...]:
    """The rows, with what the run with `trial` showed. `failure` says how that run ended where it did not end well."""
    return tuple(_judged(row, trial, after, failure) if _meant(row, trial) else row for row in rows)


def _meant(row: Recompilation, trial: TriedSetting) -> bool:
    return any(cure.kind == row.kind and cure.trial == trial for cure in CURES)


def _judged(
    row: Recompilation, trial: TriedSetting, after: Sequence[Recompilation], failure: str | None
) -> Recompilation:
    same = [each for each in after if (each.function, each.file, each.kind) == (row.function, row.file, row.kind)]
    remaining = sum(each.count for each in same)
    # One may be left: 0 and 1 are sizes of their own, and some numbers become symbols only when they change.
    works = failure is None and remaining < row.count and remaining <= 1 and not any(each.limit_hit for each in same)
    note = "; ".join(filter(None, [row.note, failure]))
    return replace(row, tried=trial.name, cure_works=works, remaining=remaining, note=note or None)
