"""The tree itself: the only source of every other format."""

from __future__ import annotations

import json

from triage.model.codec import encode
from triage.model.report import TriageReport
from triage.report.sources import Sources


def render(report: TriageReport, sources: Sources) -> str:
    return json.dumps(encode(report), indent=2, ensure_ascii=False).encode("utf-8", "replace").decode() + "\n"
