"""`triage doctor`: a line per thing with what to do about it, and an exit status that says whether the target is usable."""

from __future__ import annotations

import pytest
import typer
from doctor_stubs import Bench, examined

from triage.cli.doctor import doctor
from triage.model.outcome import Outcome, RaisedException
from triage.model.rungs import LADDER
from triage.model.stage import OutcomeKind
from triage.stories import doctor as story
from triage.stories.doctor import Check

THINGS = ["interpreter", "torch", "compiler", "device", "temporary", "cache", "output", "fork"]
RUNGS = [rung.name for rung in LADDER]
BROKEN = Outcome(OutcomeKind.EXCEPTION, exception=RaisedException("ImportError", "No module named setuptools\nmore"))


def states(bench: Bench) -> dict[str, str]:
    return {check.name: check.state for check in examined(bench)}


def test_a_usable_target_has_a_line_per_thing_and_per_rung():
    bench = Bench()
    checks = examined(bench)
    assert [check.name for check in checks] == [*THINGS, *RUNGS] and bench.asked == RUNGS
    assert "bad" not in {check.state for check in checks}
    assert checks[-1] == Check("inductor", "good", "compiles a trivial function (1.2 s)")


def test_without_torch_nothing_more_is_asked():
    checks = examined(Bench(torch=None, torch_error="ModuleNotFoundError: No module named 'torch'"))
    assert [(check.name, check.state) for check in checks] == [("interpreter", "good"), ("torch", "bad")]
    assert "No module named" in checks[-1].text and "pip install torch" in checks[-1].advice


def test_a_python_that_dynamo_refuses_ends_it():
    checks = examined(Bench(dynamo_error="Python 3.15+ is not supported"))
    assert (checks[-1].name, checks[-1].state, checks[-1].text) == ("dynamo", "bad", "Python 3.15+ is not supported")


@pytest.mark.parametrize(
    ("facts", "name", "state"),
    [
        ({"compiler": None}, "compiler", "bad"),
        ({"compiler": {"path": "/usr/bin/g++"}}, "compiler", "bad"),
        ({"fork": False}, "fork", "warn"),
        ({"cuda_devices": 1, "cuda_device": "H200"}, "device", "bad"),
        ({"cuda_devices": 1, "cuda_device": "H200", "pip": {"triton": "3.4.0"}}, "device", "good"),
    ],
)
def test_a_thing_that_is_missing_is_named_with_its_cure(facts, name, state):
    check = next(check for check in examined(Bench(**facts)) if check.name == name)
    assert check.state == state and (state != "bad" or check.advice)


def test_a_rung_that_fails_is_the_environments_fault_and_the_rest_is_still_asked():
    bench = Bench({"aot_eager": BROKEN})
    checks = {check.name: check for check in examined(bench)}
    assert bench.asked == RUNGS
    assert checks["aot_eager"].state == "bad" and checks["inductor"].state == "good"
    assert checks["aot_eager"].text == "ImportError: No module named setuptools"


def test_a_rung_that_takes_too_long_may_be_slow_and_is_not_called_broken():
    (check,) = [each for each in examined(Bench({"inductor": Outcome(OutcomeKind.HANG)})) if each.name == "inductor"]
    assert (check.state, check.text) == ("bad", "did not end in 120 s") and check.advice.startswith("ask again")


@pytest.mark.parametrize(("state", "status"), [("good", 0), ("warn", 0), ("bad", 4)])
def test_only_what_is_bad_makes_the_target_unusable(monkeypatch, capsys, state, status):
    checks = [Check("torch", "good", "2.13.0"), Check("fork", state, "it is so", "do this")]
    monkeypatch.setattr(story, "examine", lambda python: iter(checks))
    with pytest.raises(typer.Exit) as ended:
        doctor(None)
    assert ended.value.exit_code == status
    mark = {"good": "ok  ", "warn": "warn", "bad": "BAD "}[state]
    first, second, advice = capsys.readouterr().out.splitlines()
    assert first == f"ok    {'torch':<27} 2.13.0" and second == f"{mark}  {'fork':<27} it is so"
    assert advice.split() == ["->", "do", "this"]
