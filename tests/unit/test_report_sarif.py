"""SARIF 2.1.0: what the standard requires of a log, a run and a result, and what GitHub needs to show one.

`sarif-2.1.0.schema.json` is the standard's own schema, with its errata (OASIS,
https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json; copyright OASIS Open, which permits
that it is copied and published with this notice).
"""

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
STANDARD = Path(__file__).parents[1] / "support" / "sarif-2.1.0.schema.json"
CASES = sorted(place.parent for place in GOLDEN.glob("*/report.json"))
FIRST = load_report(GOLDEN / "inductor_exception")


def log_of(report: TriageReport) -> dict[str, Any]:
    log = json.loads(render(report, Sources()))
    assert isinstance(log, dict)
    return log


def errors(log: dict[str, Any]) -> list[str]:
    validator = pytest.importorskip("jsonschema").Draft4Validator(json.loads(STANDARD.read_text(encoding="utf-8")))
    return [f"{'/'.join(map(str, each.absolute_path))}: {each.message[:200]}" for each in validator.iter_errors(log)]


def located(**changes: Any) -> str:
    """`file:line` of the one result."""
    line = changes.pop("user_line", FIRST.signature.user_line)
    report = replace(FIRST, signature=replace(FIRST.signature, user_line=line), **changes)
    place = log_of(report)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    return f"{place['artifactLocation']['uri']}:{place['region']['startLine']}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_fits_the_schema_of_the_standard(case: Path) -> None:
    report = load_report(case)
    assert errors(log_of(report)) == []
    assert errors(log_of(replace(report, complete=False, incomplete_reason="the budget ended"))) == []


def test_what_is_no_sarif_does_not_fit() -> None:
    log = log_of(FIRST)
    del log["runs"][0]["tool"]["driver"]["name"]
    log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    log["runs"][0]["results"][0]["levle"] = "error"
    assert len(errors(log)) >= 3


def test_github_is_told_all_that_it_asks_of_a_rule() -> None:
    for rule in log_of(FIRST)["runs"][0]["tool"]["driver"]["rules"]:
        assert all(rule[name]["text"].strip() for name in ("shortDescription", "fullDescription", "help"))


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
    (result,) = log_of(FIRST)["runs"][0]["results"]
    fingerprint = FIRST.signature.fingerprint  # the first name is the one that GitHub knows an alert again by
    assert result["partialFingerprints"] == {"primaryLocationLineHash": fingerprint, "triage/v1": fingerprint}
    assert (result["ruleId"], result["level"]) == ("torch-compile/inductor", "error")


def test_it_stands_at_the_line_of_the_program() -> None:
    assert located(command=("pkg/train.py",), user_line="train.py:31 in forward: y = x") == "pkg/train.py:31"
    assert located(command=("train.py",), user_line="my nets/a:b.py:7 in f: y") == "my%20nets/a%3Ab.py:7"
    for line in (None, "<cell 4>:6 in kalman"):  # which is no file
        assert located(command=("train.py",), user_line=line, verdict=replace(FIRST.verdict, line=None)) == "train.py:1"


def test_without_a_script_there_is_no_place() -> None:
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
    long = replace(FIRST, signature=replace(FIRST.signature, message="x" * 1_000_000))
    assert len(log_of(long)["runs"][0]["results"][0]["message"]["text"]) <= 4_000
