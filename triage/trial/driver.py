"""The one place where candidates are tried.

Searches and passes propose; the driver renders, runs, judges, remembers. Its invariants:

* No candidate is run twice: neither under another name (the memo's key) nor with the same text.
* `best` is, at every moment, the lightest candidate that was judged the same failure *and decided upon*. Candidates tried
  ahead of need only fill the memo, so what is found does not depend on how many run at once.
* Another failure is kept as a sibling and counts as "not the same".
* Where failures are flaky, a candidate is run up to `Repeats.runs` times and is the same failure if one run was; once one
  was seen to fail every time (`steady`), one run each is enough.
* What fails the same way is no such failure where something speaks against it (`otherwise`).

It is generic: candidates only need a key and a weight, and `render` turns one into a script (or refuses).
"""

from __future__ import annotations

import hashlib
import itertools
import math
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from triage.judge.asking import FailingCandidate, LateError, Shrinkable, StopReductionError
from triage.judge.judgement import CandidateResult, Judgement, RefusedError
from triage.judge.signature import FailureSignature
from triage.model.stage import OutcomeKind, Verdict
from triage.trial.interface import Resources
from triage.trial.patience import Patience

C = TypeVar("C", bound=Shrinkable)


@dataclass(frozen=True)
class Repeats:
    """Run a candidate up to `runs` times; it is the same failure if one of them was."""

    runs: int = 1


