"""The compiler's own log of the failing run (TORCH_TRACE), as a file that may be attached.

A record is a line with a header and a JSON object, and the lines of its payload, each after a tab. The object is redacted as a
tree: in its text a secret could be written with escapes. `has_payload` is the MD5 sum of the payload
(torch/_logging/_internal.py, `trace_structured`); it is made anew, so that tlparse finds the file whole.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from triage.model.report import TriageReport
from triage.model.rungs import AS_IS
from triage.report.kinds import is_wanted
from triage.report.redact import Redactor

TRACE_LOG = "trace.log"
LONGEST = 4_000_000  # characters of it that are attached: GitHub takes 25 MB, and redaction some seconds for each
_OBJECT = re.compile(r"^(?P<head>[VDIWEC]\d{4} [^\n]*?\] )(?P<object>\{.*\})(?:\n|\Z)", re.MULTILINE)


def trace_of(directory: Path) -> Path | None:
    """The compiler's log that a report names: of the script as it is, if it left one."""
    logs = sorted((directory / "trace").glob("*/*.log"))
    return next((path for path in logs if path.parent.name == AS_IS), logs[0] if logs else None)


@dataclass(frozen=True)
class _Redacted:
    text: str
    tally: Counter[str]


class TraceWork:
    """The trace of a run, redacted in a thread beside other work, which takes seconds; once for all reports of the run.

    `redactor` must know what that of the reports knows.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._place: Path | None = None
        self._found: _Redacted | None = None
        self._thread: threading.Thread | None = None

    def begin(self, place: Path) -> None:
        """Begin with this file, which is not written to any more. Once is enough."""
        if self._thread is None and place.is_file():
            self._place = place.resolve()
            self._thread = threading.Thread(target=self._work, args=(place,), name="trace", daemon=True)
            self._thread.start()

    def _work(self, place: Path) -> None:
        redactor = self._redactor.counting()
        self._found = _Redacted(_redacted(place, redactor), redactor.tally)

    def of(self, place: Path, redactor: Redactor) -> str:
        """The text of this file; what was taken out counts with the redactor."""
        if self._thread is None or self._place != place or redactor.known != self._redactor.known:
            return _redacted(place, redactor)
        self._thread.join()
        if self._found is None:  # it met an error, which shall be seen
            return _redacted(place, redactor)
        redactor.tally.update(self._found.tally)
        return self._found.text


def redacted_trace(run_dir: Path, report: TriageReport, redactor: Redactor, work: TraceWork | None = None) -> str:
    """The trace, redacted, cut at a whole line where it is long; empty where there is none, or nobody to attach it for.

    `work` may have done it already.
    """
    name = report.artifacts.get("trace")
    place = (run_dir / name).resolve() if name else None
    if place is None or not is_wanted(report) or not place.is_relative_to(run_dir.resolve()) or not place.is_file():
        return ""
    return _redacted(place, redactor) if work is None else work.of(place, redactor)


def _redacted(place: Path, redactor: Redactor) -> str:
    with place.open(encoding="utf-8", errors="replace") as file:
        text = file.read(LONGEST + 1)
    if len(text) > LONGEST:
        text = text[: text.rfind("\n", 0, LONGEST) + 1]
    return "".join(_records(text, redactor))


def _records(text: str, redactor: Redactor) -> Iterator[str]:
    found = list(_OBJECT.finditer(text))
    yield redactor.text(text[: found[0].start()] if found else text)
    ends = [*(record.start() for record in found[1:]), len(text)]
    for record, end in zip(found, ends, strict=False):
        payload = text[record.end() : end]
        clean = redactor.text(payload)
        yield f"{redactor.text(record['head'])}{_object(record['object'], payload, clean, redactor)}\n{clean}"


def _object(text: str, payload: str, clean: str, redactor: Redactor) -> str:
    try:
        tree = json.loads(text)
    except ValueError:  # then it is text like any other
        return redactor.text(text)
    redacted = redactor.tree(tree)
    if isinstance(tree, dict) and tree.get("has_payload") == _sum_of(payload):
        redacted["has_payload"] = _sum_of(clean)
    return json.dumps(redacted)


def _sum_of(payload: str) -> str:
    lines = payload.removesuffix("\n").split("\n")
    return hashlib.md5("\n".join(line.removeprefix("\t") for line in lines).encode(), usedforsecurity=False).hexdigest()
