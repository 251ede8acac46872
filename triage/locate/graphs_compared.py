"""What a comparison of graphs with eager makes of a conclusion: a value is wrong, all is rounding, or eager is no measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from triage.judge.likeness import same_face
from triage.judge.signature import FailureSignature, is_programs_word, is_verdict
from triage.judge.skeleton import short_type
from triage.locate.conclude import Conclusion
from triage.locate.outcomes import is_script_check
from triage.model.accuracy import ALIKE, GROSS, Check, Rounding, WrongResult
from triage.model.outcome import Outcome
from triage.model.stage import Direction, Stage, Symptom
from triage.probe.run import Probe

_OF_VALUES = ("values", "nan", "inf", "zero_sign")
SAME = 1.001  # as far off but for the last digits that are told
_OF_OBJECTS = frozenset({"AttributeError", "TypeError", "NameError", "UnboundLocalError"})


def with_graphs_compared(found: Conclusion, probe: Probe, otherwise: Probe | None) -> Conclusion:
    """The conclusion where a check of the script's own fails, once its graphs were compared: the compiler's fault, or none.

    `otherwise`: the script uncompiled, where each result of its compiled functions is a rounding off.
    """
    assert found.signature is not None
    wrong = probe.notes.wrong
    if wrong is not None:
        signature = replace(found.signature, wrong=wrong.wrongness)
        direction = Direction(wrong.direction)
        return replace(
            found, wrong=wrong, signature=signature, direction=direction, symptom=_symptom_of_check(found, wrong)
        )
    if only_unsteady(probe):
        return replace(
            found,
            stage=Stage.NONE,
            symptom=Symptom.NONDETERMINISTIC,
            unsteady=probe.notes.unsteady,
            unordered=probe.notes.unordered,
            failures=found.failures,
            direction=None,
        )
    amplified = otherwise is not None and fails_alike(otherwise, found)
    if all_is_rounding(probe, found.outcome) or (amplified and nothing_but_rounding(probe)):
        return replace(
            found,
            stage=Stage.NONE,
            symptom=Symptom.ROUNDING,
            rounding=probe.notes.rounding,
            amplified=amplified,
            direction=None,
        )
    return found


def with_rounding_of_dynamo(
    found: Conclusion, otherwise: Probe | None, alone: Sequence[Probe] = (), compared: Probe | None = None
) -> Conclusion:
    """The conclusion where Dynamo alone fails such a check: of what it made of the program's calls no graph can tell.

    It is rounding if the `otherwise` run is as far off, by the same check of such a tensor. Where the script is further off than
    with Dynamo `alone`, what comes on top is rounding if that is all that its graphs, `compared`, show.
    """
    if found.stage is not Stage.DYNAMO or otherwise is None or not fails_alike(otherwise, found):
        return found
    of_dynamo = next((probe.outcome for probe in alone if is_script_check(probe.outcome)), None)
    rounds = _as_far_off(otherwise.outcome, found.outcome)
    if not rounds and may_round(found.outcome) and compared is not None and nothing_but_rounding(compared):
        rounds = _as_far_off(otherwise.outcome, of_dynamo)
    if not rounds:
        return found
    return replace(found, stage=Stage.NONE, symptom=Symptom.ROUNDING, amplified=True, direction=None)


def may_round(failed: Outcome | None) -> bool:
    """Whether a check saw numbers that differ by what rounding may make."""
    check = failed.check if failed is not None else None
    return check is not None and check.kind == "values" and (check.relative or 0.0) <= GROSS


def _as_far_off(otherwise: Outcome, failed: Outcome | None) -> bool:
    one, other = otherwise.check, failed.check if failed is not None else None
    if one is None or other is None or not may_round(failed):
        return False
    if (one.shape, one.dtype) != (other.shape, other.dtype):
        return False
    pairs = ((one.difference, other.difference, ALIKE), (one.relative, other.relative, 1.0))
    return all(more is not None and less is not None and less <= factor * more for more, less, factor in pairs)


def fails_alike(otherwise: Probe, found: Conclusion) -> bool:
    """Whether the same check fails, in the same way, uncompiled and with results that are a rounding off."""
    one, other = otherwise.outcome.exception, found.error
    if one is None or other is None:
        return False
    kinds = [error.check.kind if error.check is not None else None for error in (one, other)]
    return (
        is_script_check(otherwise.outcome) and same_face(otherwise.signature, found.signature) and kinds[0] == kinds[1]
    )


def _symptom_of_check(found: Conclusion, wrong: WrongResult) -> Symptom:
    """A failed comparison is a wrong result; what else a program raises (a view that does not fit the strides) stays one.

    So is what the program raises itself, or ends with, where a graph's values are wrong: how it compares them is its own affair.
    """
    error = found.error
    if error is None or found.symptom is not Symptom.EXCEPTION:
        return found.symptom
    compares = error.check is not None or short_type(error.type) == "AssertionError"
    says = wrong.kind in _OF_VALUES and is_verdict(error) and is_programs_word(error)
    return Symptom.WRONG_RESULT if compares or says else found.symptom


def all_is_rounding(probe: Probe, failed: Outcome | None) -> bool:
    """Whether rounding is all there is: every graph was compared up to the failing check, and what differs eager explains.

    Not where the check itself saw what no rounding makes, nor where it looked at what is not compared (second derivatives,
    tangents of forward mode).
    """
    rounding, check = probe.notes.rounding, failed.check if failed is not None else None
    if rounding is None or not nothing_but_rounding(probe):
        return False
    return _explains(rounding, check) if check is not None else not _met_another_object(failed)


def _met_another_object(failed: Outcome | None) -> bool:
    """Whether the program met no other number, but a thing of another kind (None, where a tensor was): no rounding makes one."""
    error = failed.exception if failed is not None else None
    return error is not None and short_type(error.type) in _OF_OBJECTS and not is_programs_word(error)


def nothing_but_rounding(probe: Probe) -> bool:
    """Whether every graph was compared up to the failing check, and some value is another one that eager may give as well."""
    notes = probe.notes
    left_out = notes.not_compared or notes.by_chance or notes.double_backward
    if notes.rounding is None or not notes.compared or left_out:
        return False
    return is_script_check(probe.outcome) and not notes.stopped_early  # else it ended before the check was reached


def nothing_differs(probe: Probe | None, failed: FailureSignature | None) -> bool:
    """Whether the same check failed where every graph was compared, and each gave what eager gives."""
    if probe is None or not is_script_check(probe.outcome) or not same_face(probe.signature, failed):
        return False
    notes = probe.notes
    left_out = notes.not_compared or notes.by_chance or notes.double_backward or notes.compared < max(1, notes.graphs)
    return not (left_out or notes.wrongs or notes.unsteady or notes.rounding is not None)


def only_unsteady(probe: Probe) -> bool:
    """Whether no graph is wrong, and eager gives something else itself when memory that nobody wrote holds other values."""
    return probe.notes.wrong is None and bool(probe.notes.unsteady)


def _explains(rounding: Rounding, check: Check) -> bool:
    """Whether what the check saw may come of this rounding: gross only where a graph's own values differ grossly by it, or as
    far, or eager's own move as far (on another rung it may be less).

    The inverse of a matrix that has none, or its condition number, are other numbers after each rounding. What is left of large
    numbers that cancel, and is divided by nearly nothing, is far off, and nothing in double precision.
    """
    if check.kind in ("nan", "inf"):
        return rounding.unbounded
    if check.kind not in ("values", "zero_sign"):
        return False
    moves = max(rounding.difference, rounding.spread or 0.0)
    as_far = check.difference is not None and check.difference <= SAME * moves
    return rounding.gross or as_far or (check.relative or 0.0) <= GROSS
