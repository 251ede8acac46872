"""SARIF 2.1.0: what the standard requires of a log, a run and a result, and what GitHub needs to show one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from triage.model.report import TriageReport
from triage.model.stage import Stage, Symptom
from triage.report.formats.sarif import render
from triage.report.sources import Sources
from triage.report.store import load_report

GOLDEN = Path(__file__).parents[1] / "golden"
CASES = sorted(place.parent for place in GOLDEN.glob("*/report.json"))
FIRST = load_report(GOLDEN / "inductor_exception")


def log_of(report: TriageReport) -> dict[str, Any]:
    log = json.loads(render(report, Sources()))
    assert isinstance(log, dict)
    return log


def located(**changes: Any) -> str:
    """`file:line` of the one result."""
    assert FIRST.signature is not None
    line = changes.pop("user_line", FIRST.signature.user_line)
    report = replace(FIRST, signature=replace(FIRST.signature, user_line=line), **changes)
    place = log_of(report)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    return f"{place['artifactLocation']['uri']}:{place['region']['startLine']}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_structure_is_that_of_the_standard(case: Path) -> None:
    log = log_of(load_report(case))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    rules = [rule["id"] for rule in driver["rules"]]
    assert driver["name"] and len(set(rules)) == len(rules)
    assert [call["executionSuccessful"] for call in run["invocations"]] in ([True], [False])
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["message"]["text"].strip()
        assert all(isinstance(value, str) and value for value in result.get("partialFingerprints", {}).values())
        for location in result["locations"]:
            place = location["physicalLocation"]
            uri = urlsplit(place["artifactLocation"]["uri"])
            assert not uri.scheme and " " not in uri.path and uri.path
            assert place["region"]["startLine"] >= 1


def test_a_failure_is_one_result_with_its_fingerprint() -> None:
    assert FIRST.signature is not None
    (result,) = log_of(FIRST)["runs"][0]["results"]
    assert result["partialFingerprints"] == {"triage/v1": FIRST.signature.fingerprint}
    assert (result["ruleId"], result["level"]) == ("torch-compile/inductor", "error")


def test_it_stands_at_the_line_of_the_program() -> None:
    assert located(command=("pkg/train.py",), user_line="train.py:31 in forward: y = x") == "pkg/train.py:31"
    assert located(command=("train.py",), user_line="my nets/a:b.py:7 in f: y") == "my%20nets/a%3Ab.py:7"
    assert located(command=("train.py",), user_line=None, verdict=replace(FIRST.verdict, line=None)) == "train.py:1"


def test_without_a_script_there_is_no_place() -> None:
    assert FIRST.signature is not None
    report = replace(FIRST, command=("-m", "pkg"), verdict=replace(FIRST.verdict, line=None))
    report = replace(report, signature=replace(FIRST.signature, user_line=None))
    assert log_of(report)["runs"][0]["results"][0]["locations"] == []


def test_what_passes_has_no_result() -> None:
    passed = replace(FIRST, signature=None, verdict=replace(FIRST.verdict, symptom=Symptom.NONE, stage=Stage.NONE))
    assert log_of(passed)["runs"][0]["results"] == []


def test_rounding_is_a_note_and_an_early_end_is_told() -> None:
    report = replace(FIRST, verdict=replace(FIRST.verdict, symptom=Symptom.ROUNDING), complete=False)
    run = log_of(replace(report, incomplete_reason="the budget of 60 s ended"))["runs"][0]
    assert run["results"][0]["level"] == "note"
    told = run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
    assert (run["invocations"][0]["executionSuccessful"], told) == (False, "the budget of 60 s ended")


def test_a_message_is_bounded() -> None:
    assert FIRST.signature is not None
    long = replace(FIRST, signature=replace(FIRST.signature, message="x" * 1_000_000))
    assert len(log_of(long)["runs"][0]["results"][0]["message"]["text"]) <= 4_000
