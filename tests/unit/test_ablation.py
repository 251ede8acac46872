"""The table of settings: each text is run once, several at a time, and what could not be run says why."""

from __future__ import annotations

from typing import Any

from printer_cases import case, meta, node, tensor

from triage.model.outcome import AgentNotes, Outcome, RaisedException
from triage.model.signature import signature_of
from triage.model.stage import OutcomeKind
from triage.reduce.ablation import ablate
from triage.reduce.interface import CandidateResult
from triage.reduce.oracle import SignatureOracle

BOOM = Outcome(OutcomeKind.EXCEPTION, exception=RaisedException("KeyError", "boom"))
SIGNATURE = signature_of(BOOM)
GRAPH = case([tensor("x", 4)], [node("y", "torch.relu", "%x", out=meta(4))], "%y")


class Runner:
    """Fails with Inductor, unless dynamic=False is asked for."""

    jobs = 2

    def __init__(self) -> None:
        self.asked: list[tuple[str | None, str]] = []

    def run(self, source: str, *, rung: str | None = None, timeout: float | None = None) -> CandidateResult:
        self.asked.append((rung, source))
        bad = rung in (None, "inductor") and "dynamic=False" not in source
        outcome = BOOM if bad else Outcome(OutcomeKind.OK, 0.1, 0)
        return CandidateResult(outcome, AgentNotes(), SIGNATURE if bad else None, compiled=True, seconds=0.1)

    def run_many(self, sources: Any, *, rung: str | None = None, timeout: float | None = None) -> Any:
        assert timeout == 7.0
        for index, source in reversed(list(enumerate(sources))):
            yield index, self.run(source, rung=rung)


class Budget:
    def __init__(self, runs: float = float("inf")) -> None:
        self.runs = runs

    def spent(self) -> bool:
        self.runs -= 1
        return self.runs < 0

    def left(self) -> float:
        return 100.0


def table(budget: Budget) -> tuple[dict[str, str], tuple[str, ...], list[str], Runner]:
    runner, told = Runner(), []
    assert SIGNATURE is not None
    rows, cures = ablate(
        GRAPH, None, "inductor", runner, SignatureOracle(SIGNATURE), budget,
        lambda kind, **facts: told.append(facts["setting"]), 7.0,
    )  # fmt: skip
    return {row.setting: row.outcome for row in rows}, cures, told, runner


def test_every_setting_has_its_row_and_every_text_is_run_once() -> None:
    rows, cures, told, runner = table(Budget())
    assert rows['backend="aot_eager"'] == "ok" and rows['backend="inductor"'] == "same_failure"
    assert rows["dynamic=True"] == "same_failure" and rows["dynamic=False"] == "ok"
    assert "torch.compile(..., dynamic=False)" in cures and "torch.compile(..., dynamic=True)" not in cures
    assert len(runner.asked) == len(set(runner.asked)) == len(told) < len(rows)
    assert list(rows)[:4] == [
        f'backend="{name}"' for name in ("eager", "aot_eager", "aot_eager_decomp_partition", "inductor")
    ]


def test_what_the_budget_did_not_reach_says_so() -> None:
    rows, _, _, runner = table(Budget(runs=2))
    assert rows['backend="eager"'] == rows['backend="aot_eager"'] == "ok"
    assert rows['backend="inductor"'] == rows["dynamic=True"] == "not_run"
    assert len(runner.asked) == 2
