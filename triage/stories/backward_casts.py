"""Before a failing check is called rounding: is the backward pass cast as the call was, where eager's is not cast at all?

A backward pass is compiled with the autocast in which the compiled function was called, whatever the function switches off in
itself, and wherever the program calls `backward()` (pytorch#179804; `torch._functorch.config.backward_pass_autocast`). Beside
operations that are low precision in eager too, no value tells that: eager's own rounding explains as much. So the script is run
with backward passes that are not cast. Where it passes, the operation to blame is one whose gradient is wrong by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from triage.culprit.operation import operator_name
from triage.culprit.settings import BACKWARD_CASTS, Setting
from triage.culprit.ways_round.changes import of_settings
from triage.judge.likeness import same_face
from triage.locate.comparing import CHECK_FACTOR, CHECK_SECONDS
from triage.locate.conclude import rung_that_shows
from triage.model.accuracy import Rounding, WrongResult
from triage.model.graphcase import GraphCase
from triage.model.stage import Direction, Stage
from triage.probe.graphs import read_graphs
from triage.reduce.graph.candidate import Candidate
from triage.reduce.graph.edits import Keep
from triage.reduce.graph.observe import observed
from triage.stories.findings import Findings
from triage.stories.rounding_doubts import MOST, VALUES, shown_wrong, wrong_gradients
from triage.stories.spots import Files, program_of

UNCAST = "with uncast backward passes"
NOTE = (
    "What is told as wrong is that the backward pass is computed under the autocast in which the function was called, as it is "
    f"not in eager: with `{BACKWARD_CASTS.text}` the script passes."
)
NOT_ASKED = (
    "What is told as wrong is that the backward pass is computed under the autocast in which the function was called, as it is "
    "not in eager. That this is why the check fails is likely, and was not shown: this torch cannot do without."
)


def doubt_casts(found: Findings) -> None:
    """Take a gradient that is cast so for what the check fails by, where the script passes without those casts."""
    walk, probe = found.walk, found.walk.checked
    rounding, failing = walk.conclusion().rounding, walk.conclusion().failing
    if probe is None or rounding is None or not walk.start.notes.backwards or found.runner is None:
        return
    if failing is None or failing.stage is not Stage.AOT_AUTOGRAD:
        return  # AOTAutograd's backward passes are cast, and it passes
    case = next((case for case in read_graphs(probe.graphs).cases if case.context.autocast), None)
    passes = _passes_uncast(found, BACKWARD_CASTS.change) if case is not None else False
    if case is None or passes is False:
        return
    case = replace(case, backward=True)
    told = next(_wrong_by_itself(found, case), (_told_as_wrong(rounding), case) if passes else None)
    if told is None:
        return
    wrong, found.alone = told
    walk.checked = shown_wrong(probe, replace(wrong, graph=rounding.graph, call=rounding.call, file=rounding.file))
    found.notes.append(NOTE if passes else NOT_ASKED)


def _passes_uncast(found: Findings, setting: Setting | None) -> bool | None:
    """Whether the script itself does, by that line of configuration, on the lowest rung on which its check fails.

    Further up other things may round otherwise. None where its check was not reached: an older torch has no such setting.
    """
    walk = found.walk
    rung = replace(rung_that_shows(walk.conclusion(), walk.evidence), name=UNCAST)
    program = program_of(found, Files(found))
    change = next(of_settings(program, [setting] if setting is not None else []), None)
    if change is None:
        return None
    limit = max(CHECK_SECONDS, CHECK_FACTOR * walk.start.outcome.seconds)
    probe = walk.ask_changed(rung, "uncast-backward", change.texts, limit, limit)
    walk.announce(rung, probe)
    fails_otherwise = probe.outcome.failed and not same_face(probe.signature, walk.conclusion().signature)
    return None if fails_otherwise or probe.cancelled else not probe.outcome.failed


def _wrong_by_itself(found: Findings, case: GraphCase) -> Iterator[tuple[WrongResult, GraphCase]]:
    """The operations of which a gradient is wrong, given what it was given in eager, last ones first; each as a graph."""
    assert found.runner is not None
    found.session.emit("engine_step", text="asking each operation for its gradients")
    whole = observed(Candidate(case, VALUES), found.runner)
    asked: set[str] = set()
    for node in reversed(whole.case.nodes[-MOST:]):
        alone = whole.maybe(Keep(frozenset([node.name]))) if node.tensor is not None else None
        if alone is None or f"{operator_name(node)} {node.tensor}" in asked:
            continue
        asked.add(f"{operator_name(node)} {node.tensor}")
        item = f"gradient of an operand of {operator_name(node)}"  # its own name is one of the candidate's
        yield from ((replace(wrong, item=item), alone.case) for wrong in wrong_gradients(found, alone))


def _told_as_wrong(rounding: Rounding) -> WrongResult:
    """What eager's own rounding would explain as well."""
    return WrongResult(
        rounding.graph,
        rounding.call,
        rounding.item,
        Direction.BACKWARD.value,
        dtype=rounding.dtype,
        shape=rounding.shape,
        eager_error=rounding.eager_error or 0.0,
        compiled_error=rounding.compiled_error or 0.0,
    )
