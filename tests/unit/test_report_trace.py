"""The trace that may be attached: redacted inside its objects too, and whole for tlparse."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from triage.model.report import ReportVerdict, TriageReport
from triage.model.stage import Stage, Symptom
from triage.report import trace
from triage.report.redact import Redactor
from triage.report.trace import redacted_trace

REPORT = TriageReport(
    tool={},
    command=(),
    verdict=ReportVerdict(Symptom.EXCEPTION, Stage.INDUCTOR),
    artifacts={"trace": "trace/as_is.log"},
)
REDACTOR = Redactor(home="/home/annika", user="annika", environ={"A_TOKEN": 'open"sesame99'})


def traced(run_dir: Path, text: str, report: TriageReport = REPORT) -> str:
    (run_dir / "trace").mkdir(exist_ok=True)
    (run_dir / "trace" / "as_is.log").write_text(text)
    return redacted_trace(run_dir, report, REDACTOR)


def record(tree: dict[str, object], payload: str | None = None) -> str:
    if payload is None:
        return f"V1123 07:43:01.1 12 torch/_x.py:1] {json.dumps(tree)}\n"
    tree = {**tree, "has_payload": hashlib.md5(payload.encode()).hexdigest()}
    return record(tree) + "".join(f"\t{line}\n" for line in payload.split("\n"))


def test_records_stay_records_with_their_sums(tmp_path: Path) -> None:
    text = record({"artifact": {"name": "x"}}, "in /home/annika/x\n\nby annika") + record({"n": 'open"sesame99'})
    expected = record({"artifact": {"name": "x"}}, "in ~/x\n\nby <user>") + record({"n": "<secret>"})
    assert traced(tmp_path, text) == expected


def test_what_is_no_record_is_text(tmp_path: Path) -> None:
    assert traced(tmp_path, "by annika\nV1123 x] {no: json /home/annika}\n") == "by <user>\nV1123 x] {no: json ~}\n"


def test_a_long_one_is_cut_at_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "LONGEST", 25)
    assert traced(tmp_path, "word word\n" * 9) == "word word\n" * 2


def test_none_where_nobody_wants_it_or_it_is_not_there(tmp_path: Path) -> None:
    assert traced(tmp_path, "x\n", replace(REPORT, verdict=ReportVerdict())) == ""
    assert traced(tmp_path, "x\n", replace(REPORT, artifacts={"trace": "../secret.log"})) == ""
    assert traced(tmp_path, "x\n", replace(REPORT, artifacts={})) == ""
