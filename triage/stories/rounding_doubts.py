"""Before other values are called rounding: does an operation give others of what eager itself gives it?

Over a step (a bucket's edge, a tie) eager's own numbers fall as well, once those before it are rounded otherwise. That does not
say that they were: a quotient of exactly 1.0 by 0.1 lies at such a step in eager and compiled alike. So each operation of the
graph is asked for what it makes of eager's own values, all of them in one candidate, and compared by the same rule. One that
is wrong there, and with eager's result in whose place the whole graph agrees, is what differs. So it is with a wrong gradient,
where it is made of a value that the forward pass kept and that is wrong. Where the rest of the graph rounds otherwise even so (a
difference of large numbers, a matrix that has hardly an inverse), one that is plainly wrong is told all the same: it hides there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from triage.culprit.first_wrong import made_by
from triage.culprit.operation import operator_name
from triage.judge.comparison import is_own_comparison
from triage.judge.judgement import CandidateResult, RefusedError
from triage.judge.signature import signature_of
from triage.locate import comparing, wrong_before
from triage.locate.conclude import rung_that_shows
from triage.locate.outcomes import is_comparison
from triage.model import trees
from triage.model.accuracy import RESULT_OF, Comparison, Rounding, WrongResult
from triage.model.effects import mutated
from triage.model.graphcase import GraphCase, GraphNode
from triage.model.rungs import AS_IS, DEFAULT_BACKEND
from triage.model.stage import Direction, OutcomeKind
from triage.probe.graphs import read_graphs
from triage.probe.interpret import with_comparison
from triage.probe.run import Probe
from triage.reduce.failing_comparison import forms_of, needs_its_dtype
from triage.reduce.graph.candidate import Candidate
from triage.reduce.graph.edits import Cut, Keep
from triage.reduce.graph.observe import observed
from triage.reduce.graph.slices import border_input, prune
from triage.reduce.graph.wiring import Wiring
from triage.reduce.printing.printer import FINE, Form, Unprintable
from triage.reduce.wrong_outputs import not_returning
from triage.stories.findings import Findings, Silent
from triage.stories.limits import seconds_for

MOST = 100  # operations of a graph that is asked
VALUES = Form(check="values")


class GuiltyOperation(NamedTuple):
    """The comparing run with that value as the wrong one, the operation as a graph, and a sentence that says so."""

    probe: Probe
    case: GraphCase
    note: str


def doubted(found: Findings, probe: Probe, besides: Sequence[WrongResult] = ()) -> GuiltyOperation | None:
    """Such an operation of the graph that differs most from eager in this comparing run; None where there is none.

    `besides`: what is wrong in the call and is another failure. The graph is asked without it.
    """
    rounding, runner = probe.notes.rounding, found.runner
    if rounding is None or probe.notes.wrongs or runner is None or rounding.eager_wrong:
        return None
    if not rounding.far:
        return None
    cases = read_graphs([path for path in probe.graphs if path.name == rounding.file]).cases
    case = next((case for case in not_returning(cases, besides) if len(case.nodes) <= MOST), None)
    if case is None:
        return None
    left = "what else that graph gives is" if besides else "that graph gives"
    return _alone(found, probe, _seen(found, case, rounding), rounding, left)


def _seen(found: Findings, case: GraphCase, of: WrongResult | Rounding) -> Candidate:
    """The graph with what its operations return in eager."""
    return observed(Candidate(_returning_changes(case), _form_of(of)), found.runner)


def _alone(
    found: Findings, probe: Probe, whole: Candidate, of: WrongResult | Rounding, left: str
) -> GuiltyOperation | None:
    """The operation of the graph by which the call of this value differs. `left`: what of it agrees without, as words."""
    found.session.emit("engine_step", text="asking each operation for what it makes of eager's values")
    apart, names = _apart(_forward(whole.case))
    small_too = Comparison(own_check=True)
    result = _run(found, Candidate(apart, VALUES), small_too) if names else None
    # What it shares memory with is another here, where all that it gives is returned.
    wrongs = [wrong for wrong in result.notes.wrongs if wrong.kind != "aliasing"] if result is not None else []
    differing: tuple[Candidate, CandidateResult] | None = None
    hidden: GuiltyOperation | None = None
    by_themselves: set[str] = set()
    for wrong in wrongs:
        node = _made(whole.case, names, wrong)
        alone = whole.maybe(Keep(frozenset([node.name]))) if node is not None else None
        if node is None or alone is None or operator_name(node) in by_themselves:
            continue
        if wrong_gradients(found, alone):  # one operation, where what follows asks the whole graph
            by_themselves.add(operator_name(node))
            continue
        differing = differing or _differing(found, whole)
        if differing is None:
            return None
        rest = _without(found, differing[0], node)
        if rest is None or rest.outcome.failed:
            continue
        item = f"{RESULT_OF}{operator_name(node)}"
        told = replace(wrong, graph=of.graph, call=of.call, item=item, file=of.file)
        note = f"What is told as wrong is what {operator_name(node)} makes of eager's own values in graph {of.graph}. "
        if differing[1].outcome.failed or not _is_far(rest):
            note += f"With eager's result in its place {left} what eager gives."
            return GuiltyOperation(shown_wrong(probe, told), _forward(alone.case), note)
        if hidden is None and _is_wrong(found, alone):
            note += (
                "With eager's result in its place that graph still rounds otherwise, which may be what the check sees."
            )
            hidden = GuiltyOperation(shown_wrong(probe, told), _forward(alone.case), note)
    return hidden


def _form_of(of: WrongResult | Rounding) -> Form:
    """The comparison that shows it; gradients of a mean over many elements are small."""
    if isinstance(of, Rounding) or of.direction == "forward":
        return VALUES
    return replace(forms_of(of.wrongness)[0], fine=0.0 if of.kind == "nan" else FINE)


def _forward(case: GraphCase) -> GraphCase:
    """Its forward pass alone."""
    return prune(replace(case, backward=False)) if case.backward else case


def wrong_gradients(found: Findings, alone: Candidate) -> list[WrongResult]:
    """The gradients that an operation gives wrongly by itself: then these are what is wrong, whatever else it gives."""
    result = _run(found, alone, Comparison(gradients=True, own_check=True)) if alone.case.backward else None
    wrongs = result.notes.wrongs if result is not None else ()
    return [wrong for wrong in wrongs if wrong.direction == Direction.BACKWARD]


def shown_wrong(probe: Probe, told: WrongResult) -> Probe:
    """The comparing run with that value as the wrong one; a script that raises nothing fails by it."""
    notes = replace(probe.notes, wrongs=(told,), rounding=None)
    passed = replace(probe.outcome, kind=OutcomeKind.OK) if is_comparison(probe.outcome) else probe.outcome
    outcome = with_comparison(passed, notes)
    signature = probe.signature if outcome is probe.outcome else signature_of(outcome)
    return replace(probe, notes=notes, outcome=outcome, signature=signature)


def doubt_silent(found: Findings) -> None:
    """Where nothing is wrong beyond rounding in a script that raises nothing: take such an operation for what is wrong."""
    walk = found.walk
    compared, passed = walk.compared, walk.start
    alone = doubted(found, compared) if compared is not None and compared.notes.wrong is None else None
    if alone is not None and compared is not None and comparing.take(walk, alone.probe):
        found.alone, found.silent = alone.case, Silent(passed, compared, alone.note)
        found.notes.append(alone.note)


def believe_silent(found: Findings) -> None:
    """No more than rounding is wrong after all: the script cannot show such an operation, and neither did its graph."""
    silent, found.silent, found.alone, found.traced = found.silent, None, None, ""
    if silent is not None:
        comparing.give_back(found.walk, silent.passed, silent.compared)
        found.notes = [note for note in found.notes if note != silent.note]
        comparing.take(found.walk, silent.compared)  # where something else is wrong that it shows


def doubt_operations(found: Findings) -> None:
    """Where a check of the script's own is said to fail by rounding: take such an operation for what it fails by."""
    probe = found.walk.checked
    alone = doubted(found, probe) if probe is not None and found.walk.conclusion().rounding is not None else None
    if alone is not None:
        found.walk.checked, found.alone = alone.probe, alone.case
        found.notes.append(alone.note)


