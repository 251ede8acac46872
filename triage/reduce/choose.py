"""From a located failure to the reproducer that the report shows.

Engines are tried in order; whatever they return is judged again by us (`verifying.py`): printed, and run in fresh processes.
What does not hold is not shown as verified. A wrong result ought to be there with the program's own backend too: where it is
not, a larger text is looked for that has it, and if there is none the report says what makes the smallest doubtful. Where no
engine ends in something that fails the same way, the best honest alternative is kept: the captured graph as it is, else the
script.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from triage.judge.asking import Budget
from triage.judge.judgement import Oracle
from triage.judge.signature import one_line
from triage.model.graphcase import GraphCase
from triage.model.stage import Stage
from triage.reduce.graph.generated import synthetic_values
from triage.reduce.interface import Engine, NoReduction, Problem, Reduction
from triage.reduce.printing.printer import Form, Unprintable, count_ops, print_case
from triage.reduce.siblings import compilers_own, told_of, without_values
from triage.reduce.verifying import (
    VERIFY_RUNS,
    Count,
    Reproduced,
    Verifier,
    as_it_is,
    counted,
    drifted,
    verified,
    with_own_error,
)
from triage.trial.interface import CandidateRunner

MOST_LARGER = 6  # of those that an engine found on the way, verified where its result does not hold
OUT_OF_TIME = "The budget ended before it was verified."
SMALLER_FAILED = "A smaller candidate failed in the warm interpreter, but not in every fresh process."


@dataclass(frozen=True)
class Attempt:
    """An engine, the oracle that judges it, and what the report must say where the two differ from the script's failure."""

    engine: Engine
    oracle: Oracle
    note: str | None = None
    of_text: bool = False


class InterruptedReductionError(KeyboardInterrupt):
    """Ctrl-C arrived during a reduction. `best` is what is shown; what speaks against it is in its notes."""

    def __init__(self, best: Reproduced | None) -> None:
        super().__init__()
        self.best = best


class BrokenReductionError(Exception):
    """A bug of our own, its cause, after an engine was done. `best` is what is shown."""

    def __init__(self, best: Reproduced | None) -> None:
        super().__init__()
        self.best = best


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
    news: Callable[[Reduction], None] = lambda reduction: None,
) -> tuple[Reproduced | None, tuple[str, ...]]:
    """The best reproducer and sentences on how it was come by. None where nothing fails the same way.

    `oracle` judges the fallbacks: the captured graph as it is (in the form `unreduced`), and the script itself. `news` is told
    of each reduction before it is verified.
    """
    notes: list[str] = []
    siblings = list(problem.met)
    spare: Reproduced | None = None  # what is shown, unless a text reads better
    # Failed each time, and where it must not as well: shown where an interrupt leaves no better.
    doubted: Reproduced | None = None
    passes_whole = False  # the captured graphs, in the warm interpreter
    for attempt in attempts:
        if spare is not None and (not attempt.of_text or budget.spent()):
            continue
        emit("engine_started", engine=attempt.engine.name, subject=attempt.engine.subject)
        found = attempt.engine.reduce(problem, runner, attempt.oracle, budget, emit)
        own_backend = problem.stage is Stage.BACKEND and (attempt.of_text or not problem.rung)
        if not own_backend:  # else its own text was changed
            siblings += found.siblings
        if found.interrupted:
            left = None if isinstance(found, NoReduction) else _with_notes(as_it_is(found, Count()), notes)
            raise InterruptedReductionError(spare or doubted or left)
        if isinstance(found, NoReduction):
            subject = attempt.engine.subject
            passes_whole = passes_whole or (found.passes_whole and not attempt.of_text)
            notes.append(f"{subject[0].upper()}{subject[1:]} could not be reduced: {found.reason}.".replace("..", "."))
            continue
        try:
            if spare is None:
                news(found)
            first = as_it_is(found, Count()) if found.enough else verified(found, problem, attempt.oracle, verify, emit)
            result = first
            late = found.enough or (budget.spent() and _out_of_time(first))
            if not (late or (first.holds and not first.doubt)):
                said = (*found.notes, _why_not(first))
                larger = [replace(other, notes=said) for other in found.larger]
                ask = partial(verified, problem=problem, oracle=attempt.oracle, verify=verify, emit=emit)
                held = _smallest_that_holds(larger, ask, budget)
                result = held or first
        except KeyboardInterrupt:
            left = _with_notes(as_it_is(found, Count()), notes)
            raise InterruptedReductionError(spare or doubted or left) from None
        except Exception as error:
            raise BrokenReductionError(spare or _with_notes(as_it_is(found, Count()), notes)) from error
        if not (result.holds or late):
            if doubted is None and first.verified_runs >= VERIFY_RUNS:
                doubted = _with_notes(first, [*notes, _why_doubted(first)])
            told = f"ended in a script that {_shortcoming(first)}; it is not shown as a reproducer."
            notes.append(f"Reducing {attempt.engine.subject} {told}")
            continue
        said = (
            *notes,
            *filter(None, [attempt.note]),
            *result.notes,
            *([OUT_OF_TIME] if late and not found.enough else []),
        )
        made = replace(result, notes=said, oracle=attempt.oracle)
        if spare is None or _reads_better(made, spare):
            spare = made
        if late or attempt.of_text or not _of_transforms(made):
            break
    if spare is None:
        try:
            counts = partial(counted, oracle=oracle, verify=verify, emit=emit, problem=problem)
            whole = problem.cases[:1] if passes_whole else tuple(_on_values(problem.cases[:3]))
            fallback = _unreduced(problem, whole, counts, header, unreduced, notes) or _script(script, counts, notes)
        except KeyboardInterrupt:
            raise InterruptedReductionError(doubted) from None
        if fallback is None:
            return None, tuple(notes)
        spare = replace(fallback, notes=(*notes, *fallback.notes))
    if problem.operation_only:
        siblings = []
    if siblings and not budget.spent():
        emit("engine_step", text="asking whether the other failures that were met are the compiler's own")
    try:
        met = compilers_own(siblings, problem.passing, runner, budget, problem.rung or None)
        others = [(each.signature, without_values(each, problem, runner, budget)) for each in met]
    except KeyboardInterrupt:  # what was verified is not lost by it
        raise InterruptedReductionError(spare) from None
    except Exception as error:
        raise BrokenReductionError(spare) from error
    # Their first line is the script's failure, as that of every candidate is.
    kept = tuple(
        (signature, text and with_own_error(text, problem.signature, one_line(signature))) for signature, text in others
    )
    left_out = [one_line(signature) for signature, text in others if text is None]
    said = (*spare.notes, *([told_of(left_out)] if left_out else []))
    return replace(spare, others=kept, notes=said), tuple(notes)


