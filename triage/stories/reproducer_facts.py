"""What the report says of the reproducer, and of what makes it pass: what was run, and where runs speak against each other."""

from __future__ import annotations

from typing import Any

from triage.culprit.features import features_of
from triage.culprit.settings import among, workarounds_of
from triage.judge.naming import in_short
from triage.locate.comparing import failing_rungs
from triage.locate.conclude import Conclusion
from triage.locate.outcomes import is_script_check
from triage.model.own_code import PASSES, OwnCode
from triage.model.report import Reproducer
from triage.model.rungs import UNCOMPILED
from triage.model.stage import Stage, Symptom
from triage.reduce.interface import UNREDUCED
from triage.stories.accuracy_notes import first_wrong_words
from triage.stories.findings import Findings


def reproducer_note(found: Findings, unsettled: str | None) -> str | None:
    """Why there is no reproducer; None where there is one."""
    if found.reproduced is not None:
        return None
    return found.reproducer_note or (f"No stage is known to reduce for: {unsettled}." if unsettled else None)


def reproducer_facts(found: Findings) -> Reproducer | None:
    """What is known of the reproducer, as the report has it."""
    made = found.reproduced
    if made is None:
        return None
    conclusion = found.walk.conclusion()
    # Of a text that was not reduced they tell nothing.
    traced = own_check_alone(found) or conclusion.symptom is Symptom.EXCEPTION
    before_operations = conclusion.stage in (Stage.DYNAMO, Stage.AOT_AUTOGRAD) and made.case == "source"
    uses = traced and before_operations and made.engine != UNREDUCED
    return Reproducer(
        path="repro.py",
        verified=made.verified,
        verified_runs=made.verified_runs,
        same_signature=made.verified_runs > 0,
        case=made.case,
        engine=made.engine,
        ops=made.ops,
        lines=made.lines,
        queries=made.queries,
        seconds=round(made.seconds, 2),
        minimal=made.minimal,
        note=" ".join(made.notes) or None,
        control=made.control,
        same_text=made.same_text,
        runs=made.runs,
        needs=made.needs,
        features=features_of(made.source) if uses else (),
        doubt=made.doubt or _doubt(found) or None,
    )


def given_wrong_facts(found: Findings) -> dict[str, Any] | None:
    """The operation whose value a failure comes of, and what is wrong with that: nothing (null) where it rounds otherwise."""
    given = found.given_wrong
    if given is None:
        return None
    wrong = given.wrong
    told = wrong and {"kind": wrong.kind, "face": wrong.face(), "values": wrong.values() if wrong.elements else ""}
    return {"operation": first_wrong_words(given.node), "wrong": told}


def own_check_alone(found: Findings) -> bool:
    """Whether nothing but its own check tells what fails: a wrong result, reduced as a text. Of other failures more is known.

    A plain `assert` on a shape is such a check too.
    """
    if found.reproduced is None or found.reproduced.case != "source":
        return False
    conclusion = found.walk.conclusion()
    checked = conclusion.outcome is not None and is_script_check(conclusion.outcome)
    return conclusion.symptom is Symptom.WRONG_RESULT or checked


def fails_by_itself(found: Findings, own: OwnCode | None) -> bool:
    """Whether the graph that is left fails by itself: then a chain of its operations ends in the guilty one.

    A pass of the program's `own` is given the whole graph, and fails wherever it stands in it; so is a backend that hangs.
    """
    if own is not None and own.role == "backend" and found.walk.conclusion().symptom is Symptom.HANG:
        return False
    return not own_check_alone(found) and (own is None or own.role not in PASSES)


def _doubt(found: Findings) -> str:
    """The settings with which the reproducer passes and the script fails as before: where they may be two wrong results.

    So the backend that is told to be the first that fails, where the script fails there in a way of its own.
    """
    conclusion = found.walk.conclusion()
    if conclusion.there is not None and conclusion.failing is not None:
        lowest = conclusion.failing.name
        if any((row.setting, row.outcome) == (f'backend="{lowest}"', "ok") for row in found.ablation):
            face = in_short(conclusion.there).rstrip(".:! ")
            return f"it passes with `{lowest}`, where the program fails with {face}"
    if not own_check_alone(found):
        return ""
    told = [setting.how for setting in among(found.cures, found.in_vain)]
    return f"it passes {' and '.join(told)}, where the program fails as before" if told else ""


def workaround_texts(found: Findings, conclusion: Conclusion) -> tuple[str, ...]:
    """What made the reproducer pass, and the backend below the failing one, with which the script itself passed.

    Not what the script, which may need more than its reproducer, was run with as well and failed: as a rung, too.
    """
    below, failing = conclusion.passing, failing_rungs(found.walk)
    failed = [*found.no_ways_round, *(f'`backend="{name}"`' for name in failing)]
    of_reproducer = workarounds_of(found.workarounds, found.cures, failed)
    if below is None or below is UNCOMPILED or conclusion.stage is Stage.NONE or below.name not in found.walk.seen:
        return of_reproducer
    if below.name in failing:
        return of_reproducer
    return tuple(dict.fromkeys([*of_reproducer, f'torch.compile(..., backend="{below.name}")']))