def doubt_the_rest(found: Findings, probe: Probe, besides: Sequence[WrongResult]) -> Probe:
    """Where what is wrong in a call is another failure: such an operation behind what else it gives, as what is wrong.

    Without one nothing is said of its rounding: whether the check fails by that is not known.
    """
    alone = doubted(found, probe, besides)
    if alone is None:
        return replace(probe, notes=replace(probe.notes, rounding=None))
    found.alone, found.cases = alone.case, (alone.case, *not_returning(found.cases, besides))
    found.notes.append(alone.note)
    return alone.probe


def trace_back(found: Findings) -> None:
    """Where a check fails by a NaN, an infinity, a whole number, a gradient or what was made of such: take what it comes of.

    What others make of a wrong number may be wrong in another way (0 * inf, `isfinite`), so the one to blame would be told as
    another failure when it is asked alone.
    """
    probe = found.walk.checked
    alone = _traced(found, probe) if probe is not None else None
    if alone is not None:
        found.walk.checked, found.alone, found.traced = alone.probe, alone.case, alone.note


def trace_silent(found: Findings) -> None:
    """As that, of a script that raises nothing."""
    walk = found.walk
    probe = walk.compared
    alone = _traced(found, probe) if probe is not None else None
    if alone is not None and probe is not None and comparing.take(walk, alone.probe):
        found.alone, found.traced, found.silent = alone.case, alone.note, Silent(walk.start, probe, "")


