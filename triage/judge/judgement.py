"""What is judged, and what a judgement says.

A runner executes candidates and reports facts; an oracle judges the facts. A candidate that cannot be a program worth
running is refused before that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from triage.judge.likeness import same_wrongness
from triage.judge.signature import FailureSignature, is_programs_own, is_verdict
from triage.model.graphcase import GraphCase
from triage.model.outcome import AgentNotes, Outcome, RaisedException
from triage.model.stage import OutcomeKind, Verdict


@dataclass(frozen=True)
class CandidateResult:
    """Facts about one run of a candidate. `compiled` is False where it ended before its first use of torch.compile.

    `seconds` are those of a machine that is not busy: not those in which it waited for a processor.
    """

    outcome: Outcome
    notes: AgentNotes
    signature: FailureSignature | None
    compiled: bool
    seconds: float = 0.0
    graph: GraphCase | None = None  # the graph that failed, where it was asked for
    left: tuple[str, ...] = ()  # files that it left in its working directory
    warned: tuple[str, ...] = ()  # kinds of warnings that its own lines gave
    printed: str = ""  # on its standard output
    logged: str = ""  # on its standard error
    written: str = ""  # into files, each line behind the file's name


@dataclass(frozen=True)
class Judgement:
    """A verdict with its reason, in words a report can print. `sibling` is the other failure that was met, if any."""

    verdict: Verdict
    reason: str = ""
    sibling: FailureSignature | None = None


def without_failure(result: CandidateResult, passes: str) -> Judgement | None:
    """Of a candidate that ended well, or could not be run; None where it failed. `passes` says the former in words."""
    if result.outcome.kind is OutcomeKind.OK:
        return Judgement(Verdict.NO_FAILURE, passes)
    if result.outcome.kind is OutcomeKind.INVALID:
        return Judgement(Verdict.UNRESOLVED, f"could not be run: {result.outcome.detail}".rstrip(": "))
    return None


def another_failure(result: CandidateResult, wanted: FailureSignature, words: str = "another failure") -> Judgement:
    """Of a candidate that fails otherwise, with its sibling."""
    return Judgement(Verdict.UNRESOLVED, words, sibling=sibling_of(result, wanted))


def sibling_of(result: CandidateResult, wanted: FailureSignature) -> FailureSignature | None:
    """The failure of a candidate where it is another one than `wanted`; None where it tells of no other.

    A check of the program's own says other words once an edit changed its literals or its inputs. What was cut at its limit
    before anything was compiled is slow, and no more.
    """
    found, error = result.signature, result.outcome.exception
    if found is None or (result.outcome.kind is OutcomeKind.HANG and not result.notes.last_breadcrumb):
        return None
    same_place = found.exception_type == wanted.exception_type and found.innermost_frame == wanted.innermost_frame
    reworded = same_place and same_wrongness(found, wanted)
    return None if reworded and error is not None and _is_own_check(error) else found


def _is_own_check(error: RaisedException) -> bool:
    """Whether a program that checks its results raised it. How it ended itself is told without a line (`sys.exit(1)`)."""
    if error.type == "AssertionError":
        return is_programs_own(error)
    return is_verdict(error) and (error.type == "SystemExit" or is_programs_own(error))


class Oracle(Protocol):
    """Judges facts; never runs anything."""

    def judge(self, result: CandidateResult) -> Judgement: ...


class RefusedError(Exception):
    """An edit that cannot give a well-formed case. The text says why."""
