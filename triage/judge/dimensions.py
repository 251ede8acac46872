"""In which dimensions a tensor is not what compiled code was told that it would be.

A signature drops numbers, since sizes shrink with every search. Of an edited kernel or fake that is too little: it may be wrong
in a dimension in which the program's own is right, which is a mistake of the search's making.
"""

from __future__ import annotations

import re

from triage.judge.judgement import CandidateResult, Judgement, Oracle
from triage.judge.signature import FailureSignature
from triage.model.stage import Verdict

# torch/csrc/dynamo/guards.cpp:assert_size_stride; dimensions that agree are not told.
_TOLD = re.compile(r"expected size (-?\d+)==(-?\d+), stride (-?\d+)==(-?\d+) at dim=(\d+)")

Differences = frozenset[tuple[int, bool]]


def differences(signature: FailureSignature | None) -> Differences:
    """The dimensions whose sizes differ (else the strides, which follow from sizes), and whether what came is the larger.

    Empty where the failure is no such assertion.
    """
    told = [tuple(map(int, found)) for found in _TOLD.findall(signature.message if signature else "")]
    sizes = frozenset((dim, got > asked) for got, asked, _, _, dim in told if got != asked)
    return sizes or frozenset((dim, got > asked) for _, _, got, asked, dim in told if got != asked)


class SameDimensions:
    """An oracle whose failures differ nowhere but where the first of them does, or where `known` says."""

    def __init__(self, oracle: Oracle, known: Differences | None = None) -> None:
        self._oracle, self._known = oracle, known

    def judge(self, result: CandidateResult) -> Judgement:
        """As the oracle judges; unresolved where another dimension differs."""
        judgement = self._oracle.judge(result)
        if judgement.verdict is not Verdict.SAME_FAILURE:
            return judgement
        found = differences(result.signature)
        if self._known is None:
            self._known = found
        if self._known and not found <= self._known:
            return Judgement(Verdict.UNRESOLVED, "sizes or strides differ in another dimension")
        return judgement
