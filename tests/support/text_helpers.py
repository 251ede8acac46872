"""Free oracles for the source reducer: candidates are judged by their text alone, nothing is run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from triage.judge.judgement import CandidateResult, Judgement
from triage.model.outcome import AgentNotes, Outcome
from triage.model.stage import OutcomeKind, Verdict
from triage.reduce.text.code.script import Script
from triage.reduce.text.code.shape import shaped
from triage.reduce.text.code.tidy import tidy
from triage.reduce.text.passes.choice import Choice
from triage.reduce.text.search import Search
from triage.reduce.text.validity import Validity
from triage.trial.driver import Driver
from triage.trial.interface import Resources

Predicate = Callable[[str], bool]


class Unlimited:
    def left(self) -> float:
        return 1000.0

    def spent(self) -> bool:
        return False


class TextRunner:
    """Every candidate "runs" at once; its text is what is judged."""

    def __init__(self, jobs: int = 1) -> None:
        self.jobs = jobs
        self.seen: list[str] = []

    def run(self, source: str, *, rung: str | None = None, timeout: float | None = None) -> CandidateResult:
        self.seen.append(source)
        outcome = Outcome(OutcomeKind.EXCEPTION, detail=source)
        return CandidateResult(outcome, AgentNotes(), None, compiled=True)

    def run_many(
        self, sources: Sequence[str], *, rung: str | None = None, timeout: float | None = None
    ) -> Iterator[tuple[int, CandidateResult]]:
        for index, source in reversed(list(enumerate(sources))):
            yield index, self.run(source)

    def close(self) -> None:
        pass


class TextOracle:
    def __init__(self, predicate: Predicate) -> None:
        self._predicate = predicate

    def judge(self, result: CandidateResult) -> Judgement:
        same = self._predicate(result.outcome.detail)
        return Judgement(Verdict.SAME_FAILURE if same else Verdict.NO_FAILURE)


def reduced(
    text: str, predicate: Predicate, jobs: int = 1, *, checked: bool = False, known: Collection[str] | None = None
) -> tuple[str, int]:
    """(smallest text, queries). `checked`: what is no valid program is refused. `known`: lines that may keep comments."""
    valid = Validity()
    driver: Driver[Script] = Driver(
        Resources(TextRunner(jobs), TextOracle(predicate), Unlimited(), lambda kind, **facts: None),
        lambda script: shaped(valid.check(script), "eager", "header"),
    )
    search = Search(driver, jobs, Unlimited())
    start = Script(tidy(text))
    assert driver.fails(start)
    if checked:
        valid.of(start)
    search.reduce(start)
    search.polish(known)
    return search.current.text, driver.queries


def results(text: str, propose: Callable[[Script], Iterable[Choice]]) -> list[str]:
    """The texts that a pass proposes, tidied."""
    script = Script(text)
    return [tidy(script.replaced(edits)) for choice in propose(script) for edits in choice.alternatives]
