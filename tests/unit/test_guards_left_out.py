"""Guards that torch leaves out on purpose: asked for where a graph is used again wrongly, and told as the cause."""

from __future__ import annotations

from typing import Any

import pytest
from stand_ins import Runner, failing, inquiry

from triage.culprit.guards import ANEW, GUARDS, LEFT_OUT, search_guards
from triage.culprit.subsystem import Searched
from triage.locate.conclude import Conclusion
from triage.model.stage import Stage, Symptom
from triage.stories.known_cause import cause_of

HOOKS = LEFT_OUT[0].setting


def searched(runner: Runner) -> Searched:
    found = search_guards("import torch\ntorch.compile(f)(x)\n", inquiry(runner, rung="eager"))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("passing", "names", "cures", "asked"),
    [
        (("anew.install", HOOKS.text), (GUARDS,), (HOOKS,), 1 + len(LEFT_OUT)),
        (("anew.install",), (GUARDS,), (), 1 + len(LEFT_OUT)),
        ((), (), (), 1),  # the graph itself is wrong
    ],
)
def test_what_torch_leaves_out_is_asked_for_where_a_guard_is_missing(
    passing: tuple[str, ...], names: tuple[str, ...], cures: tuple[Any, ...], asked: int
) -> None:
    runner = failing(lambda source: not any(each in source for each in passing))
    found = searched(runner)
    assert (found.search.names, found.cures) == (names, cures) and len(runner.asked) == asked == found.search.queries
    assert [row.setting for row in found.rows] == ([HOOKS.text] if names else [])
    assert [row.note for row in found.search.rows] == [ANEW]
    assert all(compile(source, "repro.py", "exec") for source in runner.asked)


def test_the_setting_that_mends_it_names_the_cause() -> None:
    found = Conclusion(Stage.DYNAMO, Symptom.WRONG_RESULT)
    cause = cause_of(found, None, (), cures=(HOOKS,))
    assert cause.id == "hooks_after_first_call" and HOOKS.name in cause.cure
    assert cause_of(found, None, ()) is None
