"""From a located failure to the reproducer that the report shows.

Engines are tried in order; whatever they return is judged again by us: printed, run in a fresh process in an empty
directory with the user's own settings, several times, and once more with the backend of the rung that passes, where it must
end well: what fails there too shows another failure. What does not hold is not shown as verified. A wrong result, of which little
but words is known, ought to be there with the program's own backend too: where it is not, a larger text is looked for that has
it, and if there is none the report says what makes the smallest doubtful. Where no engine ends in something that fails the
same way, the best honest alternative is kept: the captured graph as it is, else the script.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from triage.judge.asking import Budget
from triage.judge.judgement import CandidateResult, Oracle
from triage.judge.signature import FailureSignature, one_line
from triage.model.accuracy import PRINTED
from triage.model.codec import decode
from triage.model.graphcase import GraphCase
from triage.model.report import Control
from triage.model.rungs import UNCOMPILED
from triage.model.stage import OutcomeKind, Stage, Verdict
from triage.reduce.interface import Engine, NoReduction, Problem, Reduction
from triage.reduce.printing.printer import Form, Unprintable, code_lines, count_ops, print_case
from triage.reduce.siblings import compilers_own
from triage.trial.driver import digest
from triage.trial.interface import CandidateRunner

VERIFY_RUNS = 3
MOST_LARGER = 6  # of those that an engine found on the way, verified where its result does not hold
OUT_OF_TIME = "The budget ended before it was verified."
NOT_VERIFIED = "It was not verified in a fresh process."
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
    seen_graph: GraphCase | None = None  # the one in which a text fails, where its failure has one
    form: Form | None = None
    oracle: Oracle | None = None
    passing: str | None = None
    passing_difference: str | None = None
    siblings: tuple[tuple[FailureSignature, str], ...] = ()
    notes: tuple[str, ...] = ()
    control: Control | None = None  # the run on the passing rung
    same_text: bool = False  # the error is that of the script to the letter, its numbers and names too
    needs: tuple[str, ...] = ()  # files of the program that it reads and does not hold: it was verified with them
    doubt: str = ""  # why it may show another failure than the program does, in words
    prints: bool = False  # it raises nothing: its numbers are others than uncompiled

    @property
    def holds(self) -> bool:
        """Whether it failed the same way in fresh processes, with the files that it needs."""
        return self.verified or (bool(self.needs) and self.verified_runs >= VERIFY_RUNS and not _drifted(self.control))


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


@dataclass(frozen=True)
class Shown:
    """What fresh processes showed of a script: as it is, with the backend of the passing rung, and with the program's own."""

    results: Sequence[CandidateResult]
    control: CandidateResult | None = None
    own: CandidateResult | None = None


Verifier = Callable[[str, int], Shown]


@dataclass(frozen=True)
class _Count:
    """`same` of `runs` fresh processes failed the same way, with this graph."""

    same: int = 0
    runs: int = 0
    graph: GraphCase | None = None
    control: Control | None = None
    same_text: bool = False  # the error was that of the script to the letter
    error: str = ""  # the error on one line, where it was the same each time
    doubt: str = ""
    prints: bool = False  # none was raised: the numbers that it prints are others

    @property
    def holds(self) -> bool:
        return self.same >= VERIFY_RUNS and not _drifted(self.control)


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
    siblings: list[tuple[FailureSignature, str]] = []
    spare: Reproduced | None = None  # what is shown, unless a text reads better
    doubted: Reproduced | None = (
        None  # failed each time, and where it must not as well: shown where an interrupt leaves no better
    )
    for attempt in attempts:
        if spare is not None and (not attempt.of_text or budget.spent()):
            continue
        emit("engine_started", engine=attempt.engine.name, subject=attempt.engine.subject)
        found = attempt.engine.reduce(problem, runner, attempt.oracle, budget, emit)
        if not (attempt.of_text and problem.stage is Stage.BACKEND):  # the backend's own text was changed
            siblings += found.siblings
        if found.interrupted:
            left = None if isinstance(found, NoReduction) else _with_notes(_as_it_is(found, _Count()), notes)
            raise InterruptedReductionError(spare or doubted or left)
        if isinstance(found, NoReduction):
            subject = attempt.engine.subject
            notes.append(f"{subject[0].upper()}{subject[1:]} could not be reduced: {found.reason}.".replace("..", "."))
            continue
        try:
            if spare is None:
                news(found)
            first = verified(found, problem, attempt.oracle, verify, emit)
            result = first
            late = budget.spent() and _out_of_time(first)
            if not (late or (first.holds and not first.doubt)):
                said = (*found.notes, _why_not(first))
                larger = [replace(other, notes=said) for other in found.larger]
                ask = partial(verified, problem=problem, oracle=attempt.oracle, verify=verify, emit=emit)
                held = _smallest_that_holds(larger, ask, budget)
                result = held or first
        except KeyboardInterrupt:
            left = _with_notes(_as_it_is(found, _Count()), notes)
            raise InterruptedReductionError(spare or doubted or left) from None
        if not (result.holds or late):
            if doubted is None and first.verified_runs >= VERIFY_RUNS:
                doubted = _with_notes(first, [*notes, _why_doubted(first)])
            told = f"ended in a script that {_shortcoming(first)}; it is not shown as a reproducer."
            notes.append(f"Reducing {attempt.engine.subject} {told}")
            continue
        said = (*notes, *filter(None, [attempt.note]), *result.notes, *([OUT_OF_TIME] if late else []))
        made = replace(result, notes=said, oracle=attempt.oracle)
        if spare is None or _reads_better(made, spare):
            spare = made
        if late or attempt.of_text or not _of_transforms(made):
            break
    if spare is None:
        try:
            fallback = _unreduced(problem, oracle, verify, emit, header, unreduced, notes)
            fallback = fallback or _script(script, problem, oracle, verify, emit, notes)
        except KeyboardInterrupt:
            raise InterruptedReductionError(doubted) from None
        if fallback is None:
            return None, tuple(notes)
        spare = replace(fallback, notes=(*notes, *fallback.notes))
    if siblings and not budget.spent():
        emit("engine_step", text="asking whether the other failures that were met are the compiler's own")
    try:
        met = compilers_own(siblings, problem.passing, runner, budget)
    except KeyboardInterrupt:  # what was verified is not lost by it
        raise InterruptedReductionError(spare) from None
    # Their first line is the script's failure, as that of every candidate is.
    met = tuple((signature, _with_own_error(text, problem.signature, one_line(signature))) for signature, text in met)
    return replace(spare, siblings=met), tuple(notes)


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
    return made.verified_runs == made.runs < VERIFY_RUNS and not _drifted(made.control)


