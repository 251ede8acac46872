"""What is to be reproduced, as the engines are given it: the failure, its graphs, the rung that fails and the one that passes."""

from __future__ import annotations

from triage.culprit.operation import operators_in
from triage.judge.likeness import same_failure
from triage.locate.conclude import Conclusion, rung_that_shows
from triage.locate.outcomes import is_comparison, is_script_check
from triage.model.accuracy import Comparison
from triage.model.rungs import AS_IS, BACKENDS, DEFAULT_BACKEND, UNCOMPILED, in_place_of
from triage.model.stage import Direction, Stage, Symptom
from triage.reduce.interface import Problem
from triage.stories.findings import Findings
from triage.stories.several_wrong import cut_to_one, shown_alone


def compares(conclusion: Conclusion) -> bool:
    """Whether candidates are judged by what the agent finds wrong with their graphs."""
    outcome = conclusion.outcome
    if (
        outcome is None
        or conclusion.signature is None
        or conclusion.stage is Stage.DYNAMO
        or conclusion.door is not None
    ):
        return False
    return is_comparison(outcome) or conclusion.wrong is not None or is_script_check(outcome)


def comparison_for(conclusion: Conclusion) -> Comparison:
    """What is compared in each candidate: what was wrong in the script."""
    assert conclusion.signature is not None and conclusion.outcome is not None
    wrong = conclusion.signature.wrong
    found = conclusion.wrong is not None or is_comparison(conclusion.outcome)
    backward = conclusion.direction is Direction.BACKWARD or not found
    signs = wrong is not None and wrong.kind == "zero_sign"
    redrawn = conclusion.wrong is not None and conclusion.wrong.redrawn
    return Comparison(gradients=backward, signs=signs, fine=_is_small(conclusion), dropout=redrawn)


def _is_small(conclusion: Conclusion) -> bool:
    return conclusion.wrong is not None and conclusion.wrong.small


def problem_of(found: Findings, conclusion: Conclusion) -> Problem:
    """What the engines are given."""
    assert conclusion.signature is not None and conclusion.failing is not None
    folder = found.session.directory / "reduce"
    folder.mkdir(exist_ok=True)
    failing = rung_that_shows(conclusion, found.walk.evidence).name
    return Problem(
        signature=conclusion.signature,
        stage=conclusion.stage,
        rung=DEFAULT_BACKEND if failing == AS_IS else failing,
        direction=conclusion.direction.value if conclusion.direction else None,
        cases=cut_to_one(found),
        siblings=shown_alone(found, conclusion.signature),
        include_data=found.session.settings.include_data,
        workdir=folder,
        recalled=found.session.recalled,
        verified=found.session.verified,
        evidence=operators_in(conclusion.error),
        torch_version=found.walk.start.notes.torch_version or "unknown",
        passing=_passing(conclusion),
        own_rung=_own_rung(found, conclusion),
        door=conclusion.door is not None,
        operation_only=found.session.settings.operation_only,
        small=_is_small(conclusion),
    )


def _own_rung(found: Findings, conclusion: Conclusion) -> str | None:
    """The rung that the script itself stands on, above the one that is blamed, where its result is wrong in the same way."""
    walk, blamed = found.walk, rung_that_shows(conclusion, found.walk.evidence)
    own = walk.own_rung
    if conclusion.symptom is not Symptom.WRONG_RESULT or own.force not in BACKENDS or own is blamed:
        return None
    seen = walk.evidence.get(own.name, [])
    alike = any(same_failure(probe.signature, conclusion.signature) for probe in seen)
    return own.name if alike else None


def _passing(conclusion: Conclusion) -> str:
    """What a reproducer must pass with."""
    if conclusion.door is not None:
        return in_place_of(conclusion.door.name)
    return conclusion.passing.name if conclusion.passing else UNCOMPILED.name
