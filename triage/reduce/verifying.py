"""What fresh processes show of a script, and the reproducer that a reduction is with that.

It is run in an empty directory with the user's own settings, several times, and once more with the backend of the rung that
passes, where it must end well: what fails there too shows another failure. Of a wrong result, of which little but words is
known, the run with the program's own backend is judged as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from triage.judge.judgement import CandidateResult, Oracle
from triage.judge.naming import one_line
from triage.judge.signature import FailureSignature
from triage.model.accuracy import PRINTED
from triage.model.codec import decode
from triage.model.graphcase import GraphCase
from triage.model.outcome import AgentNotes
from triage.model.report import Control
from triage.model.rungs import UNCOMPILED
from triage.model.stage import OutcomeKind, Stage, Verdict
from triage.reduce.interface import Problem, Reduction
from triage.reduce.printing.printer import code_lines, count_ops
from triage.trial.driver import digest

VERIFY_RUNS = 3
NOT_VERIFIED = "It was not verified in a fresh process."


@dataclass(frozen=True)
class FreshRuns:
    """What fresh processes showed of a script: as it is, with the backend of the passing rung, and with the program's own."""

    results: Sequence[CandidateResult]
    control: CandidateResult | None = None
    own: CandidateResult | None = None


Verifier = Callable[[str, int], FreshRuns]


@dataclass(frozen=True)
class Verification:
    """`verified_runs` of `runs` fresh processes failed the same way, with this graph."""

    verified_runs: int = 0
    runs: int = 0
    seen_graph: GraphCase | None = None
    control: Control | None = None  # the run on the passing rung
    same_text: bool = False  # the error was that of the script to the letter, its numbers and names too
    error: str = ""  # the error on one line, where it was the same each time
    doubt: str = ""  # why it may show another failure than the program does, in words
    prints: bool = False  # it raises nothing: its numbers are others than uncompiled
    slowest: float = 0.0  # seconds that one of those runs took at most, until it had failed

    @property
    def holds(self) -> bool:
        """Whether it failed the same way in fresh processes, with the files that it needs."""
        return self.verified_runs >= VERIFY_RUNS and not drifted(self.control)


@dataclass(frozen=True)
class Reproduced(Verification, Reduction):
    """A reduction and what fresh processes showed of it. `seen_graph` is kept of a text whose failure has a graph."""

    oracle: Oracle | None = None
    others: tuple[tuple[FailureSignature, str | None], ...] = ()  # with a script that may be shown, if there is one

    @property
    def lines(self) -> int:
        return code_lines(self.source)

    @property
    def verified(self) -> bool:
        """Whether it holds as it is shown."""
        return self.holds and not self.needs


def verified(
    found: Reduction,
    problem: Problem,
    oracle: Oracle,
    verify: Verifier,
    emit: Callable[..., None],
    *,
    unlikely: bool = False,
) -> Reproduced:
    """Run the reduction's script in fresh processes and count how often it fails the same way.

    One of which that is `unlikely` is run once first, and no more where it does not. The operations of a script that was reduced
    as text are those of its failing graph, where the failure has one.
    """
    has_graph = problem.stage is not Stage.DYNAMO and not problem.signature.is_of_tracing
    private = found.private is not None
    ask = partial(_once_first, verify, oracle) if unlikely else verify
    count = counted(found.private or found.source, oracle, ask, emit, problem, private=private)
    found = replace(found, source=with_own_error(found.source, problem.signature, count.error))
    if found.ops is None and count.seen_graph is not None and has_graph:
        return as_it_is(replace(found, ops=count_ops(count.seen_graph, unused=True)), count)
    return as_it_is(found, replace(count, seen_graph=None))


def _once_first(verify: Verifier, oracle: Oracle, source: str, runs: int) -> FreshRuns:
    """What `verify` gives; no more than the first run where that does not fail the same way."""
    first = verify(source, 1)
    if not any(oracle.judge(result).verdict is Verdict.SAME_FAILURE for result in first.results):
        return first
    more = verify(source, runs - 1)
    return FreshRuns([*first.results, *more.results], more.control or first.control, more.own or first.own)


def with_own_error(source: str, signature: FailureSignature, error: str) -> str:
    """With what it raises itself in its first line, where the error of the script stood: its numbers are others."""
    first = f"# {one_line(signature)}\n"
    return f"# {error}\n{source.removeprefix(first)}" if error and source.startswith(first) else source


def drifted(control: Control | None) -> str:
    """What speaks against a script that fails the same way; empty where nothing does."""
    if control is None or control.outcome == OutcomeKind.OK.value:
        return ""
    return "fails uncompiled too" if control.rung == UNCOMPILED.name else f"fails with `{control.rung}` too"


def as_it_is(found: Reduction, count: Verification) -> Reproduced:
    """The reduction with what its verification showed."""
    shown = found.complete or found.minimal
    cut_short = "" if shown else "The reduction was cut short; a smaller reproducer may exist."
    notes = tuple(filter(None, (*found.notes, cut_short, "" if count.runs else NOT_VERIFIED)))
    return Reproduced(**vars(replace(found, notes=notes)), **vars(count))


def _is_known(notes: AgentNotes) -> bool:
    """Whether the graph that was kept is the one that failed: else it is the last of several, where the program breaks them."""
    return notes.graph is not None or not notes.graph_breaks


def counted(
    source: str, oracle: Oracle, verify: Verifier, emit: Callable[..., None], problem: Problem, *, private: bool = False
) -> Verification:
    """Run it in fresh processes. The error of a `private` text is not told: it may quote what the text holds."""
    emit("verify_started", runs=VERIFY_RUNS)
    key = digest(f"{problem.passing} {problem.signature.fingerprint}", source)
    with suppress(KeyError, TypeError, ValueError):  # written by another version
        known = decode(Verification, problem.verified[key])
        if known.holds:
            emit("verify_ended", runs=known.runs, same=known.verified_runs)
            return known
    shown = verify(source, VERIFY_RUNS)
    same = [result for result in shown.results if oracle.judge(result).verdict is Verdict.SAME_FAILURE]
    ran = [result for result in shown.results if result.outcome.kind is not OutcomeKind.INVALID]
    emit("verify_ended", runs=len(ran), same=len(same))
    graph = next((result.graph for result in same if result.graph is not None and _is_known(result.notes)), None)
    texts = {(result.signature.exception_type, result.signature.message) for result in same if result.signature}
    same_text = texts == {(problem.signature.exception_type, problem.signature.message)}
    told = {one_line(result.signature) for result in same if result.signature}
    error = told.pop() if len(told) == 1 and not private else ""
    control, doubt = _control(shown.control, problem.passing), _doubt(shown.own, problem, oracle)
    raised = [result.outcome.exception for result in same]
    prints = any(each is not None and each.phase == PRINTED for each in raised)
    slowest = max((result.outcome.seconds for result in same), default=0.0)
    count = Verification(len(same), len(ran), graph, control, same_text, error, doubt, prints, slowest)
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
