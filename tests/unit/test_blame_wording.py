"""What is to blame, in a reader's words: a long table of settings stays readable, and the part is told with its runs."""

from __future__ import annotations

from triage.cli.result import _facts
from triage.culprit.operation import with_part
from triage.culprit.subsystem import shown_of
from triage.model.report import AblationRow, Culprit, ReportVerdict, SubsystemSearch, TriageReport
from triage.model.stage import Stage, Symptom
from triage.report.facts import part
from triage.report.wording import ablation_table
from triage.stories.run import RunResult

SEARCH = SubsystemSearch(
    names=("post_grad_passes",),
    application=9,
    what="remove_noop_ops",
    shown_by="with the first 8 applications of post_grad_passes it passes, with 9 it fails",
    before="subsystem/before.txt",
    after="subsystem/after.txt",
)


def test_the_boundary_is_told_in_words():
    assert shown_of("fusion", 1) == "with fusion switched off it passes, with its first application it fails"
    assert shown_of("fusion", 2) == "with the first application of fusion it passes, with 2 it fails"
    assert shown_of("fusion", 9) == "with the first 8 applications of fusion it passes, with 9 it fails"


def test_a_short_table_has_a_line_per_setting():
    rows = [AblationRow(f"s{number}", "same_failure") for number in range(16)]
    assert len(ablation_table(rows).splitlines()) == 2 + 16


def test_of_a_long_table_what_changes_nothing_stands_together():
    rows = [AblationRow(f"s{number}", "same_failure", note="asked at once") for number in range(30)]
    rows.insert(20, AblationRow("cure", "ok"))
    rows += [AblationRow(f"n{number}", "not_run", note=f"why {number % 2}") for number in range(4)]
    lines = ablation_table(rows).splitlines()[2:]
    assert len(lines) == 4
    assert "`cure` | passes" in lines[0] and "`s0`, `s1`" in lines[1] and "**same failure**" in lines[1]
    assert "`n0`, `n2` | not run | why 0" in lines[2] and "`n1`, `n3` | not run | why 1" in lines[3]


def test_the_part_is_told_with_the_runs_that_showed_it():
    told = part(SEARCH)
    assert told.startswith("`post_grad_passes`, application 9, `remove_noop_ops`: ")
    assert "with 9 it fails" in told and "`subsystem/before.txt`" in told
    assert part(SubsystemSearch(names=("fusion", "lowerings"))).startswith("`fusion` and `lowerings`: ")


def test_the_terminal_names_the_application_too(tmp_path):
    verdict = ReportVerdict(Symptom.WRONG_RESULT, Stage.INDUCTOR)
    found = TriageReport({}, ("train.py",), verdict, subsystem=SEARCH)
    rows = dict(_facts(RunResult(found, tmp_path, 0)))
    assert rows["part"] == f"post_grad_passes, application 9, remove_noop_ops: {SEARCH.shown_by}"


def test_the_search_is_surer_than_the_frames_of_an_error():
    assert with_part(Culprit("aten.relu", subsystem="scheduler"), SEARCH) == Culprit(
        "aten.relu", subsystem="post_grad_passes"
    )
    assert with_part(None, SEARCH) == Culprit(None, subsystem="post_grad_passes")
    kept = Culprit("aten.relu", subsystem="scheduler")
    assert (
        with_part(kept, None) is kept and with_part(kept, SubsystemSearch()) is kept and with_part(None, None) is None
    )
