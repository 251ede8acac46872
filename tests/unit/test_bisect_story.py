"""The story with a stub bench: what is written where, merged into which report, and with which exit status it ends."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from bisect_stubs import NOTES, PASSES, StubBench, fails
from packaging.version import Version

from triage.bisect import trial as trial_module
from triage.bisect.axis import Wish, release_axis
from triage.bisect.setup import Setup, builds_of
from triage.bisect.state import FILE, Ask, digest_of, load
from triage.cli.bisect_view import _facts
from triage.environments.releases import Release
from triage.errors import TargetError, UsageError
from triage.judge.signature import signature_of
from triage.model.bisection import Bisection, Kind, from_json
from triage.model.outcome import Outcome
from triage.probe.run import Probe, ProbeRequest
from triage.report.issue import bisection_page
from triage.report.store import load_report
from triage.session.events import Emitter, Event
from triage.session.settings import Settings
from triage.stories import bisect as story
from triage.stories.bisect import BisectResult, bisect, command_line
from triage.stories.bisect_subject import find_subject
from triage.stories.runs import runs_in

GOLDEN = Path(__file__).parents[1] / "golden" / "inductor_exception"
VERSIONS = ("2.6.0", "2.7.0", "2.7.1", "2.8.0", "2.9.0", "2.9.1", "2.10.0")
FOUND = [Release(Version(name), f"torch=={name}+cpu", 190_000_000, label="cpu") for name in VERSIONS]


class World:
    """What the stubbed index, environments and runs do."""

    def __init__(self) -> None:
        self.bad_from = Version("2.8.0")
        self.failure = fails()
        self.bench = StubBench()
        self.runs: list[ProbeRequest] = []
        self.raise_at: dict[str, BaseException] = {}

    def set_up(self, ask: Ask, python: str, target: object, cache_limit: int = 0) -> Setup:
        axis = release_axis(FOUND, ask.wish)
        return Setup(axis, lambda session: self.bench, "3.11.7", ("a note",), tuple(1 for _ in axis.points), "cpu")

    def probe(self, request: ProbeRequest, cancel: object = None) -> Probe:
        self.runs.append(request)
        name = request.name.split("-")[0]
        if name in self.raise_at:
            raise self.raise_at[name]
        outcome: Outcome = self.failure if Version(name) >= self.bad_from else PASSES
        if request.rung == "uncompiled":
            outcome = PASSES
        return Probe(request.name, request.rung, outcome, signature_of(outcome), NOTES, Path(request.name))


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> World:
    made = World()
    monkeypatch.setattr(story, "set_up", made.set_up)
    monkeypatch.setattr(trial_module.Trial, "__init__", _trial_with(made.probe))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("import torch\n")
    return made


def _trial_with(probe: Callable[..., Probe]) -> Callable[..., None]:
    def init(
        self: trial_module.Trial, session: object, env: dict[str, str] | None = None, stdin: Path | None = None
    ) -> None:
        self.session, self.env, self.probe, self.stdin = session, env or {}, probe, stdin

    return init


def ask(tmp_path: Path, *words: str, **changes: object) -> Ask:
    return replace(Ask(words or ("train.py",), str(tmp_path)), **changes)


def go(question: Ask, out: Path | None = None, resume: Path | None = None, **settings: object) -> BisectResult:
    return bisect(question, Settings(out=out, **settings), Emitter(), resume)


def test_it_is_written_as_the_contract_has_it(world, tmp_path):
    done = go(ask(tmp_path), tmp_path / "out")
    tree = json.loads((tmp_path / "out" / "bisect.json").read_text())
    assert done.exit_code == 0
    assert list(tree)[:5] == ["schema_version", "target", "kind", "last_good", "first_bad"]
    assert (tree["last_good"], tree["first_bad"], tree["installs"]) == ("2.7.1", "2.8.0", 4)
    assert {"monotone", "skipped", "tested", "command", "complete"} <= set(tree)
    assert {"version", "verdict", "error", "git_version", "seconds"} <= set(tree["tested"][0])
    assert from_json(tree) == done.found
    page = (tmp_path / "out" / "bisect.md").read_text()
    assert "**Regression: 2.7.1 passes, 2.8.0 fails**" in page
    assert "triage bisect --good 2.6.0 --bad 2.10.0 train.py" in page
    assert 'class="bad" title="2.8.0 fails' in (tmp_path / "out" / "bisect.html").read_text()


def test_it_is_listed_as_what_it_is_once_it_has_ended(world, tmp_path):
    go(ask(tmp_path), tmp_path / "out")
    assert [(run.kind, run.going_on) for run in runs_in(tmp_path)] == [("bisect", False)]


@pytest.mark.parametrize("redact", [True, False])
def test_what_belongs_to_this_machine_is_taken_out_unless_that_is_not_wanted(world, tmp_path, monkeypatch, redact):
    monkeypatch.setenv("SERVICE_TOKEN", "n0tForAnybody-99")
    world.failure = fails(message="no access with n0tForAnybody-99")
    go(ask(tmp_path), tmp_path / "out", redact=redact)
    for name in ("bisect.json", "bisect.md", "bisect.html"):
        assert ("n0tForAnybody-99" in (tmp_path / "out" / name).read_text()) is not redact


def test_no_change_has_an_exit_status_of_its_own(world, tmp_path):
    world.bad_from = Version("9")
    assert go(ask(tmp_path), tmp_path / "out").exit_code == 1
    world.bad_from = Version("1")
    assert go(ask(tmp_path), tmp_path / "out2").exit_code == 1


@pytest.mark.parametrize(
    ("listed", "left_out"),
    [
        (("2.6.0", "2.7.0", "2.8.0"), " In between, --versions leaves out 2.7.1."),
        (("2.7.0", "2.9.1", "2.10.0"), " In between, --versions leaves out 2.7.1, 2.8.0, 2.9.0."),
        (("2.6.0", "2.7.1", "2.8.0"), ""),
        ((), ""),
    ],
)
def test_releases_of_the_window_that_were_not_listed_are_named(world, tmp_path, listed, left_out):
    found = go(ask(tmp_path, wish=Wish(versions=listed)), tmp_path / "out").found
    assert found.summary == f"Broken between torch {found.before} (passes) and {found.after} (fails).{left_out}"


def test_an_interrupt_leaves_a_partial_answer_that_is_taken_up(world, tmp_path):
    world.raise_at = {"2.8.0": KeyboardInterrupt()}
    done = go(ask(tmp_path), tmp_path / "out")
    assert (done.exit_code, done.found.complete, done.found.incomplete_reason) == (130, False, "interrupted")
    before = {row.version for row in done.found.tested}
    assert before == {"2.10.0", "2.6.0"}
    world.raise_at = {}
    world.runs.clear()
    again = go(Ask((), ""), resume=tmp_path / "out")
    assert (again.exit_code, again.found.before, again.found.after) == (0, "2.7.1", "2.8.0")
    assert not {request.name.split("-")[0] for request in world.runs} & {"2.10.0", "2.6.0"}


def test_the_same_question_in_the_same_place_goes_on_and_another_is_refused(world, tmp_path):
    world.raise_at = {"2.8.0": KeyboardInterrupt()}
    go(ask(tmp_path), tmp_path / "out")
    world.raise_at = {}
    with pytest.raises(UsageError, match="holds another bisection"):
        go(ask(tmp_path, linear=True), tmp_path / "out")
    assert go(ask(tmp_path), tmp_path / "out").found.after == "2.8.0"


@pytest.mark.parametrize("by_resume", [False, True])
def test_two_at_once_in_one_place_refuse_each_other(world, tmp_path, monkeypatch, by_resume):
    """The one that came first goes on; asked again after its end the same question is taken up."""
    out, met = tmp_path / "out", []

    def meanwhile(request: ProbeRequest, cancel: object = None) -> Probe:
        if out.joinpath("bisect-state.json").exists() and not met:
            with pytest.raises(UsageError, match="Another triage is at work there") as refused:
                go(ask(tmp_path), out, resume=out if by_resume else None)
            met.append(refused)
        return world.probe(request, cancel)

    monkeypatch.setattr(trial_module.Trial, "__init__", _trial_with(meanwhile))
    world.raise_at = {"2.8.0": KeyboardInterrupt()}
    assert go(ask(tmp_path), out).exit_code == 130 and met
    world.raise_at = {}
    assert go(ask(tmp_path), out).found.after == "2.8.0"


def test_a_script_that_was_changed_meanwhile_is_tested_anew(world, tmp_path):
    world.raise_at = {"2.8.0": KeyboardInterrupt()}
    go(ask(tmp_path), tmp_path / "out")
    (tmp_path / "train.py").write_text("import torch  # changed\n")
    world.raise_at = {}
    world.runs.clear()
    go(ask(tmp_path), resume=tmp_path / "out")
    assert "2.10.0" in {request.name.split("-")[0] for request in world.runs}


def test_a_spent_budget_is_told(world, tmp_path):
    assert go(ask(tmp_path), tmp_path / "out", budget=0.5).exit_code == 5


def test_what_stops_every_version_says_how_to_go_on(world, tmp_path):
    world.bench.broken = {"2.8.0": TargetError("There is not enough room on the disk.", "why", "Free some.")}
    with pytest.raises(TargetError, match="not enough room") as caught:
        go(ask(tmp_path), tmp_path / "out")
    assert f"triage bisect --resume {tmp_path / 'out'}" in caught.value.next
    assert json.loads((tmp_path / "out" / "bisect.json").read_text())["complete"] is False
    assert {row.version for row in load(tmp_path / "out").results} == {"2.6.0", "2.10.0"}


def test_no_version_that_can_be_tested_is_an_error(world, tmp_path):
    world.bench.untestable = dict.fromkeys(VERSIONS, "no wheel for Python 3.14")
    with pytest.raises(TargetError, match="None of the 7 versions") as caught:
        go(ask(tmp_path), tmp_path / "out")
    assert "no wheel for Python 3.14" in caught.value.why
    tree = json.loads((tmp_path / "out" / "bisect.json").read_text())
    assert (len(tree["skipped"]), tree["last_good"], tree["complete"]) == (7, None, True)
    assert "None of the 7 versions" in tree["summary"]
    assert "another interpreter" in (tmp_path / "out" / "bisect.md").read_text()
    assert [run.going_on for run in runs_in(tmp_path)] == [False]


@pytest.mark.parametrize(
    ("bad_from", "fix", "typed"),
    [("3", False, "--find-fix --bad"), ("1", False, "--good"), ("1", True, "a newer version")],
)
def test_where_nothing_changes_it_says_what_to_ask_instead(world, tmp_path, bad_from, fix, typed):
    world.bad_from = Version(bad_from)
    done = go(ask(tmp_path, wish=Wish(None, None, (), fix)), tmp_path / "out")
    assert (done.found.before, done.exit_code) == (None, 1)
    assert typed in next(value for name, value in _facts(done) if name == "next")
    assert "**Next:**" in (tmp_path / "out" / "bisect.md").read_text()


# -- an earlier run -------------------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path) -> Path:
    place = tmp_path / "triage-out" / "train-1"
    shutil.copytree(GOLDEN, place)
    return place


def test_a_run_is_bisected_by_its_reproducer_and_its_report_gets_the_section(world, tmp_path, run):
    report = load_report(run)
    world.failure = fails(report.signature.message, report.signature.exception_type)
    done = go(ask(tmp_path, str(run), wish=Wish(bad="2.10.0")))
    assert done.found.after == "2.8.0"
    assert done.directory == run / "bisect"
    assert find_subject((str(run),), None, False, tmp_path).words == (str(run / "repro.py"),)
    merged = load_report(run)
    assert (merged.regression["last_good"], merged.regression["first_bad"]) == ("2.7.1", "2.8.0")
    text = (run / "report.md").read_text()
    assert "Regression: 2.7.1 passes, 2.8.0 fails" in text
    assert "last good torch `2.7.1`, first bad torch `2.8.0`" in text
    assert "packages" not in merged.regression["tested"][0]


def test_a_run_that_fails_otherwise_in_a_fresh_environment_is_not_followed(world, tmp_path, run):
    world.failure = fails("quite another thing", "KeyError")
    done = go(ask(tmp_path, str(run), wish=Wish(bad="2.10.0")))
    assert done.exit_code == 1
    assert "fails otherwise than in the run" in done.found.summary


def test_the_reproducer_of_a_wrong_value_raises_not_what_the_script_raises_by_it(tmp_path, run):
    tree = json.loads((run / "report.json").read_text())
    tree["signature"]["wrong"] = {"kind": "values", "where": "output 0", "sense": ""}
    for case, compares in (("graph", True), ("source", False)):
        tree["reproducer"]["case"] = case
        (run / "report.json").write_text(json.dumps(tree))
        assert (find_subject((str(run),), None, False, tmp_path).wanted is None) is compares


def test_a_run_without_a_reproducer_is_bisected_by_its_script(tmp_path, run):
    tree = json.loads((run / "report.json").read_text())
    tree["reproducer"] = None
    (run / "report.json").write_text(json.dumps(tree))
    (run / "journal.jsonl").write_text(
        json.dumps({"kind": "run_started", "command": ["-m", "pkg.train", "--lr", "1"]}) + "\n"
    )
    subject = find_subject((str(run),), None, False, tmp_path)
    assert (subject.words, subject.module, subject.cwd) == (("--lr", "1"), "pkg.train", tmp_path)
    assert subject.wanted.place == "<module>: chead(rois2).backward()"
    assert subject.known_bad == tree["environment"]["torch"]


def test_nothing_to_bisect_is_told(tmp_path):
    with pytest.raises(UsageError, match="nothing to bisect"):
        find_subject((), None, False, tmp_path)


# -- words ----------------------------------------------------------------------------------------------------------


def test_the_command_asks_the_same_question_again(tmp_path):
    axis = release_axis(FOUND, Wish(bad="2.6.0", good="2.9.1"))
    question = ask(
        tmp_path,
        "train.py",
        "--lr",
        "1",
        wish=Wish(bad="2.6.0", good="2.9.1"),
        packages=("einops",),
        flavour="cu128",
        linear=True,
    )
    assert command_line(question, axis) == (
        "triage", "bisect", "--good", "2.9.1", "--bad", "2.6.0", "--find-fix", "--linear", "--flavour", "cu128",
        "--with", "einops", "--", "train.py", "--lr", "1",
    )  # fmt: skip


def test_the_command_names_the_versions_between_the_ends(tmp_path):
    wish = Wish(good="2.8.0", versions=("2.6.0", "2.8.0+cpu", "2.9.1"))
    axis = release_axis(FOUND, wish)
    command = command_line(ask(tmp_path, "train.py", wish=wish), axis)
    assert command == ("triage", "bisect", "--versions", "2.8.0+cpu,2.9.1", "train.py")


def test_builds_are_named_as_they_are():
    assert builds_of(FOUND, "cpu") == "cpu"
    assert builds_of([*FOUND, Release(Version("2.11.0"), "torch==2.11.0")], "cpu") == "cpu and default"
    assert builds_of([Release(Version("2.11.0"), "torch==2.11.0")], "cpu") == "default"


def test_a_digest_changes_with_the_script_and_its_arguments(tmp_path):
    script = tmp_path / "s.py"
    script.write_text("a")
    first = digest_of(script, ("s.py",))
    assert digest_of(script, ("s.py", "--x")) != first
    script.write_text("b")
    assert digest_of(script, ("s.py",)) != first


def test_a_state_that_is_none_is_told(tmp_path):
    with pytest.raises(UsageError, match="holds no bisection"):
        load(tmp_path)
    (tmp_path / FILE).write_text("{")
    with pytest.raises(UsageError, match="holds no bisection"):
        load(tmp_path)


def test_a_page_shows_texts_as_they_are_and_bounded():
    from triage.model.bisection import Standing, TestedVersion

    rows = tuple(TestedVersion(f"2.{n}.0", Standing.BAD, "@torch <b>| `x`" * 500) for n in range(60))
    page = bisection_page(
        Bisection("t", Kind.REGRESSED, ("triage",), "2.29.0", "2.30.0", tested=rows, summary="# x" * 900)
    )
    assert len(page) < 12_000
    assert "40 more versions" in page
    assert "`2.30.0`" in page


def test_the_view_tells_what_is_left():
    from triage.cli.bisect_view import View, plain_line

    view = View()
    started = {
        "versions": list(VERSIONS),
        "sizes": dict.fromkeys(VERSIONS, 190 * 1024**2),
        "notes": ["n"],
        "directory": "d",
    }
    view.listen(Event("bisect_started", started))
    view.listen(Event("version_started", {"version": "2.10.0", "left": 4}))
    ended = {"version": "2.10.0", "verdict": "bad", "error": "E: x", "seconds": 90.0, "left": 3}
    view.listen(Event("version_ended", ended))
    assert view.outlook() == "  at most 3 more versions, about 4 min and 570 MiB of torch wheels"
    assert plain_line(Event("version_ended", ended)) == "2.10.0: fails: E: x, at most 3 more to test"
    assert "7 versions from 2.6.0 to 2.10.0" in (plain_line(Event("bisect_started", started)) or "")
    view.render()
