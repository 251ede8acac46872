"""One guilty function of thirty is found in a handful of runs, however it fails; with real torch."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from command import Command
from many_graphs import GUILTY, PROGRAMS

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1500)]
MOST_RUNS = 6
LINE = f" in step{GUILTY}: "


def found_in(folder: Path, kind: str, *options: str) -> tuple[dict[str, Any], list[str]]:
    """The report on this program, and the runs of it that were needed."""
    triage = Command(folder)
    name = triage.script(PROGRAMS[kind])
    process = triage.start("run", "--out", "out", "--quiet", *options, name)
    try:
        _, errors = process.communicate(timeout=1400)
    except subprocess.TimeoutExpired:
        process.terminate()
        raise
    assert "Traceback" not in errors, errors
    runs = sorted(file.name.removesuffix(".events.jsonl") for file in (triage.out / "logs").glob("*.events.jsonl"))
    return triage.report(), runs


def blames_the_guilty_one(report: dict[str, Any], runs: list[str]) -> None:
    assert report["culprit"]["graph"] == f"{GUILTY}/0", report["culprit"]
    assert LINE in (report["signature"]["user_line"] or ""), report["signature"]["user_line"]
    assert len(runs) <= MOST_RUNS, runs


@pytest.mark.parametrize(
    "kind",
    [
        "does not build",
        pytest.param("raises at run time", marks=pytest.mark.slow),
        "dies at run time",
        "dies in a later call",
    ],
)
def test_a_failure_that_ends_the_program(kind: str, tmp_path: Path) -> None:
    report, runs = found_in(tmp_path, kind, "--no-reduce")
    assert report["verdict"]["stage"] == "inductor"
    # One that compares asks whether an earlier graph gave wrong values: no part of the search.
    searching = [run for run in runs if not run.endswith("-compared")]
    assert len(runs) - len(searching) <= 1
    blames_the_guilty_one(report, searching)


@pytest.mark.parametrize(
    ("kind", "options"),
    [("wrong, and nothing raises", ("--accuracy", "always")), ("wrong, and a check at the end", ())],
)
def test_a_wrong_value(kind: str, options: tuple[str, ...], tmp_path: Path) -> None:
    """With the reduction, for which the captured graph answers in place of further runs."""
    report, runs = found_in(tmp_path, kind, *options)
    assert report["verdict"]["symptom"] == "wrong_result"
    assert (report["verdict"]["stage"], report["culprit"]["op"]) == ("inductor", "aten.relu")
    blames_the_guilty_one(report, runs)


@pytest.mark.slow
def test_a_hang(tmp_path: Path) -> None:
    report, runs = found_in(tmp_path, "hangs in compile", "--no-reduce", "--timeout", "90")
    assert report["verdict"]["symptom"] == "hang"
    blames_the_guilty_one(report, runs)


def test_no_graph_is_blamed_for_what_dynamo_could_not_trace(tmp_path: Path) -> None:
    """The graphs of the functions before it were made, and have nothing to do with it."""
    report, runs = found_in(tmp_path, "Dynamo cannot trace it", "--no-reduce")
    assert report["verdict"]["stage"] == "dynamo"
    assert (report["culprit"] or {}).get("graph") is None, report["culprit"]
    assert LINE in report["signature"]["user_line"]
    assert len(runs) <= MOST_RUNS, runs
