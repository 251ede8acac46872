"""From the agent's events to what `torch.library.opcheck` found of each custom operator. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from triage.model.own_code import OperatorCheck, OperatorFailure

ENDED = "the process ended while this test ran"
_MESSAGE = 600


def operator_checks(events: Sequence[Mapping[str, Any]]) -> tuple[OperatorCheck, ...]:
    """One check per operator: of its calls with different arguments, the first in which something is wrong."""
    made: dict[str, list[OperatorCheck]] = {}
    for event in events:
        name, kind = str(event.get("operator") or ""), event.get("e")
        if kind == "opcheck":
            made.setdefault(name, []).append(OperatorCheck(name, _text(event, "where"), str(event.get("inputs") or "")))
        elif kind in _READERS and made.get(name):
            made[name][-1] = _READERS[kind](made[name][-1], event)
    return tuple(_telling([_ended(check) for check in checks]) for checks in made.values())


def _telling(checks: Sequence[OperatorCheck]) -> OperatorCheck:
    return next((check for check in checks if check.failures or check.fake_gives), checks[0])


def _tested(check: OperatorCheck, event: Mapping[str, Any]) -> OperatorCheck:
    """A test that began is a failure until its end is told."""
    test, outcome = str(event.get("test")), event.get("outcome")
    rest = tuple(failure for failure in check.failures if failure.test != test)
    if outcome == "ok":
        return replace(check, failures=rest, passed=(*check.passed, test))
    message = ENDED if outcome == "began" else str(event.get("message"))[:_MESSAGE]
    return replace(check, failures=(*rest, OperatorFailure(test, message)))


def _ended(check: OperatorCheck) -> OperatorCheck:
    """Where the check itself could not go on, the test that had begun says nothing."""
    if check.note is None:
        return check
    return replace(check, failures=tuple(failure for failure in check.failures if failure.message != ENDED))


def _gives(check: OperatorCheck, event: Mapping[str, Any]) -> OperatorCheck:
    return replace(check, kernel_gives=_text(event, "kernel"), fake_gives=_text(event, "fake"))


def _noted(check: OperatorCheck, event: Mapping[str, Any]) -> OperatorCheck:
    return replace(check, note=_text(event, "reason"))


def _text(event: Mapping[str, Any], name: str) -> str | None:
    return str(event[name])[:_MESSAGE] if event.get(name) else None


_READERS = {"opcheck_test": _tested, "opcheck_gives": _gives, "opcheck_note": _noted}
