"""The rows of the ladder in a report: what a rung showed, or why it was not run."""

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest
from rung_probes import INVALID, OK, TOP, fails

from triage.locate.conclude import conclude
from triage.locate.walk import Walk
from triage.model.outcome import CompileCall
from triage.model.rungs import LADDER
from triage.model.stage import Symptom
from triage.stories.ladder_rows import ladder_rows, why_not_run


def test_a_rung_that_was_not_run_has_its_reason():
    eager, aot, decomp = LADDER[1:4]
    assert why_not_run(aot, LADDER, {decomp.name: [OK]}) == "aot_eager_decomp_partition, which does more, passes"
    assert why_not_run(aot, LADDER, {eager.name: [fails()]}) == "eager, which does less, fails"
    assert why_not_run(aot, LADDER, {eager.name: [OK], decomp.name: [fails(), INVALID]}) is None


@pytest.mark.parametrize("symptom", [Symptom.EXCEPTION, Symptom.WRONG_RESULT])
def test_what_is_raised_over_a_wrong_result_says_so_beside_fails(symptom: Symptom) -> None:
    seen = {"aot_eager": [OK], "inductor": [fails()]}
    rungs = (LADDER[2], LADDER[TOP])
    walk = SimpleNamespace(rungs=rungs, seen=seen, evidence=seen, own_rung=rungs[-1], as_it_is=seen["inductor"])
    concluded = replace(conclude(LADDER, TOP, seen), symptom=symptom)
    notes = [row.note for row in ladder_rows(cast(Walk, walk), concluded)]
    assert notes == [None, "what it raises comes of a wrong result" if symptom is Symptom.WRONG_RESULT else None]


@pytest.mark.parametrize(
    ("calls", "graphs", "why"),
    [
        ((), 0, "torch.compile is never called"),
        ((CompileCall(None),), 0, "nothing was compiled"),
        ((CompileCall(None),), 1, "inductor, which does more, passes"),
    ],
)
def test_no_backend_passes_that_was_asked_for_nothing(calls: tuple[CompileCall, ...], graphs: int, why: str) -> None:
    runs = [replace(OK, notes=replace(OK.notes, compile_calls=calls, graphs=graphs))] * 2
    walk = SimpleNamespace(
        rungs=LADDER, seen={"inductor": runs}, evidence={"inductor": runs}, own_rung=LADDER[TOP], as_it_is=runs,
        passed_beside={}, first_cut=None, met={},
    )  # fmt: skip
    *below, own = ladder_rows(cast(Walk, walk), conclude(LADDER, TOP, walk.seen))
    assert {(row.outcome, row.note) for row in below} == {("not_run", why)}
    assert (own.rung, own.outcome, own.note) == (
        ("inductor", "ok", "2 runs") if graphs else ("as_is", "ok", f"{why}; 2 runs")
    )
