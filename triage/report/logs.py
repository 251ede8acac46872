"""What of a run's output a reader needs: the failure, without what torch and triage print around it.

The file that the run wrote keeps every line; only the quoted copy is made readable, and on a page put in colours.
"""

from __future__ import annotations

import re
from itertools import groupby

_RANK = r"(?:\[rank\d+\]:[ ]?)?"
_TRACEBACK = re.compile(rf"(?m)^{_RANK}Traceback \(most recent call last\):")
_CHAINED = re.compile(
    rf"(?m)^{_RANK}(?:The above exception was the direct cause of|During handling of the above exception)"
)
_NOISE = (
    # Lines of carets that newer Pythons print under each line of code.
    (re.compile(rf"(?m)^{_RANK}[ \t]+[\^~]+[ \t]*\n"), ""),
    # Frames of the agent, which stands between the script and torch in our runs only.
    (
        re.compile(
            rf"(?m)^{_RANK}[ ]+File \"[^\"\n]*[/\\]triage[/\\]agent[/\\][^\"\n]*\", line \d+.*\n"
            rf"(?:{_RANK}[ ]{{4,}}.*\n)*"
        ),
        "",
    ),
    # Where the interpreter keeps its packages tells nothing: torch/_dynamo/... does.
    (re.compile(r"(?<=File \")[^\"\n]*[/\\](?:site|dist)-packages[/\\]"), ""),
    # What the elevated logging adds at levels below a warning (the format of torch/_logging).
    (re.compile(rf"(?m)^{_RANK}[IVD]\d{{4}} [\d:.]+ \d+ (?:\S+/)?(?:torch|functorch)/\S+ ?.*\n?"), ""),
)
# Of a page: the user's own frames and the error stand out among the compiler's frames.
PLAIN, ERROR, OWN, THEIRS, WARNING = "", "err", "mine", "dim", "warn"
_BEGINS = re.compile(rf"{_RANK}Traceback \(most recent call last\):")
_FRAME = re.compile(rf"{_RANK}\s+File \"(?P<file>[^\"]*)\", line \d+")
_INDENTED = re.compile(rf"{_RANK}\s")
_NOT_OWN = re.compile(
    r"(?:^|[/\\])(?:torch|functorch|triton|torchinductor_[^/\\]*|lib[/\\]python[\d.]+)[/\\]|^<frozen "
)
_RAISED = re.compile(
    rf"{_RANK}(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Failed|Exit|Interrupt|Unsupported)(?::|\s*$)"
)
_COMPILER = re.compile(r"\b(?:fatal )?error: |^Segmentation fault|^Aborted|^Fatal Python error")
_WARNS = re.compile(rf"{_RANK}(?:W\d{{4}} |.*\b\w*Warning: )")


def telling_log(log: str) -> str:
    """The last traceback with the ones that caused it and all that follows; the whole log where there is none."""
    found = list(_TRACEBACK.finditer(log))
    place = len(found) - 1
    while place > 0 and _CHAINED.search(log, found[place - 1].end(), found[place].start()):
        place -= 1
    return readable(log[found[place].start() :] if found else log)


def readable(log: str) -> str:
    """The same text without lines that are there for machines, or because of us."""
    for pattern, replacement in _NOISE:
        log = pattern.sub(replacement, log)
    return log


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
