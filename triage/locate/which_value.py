"""Several values of one call are wrong, where no check of the program's looks at any: each may begin on another rung.

The lowest rung that fails is the stage, so the value that is told is one that is wrong there. What is right there, and wrong
above, is another failure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from triage.judge.signature import signature_of
from triage.locate.outcomes import is_comparison
from triage.locate.walk import Walk
from triage.model.accuracy import WrongResult
from triage.model.rungs import Rung
from triage.probe.interpret import wrong_result
from triage.probe.run import Probe

LOOKED_AT = 4  # values of a call that the agent looks at closely (`agent/compare/call.py`); a fifth may be wrong


class Above(NamedTuple):
    """A value of the same call that is right on the rung to blame; `first` is the lowest on which it was seen wrong."""

    wrong: WrongResult
    first: Rung


def tell_what_is_wrong_there(walk: Walk) -> bool:
    """Let the failure be the first value that is wrong on the rung to blame; whether that is another one than before."""
    first, failing = walk.compared, walk.conclusion().failing
    if first is None or failing is None or not is_comparison(first.outcome):
        return False
    there = _wrong_on(failing, walk.evidence)
    told = next((wrong for wrong in first.notes.wrongs if wrong.item in there), None)
    if told is None or told is first.notes.wrong:
        return False
    wrongs = (told, *(wrong for wrong in first.notes.wrongs if wrong is not told))
    outcome = replace(first.outcome, exception=wrong_result(told))
    walk.compared = replace(
        first, outcome=outcome, signature=signature_of(outcome), notes=replace(first.notes, wrongs=wrongs)
    )
    top = walk.own_rung.name
    walk.seen[top] = [walk.compared if probe is first else probe for probe in walk.seen[top]]
    for name, probe in walk.on_graph.items():
        if told.item in {
            wrong.item for wrong in probe.notes.wrongs
        }:  # it was asked for another value, which is right there
            shown = replace(probe.outcome, kind=outcome.kind)
            walk.on_graph[name] = replace(probe, outcome=shown, signature=walk.compared.signature)
    return True


def told_of(walk: Walk) -> Probe | None:
    """The run whose wrong value is told: of the script as it is, but where another is wrong on the rung to blame, one of that."""
    found = walk.conclusion()
    if found.there is None or found.there.wrong is None or found.failing is None:
        return walk.compared
    there = [probe for probe in walk.evidence.get(found.failing.name, ()) if probe.signature == found.there]
    return next((probe for probe in there if probe.notes.wrong is not None), walk.compared)


def begin_above(walk: Walk) -> tuple[Above, ...]:
    """The other wrong values of that call which are right on the rung to blame, as far as rungs above it were seen."""
    failing = walk.conclusion().failing
    if walk.compared is None or failing is None or not is_comparison(walk.compared.outcome):
        return ()
    above = walk.rungs[walk.rungs.index(failing) + 1 :]
    for on in ("script", "graph"):  # a value has the same name in all runs of one of them
        there = _wrong_on(failing, walk.evidence, on)
        if not 0 < len(there) < LOOKED_AT:
            continue
        firsts = [
            (wrong, next((rung for rung in above if wrong.item in _wrong_on(rung, walk.evidence, on)), None))
            for wrong in walk.compared.notes.wrongs
            if wrong.item not in there
        ]
        return tuple(Above(wrong, first) for wrong, first in firsts if first is not None)
    return ()


def _wrong_on(rung: Rung, evidence: Mapping[str, Sequence[Probe]], *media: str) -> set[str]:
    """The names of what is wrong there, in runs of the script or its graph, whose inputs have other names than the script's."""
    probes = [probe for probe in evidence.get(rung.name, ()) if not media or probe.on in media]
    found = [(wrong, probe.on) for probe in probes for wrong in probe.notes.wrongs]
    return {wrong.item for wrong, on in found if on == "script" or wrong.wrongness.place == "output"}