def _traced(found: Findings, probe: Probe) -> GuiltyOperation | None:
    wrong = probe.notes.wrong
    if wrong is None or found.alone is not None or found.runner is None:
        return None
    if not _may_follow(wrong) and (wrong.kind != "values" or wrong.direction == "backward"):
        return None
    cases = read_graphs([path for path in probe.graphs if path.name == wrong.file]).cases
    case = next((case for case in cases if 1 < len(case.nodes) <= MOST), None)
    if case is not None and wrong.direction == "backward":
        case = replace(case, backward=True)
    if case is None:
        return None
    whole = _seen(found, case, wrong)
    if not (_may_follow(wrong) or _meets_no_number(whole.case)):
        return None
    alone = _alone(found, probe, whole, wrong, "that graph gives")
    alike = alone is not None and _looks(alone.probe.notes.wrong) == _looks(wrong)
    if alone is None or (alike and wrong.direction == "forward"):  # a search for the same finds it by itself
        return None
    return alone._replace(
        note=f"{alone.note} Given the compiled one, {wrong.item} is wrong ({wrong.wrongness.words()})."
    )


def _may_follow(wrong: WrongResult) -> bool:
    """Whether it may come of a number that is wrong in another way."""
    if wrong.direction == "backward":
        return wrong.kind in ("nan", "inf", "values")
    return _looks(wrong) in (("nan", True), ("inf", True), ("values", False))


def _meets_no_number(case: GraphCase) -> bool:
    """Whether a value inside is NaN or infinite in eager: what is wrong of it is another number behind `isnan` or `where`."""

    def holds(data: object) -> bool:
        return any(map(holds, data)) if isinstance(data, list) else isinstance(data, str)

    return any(holds(node.data) for node in case.nodes)


def _looks(wrong: WrongResult | None) -> tuple[str, bool] | None:
    """The kind of a wrong value, and whether it is a fraction."""
    fraction = ("float", "bfloat", "complex")
    return (wrong.kind, wrong.dtype.startswith(fraction)) if wrong is not None else None


def look_before(found: Findings) -> None:
    """Where a graph dies, and not by itself: of a wrong value of another, or of what an operation of that is wrong in alone."""
    told: list[GuiltyOperation] = []

    def doubt(probe: Probe) -> Probe:
        alone = doubted(found, probe)
        told.extend(filter(None, [alone]))
        return alone.probe if alone is not None else probe

    note = wrong_before.look(found.walk, doubt)
    if note is not None:
        found.notes += [note, *(each.note for each in told)]
        found.alone = told[0].case if told else None


def _returning_changes(case: GraphCase) -> GraphCase:
    """The graph, what it changes in place among its results: a buffer may be all by which it differs."""
    metas = Wiring(case).metas
    changed = [trees.ref(node.name) for node in case.nodes if mutated(node) and node.name in metas]
    return replace(case, outputs=(*case.outputs, *(each for each in changed if each not in case.outputs)))


