"""Runs of the script in which every compiled graph is compared with eager: where nobody noticed anything, and where a check did.

A script that raises nothing is run once more, and a wrong value becomes its failure. One whose own check fails is run once more
on the rung to blame: its graphs say which value is wrong and of which kind, or that all of it is rounding.
"""

from __future__ import annotations

from dataclasses import replace

from triage.locate.conclude import Conclusion, rung_that_shows
from triage.locate.graphs_compared import may_round, nothing_but_rounding, only_unsteady
from triage.locate.outcomes import is_comparison, is_script_check
from triage.locate.walk import Walk
from triage.locate.which_graph import apart, told
from triage.model.accuracy import Comparison, GraphCall
from triage.model.outcome import Outcome
from triage.model.rungs import AS_IS, UNCOMPILED, Rung
from triage.model.stage import Stage, Symptom
from triage.probe.launch import Cancel
from triage.probe.run import Probe

# What comparing the calls of a script may take: of the script's own time, and at least so many seconds.
CHECK_FACTOR, CHECK_SECONDS = 3.0, 120.0
EMULATE = {"TORCHINDUCTOR_EMULATE_PRECISION_CASTS": "1"}  # Inductor rounds between fused operations as eager does


def worth_comparing(walk: Walk) -> bool:
    """Whether to compare results: `auto` where nothing has failed, `always` where a check of the script's own has, too."""
    asked, first = walk.session.settings.accuracy, walk.start
    if asked == "never" or not first.notes.compile_calls or first.notes.graphs == 0:
        return False
    return not first.outcome.failed or (asked == "always" and is_script_check(first.outcome))


def compare(walk: Walk) -> Probe | None:
    """Run the script once more, each compiled graph compared with eager. A wrong value is the failure from here on."""
    walk.graphs = walk.start.notes.graphs
    walk.comparison = Comparison(
        gradients=walk.start.notes.backwards > 0,
        stop=True,
        every=walk.once_others is not None,  # and one of them may be why what it prints is others
        seconds=_seconds(walk),
    )
    walk.session.emit("engine_step", text="comparing every compiled graph with eager")
    walk.compared = probe = walk.ask(Rung(AS_IS, None, Stage.NONE), "as_is-compared")
    walk.comparison = None
    return probe if take(walk, probe) else None


def take(walk: Walk, probe: Probe) -> bool:
    """Whether this comparing run shows a wrong value; it is the failure from here on."""
    top, wrong = walk.own_rung, probe.notes.wrong
    if wrong is None or not is_comparison(probe.outcome):
        return False
    # The other rungs need go no further than this call of this graph.
    until = GraphCall(wrong.graph, wrong.call)
    walk.comparison = Comparison(gradients=walk.start.notes.backwards > 0, stop=True, until=until)
    walk.compared, walk.seen[top.name] = probe, [probe]
    walk.announce(top, probe)
    return True


def give_back(walk: Walk, passed: Probe, compared: Probe) -> None:
    """What was taken for the failure is none: the script has `passed`, and nothing was wrong where it was `compared`."""
    walk.comparison, walk.compared = None, compared
    walk.seen[walk.own_rung.name] = [passed]


def worth_looking_behind(walk: Walk) -> bool:
    """Whether a check that compares random streams may hide a wrong value of a graph, or one that fails by rounding does.

    That one fails below the rung on which a graph was seen to be wrong.
    """
    if walk.session.settings.accuracy == "never" or walk.compared is not None:
        return False
    found, first = walk.conclusion(), walk.checked_first
    seen = first is not None and first.notes.wrong is not None
    return found.random_check or (found.symptom is Symptom.ROUNDING and seen)


def look_behind(walk: Walk) -> bool:
    """Whether such a check hides one; it is the failure from here on.

    Such a check says nothing of what is wrong besides. Its graphs are compared with the same random numbers on both sides; where
    a value is wrong the ladder is to be walked again, for that one.
    """
    walk.stop_after = None
    if compare(walk) is None:
        return False
    walk.checked = walk.apart = None
    top = walk.own_rung.name
    walk.failed_besides = failing_rungs(walk)
    walk.seen, walk.other_stream, walk.seeded = {top: walk.seen[top]}, None, {}
    return True


def failing_rungs(walk: Walk) -> frozenset[str]:
    """The rungs on which the script fails, or its graph, in whatever way and however late."""
    failed = {
        name
        for name, probes in walk.evidence.items()
        if any(probe.outcome.failed or probe.later is not None for probe in probes)
    }
    return walk.failed_besides | failed


