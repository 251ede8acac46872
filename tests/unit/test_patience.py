"""The time limit of candidates: learned from those that ended."""

from triage.model.stage import Verdict
from triage.trial.patience import Patience


def test_before_anything_passed_the_programs_own_limit_holds() -> None:
    assert Patience(60.0).seconds() == 60.0


def test_many_times_the_slowest_that_passed() -> None:
    patience = Patience(60.0)
    patience.saw(Verdict.NO_FAILURE, 8.0)
    patience.saw(Verdict.NO_FAILURE, 0.1)
    assert patience.seconds() == 20.0


def test_it_has_an_upper_and_a_lower_end() -> None:
    patience = Patience(60.0)
    patience.saw(Verdict.NO_FAILURE, 0.1)
    assert patience.seconds() == 10.0
    patience.saw(Verdict.NO_FAILURE, 30.0)
    assert patience.seconds() == 60.0


def test_what_is_learned_is_no_less_than_the_program_needs_to_come_to_its_hang() -> None:
    patience = Patience(60.0, least=48.0)
    patience.saw(Verdict.NO_FAILURE, 5.5)
    assert patience.seconds() == 48.0
    assert Patience(60.0, least=90.0).seconds() == 60.0


def test_where_the_failure_is_no_hang_those_that_fail_have_ended_too() -> None:
    patience = Patience(120.0, hangs=False)
    assert patience.seconds() == 120.0
    patience.saw(Verdict.SAME_FAILURE, 0.6)
    assert patience.seconds() == 20.0
    patience.saw(Verdict.UNRESOLVED, 20.0)  # a loop that lost its end
    assert patience.seconds() == 20.0
    patience.saw(Verdict.NO_FAILURE, 6.0)
    assert patience.seconds() == 30.0


def test_once_many_have_ended_a_hang_costs_less() -> None:
    patience = Patience(120.0, hangs=False)
    for _ in range(12):
        patience.saw(Verdict.SAME_FAILURE, 0.6)
    assert patience.seconds() == 6.0
    patience.saw(Verdict.NO_FAILURE, 2.0)
    assert patience.seconds() == 10.0


def test_a_limit_that_something_exceeded_stays() -> None:
    patience = Patience(60.0)
    patience.saw(Verdict.SAME_FAILURE, 60.0)  # under the program's own limit: nothing is learned yet
    patience.saw(Verdict.NO_FAILURE, 6.0)
    assert patience.seconds() == 15.0
    patience.saw(Verdict.SAME_FAILURE, 60.0)
    patience.saw(Verdict.NO_FAILURE, 14.0)
    assert patience.seconds() == 15.0


def test_a_hang_is_believed_at_many_times_what_passes_or_what_the_script_itself_was_given() -> None:
    patience = Patience(60.0, script=120.0)
    assert patience.sure() == 60.0, "nothing is known that passes"
    patience.saw(Verdict.NO_FAILURE, 2.0)
    assert (patience.seconds(), patience.sure()) == (10.0, 60.0)
    patience.saw(Verdict.NO_FAILURE, 15.0)
    assert (patience.seconds(), patience.sure()) == (37.5, 60.0), "a minute is enough"
    assert Patience(60.0).sure() == 60.0


def test_beyond_a_minute_a_hang_is_waited_for_no_longer_than_tells_it_from_what_passes() -> None:
    patience = Patience(103.0, script=120.0)
    patience.was_short(44.0)
    assert patience.seconds() == 60.0
    patience.was_short(80.0)
    assert patience.seconds() == 100.0


def test_what_ended_after_all_teaches_more_patience() -> None:
    patience = Patience(30.0, script=120.0)
    patience.saw(Verdict.NO_FAILURE, 8.0)
    patience.saw(Verdict.SAME_FAILURE, 20.0)
    patience.was_short(27.0)
    assert patience.seconds() == 60.0, "more than the program's own limit"
    patience.was_short(90.0)
    assert patience.seconds() == 112.5
    patience.was_short(110.0)
    assert patience.seconds() == 120.0, "as the script itself"
