"""Times, rates and sizes in a line that tells results: others in each run, so they are taken out of it, and the rest counts.

Which number is one is told by its unit, or by the words that belong to it: those before it, or those behind it up to what parts
it from the next (`12.3 images per second, loss 0.5`). Of a list (`times: 2.3, 4.5`) the words stand before the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

GONE = "…"  # in the place of each

ANY_NUMBER = re.compile(r"[-+]?\.?\d[\w.+-]*|\b(?:nan|inf)\b", re.IGNORECASE)
_UNIT = re.compile(
    r"[-+]?[\d.]*\d(?:e[-+]?\d+)? ?(?:[mµun]?s|secs?|seconds?|min|minutes?|h|x|[KMGT]i?B|[kMG]?Hz|\w+/s(?:ec)?)\b|"
    r"0x[0-9a-f]",
    re.IGNORECASE,
)
_WORDS = re.compile(
    r"time|took|elapsed|duration|seconds|latency|speed|faster|slower|throughput|per.second|/s\b|\b(?:[mµun]?s|secs?|min)/\w|memory|bytes|"
    r"\bfps\b|\bmfu\b|\bpid\b|\bdt\b|\beta\b|\bcompile\b|compiling|compilation|recompil|warm.?up",
    re.IGNORECASE,
)
_PARTS = re.compile(r"[,;|()\[\]{}\t]|\s{2,}|\s[-–]\s")
_LETTER = re.compile(r"[^\W\d_]")


def is_measured(line: str) -> bool:
    """Whether anything in it is a time, a rate, a size, or counted of the compiler."""
    return _UNIT.search(line) is not None or _WORDS.search(line) is not None


def without_measured(line: str) -> str | None:
    """The line with `…` for each such number; None where the words that say so belong to no number that can be told.

    >>> without_measured("iter 0: loss 3.755, time 68692.12ms")
    'iter 0: loss 3.755, time …'
    """
    told, end, measured = [], 0, False
    for start, stop, is_one in _numbers(line):
        measured = measured or is_one
        told.append(line[end:start] + (GONE if is_one else line[start:stop]))
        end = stop
    return "".join(told) + line[end:] if measured else None


def _numbers(line: str) -> Iterator[tuple[int, int, bool]]:
    """Where each number begins and ends, and whether it is measured."""
    found = list(ANY_NUMBER.finditer(line))
    end, before = 0, ""
    for place, number in enumerate(found):
        named = [part for part in _PARTS.split(line[end : number.start()]) if _LETTER.search(part)]
        before = named[-1] if named else before
        last = place + 1 == len(found)
        following = line[number.end() : None if last else found[place + 1].start()]
        parts = _PARTS.split(following, maxsplit=1)
        behind = parts[0] if last or len(parts) > 1 else ""  # else it is the next one's
        is_one = _UNIT.match(line, number.start()) or _WORDS.search(before) or _WORDS.search(behind)
        yield number.start(), number.end(), is_one is not None
        end = number.end()
