"""From a located failure to the reproducer that the report shows.

Engines are tried in order; whatever they return is judged again by us (`verifying.py`): printed, and run in fresh processes.
What does not hold is not shown as verified. A wrong result ought to be there with the program's own backend too: where it is
not, a larger text is looked for that has it, and if there is none the report says what makes the smallest doubtful. Where no
engine ends in something that fails the same way, the best honest alternative is kept: the captured graph as it is, else the
script.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from triage.judge.asking import Budget
from triage.judge.judgement import Oracle
from triage.judge.naming import one_line
from triage.model.graphcase import GraphCase
from triage.model.stage import Stage
from triage.reduce.graph.generated import synthetic_values
from triage.reduce.interface import UNREDUCED, Engine, NoReduction, Problem, Reduction, SiblingScript
from triage.reduce.printing.printer import Form, count_ops, print_if_possible
from triage.reduce.siblings import compilers_own, told_of, without_values
from triage.reduce.verifying import (
    VERIFY_RUNS,
    Reproduced,
    Verification,
    Verifier,
    as_it_is,
    counted,
    drifted,
    verified,
    with_own_error,
)
from triage.trial.interface import Resources

MOST_LARGER = 6  # of those that an engine found on the way, verified where its result does not hold
OUT_OF_TIME = "The budget ended before it was verified."
_TRANSFORMS = re.compile(r"\b_functorch\.(?!config\b)")  # what `torch._functorch.config` sets is AOTAutograd's
SMALLER_FAILED = "A smaller candidate failed in the warm interpreter, but not in every fresh process."


@dataclass(frozen=True)
class Attempt:
    """An engine, the oracle that judges it, and what the report must say where the two differ from the script's failure."""

    engine: Engine
    oracle: Oracle
    note: str | None = None
    of_text: bool = False


@dataclass(frozen=True)
class Unreduced:
    """What may be shown where no engine ends in a reproducer: the captured graph in this `form`, else the `script`."""

    script: str | None = None
    header: str = ""  # of the printed graph
    form: Form | None = None


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
    resources: Resources,
    verify: Verifier,
    unreduced: Unreduced,
    news: Callable[[Reduction], None] = lambda reduction: None,
) -> tuple[Reproduced | None, tuple[str, ...]]:
    """The best reproducer and sentences on how it was come by. None where nothing fails the same way.

    The oracle of the `resources` judges what is shown unreduced, each attempt has its own. `news` is told of a reduction before
    it is verified.
    """
    choice = _Choice(problem, resources, verify, news)
    for attempt in attempts:
        if choice.best is None or (attempt.of_text and not resources.budget.spent()):
            reduction = choice.reduced(attempt)
            if reduction is not None and choice.settled_by(attempt, reduction):
                break
    if choice.best is None:
        choice.fall_back(unreduced, graphs=any(not attempt.of_text for attempt in attempts))
    if choice.best is None:
        return None, tuple(choice.notes)
    return choice.with_others(choice.best), tuple(choice.notes)


