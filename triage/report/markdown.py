"""Text of unknown content as GitHub Markdown that shows it as it is.

Invariants: a fence is longer than any run of backticks inside it; a table cell is one line without a bare pipe; prose makes
no tag, no mention of a person (`@torch` is one) and no link to an issue (`#12`); a comment cannot be closed from inside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from triage.model.text import ESCAPES

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_LINKED = re.compile(r"(?<![\w/])[@#]\w[\w./-]*|\b\w[\w./-]*#\d+\b")


def clean(text: str) -> str:
    """Plain text: no terminal colours, no control or direction characters, LF for every line end."""
    text = _LONE_SURROGATES.sub("\ufffd", ESCAPES.sub("", text))
    return _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def fence(text: str, language: str = "") -> str:
    """A fenced block of the text."""
    body = clean(text).strip("\n").rstrip()
    marks = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", body)), default=0))
    return f"{marks}{language}\n{body}\n{marks}"


def code(text: str) -> str:
    """An inline code span, on one line; empty for an empty text."""
    body = one_line(text)
    if not body:
        return ""
    marks = "`" * (1 + max((len(run) for run in re.findall(r"`+", body)), default=0))
    pad = " " if body[0] == "`" or body[-1] == "`" else ""
    return f"{marks}{pad}{body}{pad}{marks}"


def prose(text: str) -> str:
    """A sentence of ours or of torch, on one line. Code spans in it stay code spans."""
    return _marked(one_line(text), _CODE_SPAN, 2, lambda rest: _marked(rest, _LINKED, 0, _escaped))


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; headers and cells are Markdown already (`prose` or `code`)."""
    lines = [_row(headers), _row(["---"] * len(headers))]
    return "\n".join([*lines, *(_row(row) for row in rows)])


def comment(text: str) -> str:
    """An invisible comment."""
    return f"<!-- {re.sub(r'--+(?=!?>)|^-?>', '', clean(text).strip())} -->"


def one_line(text: str) -> str:
    return " ".join(clean(text).split())


def _marked(text: str, pattern: re.Pattern[str], group: int, rest: Callable[[str], str]) -> str:
    """The text with this group of each match as code, and what stands between them as `rest` makes it."""
    parts: list[str] = []
    end = 0
    for found in pattern.finditer(text):
        parts += [rest(text[end : found.start()]), code(found[group])]
        end = found.end()
    return "".join([*parts, rest(text[end:])])


def _escaped(text: str) -> str:
    return re.sub(r"[\\`*]|<(?=[A-Za-z/!?])|(?<![^\W_])_|_(?![^\W_])|(?<=\])(?=[(\[:])", r"\\\g<0>", text)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(re.sub(r"\s*\n\s*", " ", cell).replace("|", "\\|") for cell in cells) + " |"
