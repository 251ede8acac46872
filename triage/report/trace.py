"""The compiler's own log of the failing run (TORCH_TRACE), as a file that may be attached.

A record is a line with a header and a JSON object, and the lines of its payload, each after a tab. The object is redacted as a
tree: in its text a secret could be written with escapes. `has_payload` is the MD5 sum of the payload
(torch/_logging/_internal.py, `trace_structured`); it is made anew, so that tlparse finds the file whole.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

from triage.model.report import TriageReport
from triage.report.kinds import is_wanted
from triage.report.redact import Redactor

TRACE_LOG = "trace.log"
LONGEST = 4_000_000  # characters of it that are attached: GitHub takes 25 MB, and redaction some seconds for each
_OBJECT = re.compile(r"^(?P<head>[VDIWEC]\d{4} [^\n]*?\] )(?P<object>\{.*\})(?:\n|\Z)", re.MULTILINE)


def redacted_trace(run_dir: Path, report: TriageReport, redactor: Redactor) -> str:
    """The trace, redacted, cut at a whole line where it is long; empty where there is none, or nobody to attach it for."""
    name = report.artifacts.get("trace")
    place = (run_dir / name).resolve() if name else None
    if place is None or not is_wanted(report) or not place.is_relative_to(run_dir.resolve()) or not place.is_file():
        return ""
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
