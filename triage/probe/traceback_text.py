"""Reading a Python traceback from text: the last one printed, whoever printed it.

Ranks print at the same time, each line with its prefix: only the lines of the traceback's own rank are read. What a launcher
raises because its child failed is passed over where the child's own traceback is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from triage.model.outcome import Frame, RaisedException

_START = "Traceback (most recent call last):"
_LOGGING = "--- Logging error ---"
MOST_READ, LONGEST, MOST_LINES = 100, 200_000, 400  # tracebacks; characters and lines of one
_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>.+)$')
_RANK = re.compile(r"^\[(?:rank|default)(?P<rank>\d+)\]:\s?")
_LOGGER = re.compile(r"^[EW]\d{4} \S+ \d+ \S+\]\s?(?:\[[\d/]+\]\s?)?")
_GROUP = re.compile(r"^\s*[|+](?: |$)")  # an exception group draws a margin
_ERROR = re.compile(r"^(?P<type>[A-Za-z_][\w.<>]*)(?::(?: (?P<message>.*))?)?$")
_END = ("Traceback", "During handling", "The above exception")
_LAUNCHERS = ("ChildFailedError", "CalledProcessError")  # torchrun; a Python program that runs another


def last_traceback(text: str) -> RaisedException | None:
    """The last complete traceback in `text`, without ranks' and loggers' prefixes. None where there is none.

    A program may print thousands, in megabytes: of those that do not tell, only the last ones are read.
    """
    launcher = None
    place, left = text.rfind(_START), MOST_READ
    while place >= 0 and left:
        begin = text.rfind("\n", 0, place) + 1
        # A logger whose stream is closed (pytest's, at exit) tells of it and goes on.
        if not text[max(0, begin - len(_LOGGING) - 2) : begin].rstrip().endswith(_LOGGING):
            found, left = _parse(text[begin : begin + LONGEST].splitlines()[:MOST_LINES]), left - 1
            if found is not None and not found.type.endswith(_LAUNCHERS):
                return found
            launcher = launcher or found
        place = text.rfind(_START, 0, place)
    return launcher


def _of_one_rank(lines: list[str]) -> tuple[int | None, Iterator[str]]:
    """The rank of the first line, and the other lines of that rank, without their prefixes."""
    first = _RANK.match(lines[0])
    rank = first.group("rank") if first is not None else None

    def rest() -> Iterator[str]:
        for line in lines[1:]:
            prefix = _RANK.match(line)
            if (prefix.group("rank") if prefix is not None else None) != rank:
                continue
            while prefix is not None:  # torchrun --tee adds one of its own
                line = line[prefix.end() :]
                prefix = _RANK.match(line)
            yield _GROUP.sub("", _LOGGER.sub("", line)).rstrip()

    return (int(rank) if rank is not None else None), rest()


def _parse(lines: list[str]) -> RaisedException | None:
    rank, rest = _of_one_rank(lines)
    frames: list[Frame] = []
    kind = ""
    for line in rest:
        frame = _FRAME.match(line)
        if frame is not None:
            frames.append(Frame(frame.group("file"), int(frame.group("line")), frame.group("function")))
        elif line[:1].isspace() or not line:
            if frames and line.strip() and not frames[-1].code and not set(line.strip()) <= set("^~ "):
                last = frames[-1]
                frames[-1] = Frame(last.file, last.line, last.function, line.strip())
        else:
            error = _ERROR.match(line)
            if error is None:
                return None
            kind = error.group("type")
            first = error.group("message") or ""
            message = [first, *_message(rest, told=bool(first), whole=kind.startswith("torch."))]
            return RaisedException(kind, "\n".join(message).rstrip(), tuple(frames), phase="text", rank=rank)
    return None


def _message(rest: Iterator[str], *, told: bool, whole: bool) -> Iterator[str]:
    """The further lines of a message: to the end of its first paragraph, or all (torch's own errors have several)."""
    for line in rest:
        if line.startswith(_END) or (not line and told and not whole):
            return
        told = told or bool(line)
        yield line
