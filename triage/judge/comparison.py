"""The oracle for wrong results: a candidate compares by itself, and its own comparison must be what fails.

The script's assertion cannot be the measure, it lies outside the graph. A candidate that compares values or layouts
(`Form.check`) fails with an AssertionError raised by its own module-level code, after eager has run and after
torch.compile was used; anything else, an exception of the compiler included, is another failure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from triage.judge.judgement import CandidateResult, Judgement, Oracle, another_failure, without_failure
from triage.judge.likeness import same_failure, same_wrongness
from triage.judge.oracle import SignatureOracle
from triage.judge.printed import is_no_number
from triage.judge.signature import FailureSignature, is_user_frame, torch_frame
from triage.model import accuracy
from triage.model.outcome import RaisedException
from triage.model.stage import OutcomeKind, Verdict


@dataclass(frozen=True)
class CheckOracle:
    """Judges whether the candidate's own comparison failed. `signature` is the script's failure, for the record."""

    signature: FailureSignature

    def judge(self, result: CandidateResult) -> Judgement:
        if (innocent := without_failure(result, "compiled and eager agree")) is not None:
            return innocent
        if not result.compiled:
            return Judgement(Verdict.UNRESOLVED, "fails before it is compiled")
        if result.outcome.exception is not None and is_own_comparison(result.outcome.exception):
            return Judgement(Verdict.SAME_FAILURE, "the comparison with eager fails")
        return another_failure(result, self.signature)


@dataclass(frozen=True)
class ComparisonOracle:
    """As `CheckOracle`, where the agent compared too: a candidate counts only if the agent blames the compiler as well.

    A candidate's own few lines cannot tell a wrong value from a broken tie or an unstable operation; the agent's rule can, and
    it says of which kind the wrongness is and where: another kind is another failure. What the rule explains is no failure.
    A run in which the agent compared nothing (the plain runs that verify a reproducer) is judged by its own check alone, and
    so is, if `lenient`, one whose graphs cannot be compared.
    """

    signature: FailureSignature
    lenient: bool = False

    def judge(self, result: CandidateResult) -> Judgement:
        if result.outcome.exit_code == 0:
            return Judgement(Verdict.NO_FAILURE, "compiled and eager agree")
        own = CheckOracle(self.signature).judge(result)
        notes = result.notes
        if own.verdict is not Verdict.SAME_FAILURE:
            return own
        if not (notes.compared or notes.not_compared or notes.unsteady or notes.by_chance):
            return (
                own if self._seen_alike(result) else Judgement(Verdict.UNRESOLVED, "its check sees another difference")
            )
        if notes.wrongs:
            return self._of_kind(result)
        if notes.unsteady:
            return Judgement(Verdict.UNRESOLVED, f"eager is not sure of {notes.unsteady[0]} itself")
        if notes.by_chance:
            return Judgement(Verdict.UNRESOLVED, f"not the same random numbers: {notes.by_chance[0]}")
        if notes.not_compared:
            return own if self.lenient else Judgement(Verdict.UNRESOLVED, f"not compared: {notes.not_compared[0]}")
        return Judgement(Verdict.NO_FAILURE, "compiled differs from eager no more than eager may from itself")

    def _seen_alike(self, result: CandidateResult) -> bool:
        """Whether what its own check compared differs in the way that is looked for, as far as that was seen."""
        return result.signature is None or same_wrongness(result.signature, self.signature)

    def _of_kind(self, result: CandidateResult) -> Judgement:
        wanted, found = self.signature.wrong, [each.wrongness for each in result.notes.wrongs]
        if wanted is None or any(wanted.same_search(each) for each in found):
            return Judgement(Verdict.SAME_FAILURE, "the comparison with eager fails")
        if any(wanted.same(each) and each.by_luck for each in found):
            return Judgement(Verdict.UNRESOLVED, "right where other values lie in memory that nobody wrote")
        wrong = result.notes.wrongs[0]
        sibling = replace(self.signature, message=wrong.headline(), skeleton=wrong.kind, wrong=wrong.wrongness)
        return Judgement(Verdict.UNRESOLVED, f"wrong in another way: {wrong.headline()}", sibling=sibling)


@dataclass(frozen=True)
class SameKindOracle(ComparisonOracle):
    """As `ComparisonOracle`, where the candidate's own check need not see what the agent does: that is of the same kind.

    On the way to a wrong number it is any wrong number: a NaN that is a nought compiled makes a wrong truth value.
    """

    def judge(self, result: CandidateResult) -> Judgement:
        wanted = self.signature.wrong
        if wanted is not None and wanted.kind in accuracy.NUMBERS:
            number = next((wrong for wrong in result.notes.wrongs if wrong.kind in accuracy.NUMBERS), None)
            if number is not None:
                return Judgement(Verdict.SAME_FAILURE, number.headline())
        return self._of_kind(result) if result.notes.wrongs else super().judge(result)


class FirstComparisonOracle:
    """Judges texts that compare by themselves what one call gives: the first such failure is what all others must be.

    The program's own check says other words, of values that come later; a text may still hold it, in a function.
    """

    def __init__(self) -> None:
        self.first: FailureSignature | None = None

    def fails(self, result: CandidateResult) -> bool:
        """Whether it fails in this way, or may be the first to."""
        if self.first is not None:
            return same_failure(result.signature, self.first)
        return result.outcome.exception is not None and _is_added_comparison(result.outcome.exception)

    def judge(self, result: CandidateResult) -> Judgement:
        if self.first is not None:
            return SignatureOracle(self.first).judge(result)
        if result.signature is not None and result.compiled and self.fails(result):
            self.first = result.signature
            return Judgement(Verdict.SAME_FAILURE, "its own comparison fails")
        return Judgement(Verdict.NO_FAILURE if result.outcome.kind is OutcomeKind.OK else Verdict.UNRESOLVED, "agrees")


@dataclass(frozen=True)
class PrintedOracle:
    """Judges texts that print other numbers than uncompiled, which whoever runs them has to see, or compare them at their end.

    `signature` is the script's failure: what a text prints is in the words of its own, but a NaN is no number that is another.
    """

    signature: FailureSignature

    def fails(self, result: CandidateResult) -> bool:
        error = result.outcome.exception
        if error is None or not (error.phase == accuracy.PRINTED or _is_added_comparison(error)):
            return False
        return is_no_number(error.message) == is_no_number(self.signature.message)

    def judge(self, result: CandidateResult) -> Judgement:
        if result.compiled and self.fails(result):
            return Judgement(Verdict.SAME_FAILURE, "its numbers are others than uncompiled")
        innocent = without_failure(result, "prints what it prints uncompiled")
        return another_failure(result, self.signature) if innocent is None else innocent


@dataclass(frozen=True)
class SameNumbers:
    """An oracle whose failures have a NaN, or an infinity, for something else only where the script's check says so of its own.

    A signature drops numbers: a row that a smaller mask hides as a whole is NaN, and no value that was another.
    """

    oracle: Oracle
    signature: FailureSignature | None

    def judge(self, result: CandidateResult) -> Judgement:
        """As the oracle judges; unresolved where only one of the two has such a value."""
        judgement, error = self.oracle.judge(result), result.outcome.exception
        if judgement.verdict is not Verdict.SAME_FAILURE or error is None or self.signature is None:
            return judgement
        if is_no_number(error.message) == is_no_number(self.signature.message):
            return judgement
        return Judgement(Verdict.UNRESOLVED, "only one of script and candidate has a NaN, or an infinity, in it")


@dataclass(frozen=True)
class AnyWrongOracle:
    """Whether the agent saw anything wrong in a graph, of whatever kind, also where the candidate's own check passes.

    No wrong number comes of memory that is shared: what is returned on the way there may share it for being returned.
    Where the agent compared nothing, the candidate's own comparison counts.
    """

    signature: FailureSignature

    def judge(self, result: CandidateResult) -> Judgement:
        notes, wanted = result.notes, self.signature.wrong
        numbers = wanted is not None and wanted.kind in accuracy.NUMBERS
        wrongs = [wrong for wrong in notes.wrongs if not (numbers and wrong.kind == "aliasing")]
        if wrongs:
            return Judgement(Verdict.SAME_FAILURE, wrongs[0].headline())
        if notes.wrongs:
            return Judgement(Verdict.NO_FAILURE, "its numbers are those of eager")
        told = CheckOracle(self.signature).judge(result)
        unsure = notes.not_compared or notes.unsteady or notes.by_chance
        if told.verdict is Verdict.SAME_FAILURE and (notes.compared or unsure):
            if unsure:
                return Judgement(Verdict.UNRESOLVED, "not everything could be compared")
            return Judgement(Verdict.NO_FAILURE, "compiled differs from eager no more than eager may from itself")
        return told


def is_own_comparison(error: RaisedException) -> bool:
    """An AssertionError of the program's own code, not of the compiler: the last frame is the user's, or torch.testing's."""
    if error.type != "AssertionError" or not error.frames:
        return False
    last = error.frames[-1]
    inside = torch_frame(last)
    return is_user_frame(last) if inside is None else inside.startswith("torch/testing/")


def _is_added_comparison(error: RaisedException) -> bool:
    """Whether it is the comparison that was added to a text: made by no function of the program's."""
    own = [frame for frame in error.frames if is_user_frame(frame)]
    last = torch_frame(error.frames[-1]) if error.frames else None
    compares = error.frames[-1:] == tuple(own) if last is None else last.startswith("torch/testing/")
    return error.type == "AssertionError" and compares and [frame.function for frame in own] == ["<module>"]