def worth_checking(walk: Walk) -> bool:
    """Whether to compare the graphs of a script whose own check fails: where a stage below its graphs is to blame."""
    found = walk.conclusion()
    if walk.session.settings.accuracy == "never" or walk.checked is not None or compiled_nothing_again(walk):
        return False
    if found.outcome is None or found.failing is None or not found.settled or not is_script_check(found.outcome):
        return False
    if found.stage is Stage.DYNAMO:  # eager runs its graphs: all they can say is that eager is not sure of itself
        unasked = walk.checked_first is None or only_unsteady(walk.checked_first)
        return walk.start.notes.graphs > 0 and (unasked or may_round(found.outcome))
    return not found.fails_uncompiled and found.stage is not Stage.NONE


def worth_checking_first(walk: Walk) -> bool:
    """Whether to do that before the ladder: a graph that is wrong by itself answers for every rung."""
    asked, first = walk.session.settings.accuracy, walk.start
    return asked != "never" and first.outcome.failed and first.notes.graphs > 0 and is_script_check(first.outcome)


def check_first(walk: Walk) -> bool:
    """The comparison of `check`, on the rung of the script as it is; it holds until it is forgotten. Whether a graph is wrong.

    It ends where the script is seen to fail uncompiled beside it: then nothing is asked of a graph.
    """
    probe = _checked(walk, walk.own_rung, walk.start.outcome, walk.moot)
    if probe.cancelled:
        walk.session.emit("probe_cancelled", rung=walk.own_rung.name, name=probe.name)
        return False
    walk.checked_first = probe
    wrong = walk.checked_first.notes.wrong is not None
    walk.checked = walk.checked_first if wrong else None
    return wrong


def compiled_nothing_again(walk: Walk) -> bool:
    """Whether the run that was to show a wrong graph compiled none: it took up what an earlier one left, or another way."""
    first = walk.checked_first
    return first is not None and walk.compiled_nothing(walk.own_rung, first)


def _checked(walk: Walk, rung: Rung, failed: Outcome, cancel: Cancel | None = None) -> Probe:
    """The script on this rung, each of its graphs compared up to the check of its own that failed."""
    first = walk.checked_first
    if first is not None and rung is walk.own_rung:
        return first
    return _asked(walk, rung, f"{rung.name}-compared", failed, cancel)


def _asked(
    walk: Walk, rung: Rung, name: str, failed: Outcome, cancel: Cancel | None = None, *, dropout: bool = False
) -> Probe:
    seen = failed.check
    comparison = Comparison(
        gradients=walk.start.notes.backwards > 0,
        stop=True,
        own_check=True,
        signs=seen is not None and seen.kind == "zero_sign",
        seconds=_seconds(walk),
        dropout=dropout,
    )
    probe = walk.ask(rung, name, accuracy=comparison, cancel=cancel)
    probe = replace(probe, notes=probe.notes.checked_by(failed))
    if probe.cancelled:
        return probe
    walk.apart = apart(walk, rung, probe, failed)
    return told(probe, walk.apart)


def needs_dropout(probe: Probe) -> bool:
    """Whether a script whose check fails passed in the run that compares, which switches dropout off."""
    notes = probe.notes
    return notes.without_dropout and not (probe.outcome.failed or notes.stopped_early or notes.wrongs)


def _seconds(walk: Walk) -> float:
    return max(CHECK_SECONDS, CHECK_FACTOR * walk.start.outcome.seconds)


def check(walk: Walk) -> Conclusion:
    """Run the script once more on the rung to blame, its graphs compared: which value is wrong, or is it rounding?"""
    found = walk.conclusion()
    assert found.failing is not None and found.outcome is not None
    if found.stage is Stage.DYNAMO:
        seen = walk.checked_first = _checked(walk, walk.own_rung, found.outcome)
        walk.checked = seen if only_unsteady(seen) else None
        if walk.checked is None and may_round(found.outcome):
            walk.rounded_otherwise = _rounded_otherwise(walk)
        return walk.conclusion()
    rung = rung_that_shows(found, walk.seen)
    walk.checked = _checked(walk, rung, found.outcome)
    if needs_dropout(walk.checked):
        without = walk.checked, walk.apart
        walk.checked = _asked(walk, rung, f"{rung.name}-compared-with-dropout", found.outcome, dropout=True)
        if walk.checked.notes.wrong is None:
            walk.checked, walk.apart = without
    found = walk.conclusion()
    if found.stage is not Stage.NONE and found.wrong is None and nothing_but_rounding(walk.checked):
        # More than one rounding makes, and no graph is wrong: does the program itself make so much of one?
        walk.rounded_otherwise = _rounded_otherwise(walk)
        found = walk.conclusion()
    if found.symptom is Symptom.ROUNDING:
        walk.emulated = walk.ask(walk.own_rung, "emulated-casts", extra_env=EMULATE)
    return found


def _rounded_otherwise(walk: Walk) -> Probe:
    return walk.ask(UNCOMPILED, "uncompiled-rounded-otherwise", rounds_otherwise=True)
