"""Graphs of a program are wrong by themselves, and a check of its own fails: does it fail by one of them, and by which?

What the check compared tells where to begin, and no more: it may look at a sum, at what a third graph makes of a wrong value, or
at what is no more than a rounding off, beside a graph whose strides nobody looks at. So the script is run once more with one of
these graphs uncompiled. If the check passes then, it failed by that graph; if it fails as before, that graph is wrong besides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from triage.judge.signature import is_user_frame
from triage.locate.visits import Visits
from triage.model.accuracy import ALIKE, WrongResult
from triage.model.outcome import Outcome
from triage.model.rungs import Rung
from triage.probe.run import Probe

ASKED_AT_MOST = 4
PASSES, IS_NEARER = "it passes", "it is off by far less"
OF_NO_VALUE = ("strides",)  # kinds by which no value is further off, as it may be by memory that is shared


@dataclass(frozen=True)
class Apart:
    """`wrong` is the value that is told: that by which the check fails, as far as that is known. None where nothing is.

    `others` are wrong in other graphs. `then` says how the check ends where the graph of `wrong` alone is not compiled (empty
    where it fails as before, as it does with each of `in_vain` uncompiled), `together` where all of these graphs are not.
    `besides`: it is known to fail by none of them. Wrong values are told all the same; what is wrong with no value is not.
    """

    wrong: WrongResult | None
    others: tuple[WrongResult, ...] = ()
    then: str = ""
    together: str = ""
    in_vain: tuple[str, ...] = ()
    besides: bool = False


def apart(visits: Visits, rung: Rung, probe: Probe, failed: Outcome) -> Apart | None:
    """By which of the graphs that are wrong in this comparing run the check fails; None where nothing is to be asked."""
    notes = probe.notes
    graphs = tuple(dict.fromkeys(wrong.graph for wrong in notes.wrongs))
    if not graphs or visits.spoiled is not None or notes.distributed:
        return None
    # It may fail by what was not compared, or is not seen in what it compares, and by one of these as well.
    unsure = notes.not_compared or notes.by_chance or notes.stopped_early or len(graphs) > ASKED_AT_MOST
    of_values = any(wrong.kind not in OF_NO_VALUE for wrong in notes.wrongs)
    unsure = unsure or (of_values and not _tells_how_far(failed))
    if len(graphs) == 1 and (unsure or _is_what_it_looked_at(notes.wrongs[0], failed)):
        return None

    def without(name: str, *left: str) -> Outcome:
        return visits.ask(rung, f"{rung.name}-without-{name}", uncompiled_graphs=left).outcome

    in_vain: dict[str, Outcome] = {}
    for number, graph in enumerate(graphs[:ASKED_AT_MOST], start=1):
        ended = without(str(number), graph)
        then = how_else(ended, failed)
        if then:
            return Apart(*_by(graph, notes.wrongs), then=then, in_vain=tuple(in_vain))
        in_vain[graph] = ended
    together = how_else(without("any", *graphs), failed) if len(graphs) > 1 else ""
    besides = not (together or unsure or (of_values and not all(map(_tells_how_far, in_vain.values()))))
    if besides and not of_values:
        return Apart(None, notes.wrongs, in_vain=tuple(in_vain), besides=True)
    first = next((wrong.graph for wrong in notes.wrongs if wrong.kind not in OF_NO_VALUE), graphs[0])
    return Apart(*_by(first, notes.wrongs), together=together, in_vain=tuple(in_vain), besides=besides)


def told(probe: Probe, found: Apart | None) -> Probe:
    """The comparing run with the wrong values of that graph first; with none where the check fails by none of them."""
    if found is None:
        return probe
    by = found.wrong.graph if found.wrong is not None else None
    wrongs = tuple(sorted(probe.notes.wrongs, key=lambda wrong: wrong.graph != by)) if by is not None else ()
    return replace(probe, notes=replace(probe.notes, wrongs=wrongs))


def how_else(outcome: Outcome, failed: Outcome) -> str:
    """How a run ends at the check that failed, in words; empty where it fails there as it did.

    What fails at other lines, or of other shapes, is a later check. An exact comparison fails by roundings besides: what was far
    off and is nearly right then was off by the graph.
    """
    one, other = outcome.exception, failed.exception
    if one is None or other is None:
        return "" if outcome.failed else PASSES
    lines = [[(frame.file, frame.line) for frame in error.frames if is_user_frame(frame)] for error in (one, other)]
    if one.type != other.type or lines[0] != lines[1]:
        return PASSES
    now, before = one.check, other.check
    if now is None or before is None:
        return ""
    if (now.how, now.shape, now.dtype) != (before.how, before.shape, before.dtype):
        return PASSES
    far, near = before.difference, now.difference
    return IS_NEARER if far is not None and near is not None and near * ALIKE < far else ""


def _by(graph: str, wrongs: tuple[WrongResult, ...]) -> tuple[WrongResult, tuple[WrongResult, ...]]:
    """(the first wrong value of this graph, those of the others)."""
    return next(wrong for wrong in wrongs if wrong.graph == graph), tuple(
        each for each in wrongs if each.graph != graph
    )


def _is_what_it_looked_at(wrong: WrongResult, failed: Outcome) -> bool:
    check = failed.check
    return check is not None and all(check.fits(wrong))


def _tells_how_far(outcome: Outcome) -> bool:
    """Whether what the check compared was seen: then it would have been seen to come nearer."""
    check = outcome.check
    return check is not None and check.kind == "values" and check.difference is not None
