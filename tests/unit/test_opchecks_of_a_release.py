"""What the agent tells of a custom operator where `torch.library.opcheck` is not there, or does not get through. No torch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from triage.agent import compat
from triage.agent.compare import opchecks, randomness
from triage.probe.opchecks import operator_checks


class Told:
    """Stands where a channel would be."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def say(self, kind: str, **facts: Any) -> None:
        self.events.append({"e": kind, **facts})


class Operator:
    def __str__(self) -> str:
        return "shop.scale.default"


def checker(told: Told) -> Any:
    made = opchecks._Checker(None, SimpleNamespace(channel=told, config={"opcheck": ["shop::scale"]}))
    told.say("opcheck", operator="shop::scale", inputs="float32[2]")
    return made


def test_a_torch_without_opcheck_is_told_and_what_both_kernels_give_is_compared_all_the_same(monkeypatch):
    told, compared = Told(), []
    monkeypatch.setattr(compat, "opcheck", lambda: compat.Missing("this torch has none"))
    monkeypatch.setattr(randomness, "kept", lambda torch: lambda: None)
    monkeypatch.setattr(opchecks._Checker, "_compare", lambda self, *given: compared.append(given))
    checker(told)._check(Operator(), "shop::scale", None, None)
    (found,) = operator_checks(told.events)
    assert (found.note, found.passed, found.failures) == ("this torch has none", (), ()) and compared


def test_why_a_check_did_not_get_through_is_told_of_the_operator_that_was_checked():
    told = Told()
    made = checker(told)

    def look(*given: Any) -> None:
        raise ValueError("too large")

    made.look = look
    assert opchecks._looked_at(lambda self: 3, made)(Operator()) == 3, "the program goes on"
    (found,) = operator_checks(told.events)
    assert found.note == "ValueError: too large"


def test_an_object_of_the_programs_own_has_a_name_without_its_address_and_no_schema_is_checked_with_it(monkeypatch):
    """Torch says of it that it cannot be cast, which is no fault of the operator."""
    monkeypatch.setattr(compat, "flattened", lambda given: (list(given), None))
    made = checker(Told())
    made.torch = SimpleNamespace(Tensor=Operator)
    assert "test_schema" in made._tests((1, None, Operator())) and "test_schema" not in made._tests((1, Told()))
    assert made._spelled(Told()).endswith("Told object>")
