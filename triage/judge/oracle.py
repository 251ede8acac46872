"""The oracle: facts about one run of a candidate -> same failure, no failure, or unresolved with its reason.

A failure of another face is never taken for the one that is reduced. It is named as a sibling, so that the driver can keep
it (`sibling_of`); a candidate that fails before its first use of torch.compile says nothing about the compiler and is none.
"""

from __future__ import annotations

from dataclasses import dataclass

from triage.judge.judgement import CandidateResult, Judgement, another_failure, without_failure
from triage.judge.likeness import same_face, same_failure
from triage.judge.naming import first_words, headline
from triage.judge.signature import FailureSignature
from triage.judge.stacks import part_of_hang
from triage.model.stage import Verdict
from triage.model.text import clip


@dataclass(frozen=True)
class SignatureOracle:
    """Judges by the failure signature alone. `compiled`: only what failed after its first use of torch.compile counts.

    `part` is that of the compiler in which a hang stood still (`stacks.part_of_hang`), where that is known: what is slow in
    another part is no such hang.
    """

    signature: FailureSignature
    compiled: bool = True
    part: str = ""

    def judge(self, result: CandidateResult) -> Judgement:
        if (innocent := without_failure(result, "passes")) is not None:
            return innocent
        if self.compiled and not result.compiled:
            return Judgement(Verdict.UNRESOLVED, f"fails before it is compiled: {_face(result)}")
        if result.signature is None:
            return Judgement(Verdict.UNRESOLVED, f"ended as {result.outcome.kind.value}, with nothing to know it by")
        if same_failure(result.signature, self.signature):
            elsewhere = part_of_hang(result.outcome) if self.part else ""
            if elsewhere not in ("", self.part):
                return Judgement(Verdict.UNRESOLVED, f"hangs in another part of the compiler: {elsewhere}")
            return Judgement(Verdict.SAME_FAILURE, "the same failure")
        elsewhere = _elsewhere(result.signature) if same_face(result.signature, self.signature) else ""
        return another_failure(result, self.signature, f"another failure: {_face(result)}{elsewhere}")


def _face(result: CandidateResult) -> str:
    """One line that says what was met instead."""
    if result.signature is None:
        return result.outcome.kind.value
    return headline(result.signature.exception_type, clip(first_words(result.signature.message.strip()), 160))


def _elsewhere(signature: FailureSignature) -> str:
    """Where the same words come from, as they are not what tells the two apart."""
    return f", from {signature.innermost_frame or 'outside of torch'}"
