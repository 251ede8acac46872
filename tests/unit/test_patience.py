"""The time limit of candidates of a hang: learned from those that pass."""

from triage.trial.patience import Patience


def test_before_anything_passed_the_programs_own_limit_holds() -> None:
    assert Patience(60.0).seconds() == 60.0


def test_many_times_the_slowest_that_passed() -> None:
    patience = Patience(60.0)
    patience.passed(8.0)
    patience.passed(0.1)
    assert patience.seconds() == 20.0


def test_it_has_an_upper_and_a_lower_end() -> None:
    patience = Patience(60.0)
    patience.passed(0.1)
    assert patience.seconds() == 10.0
    patience.passed(30.0)
    assert patience.seconds() == 60.0


def test_a_limit_that_learns_nothing() -> None:
    fixed = Patience(120.0, least=120.0)
    fixed.passed(0.1)
    assert fixed.seconds() == 120.0


def test_a_limit_that_something_exceeded_stays() -> None:
    patience = Patience(60.0)
    patience.hung()  # under the program's own limit: nothing is learned yet
    patience.passed(6.0)
    assert patience.seconds() == 15.0
    patience.hung()
    patience.passed(14.0)
    assert patience.seconds() == 15.0
