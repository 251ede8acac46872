"""A script that fails uncompiled with its module wrapped by torch.compile: the wrapper, or the script without it?"""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
from walk_machine import Machine, error, walk_of

from triage.cli.result import _next
from triage.locate import wrapper
from triage.model.outcome import Frame, Outcome, RaisedException
from triage.model.report import ReportVerdict, TriageReport
from triage.model.stage import OutcomeKind, OwnFault, Stage, Symptom
from triage.probe.launch import Cancel
from triage.probe.run import Probe, ProbeRequest
from triage.report.own_faults import in_title, in_words
from triage.report.titles import title
from triage.stories.assemble import assemble
from triage.stories.findings import Findings
from triage.stories.run import RunResult

OWN = RaisedException(
    "TypeError", "no rate is known for it", (Frame("/home/ann/train.py", 3, "rate"),), phase="uncaught"
)
OTHER = error(message="another thing", phase="uncaught")


def findings(
    tmp_path: Path, *without: RaisedException | OutcomeKind | None, again: bool = True, prints: bool = False
) -> Findings:
    """A walk of a script that fails wrapped, `without` its wrapper in these ways in turn, the last for ever, and wrapped `again`.

    It `prints` another number in each run.
    """
    fails = itertools.repeat(OWN)
    plain = itertools.chain(without, itertools.repeat(without[-1]))
    machine, unwrapped = Machine({"uncompiled": fails, "inductor": fails}), Machine({"uncompiled": plain})

    def probe(request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        ran = (unwrapped if request.unwrapped else machine)(request, cancel)
        if request.name == "wrapped-again" and not again:
            ran = replace(ran, outcome=Outcome(OutcomeKind.OK, 1.0, 0), signature=None)
        if prints:
            ran = replace(ran, log=tmp_path / "log")
            (tmp_path / f"{ran.name}.out.log").write_text(f"best {len(list(tmp_path.glob('*.out.log'))) / 7}\n")
        return replace(ran, notes=replace(ran.notes, wraps_module=True))

    found = walk_of(tmp_path)(machine)
    found.probe = probe
    found.first()
    concluded = found.settle()
    assert concluded.own_fault is OwnFault.WRAPPED and wrapper.worth_checking(found, concluded)
    wrapper.check(found)
    assert not wrapper.worth_checking(found, found.conclusion())
    return Findings(found.session, found.target, ("train.py",), found)


@pytest.mark.parametrize(
    ("without", "again", "fault"),
    [
        ((None, None), True, OwnFault.WRAPPER),
        ((None, OWN), True, OwnFault.BY_CHANCE),
        ((None, OTHER), True, OwnFault.WRAPPED),
        ((None, None), False, OwnFault.BY_CHANCE),
        ((OWN,), True, OwnFault.UNCOMPILED),
        ((OTHER,), True, OwnFault.WRAPPED),
        ((OutcomeKind.HANG,), True, OwnFault.WRAPPED),
    ],
)
def test_the_wrapper_is_named_where_runs_with_it_alone_fail(
    tmp_path: Path, without: tuple[RaisedException | OutcomeKind | None, ...], again: bool, fault: OwnFault
) -> None:
    report = assemble(findings(tmp_path, *without, again=again))
    assert report.verdict.own_fault is fault
    told = (report.verdict.summary, title(report), _next(RunResult(report, Path("out"), 3)))
    assert all(("without torch.compile" in words) == (fault is OwnFault.UNCOMPILED) for words in told), told
    assert (report.known_cause is not None and report.known_cause.id == "module_wrapper") == (fault is OwnFault.WRAPPER)


def test_a_coin_that_fell_so_is_no_wrapper(tmp_path: Path) -> None:
    """Random numbers of the program's own, which no seed fixes: it fails, passes, fails, passes, and then otherwise."""
    assert findings(tmp_path, None, None, OWN).walk.unwrapped is OwnFault.BY_CHANCE
    assert findings(tmp_path, None, None, prints=True).walk.unwrapped is OwnFault.BY_CHANCE


@pytest.mark.parametrize(("message", "turns"), [("'OptimizedModule'", 1), ("no rate is known for it", 3)])
def test_an_error_that_names_the_wrapper_is_asked_of_once(tmp_path: Path, message: str, turns: int) -> None:
    found = findings(tmp_path, None).walk
    failed = found.seen["uncompiled"][-1]
    found.seen["uncompiled"] = [
        replace(failed, outcome=replace(failed.outcome, exception=replace(OWN, message=message)))
    ]
    found.unwrapped, names, inner = None, list[str](), found.probe

    def probe(request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        names.append(request.name)
        return inner(request, cancel)

    found.probe = probe
    wrapper.check(found)
    assert found.unwrapped is OwnFault.WRAPPER and len(names) == 1 + 2 * turns


def test_what_chance_decides_is_not_what_an_earlier_run_left(tmp_path: Path) -> None:
    """The first run passed, and all until the wrapper was asked of failed; without the wrapper, and with it again, it passes."""
    found = findings(tmp_path, None, again=False)
    for rung, probes in found.walk.seen.items():
        if rung != "uncompiled":
            probes.insert(0, replace(probes[0], outcome=Outcome(OutcomeKind.OK, 1.0, 0), signature=None))
    report = assemble(found)
    assert report.verdict.own_fault is OwnFault.BY_CHANCE
    assert not any("not like chance" in note for note in report.notes)


def test_all_runs_that_decide_have_the_same_seeds(tmp_path: Path) -> None:
    found = findings(tmp_path, None, None).walk
    seeds: list[int | None] = []
    found.unwrapped = None
    found.seeded = {0: (2, 0), 3: (2, 2)}  # of a flaky failure: that with which it comes
    inner = found.probe

    def probe(request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        seeds.append(request.seed)
        return inner(request, cancel)

    found.probe = probe
    wrapper.check(found)
    assert len(seeds) == 7 and set(seeds) == {3}


def test_the_names_of_parameters_are_no_other_failure(tmp_path: Path) -> None:
    named = replace(OWN, message="_orig_mod.0.weight has no gradient")
    plain = replace(OWN, message="0.weight has no gradient")
    ran = [
        Machine({"uncompiled": [each]})(ProbeRequest("r", None, "uncompiled", 9.0, tmp_path)) for each in (plain, named)
    ]
    assert wrapper._without(*ran) is OwnFault.UNCOMPILED


def test_where_it_was_cut_short_before_that_was_known_it_can_go_on() -> None:
    verdict = ReportVerdict(Symptom.EXCEPTION, Stage.SCRIPT, own_fault=OwnFault.WRAPPED)
    words = _next(RunResult(TriageReport({}, ("train.py",), verdict, complete=False), Path("out"), 130))
    assert words == "go on where it ended: triage run --resume out"


@pytest.mark.parametrize("fault", [None, *OwnFault])
def test_one_table_has_the_words_for_each_fault(fault: OwnFault | None) -> None:
    verdict = ReportVerdict(Symptom.EXCEPTION, Stage.SCRIPT, own_fault=fault)
    report = TriageReport({}, ("train.py",), verdict)
    assert title(report).startswith(in_title(verdict))
    assert in_words(verdict).replace("`", "") in _next(RunResult(report, Path("out"), 3))
    assert ("without" in in_words(verdict)) == (fault in (None, OwnFault.UNCOMPILED))  # an older report has none
