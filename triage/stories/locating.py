"""Where a failure comes from: values compared with eager, the ladder of rungs, doubts about what was found, the script's answer.

Each step here belongs to `stories/run.py`; the rules by which a stage is blamed are those of `locate/`.
"""

from __future__ import annotations

from triage.locate import comparing, printed, unwritten, which_value, wrapper, wrong_before
from triage.locate.walk import Walk
from triage.model.stage import Symptom
from triage.stories.accuracy_notes import fails_by_rounding
from triage.stories.early import named_early, withdraw
from triage.stories.findings import Findings
from triage.stories.whose_code import doubt_rounding


def compare(found: Findings) -> None:
    """Where nothing was raised: does the script print what it prints uncompiled, and compiled code give what eager gives?"""
    if not found.session.settings.screen and printed.worth_reading(found.walk):
        with found.session.timed("compare"):
            found.notes += filter(None, [printed.compare_printed(found.walk)])
    if comparing.worth_comparing(found.walk):
        with found.session.timed("compare"):
            wrong = comparing.compare(found.walk)
        if found.runner is not None:
            from triage.stories import rounding_doubts  # with all the engines

            with found.session.timed("compare"):
                (rounding_doubts.doubt_silent if wrong is None else rounding_doubts.trace_silent)(found)
    if found.walk.once_others is not None:
        with found.session.timed("compare"):
            printed.take_others(found.walk, found.walk.compared)
    if not found.walk.start.outcome.failed:
        with found.session.timed("compare"):
            printed.blame_aot_autograd(found.walk)
    if not found.session.settings.screen and printed.worth_reading_files(found.walk):
        with found.session.timed("compare"):
            found.notes += filter(None, [printed.compare_written(found.walk)])


def locate(found: Findings) -> None:
    """Find the rung to blame, and whether what is wrong there hides, or is hidden by, something else; tell it."""
    _walk(found)
    _look_behind(found)
    _after_walking(found)


def agrees(found: Findings) -> bool:
    """Whether the script confirms what was concluded from the graph. Where it does not, its own ladder is walked, and counts."""
    from triage.stories import graph_ladder, rounding_doubts

    with found.session.timed("confirm"):
        agreed = found.walk.confirmed()
    if agreed:
        return True
    graph_ladder.forget(found)
    rounding_doubts.believe_silent(found)
    withdraw(found.session.directory, verified=True)
    with found.session.timed("locate"):
        _settle(found.walk)
        _tell_what_is_wrong(found)
    _after_walking(found)
    return False


def _after_walking(found: Findings) -> None:
    _check_comparison(found)
    _look_behind(found)
    conclusion = found.walk.conclusion()
    found.session.emit(
        "located",
        stage=conclusion.stage,
        symptom=conclusion.symptom,
        settled=conclusion.settled,
        failing=conclusion.failing.name if conclusion.failing else None,
        fails=conclusion.symptom is not Symptom.NONE,
        operation=named_early(conclusion),
        door=conclusion.door.name if conclusion.door is not None else None,
    )


def _walk(found: Findings) -> None:
    """Walk the ladder: on the captured graph, where it fails the same way by itself, else on the script."""
    from triage.stories import graph_ladder, rounding_doubts  # with all the engines

    walk = found.walk
    with found.session.timed("locate"):
        if not (graph_ladder.worth_asking(found) and graph_ladder.asked(found)):
            rounding_doubts.believe_silent(found)
            _settle(walk)  # else `agrees` waits for the script's own answers
        _tell_what_is_wrong(found)


def _settle(walk: Walk) -> None:
    """Walk the script's own ladder; where the script itself is to blame, find out more of that."""
    found = walk.settle()
    if unwritten.worth_checking(walk, found):
        unwritten.check(walk, found)
        found = walk.conclusion()
    if wrapper.worth_checking(walk, found):
        wrapper.check(walk)


def _tell_what_is_wrong(found: Findings) -> None:
    """Of several wrong values of a call, one that is wrong on the rung to blame; what was asked of another says nothing."""
    if which_value.tell_what_is_wrong_there(found.walk):
        found.graph_answer = None


def _look_behind(found: Findings) -> None:
    """Where the script's own check compares random numbers, or fails by rounding, which may hide a wrong value."""
    if comparing.worth_looking_behind(found.walk):
        failed = found.walk.conclusion()
        with found.session.timed("compare"):
            hidden = comparing.look_behind(found.walk)
        if hidden:
            found.notes += filter(None, [fails_by_rounding(failed)])
            _walk(found)


def _check_comparison(found: Findings) -> None:
    """Where a check of the script's own fails, or a graph dies of another's value: which value is wrong, or is it rounding?"""
    from triage.stories import backward_casts, rounding_doubts  # with all the engines

    if comparing.worth_checking(found.walk):
        with found.session.timed("compare"):
            comparing.check(found.walk)
        doubt_rounding(found)
        with found.session.timed("compare"):
            rounding_doubts.doubt_operations(found)
            backward_casts.doubt_casts(found)
            rounding_doubts.trace_back(found)
    elif wrong_before.worth_looking(found.walk):
        with found.session.timed("compare"):
            rounding_doubts.look_before(found)
