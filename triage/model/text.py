"""Texts of unknown length, cut where a reader can bear it."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Sequence

MARK = "…"
# What a terminal takes for colours, titles and the like.
ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_SENTENCE = re.compile(r"""[.!?][)"'`]*(?=\s)""")
_WORD_OF_A_SENTENCE = re.compile(r"[a-z]+[,;.]?(?=\s|$)")
WRAPPED = 50, 100  # characters of a line that a sentence is wrapped to
_OPENS, _CLOSES = "([{", ")]}"
MOST_LOST = 0.5  # of what would fit: a text is cut further only for as much


def words(table: str) -> frozenset[str]:
    """Those of a table that is written as a text."""
    return frozenset(table.split())


def clip(text: str, length: int) -> str:
    """At most `length` characters, cut before a word or a list that would be torn, with a mark where something is left out.

    >>> clip("expected [16, 32], got [16, 31] here", 28)
    'expected [16, 32], got…'
    """
    if len(text) <= length:
        return text
    room = max(0, length - len(MARK))
    head = text[:room]
    for place in (_open_bracket(head), None if text[room : room + 1].isspace() else _last_space(head)):
        if place is not None and place > room * MOST_LOST:
            head = head[:place]
    return head.rstrip().rstrip(",;:") + MARK


def clip_sentences(text: str, length: int) -> str:
    """At most `length` characters of prose, cut behind a sentence where one ends in their second half; else as `clip` cuts it.

    >>> clip_sentences("It passes alone. It was run with a time limit of 5 s.", 30)
    'It passes alone. …'
    """
    if len(text) <= length:
        return text
    ends = [found.end() for found in _SENTENCE.finditer(text, 0, length - len(MARK))]
    if not ends or ends[-1] < length * (1 - MOST_LOST) - len(MARK) - 1:
        return clip(text, length)
    return f"{text[: ends[-1]]} {MARK}"


def first_line(text: str) -> str:
    r"""The first line that says something, without what stands around it, else the first that is not blank, else nothing.

    >>> first_line("\n=====\ntrain.py FAILED\n-----")
    'train.py FAILED'

    A sentence that was wrapped to the width of a page goes on in its next lines.

    >>> first_line("\nA Boolean argument can only be used in Eq and Ne; all other\nrelationals expect real expressions.\n")
    'A Boolean argument can only be used in Eq and Ne; all other relationals expect real expressions.'

    Colours of a terminal are none of it.

    >>> first_line("load it, \x1b[1mif you trust the source\x1b[0m")
    'load it, if you trust the source'
    """
    lines = [line.strip() for line in ESCAPES.sub("", text).splitlines()]
    first = next((number for number, line in enumerate(lines) if any(map(str.isalnum, line))), None)
    if first is None:
        return next(filter(None, lines), "")
    told = lines[first]
    for before, line in itertools.pairwise(lines[first:]):
        if not (WRAPPED[0] <= len(before) <= WRAPPED[1] and _WORD_OF_A_SENTENCE.match(line) and before[-1].isalnum()):
            break
        told += f" {line}"
    return told


def quoted(word: str) -> str:
    r"""A word as a shell reads it, in one line whatever it holds (then as bash, ksh and zsh do).

    >>> print(quoted("a b"), quoted("import torch\nprint('a')"))
    'a b' $'import torch\nprint(\'a\')'
    """
    if word.isprintable():
        return shlex.quote(word)
    written = word.replace("\\", r"\\").replace("'", r"\'")
    return "$'" + "".join(one if one.isprintable() else _escaped(one) for one in written) + "'"


def _escaped(character: str) -> str:
    byte = ord(character) - 0xDC00  # of one that is no text (PEP 383)
    named = f"\\x{byte:02x}" if 0x80 <= byte <= 0xFF else f"\\U{ord(character):08x}"
    return {"\n": r"\n", "\t": r"\t", "\r": r"\r"}.get(character, named)


def some(items: Sequence[str], most: int) -> str:
    """At most so many by name, and how many more there are.

    >>> some(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    return ", ".join(items[:most]) + (f" and {len(items) - most} more" if len(items) > most else "")


def _open_bracket(text: str) -> int | None:
    """Where the outermost bracket opens that is not closed again; None where all are."""
    open_at: list[int] = []
    for place, character in enumerate(text):
        if character in _OPENS:
            open_at.append(place)
        elif character in _CLOSES and open_at:
            open_at.pop()
    return open_at[0] if open_at else None


def _last_space(text: str) -> int | None:
    place = max(text.rfind(space) for space in " \n\t")
    return place if place > 0 else None


def milliseconds(seconds: float) -> str:
    """`0.214 ms`"""
    return f"{1000 * seconds:.3g} ms"
