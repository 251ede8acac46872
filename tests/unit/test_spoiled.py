"""A script that meets what its earlier runs left behind: the report says so wherever an answer is missing for that reason."""

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
from walk_machine import Machine, error, walk_of

from triage.cli.result import _next
from triage.model.outcome import Frame, Outcome, RaisedException
from triage.model.report import TriageReport
from triage.model.stage import OutcomeKind
from triage.probe.launch import Cancel
from triage.probe.run import Probe, ProbeRequest
from triage.report.wording import ladder_table
from triage.stories.assemble import assemble, exit_code
from triage.stories.findings import Findings
from triage.stories.run import RunResult

LEFT = RaisedException("FileExistsError", "runs/1", (Frame("/home/ann/train.py", 3, "main"),), phase="uncaught")


def test_a_rung_on_which_nothing_was_compiled_is_not_called_one_that_could_not_be_run(tmp_path: Path) -> None:
    machine = Machine({"inductor": itertools.repeat(error())})

    def probe(request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        first, ran = request.name == "as_is", machine(request, cancel)
        passed = replace(ran, outcome=Outcome(OutcomeKind.OK, 1.0, 0), signature=None)
        return replace(ran, notes=replace(ran.notes, graphs=1)) if first else passed  # it goes on from its checkpoint

    found = walk_of(tmp_path)(machine)
    found.probe = probe
    found.first()
    found.settle()
    rows = assemble(Findings(found.session, found.target, ("train.py",), found)).ladder
    told = {row.rung: row.outcome for row in rows}
    assert told["uncompiled"] == "ok" and told["aot_eager_decomp_partition"] == "nothing_compiled"
    assert "nothing was compiled" in ladder_table(rows) and "could not be run" not in ladder_table(rows)


@pytest.fixture
def report(tmp_path: Path) -> TriageReport:
    again = itertools.chain([error()], itertools.repeat(LEFT))
    found = walk_of(tmp_path)(Machine({"inductor": again, "uncompiled": itertools.repeat(LEFT)}))
    found.first()
    found.settle()
    return assemble(Findings(found.session, found.target, ("train.py",), found))


def test_it_is_a_partial_report_and_not_nothing_to_report(report: TriageReport) -> None:
    assert exit_code(report, interrupted=False) == 5 and not report.complete
    assert report.verdict.unsettled == report.incomplete_reason
    assert "not settled (a second run of the script meets what" in report.verdict.summary
    words = _next(RunResult(report, Path("out"), 5))
    assert "run triage again" in words and "--resume" not in words and "not a compiler bug" not in words


def test_the_rung_that_was_run_and_the_missing_reproducer_say_why(report: TriageReport) -> None:
    row = next(row for row in report.ladder if row.rung == "uncompiled")
    assert (row.outcome, row.note) == ("invalid", "met what an earlier run left behind (FileExistsError)")
    assert "could not be run" in ladder_table(report.ladder)
    assert report.reproducer is None and "FileExistsError" in (report.reproducer_note or "")