@dataclass
class _Choice:
    """What the attempts have come to so far. `best` is what is shown, unless a text reads better."""

    problem: Problem
    resources: Resources
    verify: Verifier
    news: Callable[[Reduction], None]
    best: Reproduced | None = None
    notes: list[str] = field(default_factory=list)
    siblings: list[SiblingScript] = field(default_factory=list)
    # Failed each time, and where it must not as well: shown where an interrupt leaves no better.
    doubted: Reproduced | None = None
    passes_whole: bool = False  # the captured graphs, in the warm interpreter

    def reduced(self, attempt: Attempt) -> Reduction | None:
        """What the engine ends in; a note says why where that is nothing."""
        engine, problem = attempt.engine, self.problem
        self.resources.emit("engine_started", engine=engine.name, subject=engine.subject)
        ended = engine.reduce(problem, replace(self.resources, oracle=attempt.oracle))
        own_backend = problem.stage is Stage.BACKEND and (attempt.of_text or not problem.rung)
        if not own_backend:  # else its own text was changed
            self.siblings += ended.siblings
        if ended.interrupted:
            raise self._interrupted(None if isinstance(ended, NoReduction) else ended)
        if isinstance(ended, Reduction):
            return ended
        self.passes_whole = self.passes_whole or (ended.passes_whole and not attempt.of_text)
        subject = engine.subject[0].upper() + engine.subject[1:]
        self.notes.append(f"{subject} could not be reduced: {ended.reason}.".replace("..", "."))
        return None

    def settled_by(self, attempt: Attempt, reduction: Reduction) -> bool:
        """Verify the reduction, and take it if it holds and nothing better is known; whether no other attempt is needed."""
        try:
            if self.best is None:
                self.news(reduction)
            smallest = self._verified(reduction, attempt.oracle)
            late = reduction.enough or (self.resources.budget.spent() and _out_of_time(smallest))
            result = smallest if late else self._larger_if_need_be(smallest, reduction, attempt.oracle)
        except KeyboardInterrupt:
            raise self._interrupted(reduction) from None
        except Exception as error:
            raise BrokenReductionError(self.best or self._unverified(reduction)) from error
        if not (result.holds or late):
            if self.doubted is None and smallest.verified_runs >= VERIFY_RUNS:
                self.doubted = _with_notes(smallest, [*self.notes, _why_doubted(smallest)])
            ended = f"ended in a script that {_shortcoming(smallest)}; it is not shown as a reproducer."
            self.notes.append(f"Reducing {attempt.engine.subject} {ended}")
            return False
        out_of_time = [OUT_OF_TIME] if late and not reduction.enough else []
        notes = (*self.notes, *filter(None, [attempt.note]), *result.notes, *out_of_time)
        made = replace(result, notes=notes, oracle=attempt.oracle)
        if self.best is None or _reads_better(made, self.best):
            self.best = made
        return late or attempt.of_text or not _of_transforms(made)

    def fall_back(self, unreduced: Unreduced, *, graphs: bool) -> None:
        """Show the captured graph as it is, else the script, if one of them fails the same way in fresh processes.

        Without `graphs` none was made of what failed, or each gives what eager gives.
        """
        problem, of = self.problem, self.resources
        counts = partial(counted, oracle=of.oracle, verify=self.verify, emit=of.emit, problem=problem)
        cases = problem.cases[:3] if graphs else ()
        whole = cases[:1] if self.passes_whole else tuple(_on_values(cases))
        try:
            shown = _graph(problem, whole, counts, unreduced, self.notes) or _script(
                unreduced.script, counts, self.notes
            )
        except KeyboardInterrupt:
            raise InterruptedReductionError(self.doubted) from None
        self.best = _with_notes(shown, self.notes) if shown is not None else None

    def with_others(self, best: Reproduced) -> Reproduced:
        """The reproducer with the other failures that were met on the way, each with a script that may be shown."""
        problem, runner, budget = self.problem, self.resources.runner, self.resources.budget
        if problem.operation_only:
            return best
        siblings = [*problem.siblings, *self.siblings]
        if siblings and not budget.spent():
            self.resources.emit(
                "engine_step", text="asking whether the other failures that were met are the compiler's own"
            )
        try:
            met = compilers_own(siblings, problem.passing, runner, budget, problem.rung or None)
            others = [(each.signature, without_values(each, problem, runner, budget)) for each in met]
        except KeyboardInterrupt:  # what was verified is not lost by it
            raise InterruptedReductionError(best) from None
        except Exception as error:
            raise BrokenReductionError(best) from error
        # Their first line is the script's failure, as that of every candidate is.
        kept = tuple(
            (signature, text and with_own_error(text, problem.signature, one_line(signature)))
            for signature, text in others
        )
        left_out = [one_line(signature) for signature, text in others if text is None]
        return replace(best, others=kept, notes=(*best.notes, *([told_of(left_out)] if left_out else [])))

    def _verified(self, reduction: Reduction, oracle: Oracle, *, unlikely: bool = False) -> Reproduced:
        if reduction.enough:
            return as_it_is(reduction, Verification())
        return verified(reduction, self.problem, oracle, self.verify, self.resources.emit, unlikely=unlikely)

    def _larger_if_need_be(self, smallest: Reproduced, reduction: Reduction, oracle: Oracle) -> Reproduced:
        """Where the smallest does not hold, or may show another failure: a larger one that does not, if there is one."""
        if smallest.holds and not smallest.doubt:
            return smallest
        notes = (*reduction.notes, _why_not(smallest))
        larger = [replace(other, notes=notes) for other in reduction.larger]
        ask = partial(self._verified, oracle=oracle, unlikely=True)
        return _smallest_that_holds(larger, ask, self.resources.budget) or smallest

    def _unverified(self, reduction: Reduction) -> Reproduced:
        return _with_notes(as_it_is(reduction, Verification()), self.notes)

    def _interrupted(self, reduction: Reduction | None) -> InterruptedReductionError:
        left = self._unverified(reduction) if reduction is not None else None
        return InterruptedReductionError(self.best or self.doubted or left)


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
    return _TRANSFORMS.search(made.source) is not None


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


def _graph(
    problem: Problem,
    cases: Sequence[GraphCase],
    counts: Callable[[str], Verification],
    unreduced: Unreduced,
    notes: list[str],
) -> Reproduced | None:
    """The captured graph as it is, if it prints and fails the same way. What speaks against one is added to the notes."""
    for case in cases:
        source = print_if_possible(case, header=unreduced.header, form=unreduced.form)
        if source is None:
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


def _script(script: str | None, counts: Callable[[str], Verification], notes: list[str]) -> Reproduced | None:
    """The script itself, if it fails the same way alone in an empty directory. What speaks against it is added to the notes."""
    if script is None:
        return None
    count = counts(script)
    if count.verified_runs and drifted(count.control):
        notes.append(f"The script alone in an empty directory {drifted(count.control)}.")
    elif count.verified_runs:
        return _plain(script, "source", None, count, None, "The reproducer is the script itself, unreduced.")
    return None


def _plain(
    source: str, case: str, ops: int | None, count: Verification, graph: GraphCase | None, note: str
) -> Reproduced:
    found = Reduction(source, UNREDUCED, case, ops, 0, 0.0, minimal=False, complete=True, graph=graph, notes=(note,))
    return as_it_is(found, replace(count, doubt="", seen_graph=None))
