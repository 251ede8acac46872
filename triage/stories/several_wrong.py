"""Which of several wrong values of one call the script's check looks at: none that is wrong on the passing rung as well.

There the script passes, so that one is another failure. Asked once, of the whole captured graph, where it has several outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from triage.judge.signature import FailureSignature
from triage.locate.conclude import Conclusion
from triage.model.accuracy import WrongResult
from triage.model.graphcase import GraphCase
from triage.model.rungs import BACKENDS
from triage.reduce.failing_comparison import VALUES, forms_of
from triage.reduce.graph.generated import made_up
from triage.reduce.interface import SiblingScript
from triage.reduce.printing.printer import Unprintable, print_case
from triage.reduce.wrong_outputs import not_returning, outputs_of_first_call, returning_only
from triage.stories import rounding_doubts
from triage.stories.findings import Findings
from triage.trial.runner import ForkServerRunner

FORM = VALUES[0]


def told_apart(found: Findings, conclusion: Conclusion, runner: ForkServerRunner, timeout: float) -> Conclusion:
    """The conclusion with the value that the check looks at. Fills `also_wrong` of the findings with what is another failure."""
    checked, below = found.walk.checked, conclusion.passing
    several = outputs_of_first_call(checked.notes.wrongs) if checked is not None else ()
    case = next((case for case in found.cases if several and _is_of(case, several[0].graph)), None)
    if checked is None or below is None or below.force not in BACKENDS or case is None or len(case.outputs) < 2:
        return conclusion
    found.session.emit(
        "engine_step", text=f"which value does the check look at: asking the captured graph with {below.name}"
    )
    try:
        result = runner.run(print_case(case, form=FORM), rung=below.name, timeout=timeout)
    except Unprintable:
        return conclusion
    there = {wrong.item for wrong in result.notes.wrongs}
    others = [wrong for wrong in several if wrong.item not in there]
    if not others:
        return _none_of_them(found, conclusion, several, result.notes.wrongs)
    found.also_wrong = tuple(wrong for wrong in several if wrong.item in there)
    if checked.notes.wrong in others or found.graph_answer is not None:
        return conclusion
    rest = tuple(wrong for wrong in checked.notes.wrongs if wrong not in others and wrong not in found.also_wrong)
    wrongs = (*others, *found.also_wrong, *rest)
    found.walk.checked = replace(checked, notes=replace(checked.notes, wrongs=wrongs))
    return found.walk.conclusion()


def _none_of_them(
    found: Findings, conclusion: Conclusion, several: Sequence[WrongResult], there: Sequence[WrongResult]
) -> Conclusion:
    """Without a wrong value where each is wrong to the same amount on the passing rung: the check does not mind them.

    Else which of them it looks at cannot be told this way.
    """
    checked = found.walk.checked
    amounts = {wrong.item: (wrong.kind, wrong.wrong, wrong.compiled_error) for wrong in there}
    alike = all(amounts[wrong.item] == (wrong.kind, wrong.wrong, wrong.compiled_error) for wrong in several)
    if checked is None or not alike or found.graph_answer is not None or checked.notes.wrongs != tuple(several):
        return conclusion
    if not not_returning(found.cases, several):
        return conclusion
    found.also_wrong = tuple(several)
    left = replace(checked, notes=replace(checked.notes, wrongs=()))
    found.walk.checked = rounding_doubts.doubt_the_rest(found, left, several)
    return found.walk.conclusion()


def cut_to_one(found: Findings) -> tuple[GraphCase, ...]:
    """The captured graphs, before them those that return only the value that is told as wrong, where others are besides.

    Where what is wrong is another failure, the graphs that do not return it.
    """
    if found.also_wrong and found.walk.checked is not None and not found.walk.checked.notes.wrongs:
        return not_returning(found.cases, found.also_wrong)
    wrongs = found.walk.checked.notes.wrongs if found.walk.checked is not None else ()
    several = outputs_of_first_call(wrongs)
    return (*returning_only(found.cases, wrongs[0]), *found.cases) if len(several) > 1 else found.cases


def shown_alone(found: Findings, signature: FailureSignature) -> tuple[SiblingScript, ...]:
    """Each value that is another failure, as one, with the part of the graph that it needs as a script."""
    shown = []
    for wrong in found.also_wrong:
        header = f"Wrong result: {wrong.wrongness.words()}.\nSeen in the same call; not reduced any further."
        other = replace(signature, message=wrong.headline(), skeleton=wrong.kind, wrong=wrong.wrongness)
        for case in returning_only(found.cases, wrong)[:1]:
            try:
                shown.append(_sibling(other, case, header))
            except Unprintable:
                continue
    return tuple(shown)


def _sibling(other: FailureSignature, case: GraphCase, header: str) -> SiblingScript:
    form = forms_of(other.wrong)[0]
    source, *texts = (print_case(each, header=header, form=form) for each in (case, *made_up(case)))
    return SiblingScript(other, source, tuple(texts) if case.holds_values else None)


def _is_of(case: GraphCase, graph: str) -> bool:
    return case.graph_id == graph and case.level == "dynamo" and not case.backward
