"""Making a text fit: GitHub refuses an issue of more than 65,536 characters and an address of more than 8,191 bytes.

The document is rendered again with its biggest quoted part cut, until it fits. Everything else in it is bounded by
construction, so this ends. A cut says how much it took and where the whole lies; the reproducer is cut last, because half a
program is no program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from triage.model.text import clip
from triage.report.markdown import one_line

ISSUE_LIMIT = 65_536
ROOM_FOR_WORDS = 4_000  # left free for what the reporter writes
_FLOOR = 400


@dataclass(frozen=True)
class Part:
    """A quoted text. `file` of the run directory holds the whole of it. `head` is the share kept of its beginning.

    `most` is what a reader wants to see of it even where there is room for more.
    """

    text: str
    file: str
    head: float = 0.2
    precious: bool = False
    most: int = ISSUE_LIMIT
    mark: str = ""  # how a comment begins in its language


def issue_size(text: str) -> int:
    """Length as the strictest reader counts: UTF-16 units, and line ends as a browser sends them (two characters)."""
    return len(text.encode("utf-16-le", "replace")) // 2 + text.count("\n")


def shorten(part: Part, room: int) -> str:
    """The part in about `room` characters, whole lines where possible: its beginning and its end."""
    text = part.text
    if len(text) <= room:
        return text
    first = int(room * part.head)
    last = room - first
    beginning, end = text[:first], text[len(text) - last :] if last else ""
    if "\n" in beginning:
        beginning = beginning[: beginning.rindex("\n") + 1]
    newline = end.find("\n")
    if 0 <= newline < len(end) - 1:
        end = end[newline + 1 :]
    taken = len(text) - len(beginning) - len(end)
    note = f"{part.mark}[... {taken:,} characters cut here; the whole text is in {clip(one_line(part.file), 120)} ...]"
    return "\n".join(piece for piece in (beginning.rstrip("\n"), note, end) if piece)


def fit(
    parts: Mapping[str, Part],
    render: Callable[[Mapping[str, str]], str],
    limit: int,
    size: Callable[[str], int] = issue_size,
    *,
    cut_precious: bool = True,
) -> str | None:
    """`render` of the parts, cut so far that its `size` is at most `limit`; None where that cannot be done."""
    rooms = {name: min(len(part.text), part.most) for name, part in parts.items()}
    while True:
        text = render({name: shorten(part, rooms[name]) for name, part in parts.items()})
        excess = size(text) - limit
        if excess <= 0:
            return text
        name = _biggest(parts, rooms, cut_precious)
        if name is None:
            return None
        # Characters may count for more than one each, so cut by the excess at most, and by an eighth at least.
        rooms[name] = max(0, min(rooms[name] - min(excess, rooms[name] // 2), rooms[name] * 7 // 8))


def whole_in_report(parts: Mapping[str, Part]) -> dict[str, Part]:
    """The same parts, with cuts pointing at the report on disk."""
    return {name: replace(part, file="report.md") for name, part in parts.items()}


def _biggest(parts: Mapping[str, Part], rooms: Mapping[str, int], cut_precious: bool) -> str | None:
    for precious in (False, True) if cut_precious else (False,):
        names = [name for name, part in parts.items() if part.precious is precious and rooms[name] > _FLOOR]
        if names:
            return max(names, key=lambda name: rooms[name])
    return None
