"""Code of the program's own under a real compiler: whose line raised it, and what opcheck finds of its operators."""

from __future__ import annotations

from pathlib import Path

import own_code_programs as programs
import pytest
from command import Command

from triage.culprit.contracts import broken_by
from triage.culprit.own_code import own_code_of, own_code_that_died
from triage.model.own_code import OperatorCheck
from triage.model.stage import Stage
from triage.probe.run import Probe, ProbeRequest, run_probe
from triage.probe.target import make_target
from triage.session.session import neutral_store

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

PYTHON = str(Path(__import__("sys").executable))


def probe(place: Path, source: str, rung: str | None = None, **more: object) -> Probe:
    (place / "mine.py").write_text(source)
    target = make_target(("mine.py",), module=None, raw=False, python=PYTHON, cwd=place)
    out = place / "out"
    out.mkdir()
    request = ProbeRequest("as_is", target, rung, 200, out, neutral=neutral_store(), verbose_logs=False, **more)
    return run_probe(request)


def marked(source: str) -> str:
    return f"mine.py:{next(number for number, line in enumerate(source.splitlines(), 1) if line.endswith('# here'))}"


@pytest.mark.parametrize(
    ("source", "role", "raised", "stage"),
    [
        pytest.param(programs.LOWERING, "lowering", True, Stage.INDUCTOR, id="lowering"),
        pytest.param(programs.THROUGH_LOWERING, "lowering", False, Stage.INDUCTOR, id="through a lowering"),
        pytest.param(programs.GRAPH_PASS, "post-grad pass", True, Stage.INDUCTOR, id="pass"),
        pytest.param(programs.THROUGH_JOINT_PASS, "joint-graph pass", False, Stage.INDUCTOR, id="through a joint pass"),
        pytest.param(programs.PATTERN, "post-grad pass", True, Stage.INDUCTOR, id="pattern"),
        pytest.param(programs.DECOMPOSITION, "decomposition", True, Stage.DECOMP_PARTITION, id="decomposition"),
        pytest.param(programs.DECOMPOSITION_OF_ATEN, "decomposition", True, Stage.DECOMP_PARTITION, id="of aten"),
        pytest.param(programs.BACKEND_BACKWARD, "backend", True, Stage.BACKEND, id="backend, compiling"),
        pytest.param(programs.BACKEND_RUNNING, "backend", True, Stage.BACKEND, id="backend, running"),
        pytest.param(programs.FAKE_KERNEL, "fake kernel", True, Stage.DYNAMO, id="fake kernel"),
        pytest.param(programs.FAKE_READS_VALUES, "fake kernel", False, Stage.DYNAMO, id="through a fake kernel"),
        pytest.param(programs.KERNEL, "kernel", True, Stage.AOT_AUTOGRAD, id="kernel"),
        pytest.param(programs.BACKWARD, "backward", False, Stage.AOT_AUTOGRAD, id="through a backward"),
    ],
)
def test_the_line_is_that_of_the_code_that_the_compiler_was_given(
    source: str, role: str, raised: bool, stage: Stage, tmp_path: Path
) -> None:
    own = own_code_of(probe(tmp_path, source).outcome.exception, stage)
    assert (own.role, own.place, own.raised) == (role, marked(source), raised)
    assert own.call_site is not None and own.call_site.startswith("mine.py:")


def test_a_process_that_died_in_the_code_is_told_by_its_line(tmp_path: Path) -> None:
    outcome = probe(tmp_path, programs.BACKEND_CRASHES).outcome
    own = own_code_that_died(outcome, Stage.BACKEND)
    assert own is not None and own.headline == f"Crashes in your backend, {marked(programs.BACKEND_CRASHES)}: SIGSEGV"


def checked(place: Path, source: str) -> OperatorCheck:
    (found,) = probe(place, source, "uncompiled", opcheck=("*",)).notes.checked
    return found


@pytest.mark.parametrize(
    ("source", "title"),
    [
        (programs.MUTATES, "Custom operator `mylib::scale` (mine.py:4) changes its input `x` without saying so"),
        (programs.ALIAS, "Custom operator `ring::latest` (mine.py:3) returns an alias of its input `history`"),
        (programs.NO_FAKE, "Custom operator `audio::window` (mine.py:4) has no fake kernel"),
        (
            programs.FAKE_STRIDES,
            "Custom operator `img::hwc` (mine.py:4) has a fake kernel that disagrees with its kernel",
        ),
    ],
    ids=["mutates", "alias", "no fake", "strides"],
)
def test_opcheck_tells_which_promise_an_operator_breaks(source: str, title: str, tmp_path: Path) -> None:
    assert [finding.title for finding in broken_by(checked(tmp_path, source))] == [title]


def test_an_operator_that_keeps_its_promises_breaks_none(tmp_path: Path) -> None:
    found = checked(tmp_path, programs.LOWERING)
    assert found.operator == "detect::keep" and not found.failures and len(found.passed) == 4
    assert broken_by(found) == ()


def test_the_report_says_whose_code_it_is_before_anything_else(tmp_path: Path) -> None:
    run = Command(tmp_path)
    done = run("run", "--no-reduce", "--out", str(run.out), run.script(programs.FAKE_KERNEL))
    assert done.returncode == 0
    report, place = run.report(), marked(programs.FAKE_KERNEL).replace("mine", "train")
    assert report["raised_in"] == "custom_op" and report["own_code"]["place"] == place
    assert report["verdict"]["line"] == report["signature"]["user_line"] == report["own_code"]["line"]
    assert report["verdict"]["summary"].startswith(
        f"Raised in the fake kernel of your custom operator `vis::pool`, {place}"
    )
    assert [finding["explains"] for finding in report["findings"]] == [True]
    (check,) = report["operator_checks"]
    assert check["operator"] == "vis::pool" and {each["test"] for each in check["failures"]} >= {"test_faketensor"}
    text = (run.out / "report.md").read_text()
    assert text.index("Not a bug of PyTorch") < text.index(place) < text.index("Called from") < text.index("opcheck")
    assert "your own code" in done.stdout and "called at" in done.stdout


@pytest.mark.slow
def test_an_operator_that_changes_its_input_in_silence_is_no_rounding(tmp_path: Path) -> None:
    run = Command(tmp_path)
    run("run", "--out", str(run.out), run.script(programs.MUTATES))
    report = run.report()
    assert report["verdict"]["symptom"] == "wrong_result"
    assert "changes its input `x` without saying so" in report["findings"][0]["title"]
