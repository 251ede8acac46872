"""Where a session of tests is the target, the failing test alone is run again once it is known."""

from __future__ import annotations

import json
import unittest
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from _pytest import runner
from walk_machine import Machine, error, walk_of

from triage.agent.hooks import testrunners
from triage.locate.one_test import to_one_test
from triage.locate.walk import Walk
from triage.model.outcome import RaisedException
from triage.probe.launch import Cancel
from triage.probe.notes import agent_notes
from triage.probe.run import Probe, ProbeRequest

TEST = "tests/test_pool.py::test_pool[2x5]"
FAILS = replace(error("aot_eager"), ended="test", test=TEST)


class Suite(Machine):
    """A session of so many tests."""

    def __init__(self, tests: int, *turns: RaisedException | None) -> None:
        super().__init__({"inductor": turns})
        self.tests = tests

    def __call__(self, request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        found = super().__call__(request, cancel)
        return replace(found, notes=replace(found.notes, tests=1 if request.target.only_test else self.tests))


@pytest.fixture
def walk(tmp_path: Path) -> Callable[..., Walk]:
    return walk_of(tmp_path)


def test_the_failing_test_becomes_the_target(walk: Callable[..., Walk]) -> None:
    machine = Suite(9, *[FAILS] * 9)
    found = walk(machine)
    found.first()
    assert to_one_test(found).startswith("Of 9 tests the failing one alone was run again")
    assert found.start.notes.tests == 1 and len(found.seen) == 1
    found.settle()
    assert {request.target.only_test for request in machine.requests[1:]} == {TEST}
    assert machine.requests[0].target.only_test == "" and machine.requests[1].stop_after is None


@pytest.mark.parametrize(
    "alone", [None, replace(FAILS, type="KeyError"), replace(FAILS, test="tests/test_pool.py::test_b")]
)
def test_one_that_does_not_fail_so_by_itself_goes_on_among_the_others(
    walk: Callable[..., Walk], alone: RaisedException | None
) -> None:
    machine = Suite(9, FAILS, alone, *[FAILS] * 9)
    found = walk(machine)
    first = found.first()
    stop_after = found.stop_after
    assert to_one_test(found) == ""
    assert found.start is first and found.target.only_test == "" and found.stop_after == stop_after


@pytest.mark.parametrize(
    ("tests", "raised"), [(1, FAILS), (0, error("aot_eager")), (9, replace(FAILS, test="setUpClass (test_pool.Case)"))]
)
def test_there_is_nothing_to_leave_out(walk: Callable[..., Walk], tests: int, raised: RaisedException) -> None:
    machine = Suite(tests, *[raised] * 9)
    found = walk(machine)
    found.first()
    assert to_one_test(found) == "" and len(machine.requests) == 1


def collected(only: str | None, *names: str) -> tuple[list[str], list[str], int]:
    """What pytest runs and leaves out of these tests, and how many the agent counts."""
    events: list[dict[str, Any]] = []
    left_out: list[str] = []
    plugins: dict[str, Any] = {}
    manager = SimpleNamespace(has_plugin=plugins.__contains__, register=lambda each, name: plugins.update({name: each}))
    hook = SimpleNamespace(pytest_deselected=lambda items: left_out.extend(item.nodeid for item in items))
    items = [SimpleNamespace(nodeid=name) for name in names]

    class Session:
        config = SimpleNamespace(pluginmanager=manager, hook=hook)

        def perform_collect(self) -> None:
            for each in plugins.values():
                each.pytest_collection_modifyitems(self.config, items)

    module = SimpleNamespace(hookimpl=lambda **_: lambda function: function, Session=Session)
    said = SimpleNamespace(channel=SimpleNamespace(say=lambda e, **facts: events.append({"e": e, **facts})))
    testrunners.patch_collection(module, said, only)
    Session().perform_collect()
    return [item.nodeid for item in items], left_out, agent_notes(events).tests


def test_pytest_runs_the_one_that_is_asked_for() -> None:
    assert collected(TEST, "a", TEST, "b") == ([TEST], ["a", "b"], 1)
    assert collected(None, "a", TEST) == (["a", TEST], [], 2)
    assert collected("gone", "a", TEST) == (["a", TEST], [], 2)


def recorded(tell: Callable[[], object]) -> list[tuple[type[BaseException], str]]:
    """What the agent records of a test that does this, under pytest."""

    class CallInfo(runner.CallInfo):
        pass

    def call_and_report() -> SimpleNamespace:
        call = CallInfo.from_call(tell, when="call", reraise=(KeyboardInterrupt,))
        skipped = call.excinfo is not None and isinstance(call.excinfo.value, pytest.skip.Exception)
        return SimpleNamespace(nodeid=TEST, failed=call.excinfo is not None and not skipped)

    said: list[tuple[type[BaseException], str]] = []
    module = SimpleNamespace(CallInfo=CallInfo, call_and_report=call_and_report)
    watching = SimpleNamespace(raised=lambda error, phase, test: said.append((type(error), test)))
    testrunners.patch_pytest(module, watching)
    module.call_and_report()
    return said


def nothing_is_raised() -> None:
    with pytest.raises(ValueError, match="too long"):
        len("")


@pytest.mark.parametrize(
    ("tell", "kind"),
    [
        (lambda: int("x"), ValueError),
        (nothing_is_raised, pytest.fail.Exception),  # no Exception for Python
        (lambda: pytest.fail("they differ"), pytest.fail.Exception),
        (lambda: pytest.skip("no GPU"), None),
        (lambda: len(""), None),
    ],
)
def test_a_failing_test_tells_what_ended_it(tell: Callable[[], object], kind: type[BaseException] | None) -> None:
    assert recorded(tell) == ([] if kind is None else [(kind, TEST)])


def unittests(only: str | None) -> tuple[list[str], int]:
    """Which tests of two classes unittest runs, and how many the agent counts."""
    ran: list[str] = []

    class First(unittest.TestCase):
        def test_a(self) -> None:
            ran.append(self.id().rsplit(".", 2)[1] + ".a")

        def test_b(self) -> None:
            ran.append(self.id().rsplit(".", 2)[1] + ".b")

    class Second(First):
        pass

    class Suite(unittest.TestSuite):  # patched in the place of unittest's own
        pass

    events: list[dict[str, Any]] = []
    said = SimpleNamespace(channel=SimpleNamespace(say=lambda e, **facts: events.append({"e": e, **facts})))
    name = only and f"{__name__}.unittests.<locals>.{only}"
    testrunners.patch_suite(SimpleNamespace(TestSuite=Suite), said, name)
    loader = unittest.TestLoader()
    cases = [Suite(loader.loadTestsFromTestCase(case)) for case in (First, Second)]
    Suite([Suite(cases), Suite()]).run(unittest.TestResult())
    return ran, agent_notes(events).tests


def test_unittest_runs_the_one_that_is_asked_for() -> None:
    assert unittests(None) == (["First.a", "First.b", "Second.a", "Second.b"], 4)
    assert unittests("Second.test_b") == (["Second.b"], 1)
    assert unittests("Second.gone") == (["First.a", "First.b", "Second.a", "Second.b"], 4)


def test_a_test_of_unittest_becomes_the_target(walk: Callable[..., Walk]) -> None:
    machine = Suite(3, *[replace(FAILS, test="tests.test_pool.Case.test_a")] * 9)
    found = walk(machine)
    found.first()
    assert to_one_test(found).startswith("Of 3 tests") and found.target.only_test == "tests.test_pool.Case.test_a"


def test_what_pytest_remembers_of_a_session_stays_the_persons(tmp_path: Path) -> None:
    class Cache:
        """As `_pytest.cacheprovider` has it: a file for each key."""

        def get(self, key: str, default: object) -> object:
            path = tmp_path / key
            return json.loads(path.read_text()) if path.exists() else default

        def set(self, key: str, value: object) -> None:
            (tmp_path / key).write_text(json.dumps(value))

    Cache().set("lastfailed", ["test_a"])
    testrunners.patch_cache(SimpleNamespace(Cache=Cache))
    cache = Cache()
    assert cache.get("lastfailed", []) == ["test_a"] and cache.get("nodeids", None) is None
    cache.set("lastfailed", [])
    assert cache.get("lastfailed", None) == [] and json.loads((tmp_path / "lastfailed").read_text()) == ["test_a"]
    with pytest.raises(TypeError):
        cache.set("own", object())
