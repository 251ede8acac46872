"""A text that seems to hang may only be slow: what the search ends in is waited for longer, and if it ends, asked again."""

from __future__ import annotations

from pathlib import Path

from text_helpers import Unlimited

from triage.judge.judgement import CandidateResult, Judgement
from triage.model.outcome import AgentNotes, Outcome
from triage.model.stage import OutcomeKind, Verdict
from triage.reduce.interface import NoReduction, Reduction
from triage.reduce.text.code.script import Script
from triage.reduce.text.reducing import Around, Bench, Reducing
from triage.reduce.text.search import Search
from triage.reduce.text.starts.texts import KnownFailure
from triage.reduce.text.validity import Validity
from triage.reduce.text.watching.evidence import Module, Trace
from triage.trial.driver import Driver
from triage.trial.interface import Resources
from triage.trial.patience import Patience

SLOW = "import torch\nimport slow\n"
ENDLESS = f"{SLOW}import endless\n"


class Timed:
    """Each import takes its time: `slow` 20 s, `endless` for ever."""

    jobs, longest = 1, 0.0

    def run(self, source: str, *, rung: str | None = None, timeout: float | None = None) -> CandidateResult:
        seconds = 1000.0 if "endless" in source else 20.0 if "slow" in source else 1.0
        limit = timeout or 120.0
        self.longest = max(self.longest, limit)
        kind = OutcomeKind.HANG if seconds > limit else OutcomeKind.OK
        return CandidateResult(Outcome(kind, min(seconds, limit)), AgentNotes(), None, True, min(seconds, limit))

    def run_many(self, sources, *, rung=None, timeout=None):
        for index, source in enumerate(sources):
            yield index, self.run(source, timeout=timeout)


class Hangs:
    def judge(self, result: CandidateResult) -> Judgement:
        hung = result.outcome.kind is OutcomeKind.HANG
        return Judgement(Verdict.SAME_FAILURE if hung else Verdict.NO_FAILURE)


def reduced(text: str, folder: Path) -> tuple[Reduction | NoReduction, Timed]:
    patience, runner = Patience(60.0, script=120.0), Timed()
    patience.saw(Verdict.NO_FAILURE, 1.0)

    def bench(prelude: str, *, private: bool = False) -> Bench:
        driver: Driver[Script] = Driver(
            Resources(runner, Hangs(), Unlimited(), lambda *a, **k: None),
            lambda script: script.text,
            patience=patience,
        )
        return Bench(driver, Search(driver, 1, Unlimited()), lambda script: script.text, lambda script: script.text)

    trace = Trace({"__main__": Module("__main__", text)})
    around = Around(folder, folder, None, False, lambda *a, **k: None)
    asked = KnownFailure(0, (), "eager")
    return Reducing(bench, Validity(), lambda: trace, asked, around, lambda: None).run(), runner


def test_a_text_that_is_slow_only_is_not_where_a_hang_ends(tmp_path: Path) -> None:
    found, runner = reduced(ENDLESS, tmp_path)
    assert isinstance(found, Reduction) and "endless" in found.source and runner.longest == 60.0


def test_what_fails_otherwise_is_not_asked_for_longer() -> None:
    runner, patience = Timed(), Patience(60.0, hangs=False, script=120.0)
    patience.saw(Verdict.NO_FAILURE, 1.0)
    told = Resources(runner, Hangs(), Unlimited(), lambda *a, **k: None)
    driver: Driver[Script] = Driver(told, lambda script: script.text, patience=patience)
    assert driver.certain(Script(ENDLESS)) and runner.longest == 0.0


def test_where_the_whole_is_slow_only_nothing_hangs(tmp_path: Path) -> None:
    found, _ = reduced(SLOW, tmp_path)
    assert isinstance(found, NoReduction) and found.reason == "what seemed to hang only took long"
