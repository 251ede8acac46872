"""The bundled failing scripts: each says what must be found in it, and can at least be read."""

import ast
import json
from pathlib import Path

import pytest

from triage.model.stage import Direction, Stage, Symptom

FOLDER = Path(__file__).parents[2] / "reproducers"
CASES = sorted(path.parent for path in FOLDER.glob("*/case.json"))
FIELDS = {"name", "origin", "symptom", "stage", "direction", "torch", "max_ops", "max_lines", "args", "notes"}

each_case = pytest.mark.parametrize("folder", CASES, ids=lambda path: path.name)


def facts_of(folder: Path) -> dict:
    return json.loads((folder / "case.json").read_text(encoding="utf-8"))


@each_case
def test_case_has_the_fields_of_the_contract(folder):
    facts = facts_of(folder)
    assert set(facts) - {"command", "raised_in"} == FIELDS
    assert facts["name"] == folder.name
    assert facts["torch"] == "2.13.0"
    assert all(isinstance(word, str) for word in facts["args"] + facts.get("command", []))
    assert facts["notes"]


@each_case
def test_case_uses_the_words_of_the_model(folder):
    facts = facts_of(folder)
    assert set(facts["stage"].split("|")) <= {stage.value for stage in Stage}
    assert set(facts["symptom"].split("|")) <= {symptom.value for symptom in Symptom}
    assert facts["direction"] in {None, *(direction.value for direction in Direction)}


@each_case
def test_case_asks_for_a_reproducer_only_where_there_is_something_to_reproduce(folder):
    facts = facts_of(folder)
    limits = (facts["max_ops"], facts["max_lines"])
    if facts["stage"] in ("none", "script"):
        assert limits == (None, None)
    assert all(limit is None or limit > 0 for limit in limits)


@each_case
def test_every_file_parses(folder):
    files = sorted(folder.rglob("*.py"))
    assert folder / "script.py" in files
    for file in files:
        ast.parse(file.read_text(encoding="utf-8"), str(file))


def test_every_stage_is_there():
    assert {facts_of(folder)["stage"] for folder in CASES} == {stage.value for stage in Stage}


def test_there_are_enough_and_each_is_another_program():
    texts = {(folder / "script.py").read_text(encoding="utf-8") for folder in CASES}
    assert len(texts) == len(CASES) >= 14


def test_the_table_of_the_readme_has_one_row_per_case():
    lines = (FOLDER / "README.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")][1:]
    assert {row[0]: row[7] for row in rows} == {folder.name: facts_of(folder)["stage"] for folder in CASES}