def verified(
    found: Reduction, problem: Problem, oracle: Oracle, verify: Verifier, emit: Callable[..., None]
) -> Reproduced:
    """Run the reduction's script in fresh processes and count how often it fails the same way.

    The operations of a script that was reduced as text are those of its failing graph, where the failure has one.
    """
    has_graph = problem.stage is not Stage.DYNAMO
    private = found.private is not None
    count = _count(found.private or found.source, oracle, verify, emit, problem, private=private)
    found = replace(found, source=_with_own_error(found.source, problem.signature, count.error))
    if found.ops is None and count.graph is not None and has_graph:
        made = _as_it_is(replace(found, ops=count_ops(count.graph, unused=True)), count)
        return replace(made, seen_graph=count.graph)
    return _as_it_is(found, count)


def _with_own_error(source: str, signature: FailureSignature, error: str) -> str:
    """With what it raises itself in its first line, where the error of the script stood: its numbers are others."""
    first = f"# {one_line(signature)}\n"
    return f"# {error}\n{source.removeprefix(first)}" if error and source.startswith(first) else source


def _drifted(control: Control | None) -> str:
    """What speaks against a script that fails the same way; empty where nothing does."""
    if control is None or control.outcome == OutcomeKind.OK.value:
        return ""
    return "fails uncompiled too" if control.rung == UNCOMPILED.name else f"fails with `{control.rung}` too"


def _shortcoming(made: Reproduced) -> str:
    told = f"failed the same way in {made.verified_runs} of {made.runs} fresh processes"
    return _drifted(made.control) if made.verified_runs >= VERIFY_RUNS else told


def _why_doubted(made: Reproduced) -> str:
    """What speaks against a script that is shown for want of a better."""
    return (
        f"It failed the same way in {made.verified_runs} of {made.runs} fresh processes, but {_drifted(made.control)}."
    )


def _with_notes(made: Reproduced, notes: Sequence[str]) -> Reproduced:
    """With what had been said before it was found."""
    return replace(made, notes=(*notes, *made.notes))


def _why_not(smaller: Reproduced) -> str:
    """Why a larger reproducer is shown."""
    drifted = _drifted(smaller.control) if smaller.verified_runs >= VERIFY_RUNS else ""
    if smaller.holds and smaller.doubt:
        return f"A smaller script may show another failure: {smaller.doubt}."
    return f"A smaller script {drifted}." if drifted else SMALLER_FAILED


def _as_it_is(found: Reduction, count: _Count) -> Reproduced:
    """The reduction with what its verification showed."""
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
        verified=count.holds and not found.needs,
        needs=found.needs,
        runs=count.runs,
        verified_runs=count.same,
        same_signature=count.same > 0,
        control=count.control,
        same_text=count.same_text,
        doubt=count.doubt,
        prints=count.prints,
        complete=found.complete,
        graph=found.graph,
        form=found.form,
        passing=found.passing,
        passing_difference=found.passing_difference,
        notes=tuple(filter(None, (*found.notes, cut_short, "" if count.runs else NOT_VERIFIED))),
    )