class Driver(Generic[C]):
    """Tries candidates. `measure(candidate, source)` gives what listeners are told of an accepted one, e.g. ops and lines.

    Every method that asks may raise StopReductionError when the budget is spent, and lets KeyboardInterrupt through;
    `best` and `siblings` stay valid either way.
    """

    def __init__(
        self,
        resources: Resources,
        render: Callable[[C], str],
        measure: Callable[[C, str], dict[str, Any]] = lambda candidate, source: {},
        *,
        rung: str | None = None,
        patience: Patience | None = None,
        repeats: Repeats | None = None,
        recalled: Mapping[str, Verdict] | None = None,
        otherwise: Callable[[str], str] | None = None,
    ) -> None:
        self._runner, self._oracle = resources.runner, resources.oracle
        self._budget, self._emit = resources.budget, resources.emit
        self._render, self._measure = render, measure
        self._rung, self._patience, self._repeats = rung, patience, repeats or Repeats()
        self._otherwise = otherwise  # what speaks against a text that fails the same way, in words
        # The verdict on one run out of several is no verdict on the candidate.
        self._recalled = (recalled or {}) if self._repeats == Repeats() else {}
        self._by_key: dict[Hashable, Judgement] = {}
        self._by_source: dict[str, Judgement] = {}
        self._siblings: dict[str, tuple[FailureSignature, str, C]] = {}
        self.best: FailingCandidate[C] | None = None
        self.history: list[FailingCandidate[C]] = []  # what was best before, the first found first
        self.queries = 0
        self._end = math.inf
        self._left: int | None = None  # operations of the best so far
        self._size: tuple[int, ...] | None = None  # the smallest that listeners were told of
        self._phase = "start"

    @property
    def siblings(self) -> tuple[tuple[FailureSignature, str, C], ...]:
        """Other failures that were met, each with the first candidate that showed it, as text and as itself."""
        return tuple(self._siblings.values())

    def timeout(self) -> float | None:
        """The limit of a candidate now, in seconds; None where it is the runner's own."""
        return None if self._patience is None else self._patience.seconds()

    @contextmanager
    def until(self, end: float) -> Iterator[None]:
        """Questions asked inside raise LateError from then on (a time of `time.monotonic`)."""
        before, self._end = self._end, end
        try:
            yield
        finally:
            self._end = before

    def begin(self, phase: str) -> None:
        """What follows is done for this phase, as listeners are told."""
        self._phase = phase

    def fails(self, candidate: C) -> bool:
        """Whether it is the same failure. If so it becomes `best`, where it is lighter."""
        return self.judge(candidate).verdict is Verdict.SAME_FAILURE

    def judge(self, candidate: C) -> Judgement:
        """The verdict on one candidate, with its reason."""
        (answer,) = self._ask([candidate], first=False)
        assert answer is not None
        if answer.verdict is Verdict.SAME_FAILURE:
            self._hold(candidate)
        return answer

    def steady(self, candidate: C) -> bool:
        """Whether a candidate fails in each of as many runs as a flaky one is given; from then on each is run once.

        What made a program flaky is often outside of its graph: an input, a thread, the order of a set.
        """
        times = self._repeats.runs
        if times > 1 and self.fails(candidate) and self._each_time(candidate, self._render(candidate), times):
            self._repeats = Repeats()
        return self._repeats.runs == 1

    def always(self, candidate: C, times: int) -> bool:
        """Whether a candidate that may fail by chance is the same failure in each of several runs: only then it counts."""
        try:
            source = self._render(candidate)
        except RefusedError:
            return False
        found = self._each_time(candidate, source, times)
        if found:
            self._hold(candidate)
        return found

    def certain(self, candidate: C) -> bool:
        """Whether a candidate that was said to hang does so within a limit that leaves little doubt.

        Where it ends, what was said to hang is forgotten, and may be asked again with the patience that this teaches.
        """
        patience = self._patience
        if patience is None or not patience.hangs or patience.sure() <= patience.seconds():
            return True
        source = self._render(candidate)
        self._check_budget()
        self._emit(
            "engine_step", text=f"waiting up to {patience.sure():.0f} s for what seems to hang: it may only be slow"
        )
        self._tell_of_wait(patience.sure())
        result = self._runner.run(source, rung=self._rung, timeout=patience.sure())
        judgement = self._record(candidate, source, result)
        if judgement.verdict is Verdict.SAME_FAILURE or result.outcome.kind is OutcomeKind.INVALID:
            return True  # or it could not be run, and nothing speaks against it
        patience.was_short(result.seconds)
        self._forget_failing()
        self._by_key[candidate.key()] = self._by_source[source] = judgement
        self._emit(
            "engine_step",
            text=f"what was taken for a hang ended after {result.seconds:.0f} s: now {patience.seconds():.0f} s are waited",
        )
        return False

    def _forget_failing(self) -> None:
        """As if nothing had been found to fail; what passes does so all the same."""
        failed = Verdict.SAME_FAILURE
        self._by_key = {key: told for key, told in self._by_key.items() if told.verdict is not failed}
        self._by_source = {text: told for text, told in self._by_source.items() if told.verdict is not failed}
        self._recalled = {key: verdict for key, verdict in self._recalled.items() if verdict is not failed}
        self.best, self.history, self._left, self._size = None, [], None, None

    def _each_time(self, candidate: C, source: str, times: int) -> bool:
        self._check_budget()
        stream = self._runner.run_many([source] * times, rung=self._rung, timeout=self.timeout())
        try:
            return all(self._record(candidate, source, result).verdict is Verdict.SAME_FAILURE for _, result in stream)
        finally:
            _close(stream)

    def first(self, candidates: Iterable[C]) -> C | None:
        """The first candidate, in the order given, that is the same failure. Later ones are only tried ahead."""
        chosen = list(candidates)
        for candidate, answer in zip(chosen, self._ask(chosen, first=True), strict=True):
            if answer is not None and answer.verdict is Verdict.SAME_FAILURE:
                self._hold(candidate)
                return candidate
        return None

    def ahead(self, candidates: Iterable[C]) -> None:
        """Try at once what may be asked next, the surest first, if more than one can run at a time."""
        if self._runner.jobs > 1:
            chosen = list(itertools.islice(candidates, self._runner.jobs))
            if chosen and self._by_key.get(chosen[0].key()) is None:  # else the next question needs no waiting at all
                self._ask(chosen, first=False)

    def remembered(self, candidate: C) -> Judgement | None:
        """The verdict, if it is known already."""
        return self._by_key.get(candidate.key())

    def _hold(self, candidate: C) -> None:
        mass = candidate.weight()
        if self.best is None or mass < self.best.weight:
            source = self._render(candidate)
            if self.best is not None:
                self.history.append(self.best)
            self.best = FailingCandidate(candidate, source, mass)
            facts = self._measure(candidate, source)
            self._left = facts.get("ops")
            size = tuple(facts[name] for name in ("ops", "lines") if facts.get(name) is not None)
            first, smaller = self._size is None, self._size is not None and size < self._size
            self._size = min(size, self._size or size)
            facts |= {"first": first, "smaller": smaller}
            self._emit("reduced", phase=self._phase, queries=self.queries, source=source, **facts)

    def _ask(self, candidates: Sequence[C], *, first: bool) -> list[Judgement | None]:
        """An answer for each candidate; with `first`, only up to and including the first same failure."""
        answers: list[Judgement | None] = []
        waiting: dict[str, list[int]] = {}
        for index, candidate in enumerate(candidates):
            source, answer = self._known(candidate)
            answers.append(answer)
            if answer is None and source is not None:
                waiting.setdefault(source, []).append(index)
            elif first and answer is not None and answer.verdict is Verdict.SAME_FAILURE:
                break
        answers += [None] * (len(candidates) - len(answers))
        if not waiting:
            return answers
        try:
            for source, answer in self._run({source: candidates[indices[0]] for source, indices in waiting.items()}):
                for index in waiting.pop(source):
                    answers[index] = answer
                    self._by_key[candidates[index].key()] = answer
                if first and _decided(answers):
                    break
        except (StopReductionError, LateError):
            for candidate, answer in zip(candidates, answers, strict=True):  # what one before it would have decided
                if answer is not None and answer.verdict is Verdict.SAME_FAILURE:
                    self._hold(candidate)
            raise
        return answers

    def _known(self, candidate: C) -> tuple[str | None, Judgement | None]:
        """(text, answer): the answer from memory, or a refusal; None where it must be run."""
        key = candidate.key()
        answer = self._by_key.get(key)
        source = None
        if answer is None:
            try:
                source = self._render(candidate)
            except RefusedError as error:
                answer = Judgement(Verdict.UNRESOLVED, f"refused: {error}")
            else:
                answer = self._by_source.get(source) or self._from_earlier(source)
            if answer is not None:
                self._by_key[key] = answer
        return source, answer

    def _from_earlier(self, source: str) -> Judgement | None:
        verdict = self._recalled.get(digest(self._rung, source))
        return (
            None if verdict is None else self._doubted(source, Judgement(verdict, "as it was when it was asked before"))
        )

    def _doubted(self, source: str, judgement: Judgement) -> Judgement:
        """The judgement, unless something speaks against a text that fails the same way."""
        same = judgement.verdict is Verdict.SAME_FAILURE
        told = self._otherwise(source) if same and self._otherwise is not None else ""
        return Judgement(Verdict.UNRESOLVED, told) if told else judgement

    def _run(self, texts: Mapping[str, C]) -> Iterator[tuple[str, Judgement]]:
        """Runs each text, yielding its final judgement as soon as it is certain."""
        runs = self._repeats.runs
        tallies: dict[str, list[Judgement]] = {source: [] for source in texts}
        while tallies:
            sources = list(tallies)
            if self._patience is not None and not self._patience.learned:
                sources = sources[
                    : self._runner.jobs
                ]  # those that begin later have the shorter limit, once one has passed
            self._check_budget()
            self._tell_of_wait(self.timeout())
            stream = self._runner.run_many(sources, rung=self._rung, timeout=self.timeout())
            try:
                for index, result in stream:
                    source = sources[index]
                    judgement = self._record(texts[source], source, result)
                    tallies[source].append(judgement)
                    if judgement.verdict is Verdict.SAME_FAILURE or len(tallies[source]) == runs:
                        final = self._doubted(source, _decisive(tallies.pop(source)))
                        self._by_source[source] = final
                        yield source, final
                    if tallies:
                        self._check_budget()
            finally:
                _close(stream)

    def _tell_of_wait(self, timeout: float | None) -> None:
        """Where the failure is a hang, many a candidate is waited for to its limit."""
        if self._patience is not None and self._patience.hangs:
            self._emit("asking", phase=self._phase, timeout=timeout)

    def _record(self, candidate: C, source: str, result: CandidateResult) -> Judgement:
        self.queries += 1
        judgement = self._oracle.judge(result)
        if self._patience is not None:
            self._patience.saw(judgement.verdict, result.seconds)
        if judgement.sibling is not None:
            self._siblings.setdefault(judgement.sibling.fingerprint, (judgement.sibling, source, candidate))
        self._emit(
            "query",
            number=self.queries,
            digest=digest(self._rung, source),
            phase=self._phase,
            verdict=judgement.verdict.value,
            reason=judgement.reason,
            seconds=result.seconds,
            left=self._left,
        )
        return judgement

    def _check_budget(self) -> None:
        if self._budget.spent():
            raise StopReductionError
        if time.monotonic() > self._end:
            raise LateError


def _close(stream: Iterator[object]) -> None:
    """End what still runs for it."""
    with suppress(AttributeError):  # an iterator need not be a generator
        stream.close()  # type: ignore[attr-defined]


def _decisive(judgements: Sequence[Judgement]) -> Judgement:
    """Of runs of one text: the same failure, else that it passes, else the first."""
    by_verdict = {each.verdict: each for each in reversed(judgements)}
    return by_verdict.get(Verdict.SAME_FAILURE) or by_verdict.get(Verdict.NO_FAILURE) or judgements[0]


def digest(rung: str | None, source: str) -> str:
    """16 hex digits for one question: this text, whatever the comment on top of it says, under this backend."""
    code = "".join(itertools.dropwhile(lambda line: line.startswith("#"), source.splitlines(keepends=True)))
    return hashlib.sha256(f"{rung}\0{code}".encode()).hexdigest()[:16]


def _decided(answers: Sequence[Judgement | None]) -> bool:
    """Whether the first same failure is certain: everything before it has been answered."""
    for answer in answers:
        if answer is None:
            return False
        if answer.verdict is Verdict.SAME_FAILURE:
            return True
    return False
