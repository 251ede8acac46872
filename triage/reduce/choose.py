"""From a located failure to the reproducer that the report shows.

Engines are tried in order; whatever they return is judged again by us: printed, run in a fresh process in an empty
directory with the user's own settings, several times. What does not hold is not shown as verified. Where no engine ends in
something that fails the same way, the best honest alternative is kept: the captured graph as it is, else the script.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from triage.model.graphcase import GraphCase
from triage.model.signature import FailureSignature
from triage.model.stage import Stage, Verdict
from triage.reduce.interface import (
    Budget,
    CandidateResult,
    CandidateRunner,
    Engine,
    NoReduction,
    Oracle,
    Problem,
    Reduction,
)
from triage.reduce.printer import Form, Unprintable, code_lines, count_ops, print_case

VERIFY_RUNS = 3
SMALLER_FAILED = "A smaller graph failed in the warm interpreter, but not in every fresh process."


@dataclass(frozen=True)
class Reproduced:
    """A reproducer and what is known of it. `verified_runs` of `runs` fresh processes failed with the same signature."""

    source: str
    engine: str  # native | repro_after | none
    case: str  # graph | source
    ops: int | None
    lines: int
    queries: int
    seconds: float
    minimal: bool
    verified: bool
    runs: int
    verified_runs: int
    same_signature: bool
    complete: bool = True
    graph: GraphCase | None = None
    form: Form | None = None
    oracle: Oracle | None = None
    passing: str | None = None
    passing_difference: str | None = None
    siblings: tuple[tuple[FailureSignature, str], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Attempt:
    """An engine, the oracle that judges it, and what the report must say where the two differ from the script's failure."""

    engine: Engine
    oracle: Oracle
    note: str | None = None


class InterruptedReductionError(KeyboardInterrupt):
    """Ctrl-C arrived during a reduction. `best` is the smallest candidate until then, not verified, or None."""

    def __init__(self, best: Reproduced | None) -> None:
        super().__init__()
        self.best = best


Verifier = Callable[[str, int], Sequence[CandidateResult]]


def choose(
    problem: Problem,
    attempts: Sequence[Attempt],
    runner: CandidateRunner,
    oracle: Oracle,
    verify: Verifier,
    budget: Budget,
    emit: Callable[..., None],
    script: str | None,
    header: str,
    unreduced: Form | None = None,
) -> tuple[Reproduced | None, tuple[str, ...]]:
    """The best reproducer and sentences on how it was come by. None where nothing fails the same way.

    `oracle` judges the fallbacks: the captured graph as it is (in the form `unreduced`), and the script itself.
    """
    notes: list[str] = []
    siblings: list[tuple[FailureSignature, str]] = []
    for attempt in attempts:
        emit("engine_started", engine=attempt.engine.name)
        found = attempt.engine.reduce(problem, runner, attempt.oracle, budget, emit)
        siblings += found.siblings
        if _interrupted(found):
            raise InterruptedReductionError(None if isinstance(found, NoReduction) else _as_it_is(found, 0, 0))
        if isinstance(found, NoReduction):
            notes.append(f"Engine {found.engine}: {found.reason}.".replace("..", "."))
            continue
        try:
            first = verified(found, attempt.oracle, verify, emit, has_graph=problem.stage is not Stage.DYNAMO)
            result = first
            for larger in () if first.verified else found.larger:
                result = verified(replace(larger, notes=(*found.notes, SMALLER_FAILED)), attempt.oracle, verify, emit)
                if result.verified:
                    break
        except KeyboardInterrupt:
            raise InterruptedReductionError(_as_it_is(found, 0, 0)) from None
        if result.verified:
            said = (*notes, *([attempt.note] if attempt.note else []), *result.notes)
            return replace(result, siblings=tuple(siblings), notes=said, oracle=attempt.oracle), tuple(notes)
        notes.append(
            f"Engine {found.engine} ended in a script that failed the same way in {first.verified_runs} of {first.runs} "
            "fresh processes; it is not shown as a reproducer."
        )
    fallback = _unreduced(problem, oracle, verify, emit, header, unreduced) or _script(script, oracle, verify, emit)
    if fallback is None:
        return None, tuple(notes)
    return replace(fallback, siblings=tuple(siblings), notes=(*notes, *fallback.notes)), tuple(notes)


