"""Guards that torch leaves out on purpose: asked for where a graph is used again wrongly, and told as the cause."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from stand_ins import Runner, failing, inquiry

from triage.culprit.guards import ANEW, GUARDS, LEFT_OUT, search_guards
from triage.culprit.inquiry import Inquiry
from triage.culprit.subsystem import Searched
from triage.locate.conclude import Conclusion
from triage.model.accuracy import WrongResult
from triage.model.outcome import Outcome, RaisedException
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.stories import blame
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


WRONG_AT = WrongResult("0/0", 1, "output 0", "forward")


def ended_by(error: RaisedException) -> Outcome:
    return Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=error)


@pytest.mark.parametrize(
    ("rung", "call", "asked"),
    [
        ("eager", None, True),
        ("aot_eager", None, False),
        ("aot_eager", 1, False),
        ("aot_eager", 6, True),
        ("inductor", 2, True),
    ],
)
def test_a_later_call_may_be_given_the_graph_of_an_earlier_one_on_every_rung(
    rung: str, call: int | None, asked: bool
) -> None:
    wrong = WRONG_AT if call is None else replace(WRONG_AT, call=call)
    found = Conclusion(Stage.AOT_AUTOGRAD, Symptom.WRONG_RESULT, wrong=None if call is None else wrong)
    assert blame._may_be_used_again(found, rung) is asked
    raised = replace(found, symptom=Symptom.EXCEPTION)
    exited = RaisedException("SystemExit", "exit status 1: they differ", phase="text")
    assert not blame._may_be_used_again(raised, rung)
    assert blame._may_be_used_again(replace(raised, outcome=ended_by(exited)), rung) is asked
    assert not blame._may_be_used_again(replace(raised, outcome=ended_by(replace(exited, phase="compile"))), rung)


def test_where_no_guard_is_missing_the_parts_are_asked() -> None:
    def parts(source: str, inquiry: Inquiry) -> Searched | None:
        return searched(failing(lambda source: False))

    source = "import torch\ntorch.compile(f)(x)\n"
    missing, sound = failing(lambda source: "anew.install" not in source), failing(lambda source: True)
    assert blame._guards_else(lambda *_: None, source, inquiry(missing, rung="aot_eager")).search.names == (GUARDS,)
    assert blame._guards_else(lambda *_: None, source, inquiry(sound, rung="aot_eager")).search.names == ()
    assert blame._guards_else(parts, source, inquiry(sound, rung="aot_eager")) == parts(source, inquiry(sound))
