"""A log in colours: the user's own frames and the error stand out among the compiler's frames. Pure functions over text."""

from __future__ import annotations

import re
from itertools import groupby

PLAIN, ERROR, OWN, THEIRS, WARNING = "", "err", "mine", "dim", "warn"
RANK = r"(?:\[rank\d+\]:[ ]?)?"
_BEGINS = re.compile(rf"{RANK}Traceback \(most recent call last\):")
_FRAME = re.compile(rf"{RANK}\s+File \"(?P<file>[^\"]*)\", line \d+")
_INDENTED = re.compile(rf"{RANK}\s")
_NOT_OWN = re.compile(
    r"(?:^|[/\\])(?:torch|functorch|triton|torchinductor_[^/\\]*|lib[/\\]python[\d.]+)[/\\]|^<frozen "
)
_RAISED = re.compile(
    rf"{RANK}(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Failed|Exit|Interrupt|Unsupported)(?::|\s*$)"
)
_COMPILER = re.compile(r"\b(?:fatal )?error: |^Segmentation fault|^Aborted|^Fatal Python error")
_WARNS = re.compile(rf"{RANK}(?:W\d{{4}} |.*\b\w*Warning: )")


def coloured(log: str) -> list[tuple[str, str]]:
    """(style, whole lines) of pieces that follow each other; together they are the log."""
    styles: list[tuple[str, str]] = []
    inside, frame = False, PLAIN
    for line in log.splitlines(keepends=True):
        inside, frame, style = _style(line, inside, frame)
        styles.append((style, line))
    return [(style, "".join(line for _, line in group)) for style, group in groupby(styles, key=lambda each: each[0])]


def _style(line: str, inside: bool, frame: str) -> tuple[bool, str, str]:
    """Whether a traceback goes on after this line, the style of its innermost frame so far, the style of the line."""
    if _BEGINS.match(line):
        return True, PLAIN, PLAIN
    found = _FRAME.match(line)
    if found is not None:
        style = THEIRS if _NOT_OWN.search(found["file"]) else OWN
        return inside, style, style
    if inside and line.strip() and not _INDENTED.match(line):  # the line that ends a traceback tells what was raised
        return False, PLAIN, ERROR
    if inside and frame:
        return True, frame, frame
    if _RAISED.match(line) or _COMPILER.search(line):
        return inside, frame, ERROR
    return inside, frame, WARNING if _WARNS.match(line) else PLAIN
