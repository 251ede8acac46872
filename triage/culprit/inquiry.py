"""How the reproducer is asked what is to blame: run with something changed, within its time, and judged in the report's words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from triage.judge.asking import Budget
from triage.judge.judgement import CandidateResult, Oracle
from triage.model.report import AblationRow
from triage.model.stage import OutcomeKind, Verdict
from triage.model.text import clip
from triage.trial.interface import CandidateRunner

LEAST_SECONDS, FACTOR = 60.0, 3.0  # what a question may take, of what the reproducer itself did where it was verified
_OUTCOMES = {Verdict.SAME_FAILURE: "same_failure", Verdict.NO_FAILURE: "ok"}


class TellingRunner(CandidateRunner, Protocol):
    """A runner that can read files which a candidate writes; None, or no file, where it cannot."""

    def look(self, source: str, file: str) -> str | None: ...

    def run_telling(
        self, source: str, files: Sequence[str], *, rung: str | None = None, timeout: float = 60.0
    ) -> tuple[CandidateResult, Mapping[str, str]]: ...


@dataclass(frozen=True)
class Inquiry:
    """What every question needs. `rung` is the failing one, `seconds` the limit of one run; `emit` is told of each answer.

    `ends`: the failure ends the program. Then a run that ends well has passed, whatever a compiled call raised that it handled.
    """

    rung: str
    runner: TellingRunner
    oracle: Oracle
    budget: Budget
    emit: Callable[..., None]
    seconds: float
    ends: bool = False

    def limit(self) -> float:
        """The seconds of a run that begins now."""
        return max(0.1, min(self.seconds, self.budget.left()))

    def run(self, source: str | None) -> CandidateResult | None:
        """What a text does on the failing rung; None without a text, or without time for it."""
        if source is None or self.budget.spent():
            return None
        return self.runner.run(source, rung=self.rung, timeout=self.limit())

    def verdict(self, source: str | None) -> Verdict:
        """Of the same: unresolved where it was not run."""
        result = self.run(source)
        return Verdict.UNRESOLVED if result is None else self.oracle.judge(result).verdict

    def run_many(self, texts: Sequence[str], rung: str | None) -> Iterator[tuple[int, CandidateResult]]:
        """(index, result) of each text as they end, until the budget is spent. Without a rung: on that of the text itself."""
        for done, found in enumerate(self.runner.run_many(texts, rung=rung, timeout=self.limit()), 1):
            yield found
            if done < len(texts) and self.budget.spent():
                return

    def row(self, setting: str, result: CandidateResult) -> AblationRow:
        """The answer to a question that is a setting, which listeners are told."""
        outcome, why = self.judged(result)
        seconds = round(result.seconds, 2)
        self.emit("ablated", setting=setting, outcome=outcome, seconds=seconds)
        return AblationRow(setting, outcome, seconds, why or None)

    def judged(self, result: CandidateResult) -> tuple[str, str]:
        """(the outcome as a row of the report has it, why it is neither the same failure nor a pass)."""
        judgement = self.oracle.judge(result)
        if judgement.verdict in _OUTCOMES:
            return _OUTCOMES[judgement.verdict], ""
        if self.ends and _went_on(result):
            return "ok", ""
        if ended_by_time(result):
            return "not_run", f"not known: it had not ended after {result.outcome.seconds:.0f} s"
        why = judgement.reason.removeprefix("another failure: ")  # the outcome says that
        return "other_failure" if result.compiled else "not_run", clip(why, 200)


def seconds_of(slowest: float) -> float:
    """The limit of a question about a reproducer that failed within so many seconds, when it was verified."""
    return max(LEAST_SECONDS, FACTOR * slowest)


def ended_by_time(result: CandidateResult) -> bool:
    """Whether it was ended at its limit: where the failure is no hang, nothing was learned of it."""
    return result.outcome.kind is OutcomeKind.HANG


def _went_on(result: CandidateResult) -> bool:
    """Whether it ended well after exceptions that it handled, none of which came of compiling."""
    met = result.outcome.exception
    handled = [each for each in result.notes.raised if each.swallowed]
    ended_well = result.outcome.exit_code == 0 and met is not None and met.swallowed
    return ended_well and all(each.phase != "compile" for each in handled)