def _smallest_that_holds(
    larger: Sequence[Reduction], ask: Callable[[Reduction], Reproduced], budget: Budget
) -> Reproduced | None:
    """The smallest that is found to hold, in few tries: ever larger ones until one does, then between it and what did not."""
    found: Reproduced | None = None
    place, below, above = 0, -1, len(larger)
    for _ in range(MOST_LARGER):
        if above - below <= 1 or budget.spent():
            break
        made = ask(larger[place])
        if made.holds and not made.doubt:
            found, above = made, place
        else:
            below = place
        place = (below + above) // 2 if found is not None else min(3 * place + 1, len(larger) - 1)
    return found


def _of_transforms(made: Reproduced) -> bool:
    """Whether it calls what `torch.func` is made of (levels, batch dimensions, dual numbers), which no person writes."""
    return "_functorch." in made.source


def _reads_better(text: Reproduced, graph: Reproduced) -> bool:
    return text.holds and not _of_transforms(text) and text.lines <= graph.lines


def _out_of_time(made: Reproduced) -> bool:
    """Whether fresh processes were not run because the budget had ended; none of those that were speaks against it."""
    return made.verified_runs == made.runs < VERIFY_RUNS and not drifted(made.control)


def _shortcoming(made: Reproduced) -> str:
    told = f"failed the same way in {made.verified_runs} of {made.runs} fresh processes"
    return drifted(made.control) if made.verified_runs >= VERIFY_RUNS else told


def _why_doubted(made: Reproduced) -> str:
    """What speaks against a script that is shown for want of a better."""
    return (
        f"It failed the same way in {made.verified_runs} of {made.runs} fresh processes, but {drifted(made.control)}."
    )


def _with_notes(made: Reproduced, notes: Sequence[str]) -> Reproduced:
    """With what had been said before it was found."""
    return replace(made, notes=(*notes, *made.notes))


def _why_not(smaller: Reproduced) -> str:
    """Why a larger reproducer is shown."""
    told = drifted(smaller.control) if smaller.verified_runs >= VERIFY_RUNS else ""
    if smaller.holds and smaller.doubt:
        return f"A smaller script may show another failure: {smaller.doubt}."
    return f"A smaller script {told}." if told else SMALLER_FAILED


def _unreduced(
    problem: Problem,
    cases: Sequence[GraphCase],
    counts: Callable[[str], Count],
    header: str,
    form: Form | None,
    notes: list[str],
) -> Reproduced | None:
    """The captured graph as it is, if it prints and fails the same way. What speaks against one is added to the notes."""
    for case in cases:
        try:
            source = print_case(case, header=header, form=form)
        except Unprintable:
            continue
        count = counts(source)
        if count.verified_runs and not drifted(count.control):
            source = with_own_error(source, problem.signature, count.error)
            note = "The captured graph is shown unreduced" + ", on values that the script had." * case.holds_values
            return _plain(source, "graph", count_ops(case), count, case, f"{note.rstrip('.')}.")
        if count.verified_runs:
            notes.append(f"The captured graph by itself {drifted(count.control)}.")
    return None


def _on_values(cases: Sequence[GraphCase]) -> Iterator[GraphCase]:
    """Each graph on values that are made up, before those that the script had."""
    for case in cases:
        if case.holds_values:
            yield synthetic_values(case)
        yield case


def _script(script: str | None, counts: Callable[[str], Count], notes: list[str]) -> Reproduced | None:
    """The script itself, if it fails the same way alone in an empty directory. What speaks against it is added to the notes."""
    if script is None:
        return None
    count = counts(script)
    if count.verified_runs and drifted(count.control):
        notes.append(f"The script alone in an empty directory {drifted(count.control)}.")
    elif count.verified_runs:
        return _plain(script, "source", None, count, None, "The reproducer is the script itself, unreduced.")
    return None


def _plain(source: str, case: str, ops: int | None, count: Count, graph: GraphCase | None, note: str) -> Reproduced:
    found = Reduction(source, "none", case, ops, 0, 0.0, minimal=False, complete=True, graph=graph, notes=(note,))
    return as_it_is(found, replace(count, doubt="", seen_graph=None))
