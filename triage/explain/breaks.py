"""Graph breaks from the agent's events: one row per line of the program and reason, in torch's own words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from triage.explain.advice import advice, trial_of
from triage.explain.cures import TriedSetting
from triage.explain.places import around, function_of, resumed_at, shown, told
from triage.model.explanation import GraphBreak, GraphTime
from triage.model.outcome import Frame, Outcome, RaisedException
from triage.model.places import in_packages

Event = dict[str, Any]
_SECOND = re.compile(r"\n+\*\*\* While handling this graph break.*", re.DOTALL)
_LINK = re.compile(r"https?://\S+/gb(\d+)\.html")
_PART = re.compile(r"^ {2}(Explanation|Hint|Developer debug context): ", re.MULTILINE)
_GRAPH = re.compile(r"[^.]*:\s*\n\s*# File ")  # a listing of the operations behind a tensor

# What releases before 2.9 call a break for short.
_SHORT = (
    (re.compile(r"^generic_jump\b|^Dynamic control flow is not supported"), "Data-dependent branching"),
    (
        re.compile(r"^step_unsupported$"),
        "A break that Dynamo cannot go on behind, such as one inside of `with` or `try`",
    ),
)


@dataclass(frozen=True)
class Words:
    """A reason as torch words it, taken apart."""

    reason: str
    explanation: str = ""
    hints: tuple[str, ...] = ()
    id: str | None = None
    link: str | None = None


def words_of(text: str) -> Words:
    """The first line is the reason. Releases before 2.7 have no more than that one."""
    text = _SECOND.sub("", text).strip()
    link = _LINK.search(text)
    text = re.split(r"\n+ For more details about this graph break", text)[0]
    pieces = _PART.split(text)
    parts: dict[str, list[str]] = {}
    for name, body in zip(pieces[1::2], pieces[2::2], strict=True):
        parts.setdefault(name, []).append(" ".join(_GRAPH.split(body)[0].split()))
    return Words(
        reason=_long(pieces[0].strip().split("\n")[0][:300]),
        explanation=next(iter(parts.get("Explanation", ())), ""),
        hints=tuple(parts.get("Hint", ())),
        id=f"GB{link[1]}" if link else None,
        link=link[0] if link else None,
    )


def _long(reason: str) -> str:
    return next((f"{words} ({reason})" for pattern, words in _SHORT if pattern.search(reason)), reason)


def graph_breaks(events: Iterable[Event], cwd: Path, times: Sequence[GraphTime] = ()) -> tuple[GraphBreak, ...]:
    """One row for a line and reason, in the order of the first time each was met."""
    groups: dict[tuple[str, int, str], list[Event]] = {}
    for event in events:
        if event.get("e") == "break" and event.get("stack"):
            place = _place(event["stack"])
            key = (str(place[0]), int(place[1]), words_of(str(event.get("text", ""))).reason)
            groups.setdefault(key, []).append(event)
    return tuple(_row(each, cwd, times) for each in groups.values())


def _place(stack: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """The innermost line of the program's own, else the innermost."""
    return next((frame for frame in reversed(stack) if frame[4]), stack[-1])


def _row(events: Sequence[Event], cwd: Path, times: Sequence[GraphTime]) -> GraphBreak:
    first = events[0]
    stack = first["stack"]
    place = _place(stack)
    file, line = shown(str(place[0]), cwd), int(place[1])
    above = [told(frame, cwd) for event in events for frame in event["stack"] if frame[4] and frame[:2] != place[:2]]
    behind = [each.seconds for each in times if each.file == file and resumed_at(each.function) == line]
    made = _break(str(first.get("text", "")), file, line, str(place[3]), str(place[2]), cwd)
    return replace(
        made,
        reason=made.reason or "no reason was given",
        id=made.id or first.get("id"),
        count=len(events),
        skips_frame=any(event.get("skipped") for event in events),
        called_from=tuple(dict.fromkeys(above)),
        inside=told(stack[-1], cwd) if stack[-1][:2] != place[:2] else None,
        seconds=round(sum(behind), 3) if behind else None,
    )


def _break(text: str, file: str, line: int, code: str, function: str, cwd: Path) -> GraphBreak:
    """What torch's words tell of a break at this line."""
    found = words_of(text)
    return GraphBreak(
        file=file,
        line=line,
        code=code,
        reason=found.reason,
        id=found.id,
        hints=found.hints,
        function=function_of(function),
        explanation=found.explanation,
        link=found.link,
        cure=advice(code, found.reason, found.explanation, found.hints),
        source=around(file, line, cwd),
    )


def first_to_fail(outcome: Outcome, known: Sequence[GraphBreak], cwd: Path) -> GraphBreak | None:
    """What `fullgraph=True` fails with first; None where the run under it passes, or fails of something that is no break."""
    frame = _own_frame(outcome.exception) if outcome.exception is not None else None
    if outcome.exception is None or frame is None:
        return None
    file = shown(frame.file, cwd)
    same = next((each for each in known if (each.file, each.line) == (file, frame.line)), None)
    made = _break(outcome.exception.message, file, frame.line, frame.code, frame.function, cwd)
    return replace(made, id=made.id or (same.id if same is not None else None))


def _own_frame(error: RaisedException) -> Frame | None:
    own = [frame for frame in error.user_code if in_packages(frame.file) is None]
    return next(iter([*reversed(own), *reversed(error.user_code)]), None)


def trials(rows: Sequence[GraphBreak]) -> tuple[TriedSetting, ...]:
    """What is worth a run of its own: each trial once."""
    found = filter(None, (trial_of(row.code, row.cure) for row in rows))
    return tuple({trial.name: trial for trial in found}.values())


def tried(
    rows: Sequence[GraphBreak], trial: TriedSetting, after: Sequence[GraphBreak], failure: str | None
) -> tuple[GraphBreak, ...]:
    """The rows, with what the run with `trial` showed. `failure` says how that run ended where it did not end well."""
    return tuple(
        _judged(row, trial, rows, after, failure) if trial_of(row.code, row.cure) == trial else row for row in rows
    )


def not_tried(rows: Sequence[GraphBreak], trial: TriedSetting, why: str) -> tuple[GraphBreak, ...]:
    """The rows, with the reason why this torch cannot be asked for `trial`."""
    return tuple(replace(row, note=why) if trial_of(row.code, row.cure) == trial else row for row in rows)


def _judged(
    row: GraphBreak, trial: TriedSetting, before: Sequence[GraphBreak], after: Sequence[GraphBreak], failure: str | None
) -> GraphBreak:
    known = {(each.file, each.line, each.reason) for each in before}
    others = [each for each in after if (each.file, each.line, each.reason) not in known]
    works = failure is None and not any((each.file, each.line) == (row.file, row.line) for each in after)
    new = "; ".join(f"then it breaks at {each.file}:{each.line}: {each.reason}" for each in others[:2])
    return replace(row, tried=trial.name, cure_works=works, note=failure or new or None)
