"""The driver: nothing is asked twice, order decides and not speed, flaky failures are repeated, the best is always held."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from stand_ins import Questions

from triage.judge.asking import StopReductionError
from triage.judge.boundary import boundary, gallop
from triage.judge.judgement import CandidateResult, RefusedError
from triage.judge.oracle import SignatureOracle
from triage.judge.signature import signature_of
from triage.model.outcome import AgentNotes, Outcome, RaisedException
from triage.model.stage import OutcomeKind, Verdict
from triage.trial.driver import Driver, Repeats, digest
from triage.trial.interface import Resources
from triage.trial.patience import Patience

HANG = Outcome(OutcomeKind.HANG, detail="compile graph 0/0")
BOOM = Outcome(OutcomeKind.EXCEPTION, exception=RaisedException("RuntimeError", "boom"))
OTHER = Outcome(OutcomeKind.EXCEPTION, exception=RaisedException("RuntimeError", "another one"))
FINE = Outcome(OutcomeKind.OK)


@dataclass(frozen=True)
class Number:
    """A candidate that is a number: smaller is lighter."""

    value: int
    name: str = ""

    def key(self) -> int:
        return self.value

    def weight(self) -> tuple[float, ...]:
        return (float(self.value),)


def render(number: Number) -> str:
    if number.value < 0:
        raise RefusedError("negative")
    return str(number.value)


@dataclass
class Script:
    """Answers by a function of the text; with several jobs the last of a batch is answered first."""

    answer: Callable[[str], Outcome]
    jobs: int = 1
    asked: list[str] = field(default_factory=list)
    closed: int = 0

    def run_many(self, sources, *, rung=None, timeout=None):
        try:
            for start in range(0, len(sources), self.jobs):
                batch = list(enumerate(sources))[start : start + self.jobs]
                for index, source in reversed(batch):
                    self.asked.append(source)
                    outcome = self.answer(source)
                    yield index, CandidateResult(outcome, AgentNotes(), signature_of(outcome), True, 0.5)
        finally:
            self.closed += 1


def driver(answer, *, jobs=1, questions=10**6, repeats=None, events=None):
    runner = Script(answer, jobs)
    wanted = signature_of(BOOM)
    assert wanted is not None

    def emit(kind, **facts):
        if events is not None:
            events.append((kind, facts))

    asking: Driver[Number] = Driver(
        Resources(runner, SignatureOracle(wanted), Questions(questions), emit), render,
        lambda candidate, source: {"ops": candidate.value, "lines": 1}, repeats=repeats,
    )  # fmt: skip
    return asking, runner


def above(limit):
    return lambda text: BOOM if int(text) > limit else FINE


def numbers(*values):
    return [Number(value) for value in values]


def test_no_candidate_is_run_twice_under_any_name():
    asking, runner = driver(above(3))
    assert asking.fails(Number(5, "left"))
    assert asking.fails(Number(5, "right"))
    assert asking.first(numbers(2, 2, 5)) == Number(5)
    assert runner.asked == ["5", "2"]
    assert asking.queries == 2


def test_refused_candidates_are_not_run():
    asking, runner = driver(above(3))
    judgement = asking.judge(Number(-1))
    assert judgement.verdict is Verdict.UNRESOLVED and "negative" in judgement.reason
    assert asking.first(numbers(-1, 4)) == Number(4)
    assert runner.asked == ["4"]


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_the_first_in_order_is_taken_however_many_run_at_once(jobs):
    asking, runner = driver(above(3), jobs=jobs)
    assert asking.first(numbers(1, 2, 6, 5, 4, 3, 0)) == Number(6)
    assert asking.best.candidate == Number(6)
    assert len(runner.asked) <= 3 + jobs
    assert runner.closed == 1


def test_one_at_a_time_nothing_is_asked_ahead():
    asking, runner = driver(above(3))
    asking.ahead(numbers(1, 2, 3))
    assert runner.asked == []
    asking.first(numbers(1, 9, 2))
    assert runner.asked == ["1", "9"]


def test_asking_ahead_only_fills_the_memory():
    asking, runner = driver(above(3), jobs=3)
    asking.ahead(numbers(9, 8, 7, 6))
    assert sorted(runner.asked) == ["7", "8", "9"]
    assert asking.best is None
    assert asking.fails(Number(8))
    assert asking.best.candidate == Number(8)
    assert asking.queries == 3


def test_the_best_is_the_lightest_that_was_decided_upon():
    asking, _ = driver(above(3))
    for value in (9, 5, 7):
        asking.fails(Number(value))
    assert (asking.best.candidate, asking.best.source) == (Number(5), "5")


def test_another_failure_is_kept_as_a_sibling_with_the_candidate_that_showed_it():
    asking, _ = driver(lambda text: OTHER if int(text) < 5 else BOOM)
    assert asking.first(numbers(1, 2, 9)) == Number(9)
    ((signature, source, candidate),) = asking.siblings
    assert "another one" in signature.message
    assert (source, candidate) == ("1", Number(1))


def test_a_spent_budget_stops_before_the_next_question_and_keeps_the_best():
    asking, runner = driver(above(3), questions=2)
    assert asking.fails(Number(9))
    asking.fails(Number(1))
    with pytest.raises(StopReductionError):
        asking.fails(Number(5))
    assert runner.asked == ["9", "1"]
    assert asking.best.candidate == Number(9)


def test_what_failed_before_the_budget_was_spent_is_kept_though_one_before_it_was_not_answered() -> None:
    asking, _ = driver(above(2), jobs=2, questions=1)
    with pytest.raises(StopReductionError):
        asking.first(numbers(5, 7))
    assert asking.best is not None and asking.best.candidate == Number(7)


def test_an_interrupt_goes_through_and_keeps_the_best():
    def answer(text):
        if text == "5":
            raise KeyboardInterrupt
        return BOOM

    asking, _ = driver(answer)
    assert asking.fails(Number(9))
    with pytest.raises(KeyboardInterrupt):
        asking.fails(Number(5))
    assert asking.best.candidate == Number(9)


def flaky(pattern):
    """Fails in those of the runs of each text that the pattern marks with x."""
    runs: dict[str, int] = {}

    def answer(text):
        runs[text] = runs.get(text, -1) + 1
        return BOOM if pattern[runs[text] % len(pattern)] == "x" else FINE

    return answer


@pytest.mark.parametrize(
    ("pattern", "repeats", "fails", "runs"),
    [
        ("x", Repeats(3), True, 1),
        ("..x", Repeats(3), True, 3),
        ("...", Repeats(3), False, 3),
    ],
)
def test_flaky_failures_are_repeated_until_it_is_certain(pattern, repeats, fails, runs):
    asking, runner = driver(flaky(pattern), repeats=repeats)
    assert asking.fails(Number(5)) is fails
    assert len(runner.asked) == runs


@pytest.mark.parametrize(("pattern", "steady", "later"), [("x", True, 1), ("xxx.", False, 4), (".", False, 4)])
def test_a_candidate_that_fails_every_time_ends_the_repetition(pattern, steady, later):
    failing = flaky(pattern)
    asking, runner = driver(lambda text: FINE if text == "1" else failing(text), repeats=Repeats(4))
    assert asking.steady(Number(5)) is steady
    before = len(runner.asked)
    assert not asking.fails(Number(1))
    assert len(runner.asked) - before == later


@pytest.mark.parametrize(("pattern", "always", "runs"), [("x", True, 4), ("xx.x", False, 3), (".", False, 1)])
def test_what_may_fail_by_chance_counts_only_if_it_fails_each_time(pattern, always, runs):
    failing = flaky(pattern)
    asking, runner = driver(lambda text: BOOM if text == "9" else failing(text))
    asking.fails(Number(9))
    assert asking.always(Number(5), 4) is always
    assert len(runner.asked) == 1 + runs
    assert asking.best is not None and asking.best.candidate == Number(5 if always else 9)
    assert not asking.always(Number(-1), 4)


def test_a_failure_that_is_not_flaky_costs_no_run_to_know_it():
    asking, runner = driver(above(3))
    assert asking.steady(Number(5))
    assert not runner.asked


def test_listeners_hear_of_every_query_and_every_smaller_candidate():
    events: list = []
    asking, _ = driver(above(3), events=events)
    asking.begin("first")
    asking.fails(Number(9))
    asking.fails(Number(2))
    assert [kind for kind, _ in events] == ["query", "reduced", "query"]
    assert (events[0][1]["verdict"], events[0][1]["phase"]) == ("same_failure", "first")
    assert events[1][1]["ops"] == 9
    assert events[2][1]["left"] == 9


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100, 1000])
@pytest.mark.parametrize("jobs", [1, 3])
def test_bisection_finds_the_least_that_holds(size, jobs):
    for least in {1, size // 2 or 1, size}:
        asked: list[int] = []
        ahead: list[int] = []

        def holds(point, asked=asked, least=least):
            asked.append(point)
            return point >= least

        def look(points, ahead=ahead):
            ahead.extend(point for point, _ in zip(points, range(jobs), strict=False))

        assert boundary(0, size, holds, look) == least
        assert len(asked) <= size.bit_length()
        assert set(asked) <= set(ahead)


def test_galloping_probes_near_points_first():
    assert gallop(0, 100) == [1, 2, 4, 16, 64]
    assert gallop(0, 2) == [1]
    assert gallop(3, 4) == []


def test_what_was_asked_before_is_not_asked_again_whatever_its_comment_says():
    known = {digest("inductor", "# of the ladder\n8"): Verdict.SAME_FAILURE}
    runner = Script(above(3))
    wanted = signature_of(BOOM)
    assert wanted is not None
    asking: Driver[Number] = Driver(
        Resources(runner, SignatureOracle(wanted), Questions(9), lambda kind, **facts: None),
        lambda number: f"# of the report\n{number.value}", rung="inductor", recalled=known,
    )  # fmt: skip
    assert asking.fails(Number(8)) and runner.asked == []
    assert asking.best.source == "# of the report\n8"
    assert digest("eager", "8") != digest("inductor", "8") == digest("inductor", "# x\n# y\n8")


def test_where_no_limit_is_known_no_more_are_begun_than_run_at_once():
    """Those that begin later have the shorter limit that the first ones taught."""
    limits: list[float | None] = []

    class Limited(Script):
        def run_many(self, sources, *, rung=None, timeout=None):
            limits.extend([timeout] * len(sources))
            yield from super().run_many(sources)

    runner = Limited(lambda text: HANG if text == "4" else FINE, jobs=2)
    resources = Resources(runner, SignatureOracle(signature_of(HANG)), Questions(10**6), lambda kind, **facts: None)
    asking: Driver[Number] = Driver(resources, render, patience=Patience(60.0))
    found = asking.first([Number(1), Number(2), Number(3), Number(4)])
    assert found == Number(4)
    assert limits == [60.0, 60.0, 10.0, 10.0]
