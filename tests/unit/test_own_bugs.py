"""A bug of triage's own in a reduction costs none of what was found before it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from choosing import FAILS, SIGNATURE, Finds, chosen
from synthetic import FreeRunner, NoLimit, chain, contains, planted
from text_helpers import TextOracle, TextRunner, Unlimited

from triage.cli import app, result
from triage.judge.oracle import SignatureOracle
from triage.judge.signature import FailureSignature
from triage.model.graphcase import GraphCase
from triage.model.stage import Stage
from triage.reduce import choose as choosing
from triage.reduce.choose import BrokenReductionError
from triage.reduce.graph import engine as graph_engine
from triage.reduce.graph.engine import NativeEngine
from triage.reduce.interface import NoReduction, Problem, Reduction, SafeEngine
from triage.reduce.text.code.script import Script
from triage.reduce.text.reducing import Around, Bench, Reducing
from triage.reduce.text.search import Search
from triage.reduce.text.starts.texts import KnownFailure
from triage.reduce.text.validity import Validity
from triage.reduce.text.watching.evidence import Module, Trace
from triage.reduce.verifying import FreshRuns, Reproduced
from triage.stories import run as story
from triage.trial.driver import Driver
from triage.trial.interface import Resources


def problem(*cases: GraphCase, signature: FailureSignature = SIGNATURE) -> Problem:
    return Problem(signature, Stage.INDUCTOR, "inductor", None, cases, Path())


def stumble(*_: object, **__: object) -> Any:
    raise ZeroDivisionError("our own mistake")


def is_kept(found: Reduction | NoReduction) -> None:
    assert isinstance(found, Reduction) and isinstance(found.bug, ZeroDivisionError)
    assert not found.complete and not found.minimal
    assert "Minimality was not shown: triage met a bug of its own (ZeroDivisionError)." in found.notes


def reduced_graph() -> Reduction | NoReduction:
    runner = FreeRunner(contains(3, 30), 1)
    engine = NativeEngine(render=runner.render)
    asked = problem(chain(40), signature=planted())
    return engine.reduce(asked, Resources(runner, SignatureOracle(planted()), NoLimit(), lambda *_, **__: None))


def test_a_graph_that_failed_by_then_is_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_engine, "thinned", stumble)  # after the first success
    is_kept(reduced_graph())


def test_what_ends_the_search_for_a_passing_neighbour_is_told_as_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_engine, "nearest_passing", stumble)
    told = "Its nearest variant that passes was not looked for to the end"
    assert f"{told}: triage met a bug of its own (ZeroDivisionError)." in reduced_graph().notes


def test_a_text_that_failed_by_then_is_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Search, "reduce", stumble)
    program = "import torch\nx = torch.ones(3)\ntorch.compile(abs)(x)\n"

    def bench(prelude: str, *, private: bool = False) -> Bench:
        def render(script: Script) -> str:
            return script.text

        oracle = TextOracle(lambda text: "torch.compile(" in text)
        driver: Driver[Script] = Driver(Resources(TextRunner(), oracle, Unlimited(), lambda *_, **__: None), render)
        return Bench(driver, Search(driver, 1, Unlimited()), render, render)

    trace = Trace({"__main__": Module("__main__", program)})
    around = Around(Path(), Path(), None, False, lambda *_, **__: None)
    is_kept(Reducing(bench, Validity(), lambda: trace, KnownFailure(0, (), "eager"), around, lambda: None).run())


class Stumbles(Finds):
    def reduce(self, *_: Any) -> Reduction:
        return stumble()


def best_of(*engines: Any) -> Reproduced | None:
    found, _ = chosen(problem(), engines, lambda source, runs: FreshRuns([FAILS] * runs), runner=TextRunner())
    return found


def test_the_next_engine_has_its_turn() -> None:
    met: list[Exception] = []
    found = best_of(*(SafeEngine(engine, met.append, lambda: None) for engine in (Stumbles(), Finds())))
    assert found is not None and found.verified
    assert [type(each) for each in met] == [ZeroDivisionError]
    assert any("triage met a bug of its own (ZeroDivisionError)" in note for note in found.notes)


def test_what_was_verified_is_kept_where_what_follows_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "compilers_own", stumble)
    with pytest.raises(BrokenReductionError) as caught:
        best_of(Finds())
    assert caught.value.best is not None and caught.value.best.verified
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_the_end_of_the_run_is_shown_before_the_bug_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done = SimpleNamespace(bug=ZeroDivisionError("our own mistake"), exit_code=5)
    monkeypatch.setattr(story, "run", lambda *_, **__: done)
    monkeypatch.setattr(result, "show_result", lambda done, **_: sys.stdout.write("what was found"))
    with pytest.raises(SystemExit) as caught:
        app.main(["run", __file__])
    assert caught.value.code == 70
    told = capsys.readouterr()
    assert "what was found" in told.out and "a bug of triage itself" in told.err
    Path(next(word for word in told.err.split() if "triage-bug-" in word).rstrip(";")).unlink()
