"""The compiler's own log of the failing run (TORCH_TRACE), as a file that may be attached.

A line of it is a header and a JSON object, or a tab and a line of a payload. The objects are redacted as trees: in their
text a secret could be written with escapes. The length of a payload may change, and with it no longer fits the checksum in
its object; tlparse counts that and reads on.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from triage.model.report import TriageReport
from triage.report.kinds import is_wanted
from triage.report.redact import Redactor

TRACE_LOG = "trace.log"
LONGEST = 4_000_000  # characters of it that are attached: GitHub takes 25 MB, and redaction some seconds for each
_OBJECT = re.compile(r"^(?P<head>[VDIWEC]\d{4} [^\n]*?\] )(?P<object>\{.*\})$", re.MULTILINE)


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
    return redactor.text(_OBJECT.sub(lambda found: found["head"] + _object(found["object"], redactor), text))


def _object(text: str, redactor: Redactor) -> str:
    try:
        tree = json.loads(text)
    except ValueError:  # then it is text like any other
        return text
    return json.dumps(redactor.tree(tree))
