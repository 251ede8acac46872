"""Reading a Python traceback from text: the last one printed, whoever printed it."""

from __future__ import annotations

import re

from triage.model.outcome import Frame, RaisedException

_START = "Traceback (most recent call last):"
_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>.+)$')
_PREFIX = re.compile(
    r"^(?:\[rank(?P<rank>\d+)\]:\s?|\[default(?P<default>\d+)\]:\s?|(?:[EW]\d{4} \S+ \d+ \S+\]\s?(?:\[[\d/]+\]\s?)?))"
)
_ERROR = re.compile(r"^(?P<type>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?$")


def last_traceback(text: str, limit: int = 400) -> RaisedException | None:
    """The last complete traceback in `text`, without ranks' and loggers' prefixes. None where there is none."""
    place = text.rfind(_START)
    while place >= 0:
        begin = text.rfind("\n", 0, place) + 1
        found = _parse(text[begin:].splitlines()[:limit])
        if found is not None:
            return found
        place = text.rfind(_START, 0, place)
    return None


def _parse(lines: list[str]) -> RaisedException | None:
    rank: int | None = None
    frames: list[Frame] = []
    message: list[str] = []
    kind = ""
    for raw in lines[1:]:
        prefix = _PREFIX.match(raw)
        if prefix is not None:
            number = prefix.group("rank") or prefix.group("default")
            rank = int(number) if number else rank
            raw = raw[prefix.end() :]
        line = raw.rstrip()
        if kind:
            if not line or line.startswith(("Traceback", "During handling", "The above exception")):
                break
            message.append(line)
            continue
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
            message.append(error.group("message") or "")
    if not kind:
        return None
    return RaisedException(kind, "\n".join(message), tuple(frames), phase="text", rank=rank)
