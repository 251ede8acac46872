"""Causes in the program itself that the smallest reproducer shows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from triage.culprit.own_causes import needs_cache
from triage.locate.conclude import Conclusion
from triage.model.stage import Stage, Symptom
from triage.reduce.interface import Reduction
from triage.reduce.verifying import Verification, as_it_is
from triage.stories.known_cause import cause_of

CACHED = "import functools\n\n@functools.lru_cache\ndef g():\n    return torch.randn(1)\n"
WRONG = Conclusion(Stage.DYNAMO, Symptom.WRONG_RESULT)


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        (CACHED, True),
        (CACHED.replace("functools.lru_cache", "lru_cache(maxsize=None)"), True),
        (CACHED.replace("functools.lru_cache", "functools.cache"), True),
        (CACHED.replace("functools.lru_cache", "torch.compile"), False),
        (CACHED.replace("functools.lru_cache", "self.cache.register"), False),
    ],
)
def test_a_cache_is_one_of_pythons_own_above_a_definition(text: str, needs: bool) -> None:
    assert needs_cache(text) is needs


def test_a_cache_that_the_smallest_reproducer_keeps_is_the_cause() -> None:
    reduced = Reduction(CACHED, "native", "source", None, 9, 1.0, minimal=True, complete=True)
    made = as_it_is(reduced, Verification(verified_runs=3, runs=3))
    cause = cause_of(WRONG, None, (), made=made)
    assert cause is not None and cause.id == "python_cache_not_heeded"
    assert cause_of(WRONG, None, (), made=replace(made, minimal=False)) is None  # it may only be left
    assert cause_of(WRONG, None, (), made=replace(made, verified_runs=1)) is None
    assert cause_of(replace(WRONG, stage=Stage.INDUCTOR), None, (), made=made) is None
