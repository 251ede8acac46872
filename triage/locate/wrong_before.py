"""A compiled graph raises or dies when it runs, and not by itself: it may have been given what another one computed wrongly.

So the script is run once more up to that, each graph compared with eager. Where an earlier one is wrong, beyond what rounding
explains, and the script passes with that one uncompiled, its wrong value is what the failure comes of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from triage.locate.conclude import rung_that_shows
from triage.locate.outcomes import is_script_check
from triage.locate.walk import Walk
from triage.locate.which_graph import ASKED_AT_MOST
from triage.model.accuracy import Comparison
from triage.model.stage import Stage, Symptom
from triage.probe.run import Probe


def worth_looking(walk: Walk) -> bool:
    """Whether it failed while a graph ran, after others had, and no captured graph has answered for it."""
    found, start = walk.conclusion(), walk.start
    if (
        walk.session.settings.accuracy == "never"
        or walk.checked is not None
        or walk.on_graph
        or walk.spoiled is not None
    ):
        return False
    if found.outcome is None or found.failing is None or not found.settled or is_script_check(found.outcome):
        return False
    blamed = not found.fails_uncompiled and found.stage not in (Stage.NONE, Stage.DYNAMO)
    ran = found.symptom in (Symptom.EXCEPTION, Symptom.CRASH) and walk.values_matter()
    return blamed and ran and start.notes.graphs > 1 and start.notes.graph is not None and not start.notes.distributed


def look(walk: Walk, doubt: Callable[[Probe], Probe] = lambda probe: probe) -> str | None:
    """Compare, and ask without each graph that is wrong; a sentence that says by which it fails. None where by none.

    `doubt` is what is thought of the comparing run: which of its roundings are none.
    """
    found, start = walk.conclusion(), walk.start.notes
    assert found.failing is not None
    rung = rung_that_shows(found, walk.seen)
    comparison = Comparison(gradients=start.backwards > 0, stop=True, own_check=True)
    probe = doubt(walk.ask(rung, f"{rung.name}-compared", accuracy=comparison))
    wrongs = probe.notes.wrongs
    graphs = [name for name in dict.fromkeys(wrong.graph for wrong in wrongs) if name != start.graph]
    for number, graph in enumerate(graphs[:ASKED_AT_MOST], start=1):
        without = walk.ask(rung, f"{rung.name}-without-{number}", uncompiled_graphs=(graph,))
        if not without.outcome.failed:
            first = tuple(sorted(wrongs, key=lambda wrong: wrong.graph != graph))
            walk.checked = replace(probe, notes=replace(probe.notes, wrongs=first))
            return (
                f"It fails in graph {start.graph}, by the wrong value of graph {graph}: it passes where that graph alone is not "
                "compiled."
            )
    return None
