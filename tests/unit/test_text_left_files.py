"""A reproducer leaves no file behind; the search may pass through texts that do, where there is no other to start from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from text_helpers import TextOracle, TextRunner, Unlimited

from triage.judge.judgement import CandidateResult, Judgement
from triage.model.outcome import Outcome
from triage.model.stage import OutcomeKind, Verdict
from triage.reduce.interface import NoReduction, Reduction
from triage.reduce.text.checks.left_files import LeftFiles
from triage.reduce.text.code.script import Script
from triage.reduce.text.reducing import Around, Bench, Reducing
from triage.reduce.text.search import Search
from triage.reduce.text.starts.texts import KnownFailure
from triage.reduce.text.validity import Validity
from triage.reduce.text.watching.evidence import Module, Trace
from triage.trial.driver import Driver
from triage.trial.facts import not_run
from triage.trial.interface import Resources

LOGS = "import torch\nimport logging\nlogging.basicConfig(filename='a.log')\ntorch.compile(torch.sin)(torch.ones(1))\n"


class LeavingRunner(TextRunner):
    """Candidates leave `a.log` where they name it."""

    def __init__(self, files: LeftFiles) -> None:
        super().__init__()
        self.files = files

    def run(self, source: str, *, rung: str | None = None, timeout: float | None = None) -> CandidateResult:
        left = ("a.log",) if "a.log" in source else ()
        if flaw := self.files.flaw(left):
            return not_run(flaw)
        found = super().run(source)
        if "torch.compile(" in source:
            self.files.accept(source, left)
        return replace(found, left=left)


class Judging(TextOracle):
    def judge(self, result: CandidateResult) -> Judgement:

        if result.outcome.kind is OutcomeKind.INVALID:
            return Judgement(Verdict.UNRESOLVED, f"could not be run: {result.outcome.detail}")
        return super().judge(result)


def silent(kind: str, **facts: object) -> None:
    pass


def result_of(
    text: str, folder: Path, *needed: str, emit: Callable[..., None] = silent, module: str = "__main__"
) -> Reduction | NoReduction:
    files = LeftFiles()
    runner = LeavingRunner(files)

    def bench(prelude: str, *, private: bool = False) -> Bench:
        oracle = Judging(lambda text: all(word in text for word in ("torch.compile(", *needed)))
        driver: Driver[Script] = Driver(
            Resources(runner, oracle, Unlimited(), lambda *a, **k: None), lambda script: script.text
        )
        return Bench(driver, Search(driver, 1, Unlimited()), lambda script: script.text, lambda script: script.text)

    trace = Trace({module: Module(module, text)} if text else {})
    around = Around(folder, folder, None, False, emit)
    asked = KnownFailure(0, (), "eager")
    return Reducing(bench, Validity(), lambda: trace, asked, around, lambda: None, files).run()


def test_what_a_program_logs_into_goes_in_the_search(tmp_path: Path):
    found = result_of(LOGS, tmp_path)
    assert isinstance(found, Reduction) and "logging" not in found.source and "torch.compile(" in found.source


def test_a_file_that_the_failure_needs_is_the_reason_why_there_is_none(tmp_path: Path):
    found = result_of(LOGS, tmp_path, "a.log")
    assert isinstance(found, NoReduction) and found.reason.endswith("leaves a.log in the current directory")


def test_once_a_text_leaves_nothing_no_later_one_may():
    files = LeftFiles()
    assert files.flaw(("a.log",)) and not files.tolerated
    files.tolerate()
    files.accept("long", ("a.log",))
    assert not files.flaw(("a.log",)) and files.of("long") == "a.log"
    files.accept("short", ())
    assert files.flaw(("a.log",)) and files.of("short") == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no file of the program was seen to be executed"),
        ("x = 1\n", "the whole program in one file does not fail the same way"),
    ],
)
def test_why_there_is_no_text_is_told_as_it_is(text: str, reason: str, tmp_path: Path):
    found = result_of(text, tmp_path)
    assert isinstance(found, NoReduction) and found.reason.startswith(reason)


def test_what_is_tried_is_told_before_the_answers_come(tmp_path: Path):
    told: list[object] = []
    result_of("x = 1\n", tmp_path, emit=lambda kind, **facts: told.append((kind, facts["text"])))
    result_of("", tmp_path, emit=lambda kind, **facts: told.append((kind, facts["text"])))
    assert told == [("engine_step", "trying the program in one file")]


def test_texts_that_could_not_be_run_are_no_texts_that_do_not_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    ended = CandidateResult(Outcome(OutcomeKind.INVALID, detail="no process"), not_run("").notes, None, compiled=False)
    monkeypatch.setattr(LeavingRunner, "run", lambda self, source, **asked: ended)
    found = result_of("x = 1\n", tmp_path)
    assert isinstance(found, NoReduction)
    assert found.reason == "no text made of it gave an answer (1 text was tried; could not be run: no process)"


@pytest.mark.parametrize(
    ("text", "told"), [("", "no file of the program was seen"), (LOGS, "could be made a script that runs by itself")]
)
def test_what_was_executed_and_is_no_script_was_seen_all_the_same(text: str, told: str, tmp_path: Path) -> None:
    """A test is a module that a runner imports."""
    found = result_of(text, tmp_path, module="test_logs")
    assert isinstance(found, NoReduction) and told in found.reason
