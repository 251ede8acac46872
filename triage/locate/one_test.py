"""A session of tests in which one fails: from then on that test is the target, where it fails alone as it does among the others.

The others cost their time in every run, fail uncompiled or compile for reasons of their own, and none of it says anything.
"""

from __future__ import annotations

from dataclasses import replace

from triage.judge.likeness import same_failure
from triage.locate.leftovers import AS_IT_IS
from triage.locate.walk import Walk
from triage.model.rungs import AS_IS
from triage.probe.run import Probe

NAME = f"{AS_IS}-one-test"


def to_one_test(walk: Walk) -> str:
    """Run the failing test alone, and go on with it. A sentence for the report; empty where the whole session goes on."""
    whole, target, stop_after = walk.start, walk.target, walk.stop_after
    test, others = _failing(whole), whole.notes.tests - 1
    if not _is_a_test(test) or others < 1 or whole.notes.distributed:
        return ""
    walk.stop()
    walk.target, walk.stop_after = replace(target, only_test=test), None
    alone = walk.ask(AS_IT_IS, NAME)
    if _failing(alone) == test and same_failure(alone.signature, whole.signature):
        walk.seen.clear()
        walk.begins_with(alone)
        return f"Of {others + 1} tests the failing one alone was run again: it fails by itself as it does among the others."
    walk.target, walk.stop_after = target, stop_after
    return ""


def _failing(probe: Probe) -> str:
    exception = probe.outcome.exception
    return exception.test if exception is not None and not exception.swallowed else ""


def _is_a_test(name: str) -> bool:
    """A node id of pytest or a test's id of unittest, and no file that was collected, no `setUpClass (test_pool.Case)`."""
    return "::" in name or (name.count(".") > 1 and all(part.isidentifier() for part in name.split(".")))
