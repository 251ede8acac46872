"""The search against the linear scan: same edge, few tests, always an end, whatever cannot be tested."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from math import ceil, log2

from hypothesis import given
from hypothesis import strategies as st

from triage.bisect.search import edge, edges, is_monotone, may_follow, most_left, next_position
from triage.model.bisection import Standing

GOOD, BAD, SKIP = Standing.GOOD, Standing.BAD, Standing.SKIP

histories = st.lists(st.sampled_from([GOOD, BAD, SKIP]), min_size=1, max_size=60)
monotone = st.integers(1, 200).flatmap(lambda n: st.integers(1, n).map(lambda k: [BAD] * k + [GOOD] * (n - k)))


def run(history: list[Standing], watch: Callable[[dict[int, Standing]], None] = lambda answers: None):
    answers: dict[int, Standing] = {}
    while (place := next_position(len(history), answers)) is not None:
        assert place not in answers
        assert 0 <= place < len(history)
        watch(answers)
        answers[place] = history[place]
    return answers


def with_unknowns(history: list[Standing], holes: set[int]) -> list[Standing]:
    return [SKIP if place in holes else answer for place, answer in enumerate(history)]


@given(monotone)
def test_it_finds_what_the_linear_scan_finds(history):
    found = edge(run(history))
    if GOOD not in history:
        assert found is None
    else:
        assert (found.bad, found.good) == (history.index(GOOD) - 1, history.index(GOOD))
        assert found.unknown == ()


@given(monotone)
def test_it_tests_few_versions(history):
    assert len(run(history)) <= ceil(log2(len(history))) + 2


@given(monotone, st.sets(st.integers(0, 199)))
def test_unknowns_only_widen_the_answer(history, holes):
    seen = with_unknowns(history, holes)
    told = [place for place, answer in enumerate(seen) if answer is not SKIP]
    found = edge(run(seen))
    if not {BAD, GOOD} <= {seen[place] for place in told}:
        assert found is None
        return
    assert found.bad == max(place for place in told if seen[place] is BAD)
    assert found.good == min(place for place in told if seen[place] is GOOD)
    assert found.unknown == tuple(range(found.bad + 1, found.good))


@given(histories)
def test_any_history_ends_in_a_true_edge_or_in_none(history):
    answers = run(history)
    found = edge(answers)
    if found is not None:
        assert history[found.bad] is BAD and history[found.good] is GOOD
        assert all(history[place] is SKIP for place in range(found.bad + 1, found.good))
    else:
        told = [answer for answer in history if answer is not SKIP]
        assert not told or told[0] is GOOD or told[-1] is BAD


@given(histories)
def test_the_estimate_of_what_is_left_goes_down(history):
    """The estimate shown to a person is kept where nothing surprising happens."""
    if SKIP in history:
        return
    answers: dict[int, Standing] = {}
    while (place := next_position(len(history), answers)) is not None:
        left = most_left(len(history), answers)
        answers[place] = history[place]
        assert most_left(len(history), answers) <= max(left - 1, 0)


@given(histories)
def test_what_is_prepared_ahead_holds_what_comes_next(history):
    answers: dict[int, Standing] = {}
    while (place := next_position(len(history), answers)) is not None:
        ahead = may_follow(len(history), answers, place)
        answers[place] = history[place]
        following = next_position(len(history), answers)
        if history[place] is not SKIP and following is not None:
            assert following in [position for position, _ in ahead]
            assert all(position == following for position, certain in ahead if certain)


@given(histories)
def test_a_full_table_says_whether_the_history_is_monotone(history):
    answers = dict(enumerate(history))
    told = [answer for answer in history if answer is not SKIP]
    assert is_monotone(len(history), answers) is (told == sorted(told, key=[BAD, GOOD].index))
    assert len(edges(len(history), answers)) == sum(a is not b for a, b in itertools.pairwise(told))


@given(histories)
def test_no_more_tests_are_announced_than_can_follow(history):
    run(history, lambda answers: _at_most(most_left(len(history), answers), len(history) - len(answers)))


def test_below_a_version_that_passes_only_those_nearer_to_the_bad_end_can_follow():
    assert most_left(5, {0: SKIP, 1: SKIP, 3: SKIP, 4: GOOD}) == 1
    assert most_left(9, {0: SKIP, 2: GOOD}) == 1


def _at_most(announced: int, untested: int) -> None:
    assert 0 < announced <= untested
