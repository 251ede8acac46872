"""Where a program's own check fails, its line is where that is noticed; the function to blame is told beside it."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
from walk_machine import Machine, walk_of

from triage.model.outcome import Frame, RaisedException
from triage.model.report import ReportSignature, TriageReport, WayRound
from triage.model.stage import Stage, Symptom
from triage.report.facts import facts
from triage.report.titles import title
from triage.stories.assemble import assemble
from triage.stories.findings import Findings

CHECK = (Frame("/home/ann/train.py", 73, "main", "assert not wrong"),)
FAILED = RaisedException("AssertionError", "other answers", CHECK, phase="uncaught")
RAISED = replace(FAILED, type="TypeError", phase="compile", user_code=CHECK)
WITHOUT = WayRound("Decorate `Net.step` (net.py:9) with `@torch.compiler.disable`", "function", "net.py:9")


def report_of(tmp_path: Path, error: RaisedException, *passing: str) -> TriageReport:
    rungs = ("eager", "aot_eager", "aot_eager_decomp_partition", "inductor", "uncompiled")
    failing = {rung: itertools.repeat(error) for rung in rungs if rung not in passing}
    found = walk_of(tmp_path)(Machine(failing))
    found.first()
    found.settle()
    return assemble(Findings(found.session, found.target, ("train.py",), found))


def test_the_line_of_a_check_is_where_it_is_noticed(tmp_path: Path) -> None:
    report = replace(report_of(tmp_path, FAILED, "uncompiled"), ways_round=(WITHOUT,))
    assert report.verdict.stage is Stage.DYNAMO
    told = dict(facts(report))
    assert "Line" not in told and told["Noticed at"].startswith("`train.py:73 in main: assert not wrong")
    assert told["Function"] == "`Net.step` (`net.py:9`): the script passes where it is not compiled"
    assert "Function" not in dict(facts(replace(report, ways_round=())))


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("make.<locals>.Service.reuse",), "`Service.reuse` (`net.py:28`): the script passes where it is not compiled"),
        (("<lambda>",), None),
        (("encode", "reuse"), None),  # two are compiled there
    ],
)
def test_what_one_use_compiles_is_the_function_to_blame(
    tmp_path: Path, names: tuple[str, ...], told: str | None
) -> None:
    way = WayRound("Leave uncompiled what net.py:28 compiles, with `disable=True`", "function", "net.py:28")
    calls = tuple({"name": name, "where": "net.py:28"} for name in names)
    other = {"name": "other", "where": "net.py:27"}
    report = replace(report_of(tmp_path, FAILED, "uncompiled"), ways_round=(way,), compile_calls=(other, *calls))
    assert dict(facts(report)).get("Function") == told


def test_all_that_is_compiled_is_no_function_to_blame(tmp_path: Path) -> None:
    """It passes without any compiling, which is what "uncompiled passes" says already."""
    way = WayRound("Leave uncompiled what net.py:28 compiles, with `disable=True`", "function", "net.py:28")
    calls = ({"name": "Net", "where": "net.py:28"}, {"name": "Net", "where": "net.py:28"})
    report = replace(report_of(tmp_path, FAILED, "uncompiled"), ways_round=(way,), compile_calls=calls)
    assert "Function" not in dict(facts(report))


@pytest.mark.parametrize(("error", "passing"), [(RAISED, ["uncompiled"]), (FAILED, [])])
def test_what_is_raised_in_compiled_code_or_uncompiled_fails_on_its_line(
    tmp_path: Path, error: RaisedException, passing: list[str]
) -> None:
    told = dict(facts(replace(report_of(tmp_path, error, *passing), ways_round=(WITHOUT,))))
    assert told["Line"].startswith("`train.py:73") and "Noticed at" not in told and "Function" not in told


def test_a_title_names_the_function_all_the_same(tmp_path: Path) -> None:
    report = replace(report_of(tmp_path, FAILED, "uncompiled"), ways_round=(WITHOUT,))
    wrong = replace(report.verdict, symptom=Symptom.WRONG_RESULT)
    told = title(replace(report, verdict=wrong, signature=ReportSignature("WrongResult", "")))
    assert told.endswith("right where Net.step is not compiled")
