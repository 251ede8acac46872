"""The shipped JSON schemas are those of the model, and every report that we have fits them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from triage.model.codec import encode
from triage.model.explanation import CompileTime, Explanation, GraphBreak, Recompilation, SourceLine
from triage.model.report import TriageReport
from triage.model.schema import ROOTS, _schema, schema_file, schema_of, schema_text

GOLDEN = Path(__file__).parents[1] / "golden"
REPORTS = sorted(GOLDEN.glob("*/report.json"))


def errors(name: str, data: Any) -> list[str]:
    validator = pytest.importorskip("jsonschema").Draft202012Validator
    validator.check_schema(schema_of(name))
    return [f"{error.json_path}: {error.message}" for error in validator(schema_of(name)).iter_errors(data)]


@pytest.mark.parametrize("name", ROOTS)
def test_the_file_is_what_the_model_says(name: str) -> None:
    assert schema_file(name).read_text(encoding="utf-8") == schema_text(name), "run: python -m triage.model.schema"


def test_there_are_reports_to_validate() -> None:
    assert len(REPORTS) > 3


@pytest.mark.parametrize("file", REPORTS, ids=lambda file: file.parent.name)
def test_a_report_fits(file: Path) -> None:
    assert errors("report", json.loads(file.read_text(encoding="utf-8"))) == []


def test_an_explanation_fits() -> None:
    line = GraphBreak("net.py", 3, "print(x)", "builtin", source=(SourceLine(3, "print(x)"),))
    again = Recompilation("forward", "net.py", 2, "x.size()[0] == 4", 7, "dynamic=True")
    assert errors("explain", encode(Explanation(2, (line,), (again,), CompileTime(1.5), ("net.py",)))) == []


SPOILT = [
    ("schema_version", 2),
    ("verdict", {"symptom": "sulking"}),
    ("command", "train.py"),
    ("ladder", [{"rung": "eager"}]),
    ("reproducer", {"path": None}),
    ("graph_breaks", "none"),
]


@pytest.mark.parametrize(("field", "value"), SPOILT)
def test_what_is_no_report_does_not_fit(field: str, value: Any) -> None:
    data = json.loads(REPORTS[0].read_text(encoding="utf-8"))
    assert errors("report", data | {field: value})


def test_a_newer_writer_may_add_fields() -> None:
    assert errors("report", json.loads(REPORTS[0].read_text(encoding="utf-8")) | {"colour": "blue"}) == []


def test_every_field_of_the_model_is_named() -> None:
    assert set(schema_of("report")["properties"]) == set(TriageReport.__dataclass_fields__)


def test_a_type_that_has_no_schema_is_said() -> None:
    with pytest.raises(TypeError, match="no place in a schema"):
        _schema(set[str], {})
