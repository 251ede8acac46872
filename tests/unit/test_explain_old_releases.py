"""What `explain` sees of releases that tell recompilations in another way, or lack a setting that a cure needs. No torch."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from triage.agent.compat import recompilations, watch_recompiles
from triage.agent.explain.watch import _set
from triage.explain.breaks import GraphBreak, not_tried, trials
from triage.report.explanation import break_verdict


def step(): ...


FRAME = SimpleNamespace(f_code=step.__code__)


@pytest.fixture
def heard():
    return []


def test_each_release_is_asked_in_its_own_way(heard):
    newer = SimpleNamespace(get_and_maybe_log_recompilation_reasons=lambda entries, frame: ["n == 0", "n == 1"])
    older = SimpleNamespace(get_and_maybe_log_recompilation_reason=lambda entry, frame: "L['n'] == 0")
    for module, entries in ((newer, [1, 2]), (older, object())):
        watch_recompiles(module, lambda frame, reasons, entries: heard.append((frame, reasons, entries)))
        next(iter(vars(module).values()))(entries, FRAME)
    assert heard == [(FRAME, ["n == 0", "n == 1"], 2), (FRAME, ["L['n'] == 0"], 0)]


def test_torch_2_1_counts_and_keeps_the_failed_guard_in_a_table(heard, monkeypatch):
    config = SimpleNamespace(report_guard_failures=False)
    monkeypatch.setitem(sys.modules, "torch._dynamo.config", config)
    module = SimpleNamespace(
        is_recompilation=lambda size: size >= 1, guard_failures={step.__code__: ["an earlier one", "L['n'] == 0"]}
    )
    watch_recompiles(module, lambda frame, reasons, entries: heard.append((frame, reasons, entries)))

    def convert(frame, size):
        return module.is_recompilation(size)

    assert [convert(FRAME, 0), convert(FRAME, 1)] == [False, True]
    assert heard == [(FRAME, ["L['n'] == 0"], 1)] and config.report_guard_failures


def test_a_setting_that_this_torch_lacks_is_told_and_no_cure_that_was_tried_in_vain():
    told = []
    channel = SimpleNamespace(say=lambda kind, **facts: told.append((kind, facts)))
    _set(SimpleNamespace(capture_scalar_outputs=False), {"reorderable_logging_functions": []}, channel)
    assert told == [("no_such_setting", {"name": "reorderable_logging_functions"})]
    row = GraphBreak(
        "net.py", 7, "print(x)", "why", cure="Add it to torch._dynamo.config.reorderable_logging_functions"
    )
    other = GraphBreak("net.py", 9, "if x.sum() > 0:", "why", cure="Use torch.cond.")
    (trial,) = trials([row, other])
    rows = not_tried([row, other], trial, "this torch has no such setting")
    assert [break_verdict(each) for each in rows] == ["not tried: this torch has no such setting", ""]
    assert [each.cure_works for each in rows] == [None, None]


@pytest.mark.parametrize(
    ("failed", "compiles", "counted"),
    [
        ({}, {0: 1, 1: 1}, 0),
        ({"f": ["a"]}, {0: 2, 1: 1}, 1),
        ({"f": ["a", "a", "b"]}, {0: 3, 1: 1}, 2),  # the second time two of them failed
        ({}, {0: 2}, 0),  # tried again after an error
        ({"f": ["a"]}, {}, 1),  # a release that does not count them
    ],
)
def test_a_recompilation_counts_once_however_many_guards_failed(monkeypatch, failed, compiles, counted):
    monkeypatch.setitem(sys.modules, "torch._dynamo.utils", SimpleNamespace(guard_failures=failed))
    monkeypatch.setitem(sys.modules, "torch._dynamo.convert_frame", SimpleNamespace(FRAME_COMPILE_COUNTER=compiles))
    assert recompilations() == counted
