"""Guards that torch leaves out on purpose: asked for where a graph is used again wrongly, and told as the cause."""

from __future__ import annotations

from typing import Any

import pytest

from triage.culprit.guards import ANEW, GUARDS, LEFT_OUT, search_guards
from triage.judge.judgement import CandidateResult
from triage.judge.oracle import SignatureOracle
from triage.judge.signature import signature_of
from triage.locate.conclude import Conclusion
from triage.model.outcome import AgentNotes, Outcome, RaisedException
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.stories.known import cause_of

BOOM = Outcome(OutcomeKind.EXCEPTION, exception=RaisedException("AssertionError", "no hook ran"))
SIGNATURE = signature_of(BOOM)
HOOKS = LEFT_OUT[0].setting


class Runner:
    """Passes where the script has one of these in it."""

    def __init__(self, *passing: str) -> None:
        self.passing, self.asked = passing, []

    def run_many(self, sources: Any, **how: Any) -> Any:
        for index, source in enumerate(sources):
            self.asked.append(source)
            bad = not any(each in source for each in self.passing)
            outcome = BOOM if bad else Outcome(OutcomeKind.OK, 0.1, 0)
            yield index, CandidateResult(outcome, AgentNotes(), SIGNATURE if bad else None, compiled=True, seconds=0.1)


class Budget:
    def spent(self) -> bool:
        return False

    def left(self) -> float:
        return 100.0


def searched(runner: Runner):
    assert SIGNATURE is not None
    source = "import torch\ntorch.compile(f)(x)\n"
    found = search_guards(
        source, "eager", runner, SignatureOracle(SIGNATURE), Budget(), lambda *told, **facts: None, 5.0
    )  # type: ignore[arg-type]
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
    runner = Runner(*passing)
    found = searched(runner)
    assert (found.search.names, found.cures) == (names, cures) and len(runner.asked) == asked == found.search.queries
    assert [row.setting for row in found.rows] == ([HOOKS.text] if names else [])
    assert [row.note for row in found.search.rows] == [ANEW]
    assert all(compile(source, "repro.py", "exec") for source in runner.asked)


def test_the_setting_that_mends_it_names_the_cause() -> None:
    found = Conclusion(Stage.DYNAMO, Symptom.WRONG_RESULT)
    cause = cause_of(found, None, (), cures=(HOOKS,))
    assert cause is not None and cause.id == "hooks_after_first_call" and HOOKS.name in cause.cure
    assert cause_of(found, None, ()) is None
