"""Several graphs of a program are wrong by themselves, and its check fails by one of them: which?

What the check compared tells where to begin, and no more: it may look at a sum, or at what a third graph makes of a wrong value.
So the script is run once more with one of these graphs uncompiled. If the check passes then, it failed by that graph; if it
fails as before, that graph is wrong besides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from triage.judge.signature import is_user_frame
from triage.locate.visits import Visits
from triage.model.accuracy import WrongResult
from triage.model.outcome import Outcome
from triage.model.rungs import Rung
from triage.probe.run import Probe

ASKED_AT_MOST = 4


@dataclass(frozen=True)
class Apart:
    """`wrong` is the value by which the check fails, as far as that is known; `others` are wrong in other graphs.

    `mended`: the check passes where the graph of `wrong` alone is not compiled; with each of `in_vain` uncompiled it fails.
    """

    wrong: WrongResult
    others: tuple[WrongResult, ...]
    mended: bool
    in_vain: tuple[str, ...]


def apart(visits: Visits, rung: Rung, probe: Probe, failed: Outcome) -> Apart | None:
    """Which of the graphs that are wrong in this comparing run the check fails by; None where there are not several."""
    graphs = tuple(dict.fromkeys(wrong.graph for wrong in probe.notes.wrongs))
    if len(graphs) < 2 or visits.spoiled is not None or probe.notes.distributed:
        return None
    guilty, in_vain = None, []
    for number, graph in enumerate(graphs[:ASKED_AT_MOST], start=1):
        told = visits.ask(rung, f"{rung.name}-without-{number}", uncompiled_graphs=(graph,))
        if not fails_at_the_same_check(told.outcome, failed):
            guilty = graph
            break
        in_vain.append(graph)
    by = next(wrong for wrong in probe.notes.wrongs if wrong.graph == (guilty or graphs[0]))
    others = tuple(wrong for wrong in probe.notes.wrongs if wrong.graph != by.graph)
    return Apart(by, others, guilty is not None, tuple(in_vain))


def that_first(probe: Probe, found: Apart) -> Probe:
    """The comparing run with the wrong values of that graph first."""
    wrongs = sorted(probe.notes.wrongs, key=lambda wrong: wrong.graph != found.wrong.graph)
    return replace(probe, notes=replace(probe.notes, wrongs=tuple(wrongs)))


def fails_at_the_same_check(outcome: Outcome, failed: Outcome) -> bool:
    """Whether it ends at the check that failed before, and not behind it, where another one may fail."""
    one, other = outcome.exception, failed.exception
    if one is None or other is None:
        return outcome.failed
    lines = [[(frame.file, frame.line) for frame in error.frames if is_user_frame(frame)] for error in (one, other)]
    shapes = [
        (error.check.how, error.check.shape, error.check.dtype) if error.check else None for error in (one, other)
    ]
    return one.type == other.type and lines[0] == lines[1] and (shapes[0] == shapes[1] or None in shapes)
