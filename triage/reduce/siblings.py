"""Other failures that candidates met on the way: those that the compiler made, and not the reducer."""

from __future__ import annotations

from collections.abc import Sequence

from triage.judge.asking import Budget
from triage.judge.signature import FailureSignature
from triage.model.rungs import BACKENDS, DYNAMO_ALONE
from triage.model.stage import OutcomeKind
from triage.trial.interface import CandidateRunner

MOST_SIBLINGS, SIBLING_SECONDS = 8, 30.0


def compilers_own(
    siblings: Sequence[tuple[FailureSignature, str]], passing: str, runner: CandidateRunner, budget: Budget
) -> tuple[tuple[FailureSignature, str], ...]:
    """Of the other failures those that the compiler made: with the passing rung, or one below it, their candidate ends well.

    It is asked of Dynamo alone where that is below it, which builds no kernels. What fails there too (a name that an
    edit left undefined, an argument of the wrong type) the reducer made itself. What cannot be tried any more counts
    only where it was raised inside torch.
    """
    below = DYNAMO_ALONE if passing in BACKENDS else passing
    found: list[tuple[FailureSignature, str]] = []
    for signature, source in {signature.fingerprint: (signature, source) for signature, source in siblings}.values():
        if len(found) == MOST_SIBLINGS:
            break
        if budget.spent():
            own = bool(signature.frames)
        else:
            own = runner.run(source, rung=below, timeout=SIBLING_SECONDS).outcome.kind is OutcomeKind.OK
        found += [(signature, source)] if own else []
    return tuple(found)
