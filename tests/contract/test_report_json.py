"""`report.json` as other tools rely on it: these names may be joined by others, never renamed or dropped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from triage.model.codec import decode
from triage.model.report import TriageReport
from triage.model.stage import OutcomeKind, Stage, Symptom

GOLDEN = Path(__file__).parents[1] / "golden"
REPORTS = sorted(GOLDEN.glob("*/report.json"))

NUMBER = (int, float)
TEXT_OR_NONE = (str, type(None))
# As the contract has it: a dictionary for an object, a list for an array of such, a type (or several) for a value.
CONTRACT: dict[str, Any] = {
    "schema_version": int,
    "tool": {"name": str, "version": str},
    "command": [str],
    "verdict": {
        "symptom": str,
        "stage": str,
        "direction": TEXT_OR_NONE,
        "summary": str,
        "runs": int,
        "failures": int,
        "line": TEXT_OR_NONE,
    },
    "signature": {"exception_type": str, "message": str, "frames": [str], "fingerprint": str},
    "ladder": [{"rung": str, "on": str, "outcome": str, "seconds": NUMBER}],
    "ablation": [{"setting": str, "outcome": str, "seconds": NUMBER, "note": TEXT_OR_NONE}],
    "culprit": {"op": TEXT_OR_NONE, "graph": TEXT_OR_NONE, "subsystem": TEXT_OR_NONE, "detail": TEXT_OR_NONE},
    "workarounds": [str],
    "reproducer": {
        "path": str,
        "verified": bool,
        "verified_runs": int,
        "same_signature": bool,
        "case": str,
        "engine": str,
        "ops": (int, type(None)),
        "lines": int,
        "queries": int,
        "seconds": NUMBER,
        "minimal": bool,
    },
    "reproducer_note": TEXT_OR_NONE,
    "nearest_passing": {"path": str, "difference": str},
    "raised_in": TEXT_OR_NONE,
    "own_code": {
        "role": str,
        "place": str,
        "line": str,
        "raised": bool,
        "error": str,
        "operator": TEXT_OR_NONE,
        "library": TEXT_OR_NONE,
        "call_site": TEXT_OR_NONE,
    },
    "findings": [{"title": str, "because": str, "cure": str, "place": TEXT_OR_NONE, "explains": bool}],
    "operator_checks": [
        {
            "operator": str,
            "where": TEXT_OR_NONE,
            "inputs": str,
            "passed": [str],
            "failures": [{"test": str, "message": str}],
            "kernel_gives": TEXT_OR_NONE,
            "fake_gives": TEXT_OR_NONE,
            "note": TEXT_OR_NONE,
        }
    ],
    "duplicates": {"query": str, "url": str},
    "siblings": [{"fingerprint": str, "message": str, "path": TEXT_OR_NONE}],
    "regression": {},
    "graph_breaks": int,
    "recompiles": int,
    "environment": {"torch": str, "python": str},
    "timings": {"total": NUMBER},
    "complete": bool,
    "artifacts": {"report_md": str},
}
NULLABLE = {"signature", "own_code", "culprit", "reproducer", "nearest_passing", "regression", "duplicates"}


def check(data: Any, shape: Any, where: str) -> None:
    if isinstance(shape, dict):
        assert isinstance(data, dict), where
        for name, inner in shape.items():
            assert name in data, f"{where}.{name} is missing"
            if not (data[name] is None and name in NULLABLE):
                check(data[name], inner, f"{where}.{name}")
    elif isinstance(shape, list):
        assert isinstance(data, list), where
        for place, item in enumerate(data):
            check(item, shape[0], f"{where}[{place}]")
    else:
        assert isinstance(data, shape), f"{where} is {type(data).__name__}"


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.parent.name)
def test_a_report_has_the_fields_of_the_contract(path: Path) -> None:
    check(json.loads(path.read_text()), CONTRACT, "report")


def test_the_goldens_have_every_nullable_part_somewhere() -> None:
    reports = [json.loads(path.read_text()) for path in REPORTS]
    for name in NULLABLE - {"regression"}:
        assert any(report[name] for report in reports), name
    for name in ("ladder", "ablation", "workarounds", "siblings", "findings", "operator_checks"):
        assert any(report[name] for report in reports), name


def test_the_words_of_the_contract() -> None:
    assert {kind.value for kind in Symptom} == {
        "exception",
        "crash",
        "hang",
        "wrong_result",
        "rounding",
        "nondeterministic",
        "none",
    }
    stages = {"script", "dynamo", "aot_autograd", "decomp_partition", "inductor", "backend", "none"}
    assert {stage.value for stage in Stage} == stages
    assert {"ok", "exception", "wrong_result", "crash", "hang"} <= {kind.value for kind in OutcomeKind}


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.parent.name)
def test_a_newer_writer_may_add_fields(path: Path) -> None:
    data = json.loads(path.read_text())
    plain = decode(TriageReport, data)
    data["added"] = {"later": 1}
    data["verdict"]["confidence"] = 0.9
    assert decode(TriageReport, data) == plain


def test_an_older_report_lacks_fields_that_have_defaults() -> None:
    data = {"schema_version": 1, "tool": {"name": "triage", "version": "0.1.0"}, "command": ["x.py"], "verdict": {}}
    assert decode(TriageReport, data).verdict.stage is Stage.NONE
