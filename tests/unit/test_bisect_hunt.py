"""A hunt against stub benches: what is tested, repeated, prepared ahead, skipped, and what remains when it is cut short."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import cycle
from math import ceil, log2
from pathlib import Path

import pytest
from bisect_stubs import NOTES, PASSES, StubBench, fails, lacks

from triage.bisect.answer import answer, why_untestable
from triage.bisect.hunt import Hunt, Manner
from triage.bisect.points import Axis, Point
from triage.bisect.search import edge
from triage.bisect.trial import Sought, Trial
from triage.errors import TargetError
from triage.judge.signature import signature_of
from triage.model.bisection import Bisection, Kind, Standing, from_json, to_json
from triage.model.outcome import Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind
from triage.probe.run import Probe, ProbeRequest
from triage.session.clock import BudgetSpentError, Clock
from triage.session.events import Emitter
from triage.session.session import Session
from triage.session.settings import Settings

Behaviour = Outcome | Iterator[Outcome] | BaseException


@dataclass
class Runs:
    """Plays the probe: outcomes by version, and what was asked for."""

    behaviour: dict[str, Behaviour]
    asked: list[ProbeRequest] = field(default_factory=list)
    uncompiled: dict[str, Outcome] = field(default_factory=dict)
    caches_off: Outcome | None = None

    def __call__(self, request: ProbeRequest, cancel: object = None) -> Probe:
        self.asked.append(request)
        name = request.name.split("-")[0]
        found = self.behaviour[name]
        if request.rung == "uncompiled":
            found = self.uncompiled.get(name, PASSES)
        elif request.name.endswith("caches-off") and self.caches_off is not None:
            found = self.caches_off
        elif isinstance(found, BaseException):
            raise found
        elif not isinstance(found, Outcome):
            found = next(found)
        return Probe(request.name, request.rung, found, signature_of(found), NOTES, Path(request.name))

    def versions(self) -> list[str]:
        return [request.name.split("-")[0] for request in self.asked]


Make = Callable[..., tuple[Hunt, StubBench, Runs]]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(
        behaviour: list[Behaviour], *, kind: Kind = Kind.REGRESSED, sought: Sought | None = None, **manner: object
    ):
        names = [f"2.{number}.0" for number in range(len(behaviour))]
        axis = Axis(tuple(Point(name) for name in names), kind, "release")
        runs = Runs(dict(zip(names, behaviour, strict=True)))
        bench = StubBench()
        session = Session(tmp_path, Settings(), Emitter(), Clock(0), None)
        hunt = Hunt(axis, bench, Trial(session, probe=runs), session, Manner(**manner), sought or Sought())
        return hunt, bench, runs

    return made


def told(hunt: Hunt, incomplete: str | None = None) -> Bisection:
    asked = Bisection(
        "script.py", hunt.axis.kind, ("triage", "bisect"), installs=hunt.bench.installs, notes=tuple(hunt.notes)
    )
    found = answer(asked, hunt.axis, hunt.results, hunt.sought, incomplete=incomplete, dead_end=hunt.dead_end)
    assert from_json(to_json(found)) == found
    return found


def test_the_first_bad_version_is_found_with_few_installs(make):
    hunt, bench, _ = make([PASSES] * 11 + [fails()] * 4)
    hunt.run()
    found = told(hunt)
    assert (found.before, found.after, found.monotone) == ("2.10.0", "2.11.0", None)
    assert found.summary == "Broken between torch 2.10.0 (passes) and 2.11.0 (fails)."
    assert bench.installs <= ceil(log2(15)) + 2
    assert not any(bench.held.values())
    assert bench.stopped


def test_every_version_reads_what_the_bisection_was_given(make, tmp_path):
    hunt, _, runs = make([PASSES, fails(), fails()])
    hunt.trial = replace(hunt.trial, stdin=tmp_path / "stdin.data")
    hunt.run()
    assert {request.target.stdin for request in runs.asked} == {tmp_path / "stdin.data"}


@pytest.mark.parametrize("size", [2, 3, 5, 8, 13, 21])
def test_a_fix_is_found_with_few_installs(make, size):
    for fixed in range(1, size):
        hunt, bench, _ = make([fails()] * fixed + [PASSES] * (size - fixed), kind=Kind.FIXED)
        hunt.run()
        found = told(hunt)
        assert (found.before, found.after) == (f"2.{fixed - 1}.0", f"2.{fixed}.0")
        assert bench.installs <= ceil(log2(size)) + 2
        assert to_json(found)["last_bad"] == f"2.{fixed - 1}.0"


def test_both_sides_of_the_boundary_are_repeated(make):
    hunt, _, runs = make([PASSES] * 3 + [fails()] * 3, repeats=3)
    hunt.run()
    counted = Counter(
        name for name, request in zip(runs.versions(), runs.asked, strict=True) if "caches" not in request.name
    )
    assert counted["2.2.0"] == 3
    assert counted["2.3.0"] == 3


def test_untestable_versions_widen_the_window(make):
    hunt, bench, _ = make([PASSES] * 4 + [fails()] * 4)
    bench.untestable = {"2.3.0": "no wheel", "2.4.0": "the environment cannot compile"}
    hunt.run()
    found = told(hunt)
    assert (found.before, found.after) == ("2.2.0", "2.5.0")
    assert found.between == ("2.3.0", "2.4.0")
    assert {(row.version, row.reason) for row in found.skipped} >= {("2.3.0", "no wheel")}
    assert "2.3.0, 2.4.0 in between could not be tested" in found.summary


def test_another_failure_is_skipped_and_named(make):
    hunt, _, _ = make([PASSES, PASSES, fails("something else entirely", "KeyError"), fails(), fails()])
    hunt.run()
    found = told(hunt)
    assert (found.before, found.after) == ("2.1.0", "2.3.0")
    assert [(row.version, row.reason) for row in found.skipped] == [
        ("2.2.0", "another failure: KeyError: something else entirely")
    ]


def test_a_version_in_which_the_script_fails_uncompiled_too_says_so(make):
    hunt, _, runs = make([PASSES, fails("else", "KeyError"), fails()])
    runs.uncompiled = {"2.1.0": fails("else", "KeyError")}
    hunt.run()
    assert told(hunt).skipped[0].reason == "fails without torch.compile too: KeyError: else"


def test_an_interface_that_only_the_compiler_misses_by_another_name_makes_the_end_untestable(make):
    hunt, _, runs = make([fails("TypeError f", "Unsupported"), PASSES, PASSES], kind=Kind.FIXED)
    runs.uncompiled = {"2.0.0": lacks()}
    hunt.run()
    found = told(hunt)
    assert found.before is None
    assert [row.reason for row in found.skipped] == ["torch.compiler.set_stance does not exist in this version"]


def test_a_failure_that_is_there_without_compile_too_is_said_to_be(make):
    hunt, _, runs = make([PASSES, fails()])
    runs.uncompiled = {"2.1.0": fails()}
    hunt.run()
    rows = {row.version: row.note for row in told(hunt).tested}
    assert rows == {"2.0.0": None, "2.1.0": "fails without torch.compile too"}
    assert [request.rung for request in runs.asked].count("uncompiled") == 1


def test_a_missing_interface_is_neither_good_nor_bad(make):
    hunt, _, _ = make([lacks()] * 5 + [PASSES] * 3 + [fails()] * 2)
    hunt.run()
    found = told(hunt)
    assert (found.before, found.after) == ("2.7.0", "2.8.0")
    assert {row.reason for row in found.skipped} == {"torch.compiler.set_stance does not exist in this version"}
    assert len(found.tested) < 10


def test_a_linear_search_tests_all_and_tells_the_whole_history(make):
    hunt, bench, _ = make([PASSES] * 2 + [fails()] * 3 + [PASSES] * 2 + [fails()] * 2, linear=True)
    hunt.run()
    found = told(hunt)
    assert len(found.tested) == bench.installs == 9
    assert found.monotone is False
    assert [(change.kind.value, change.before, change.after) for change in found.changes] == [
        ("regressed", "2.1.0", "2.2.0"),
        ("fixed", "2.4.0", "2.5.0"),
        ("regressed", "2.6.0", "2.7.0"),
    ]
    assert (found.before, found.after) == ("2.6.0", "2.7.0")
    assert "not monotone" in found.summary


def test_a_linear_search_finds_changes_between_ends_that_agree(make):
    hunt, _, _ = make([PASSES] * 2 + [fails()] * 2 + [PASSES] * 2, linear=True)
    hunt.run()
    found = told(hunt)
    assert found.monotone is False
    assert (found.before, found.after) == ("2.1.0", "2.2.0")
    assert [change.kind for change in found.changes] == [Kind.REGRESSED, Kind.FIXED]


def test_a_linear_search_may_test_side_by_side(make):
    hunt, _, _ = make([PASSES] * 6 + [fails()] * 6, linear=True, jobs=3)
    hunt.run()
    found = told(hunt)
    assert (found.before, found.after, found.monotone) == ("2.5.0", "2.6.0", True)
    assert len(found.tested) == 12


def test_a_bad_end_that_passes_is_run_again_and_then_believed(make):
    hunt, bench, runs = make([PASSES] * 8)
    hunt.run()
    found = told(hunt)
    assert runs.versions() == ["2.7.0"] * 3
    assert (found.before, found.after) == (None, None)
    assert "passes with torch 2.7.0, where it should fail" in found.summary
    assert bench.installs <= 2  # the other end may have been made ahead


def test_a_good_end_that_fails_ends_the_search(make):
    hunt, bench, _ = make([fails()] * 8)
    hunt.run()
    assert "fails with torch 2.0.0 too" in told(hunt).summary
    assert bench.installs <= 3


def test_a_flaky_failure_is_repeated_until_a_pass_means_something(make):
    flaky = [cycle([fails(), PASSES]) for _ in range(3)]
    hunt, _, runs = make([PASSES, PASSES, PASSES, *flaky])
    hunt.run()
    found = told(hunt)
    assert (found.before, found.after) == ("2.2.0", "2.3.0")
    assert hunt.sought.rate == pytest.approx(0.6)
    assert runs.versions().count("2.2.0") >= 4
    assert any("comes and goes" in note for note in found.notes)


def test_one_failure_by_chance_at_the_boundary_is_outvoted(make):
    hunt, _, _ = make([PASSES, iter([fails(), PASSES, PASSES, PASSES]), fails(), fails()], repeats=3)
    hunt.run()
    found = told(hunt)
    assert (found.before, found.after) == ("2.1.0", "2.2.0")
    assert next(row for row in found.tested if row.version == "2.1.0").note == "fails in 1 of 3 runs"


def test_a_run_that_failed_otherwise_is_not_followed(make):
    wanted = make([fails("first"), fails("first")])[0]
    wanted.run()
    hunt, _, runs = make([PASSES] * 4 + [fails("second", "KeyError")] * 4, sought=wanted.sought)
    hunt.run()
    found = told(hunt)
    assert found.before is None
    assert "fails otherwise than in the run (ValueError: first)" in found.summary
    assert set(runs.versions()) == {"2.7.0"}


def test_caches_are_looked_at_in_the_end(make):
    hunt, _, runs = make([PASSES, fails()])
    runs.caches_off = PASSES
    hunt.run()
    assert told(hunt).notes == (
        "With compile caches switched off the failure is gone in 2.1.0: look at the caching first.",
    )
    assert runs.asked[-1].extra_env["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] == "1"
    assert all("TORCHINDUCTOR_FORCE_DISABLE_CACHES" not in request.extra_env for request in runs.asked[:-1])


def test_what_concerns_every_version_ends_the_hunt_and_keeps_the_results(make):
    hunt, bench, _ = make([PASSES] * 5 + [fails()] * 5)
    bench.broken = {"2.4.0": TargetError("There is not enough room on the disk.", "why", "next")}
    with pytest.raises(TargetError, match="not enough room"):
        hunt.run()
    found = told(hunt, "There is not enough room on the disk")
    assert {row.version for row in found.tested} >= {"2.9.0", "2.0.0"}
    assert not found.complete
    assert bench.stopped


@pytest.mark.parametrize("end", [KeyboardInterrupt(), BudgetSpentError()])
def test_what_was_learned_survives_an_interrupt_and_is_not_learned_again(make, end):
    history: list[Behaviour] = [PASSES] * 6 + [fails()] * 6
    hunt, bench, _ = make([*history[:5], end, *history[6:]])
    with pytest.raises(type(end)):
        hunt.run()
    assert not any(bench.held.values())
    again, _, runs = make(history, sought=hunt.sought)
    again.results = dict(hunt.results)
    again.run()
    assert edge(again.answers()) == edge({place: row.verdict for place, row in again.results.items()})
    assert (told(again).before, told(again).after) == ("2.5.0", "2.6.0")
    assert "2.0.0" not in runs.versions()


def test_runs_of_an_interrupted_part_count_with_those_that_follow(make):
    first, _, _ = make([PASSES, fails()])
    first.run()
    again, _, runs = make([PASSES, iter([PASSES])], sought=first.sought, look_at_caches=False)
    again.results = {place: replace(row, runs=2, failures=2 * (place == 0)) for place, row in first.results.items()}
    again.run()
    assert runs.asked[0].name == "2.0.0-run3"  # no log of an earlier run is written over
    row = next(row for row in told(again).tested if row.version == "2.1.0")
    assert (row.verdict, row.runs, row.failures, row.note) == (Standing.BAD, 3, 2, "fails in 2 of 3 runs")


def test_a_package_that_no_environment_has_is_asked_for_at_once(make):
    asked = Frame("script.py", 1, "<module>", "import einops")
    lacking = RaisedException("ModuleNotFoundError", "No module named 'einops'", (asked,))
    hunt, bench, runs = make([Outcome(OutcomeKind.EXCEPTION, exit_code=1, exception=lacking)] * 20)
    hunt.run()
    assert runs.versions() == ["2.19.0"]
    assert bench.installs <= 2  # the other end may have been made ahead
    error = why_untestable(hunt.axis, hunt.results)
    assert error is not None
    assert error.what == "The script needs the module einops, which the environments do not have."
    assert "--with einops" in error.next
    assert told(hunt).summary == error.what


def test_a_commit_may_have_a_module_that_another_one_lacks(make):
    asked = Frame("script.py", 1, "<module>", "import own")
    lacking = RaisedException("ModuleNotFoundError", "No module named 'own'", (asked,))
    hunt, _, _ = make([PASSES, fails(), Outcome(OutcomeKind.EXCEPTION, exit_code=1, exception=lacking)])
    hunt.axis = replace(hunt.axis, unit="commit")
    hunt.run()
    assert (told(hunt).before, told(hunt).after) == ("2.0.0", "2.1.0")


def test_a_module_that_comes_with_some_torch_is_looked_for_in_the_others(make):
    asked = Frame("script.py", 1, "<module>", "import triton")
    lacking = RaisedException("ModuleNotFoundError", "No module named 'triton'", (asked,))
    hunt, _, _ = make([PASSES, PASSES, fails(), Outcome(OutcomeKind.EXCEPTION, exit_code=1, exception=lacking)])
    hunt.run()
    assert (told(hunt).before, told(hunt).after) == ("2.1.0", "2.2.0")


def test_what_cannot_be_tested_is_said_where_nothing_fails(make):
    hunt, _, _ = make([lacks()] * 3 + [PASSES] * 3, kind=Kind.FIXED)
    hunt.run()
    assert told(hunt).summary == (
        "The script fails in no version that was tested. 2.0.0, 2.1.0, 2.2.0 could not be: "
        "torch.compiler.set_stance does not exist in this version."
    )


def test_nothing_testable_is_an_error_with_its_reason(make):
    hunt, bench, _ = make([PASSES] * 4)
    bench.untestable = {f"2.{number}.0": "its torch.compile refuses Python 3.14" for number in range(4)}
    hunt.run()
    error = why_untestable(hunt.axis, hunt.results)
    assert error is not None
    assert error.what.startswith("None of the 4 versions")
    assert "refuses Python 3.14" in error.why
    assert bench.installs == 0


def test_standing_words_are_those_of_the_contract():
    assert [standing.value for standing in Standing] == ["good", "bad", "skip"]