def _apart(case: GraphCase) -> tuple[GraphCase, list[str]]:
    """The graph in which each operation is given what it was given in eager, and returns what it gives; the names of these.

    Those that change a value in place are left out: each of the others would be given what they changed. So is what reads a
    value too large to be written down, which is made anew and may be wrong itself.
    """
    wiring = Wiring(case)
    given = {name: f"{name}_given" for name in wiring.seen if name in wiring.metas}
    inputs = [
        replace(border_input(name, wiring.metas[name], wiring.seen[name]), name=other) for name, other in given.items()
    ]
    replaced = {name: trees.ref(other) for name, other in given.items()}
    nodes = _whole([node.rewired(replaced) for node in case.nodes if not mutated(node)], wiring)
    made = _made_of_others(nodes, wiring)
    names = [node.name for node in nodes if node.name in given and node.name not in made]
    outputs = tuple(trees.ref(name) for name in names)
    return prune(replace(case, inputs=(*case.inputs, *inputs), nodes=tuple(nodes), outputs=outputs)), names


def _whole(nodes: list[GraphNode], wiring: Wiring) -> list[GraphNode]:
    """These without those that read what is not there any more."""
    kept: list[GraphNode] = []
    gone = set(wiring.nodes)
    for node in nodes:
        if gone.isdisjoint(node.reads):
            kept.append(node)
            gone.discard(node.name)
    return kept


def _made_of_others(nodes: list[GraphNode], wiring: Wiring) -> set[str]:
    """Those that read what another of these makes, be it an element of a tuple that it returns."""
    found: set[str] = set()
    tensors = {node.name for node in nodes if node.name in wiring.metas}
    for node in nodes:
        if any(read in tensors or read in found for read in node.reads):
            found.add(node.name)
    return found


def _made(case: GraphCase, names: list[str], wrong: WrongResult) -> GraphNode | None:
    """The operation whose result is this wrong output."""
    place = wrong.item.removeprefix("output ")
    name = names[int(place)] if place.isdigit() and int(place) < len(names) else None
    return next((made_by(case, node) for node in case.nodes if node.name == name), None)


def _differing(found: Findings, whole: Candidate) -> tuple[Candidate, CandidateResult] | None:
    """The graph, so as it can be compared, and the run in which it differs from eager as a whole; None where it does not."""
    result = _run(found, whole)
    if result is None:
        return None
    if whole.form.reference and needs_its_dtype(result):
        return _differing(found, replace(whole, form=replace(whole.form, reference=False)))
    error = result.outcome.exception
    if result.outcome.failed:
        differs = error is not None and is_own_comparison(error)
    else:  # it asks for no more than eager keeps of double precision, and eager may be as far from that in another element
        differs = _is_far(result)
    return (whole, result) if differs else None


def _without(found: Findings, whole: Candidate, node: GraphNode) -> CandidateResult | None:
    """What the graph does where it is given eager's result of this operation; None where it cannot be."""
    rest = whole.maybe(Cut(frozenset([node.name])))
    return _run(found, rest) if rest is not None else None


def _is_far(result: CandidateResult) -> bool:
    """Whether what it gives differs from eager's as rounding may make it."""
    return result.notes.rounding is not None and result.notes.rounding.far


def _is_wrong(found: Findings, alone: Candidate) -> bool:
    """Whether an operation is wrong by itself as any graph's value may be, not only in what is small."""
    result = _run(found, alone)
    return result is not None and any(wrong.kind != "aliasing" for wrong in result.notes.wrongs)


def _run(found: Findings, candidate: Candidate, comparison: Comparison | None = None) -> CandidateResult | None:
    """What a candidate does, compared with eager, on the rung that shows the failure; None where it is none."""
    conclusion, runner = found.walk.conclusion(), found.runner
    assert runner is not None
    rung = rung_that_shows(conclusion, found.walk.evidence).name if conclusion.failing is not None else AS_IS
    try:
        source = candidate.source()
    except (RefusedError, Unprintable):
        return None
    with runner.comparing(comparison or Comparison(gradients=candidate.case.backward)):
        return runner.run(source, rung=DEFAULT_BACKEND if rung == AS_IS else rung, timeout=seconds_for(found))
