"""Other failures that candidates met on the way: those that the compiler made, and not the reducer."""

from __future__ import annotations

from collections.abc import Sequence

from triage.judge.asking import Budget
from triage.judge.comparison import ComparisonOracle
from triage.judge.judgement import Oracle
from triage.judge.oracle import SignatureOracle
from triage.judge.signature import FailureSignature
from triage.model.rungs import BACKENDS, DYNAMO_ALONE
from triage.model.stage import OutcomeKind, Verdict
from triage.model.text import clip
from triage.reduce.interface import Problem, SiblingScript
from triage.trial.interface import CandidateRunner

MOST_SIBLINGS, SIBLING_SECONDS = 8, 30.0
HUNG_SECONDS = 10.0  # of one that hung: with nothing compiled it has less to do than when it was said to hang
_OF_EAGER = ("torch/nn/", "torch/autograd/")  # where a program that an edit broke fails without a compiler, too
HANG_SECONDS = 90.0  # several times a candidate's least limit, which building kernels on a busy machine may exceed


def compilers_own(
    siblings: Sequence[SiblingScript], passing: str, runner: CandidateRunner, budget: Budget, rung: str | None = None
) -> tuple[SiblingScript, ...]:
    """Of the other failures those that the compiler made: with the passing rung, or one below it, their candidate ends well.

    It is asked of Dynamo alone where that is below it, which builds no kernels. What fails there too (a name that an
    edit left undefined, an argument of the wrong type) the reducer made itself. What cannot be tried any more counts
    only where it was raised inside torch, and not in what eager runs as well. What did not end in the time of a candidate,
    which those that fail early have set, is waited for longer on the failing `rung`: most of it is only slow.
    """
    every = list({met.signature.fingerprint: met for met in siblings}.values())
    hung = [met.source for met in every if met.signature.kind is OutcomeKind.HANG]
    ended = [met.source for met in every if met.source not in hung]
    passes = _which_pass(ended, passing, runner, SIBLING_SECONDS, budget)
    passes |= _which_pass(hung, passing, runner, HUNG_SECONDS, budget)
    found: list[SiblingScript] = []
    for met in every:
        if len(found) == MOST_SIBLINGS:
            break
        own = passes.get(met.source)
        if own and met.source in hung:
            own = None if budget.spent() else _hangs(met.source, rung, runner)
        if own is None:
            own = bool(met.signature.frames) and not met.signature.innermost_frame.startswith(_OF_EAGER)
        found += [met] if own else []
    return tuple(found)


def without_values(met: SiblingScript, problem: Problem, runner: CandidateRunner, budget: Budget) -> str | None:
    """The script of another failure that may be shown: one without values that the program had, if such a one fails so too.

    Nothing has shown that the failure needs them: no such script was reduced. None where only one with them is known.
    """
    if met.made_up is None:
        return met.source
    for text in met.made_up:
        if budget.spent():
            break
        result = runner.run(text, rung=problem.rung or None, timeout=SIBLING_SECONDS)
        same = _oracle(met.signature).judge(result).verdict is Verdict.SAME_FAILURE
        if same and _passes(text, problem.passing, runner):
            return text
    return met.source if problem.include_data else None


def told_of(left_out: Sequence[str]) -> str:
    """What a reader must know of other failures whose scripts are not kept."""
    named = "; ".join(f"`{clip(each, 120)}`" for each in left_out)
    return (
        f"No script is kept of {'another failure' if len(left_out) == 1 else 'other failures'} ({named}): it would hold values "
        "that the program had, and with made-up ones it was not seen. `--include-data` keeps it."
    )


def _oracle(signature: FailureSignature) -> Oracle:
    return SignatureOracle(signature) if signature.wrong is None else ComparisonOracle(signature)


def _hangs(source: str, rung: str | None, runner: CandidateRunner) -> bool:
    return runner.run(source, rung=rung, timeout=HANG_SECONDS).outcome.kind is OutcomeKind.HANG


def _passes(source: str, passing: str, runner: CandidateRunner) -> bool:
    return runner.run(source, rung=_below(passing), timeout=SIBLING_SECONDS).outcome.kind is OutcomeKind.OK


def _which_pass(
    sources: Sequence[str], passing: str, runner: CandidateRunner, seconds: float, budget: Budget
) -> dict[str, bool]:
    """Whether each of these scripts ends well there, side by side: one that an edit made endless takes all its `seconds`.

    Those are left out that the budget left no time for.
    """
    told: dict[str, bool] = {}
    if sources and not budget.spent():
        for index, result in runner.run_many(sources, rung=_below(passing), timeout=seconds):
            told[sources[index]] = result.outcome.kind is OutcomeKind.OK
            if budget.spent():
                break
    return told


def _below(passing: str) -> str:
    return DYNAMO_ALONE if passing in BACKENDS else passing