def verified(
    found: Reduction, oracle: Oracle, verify: Verifier, emit: Callable[..., None], *, has_graph: bool = True
) -> Reproduced:
    """Run the reduction's script in fresh processes and count how often it fails the same way.

    The operations of a script that was reduced as text are those of its failing graph, where the failure `has_graph`.
    """
    same, runs, graph = _count(found.source, oracle, verify, emit)
    if found.ops is None and graph is not None and has_graph:
        found = replace(found, ops=count_ops(graph, unused=True))
    return _as_it_is(found, same, runs)


def _as_it_is(found: Reduction, same: int, runs: int) -> Reproduced:
    """The reduction with what its verification showed: `same` of `runs` fresh processes failed the same way."""
    cut_short = "" if found.complete else "The reduction was cut short; a smaller reproducer may exist."
    return Reproduced(
        source=found.source,
        engine=found.engine,
        case=found.case,
        ops=found.ops,
        lines=code_lines(found.source),
        queries=found.queries,
        seconds=found.seconds,
        minimal=found.minimal and found.complete,
        verified=same >= VERIFY_RUNS,
        runs=runs,
        verified_runs=same,
        same_signature=same > 0,
        complete=found.complete,
        graph=found.graph,
        form=found.form,
        passing=found.passing,
        passing_difference=found.passing_difference,
        notes=tuple(filter(None, (*found.notes, cut_short, "" if runs else "It was not verified in a fresh process."))),
    )


def _interrupted(found: Reduction | NoReduction) -> bool:
    """Engines keep ctrl-C to themselves, so that the best candidate is not lost; here it goes on its way."""
    if isinstance(found, NoReduction):
        return "interrupted" in found.reason
    return "interrupted" in str(found.statistics.get("stopped", ""))


def _count(
    source: str, oracle: Oracle, verify: Verifier, emit: Callable[..., None]
) -> tuple[int, int, GraphCase | None]:
    """(runs that failed the same way, runs, the graph that failed)."""
    emit("verify_started", runs=VERIFY_RUNS)
    results = verify(source, VERIFY_RUNS)
    same = [result for result in results if oracle.judge(result).verdict is Verdict.SAME_FAILURE]
    emit("verify_ended", runs=len(results), same=len(same))
    return len(same), len(results), next((result.graph for result in same if result.graph is not None), None)


def _unreduced(
    problem: Problem, oracle: Oracle, verify: Verifier, emit: Callable[..., None], header: str, form: Form | None
) -> Reproduced | None:
    """The captured graph as it is, if it prints and fails the same way."""
    for case in problem.cases[:3]:
        try:
            source = print_case(case, header=header, form=form)
        except Unprintable:
            continue
        same, runs, _ = _count(source, oracle, verify, emit)
        if same:
            return _plain(source, "graph", count_ops(case), same, runs, case, "The captured graph is shown unreduced.")
    return None


def _script(script: str | None, oracle: Oracle, verify: Verifier, emit: Callable[..., None]) -> Reproduced | None:
    """The script itself, if it fails the same way alone in an empty directory."""
    if script is None:
        return None
    same, runs, _ = _count(script, oracle, verify, emit)
    if not same:
        return None
    return _plain(script, "source", None, same, runs, None, "The reproducer is the script itself, unreduced.")


def _plain(
    source: str, case: str, ops: int | None, same: int, runs: int, graph: GraphCase | None, note: str
) -> Reproduced:
    return Reproduced(
        source=source,
        engine="none",
        case=case,
        ops=ops,
        lines=code_lines(source),
        queries=0,
        seconds=0.0,
        minimal=False,
        verified=same >= VERIFY_RUNS,
        runs=runs,
        verified_runs=same,
        same_signature=True,
        graph=graph,
        notes=(note,),
    )