def _count(
    source: str,
    oracle: Oracle,
    verify: Verifier,
    emit: Callable[..., None],
    problem: Problem,
    *,
    private: bool = False,
) -> _Count:
    """Run it in fresh processes. The error of a `private` text is not told: it may quote what the text holds."""
    emit("verify_started", runs=VERIFY_RUNS)
    key = digest(f"{problem.passing} {problem.signature.fingerprint}", source)
    with suppress(KeyError, TypeError, ValueError):  # written by another version
        known = decode(_Count, problem.verified[key])
        if known.holds:
            emit("verify_ended", runs=known.runs, same=known.same)
            return known
    shown = verify(source, VERIFY_RUNS)
    same = [result for result in shown.results if oracle.judge(result).verdict is Verdict.SAME_FAILURE]
    ran = [result for result in shown.results if result.outcome.kind is not OutcomeKind.INVALID]
    emit("verify_ended", runs=len(ran), same=len(same))
    graph = next((result.graph for result in same if result.graph is not None), None)
    texts = {(result.signature.exception_type, result.signature.message) for result in same if result.signature}
    same_text = texts == {(problem.signature.exception_type, problem.signature.message)}
    told = {one_line(result.signature) for result in same if result.signature}
    error = told.pop() if len(told) == 1 and not private else ""
    control, doubt = _control(shown.control, problem.passing), _doubt(shown.own, problem, oracle)
    raised = [result.outcome.exception for result in same]
    prints = any(each is not None and each.phase == PRINTED for each in raised)
    count = _Count(len(same), len(ran), graph, control, same_text, error, doubt, prints)
    emit("verify_facts", digest=key, count=count)
    return count


def _control(result: CandidateResult | None, passing: str) -> Control | None:
    """What the run on the passing rung says; nothing where it says nothing."""
    if result is None or result.outcome.kind is OutcomeKind.INVALID:
        return None
    # Also where the program handles an exception that it expects.
    ended_well = result.outcome.kind is OutcomeKind.OK or result.outcome.exit_code == 0
    return Control(passing, OutcomeKind.OK.value if ended_well else result.outcome.kind.value)


def _doubt(own: CandidateResult | None, problem: Problem, oracle: Oracle) -> str:
    """What the run with the program's own backend says against a script; nothing where it says nothing."""
    if own is None or own.outcome.kind is OutcomeKind.INVALID or not own.compiled:
        return ""
    judgement = oracle.judge(own)
    if judgement.verdict is Verdict.SAME_FAILURE:
        return ""
    ended = "passes" if judgement.verdict is Verdict.NO_FAILURE else "fails otherwise"
    return f"with `{problem.own_rung}`, the program's own backend, it {ended} where the program fails the same way"


def _unreduced(
    problem: Problem,
    oracle: Oracle,
    verify: Verifier,
    emit: Callable[..., None],
    header: str,
    form: Form | None,
    notes: list[str],
) -> Reproduced | None:
    """The captured graph as it is, if it prints and fails the same way. What speaks against one is added to the notes."""
    for case in problem.cases[:3]:
        try:
            source = print_case(case, header=header, form=form)
        except Unprintable:
            continue
        count = _count(source, oracle, verify, emit, problem)
        if count.same and not _drifted(count.control):
            source = _with_own_error(source, problem.signature, count.error)
            return _plain(source, "graph", count_ops(case), count, case, "The captured graph is shown unreduced.")
        if count.same:
            notes.append(f"The captured graph by itself {_drifted(count.control)}.")
    return None


def _script(
    script: str | None, problem: Problem, oracle: Oracle, verify: Verifier, emit: Callable[..., None], notes: list[str]
) -> Reproduced | None:
    """The script itself, if it fails the same way alone in an empty directory. What speaks against it is added to the notes."""
    if script is None:
        return None
    count = _count(script, oracle, verify, emit, problem)
    if count.same and _drifted(count.control):
        notes.append(f"The script alone in an empty directory {_drifted(count.control)}.")
    elif count.same:
        return _plain(script, "source", None, count, None, "The reproducer is the script itself, unreduced.")
    return None


def _plain(source: str, case: str, ops: int | None, count: _Count, graph: GraphCase | None, note: str) -> Reproduced:
    return Reproduced(
        source=source,
        engine="none",
        case=case,
        ops=ops,
        lines=code_lines(source),
        queries=0,
        seconds=0.0,
        minimal=False,
        verified=count.holds,
        runs=count.runs,
        verified_runs=count.same,
        same_signature=True,
        control=count.control,
        same_text=count.same_text,
        prints=count.prints,
        graph=graph,
        notes=(note,),
    )
