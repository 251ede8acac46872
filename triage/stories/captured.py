"""The captured graphs of the failing runs, most suspect first, each with the passes that the failure needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from triage.locate.conclude import Conclusion
from triage.locate.outcomes import is_script_check
from triage.locate.walk import Walk
from triage.model.accuracy import WrongResult
from triage.model.graphcase import GraphCase, GraphInput, GraphNode
from triage.model.stage import Direction
from triage.probe.graphs import read_graphs
from triage.probe.run import Probe
from triage.reduce.graph.evidence import points

NO_GRAPH = "No graph had been made when it failed: the failure is in Dynamo's own tracing, or outside any graph."


def captured(walk: Walk, conclusion: Conclusion) -> tuple[tuple[GraphCase, ...], str | None]:
    """(the graphs of the failing runs, most suspect first; what is to be said of those that are missing).

    First those of the lowest failing rung, then those of the script as it is.
    """
    cases: list[GraphCase] = []
    unread: list[str] = []
    missing: list[str] = []
    for probe in _failing_probes(walk, conclusion):
        found = read_graphs(_told_first(probe))
        unread += found.problems
        missing += probe.notes.missing
        kept = [case for case in found.cases if case.graph_id not in _wrong_otherwise(walk, conclusion)]
        cases += [each for case in kept for each in directed(case, conclusion, probe)]
    first: dict[str, GraphCase] = {}
    for case in cases:
        first.setdefault(_key(case), _with_values(case, cases))
    unique = list(first.values())
    note = f"A captured graph could not be read, and was left out: {unread[0]}." if unread else None
    if not unique and note is None:
        note = missing[0] if missing else NO_GRAPH
    return tuple(sorted(unique, key=lambda case: case.level != "dynamo")), note


def passes_alone(wrong: WrongResult | None, besides: Sequence[WrongResult] = ()) -> str:
    """What is said where each captured graph gives what eager gives; `wrong` is the call that was wrong in the program.

    `besides`: what is another failure, and was not asked for.
    """
    reduced = "the program's text was reduced."
    if wrong is None:
        what = "What else the captured graph returns is by itself" if besides else "Each captured graph gives by itself"
        return f"{what} what eager gives, so {reduced}"
    if wrong.call == 1:
        return f"Graph {wrong.graph} is wrong in the program and gives by itself what eager gives, so {reduced}"
    return (
        f"Call {wrong.call} of graph {wrong.graph} is wrong in the program; by itself, compiled anew, the graph gives what "
        "eager gives. Most likely the failure needs what was compiled for an earlier call, or memory that inputs share; so "
        f"{reduced}"
    )


def guilty_graph(walk: Walk, conclusion: Conclusion, reduced: GraphCase | None) -> str | None:
    """Dynamo's name of the graph that is to blame: the one that was reduced, else the one that failed in the program."""
    if reduced is not None:
        return reduced.graph_id
    return next((probe.notes.graph for probe in _failing_probes(walk, conclusion) if probe.notes.graph), None)


def only_line(cases: Sequence[GraphCase], graph: str | None) -> str | None:
    """The line of the program where all that this graph does stands; None where that is on several, or not known."""
    lines = {node.where for node in _placed(cases, graph)}
    return lines.pop() if len(lines) == 1 else None


def named_line(cases: Sequence[GraphCase], graph: str | None, operation: str) -> str | None:
    """The line of the program where this graph does an operation; None where that is on several, or not known.

    Where it is not known which graph it is, that of all of them. The graph of operators tells more surely than that of the
    program's own calls, whose names are others.
    """
    graphs = dict.fromkeys(case.graph_id for case in cases) if graph is None else [graph]
    placed = [node for each in graphs for node in _placed(cases, each)]
    scored = [(points(node, operation), node.where) for node in placed]
    best = max((score for score, _ in scored), default=0)
    lines = {where for score, where in scored if score == best}
    return lines.pop() if best and len(lines) == 1 else None


def _placed(cases: Sequence[GraphCase], graph: str | None) -> list[GraphNode]:
    return [node for case in cases if case.graph_id == graph for node in case.nodes if node.where]


def _failing_probes(walk: Walk, conclusion: Conclusion) -> Iterator[Probe]:
    """The later ones first: they recorded values."""
    if walk.checked is not None and walk.checked.notes.wrong is not None:
        yield walk.checked
    names = [conclusion.failing.name] if conclusion.failing is not None else []
    for name in dict.fromkeys([*names, walk.own_rung.name]):
        yield from reversed(walk.seen.get(name, []))


def _told_first(probe: Probe) -> list[Path]:
    """Its graphs; first that of the call whose value is told as wrong, and none of another call that is wrong otherwise."""
    told = probe.notes.wrong.file if probe.notes.wrong is not None else ""
    others = {each.file for each in (*probe.notes.wrongs, probe.notes.rounding) if each is not None} - {told}
    return sorted((path for path in probe.graphs if path.name not in others), key=lambda path: path.name != told)


def _wrong_otherwise(walk: Walk, conclusion: Conclusion) -> set[str]:
    """The graphs that are wrong by themselves and are not told as that: what fails in one of them is another failure."""
    if conclusion.wrong is None or walk.checked is None:
        return set()
    return {wrong.graph for wrong in walk.checked.notes.wrongs} - {conclusion.wrong.graph}


def directed(case: GraphCase, conclusion: Conclusion, probe: Probe) -> list[GraphCase]:
    """The case with the backward pass that the failure needs; both ways where the script's own check does not tell.

    Both too where the script itself takes no gradient: of the whole one, that AOTAutograd traces ahead, eager may not be capable.
    """
    if case.level != "dynamo":
        return [case]
    order = 2 if probe.notes.double_backward else 1
    training = replace(case, backward=True, backward_order=order)
    if conclusion.direction is Direction.BACKWARD:
        both = [training] if probe.notes.point.backwards else [training, case]
        return [replace(each, direction="backward") for each in both]
    unknown = conclusion.wrong is None and conclusion.outcome is not None and is_script_check(conclusion.outcome)
    if unknown and probe.notes.point.backwards:
        return [case, training]
    return [case]


def _with_values(case: GraphCase, cases: Sequence[GraphCase]) -> GraphCase:
    """A forward graph of ATen operators with the values that Dynamo's graph was called on, whose inputs it has in their order."""
    if case.level == "dynamo" or case.direction == "backward":
        return case
    for other in cases:
        if (
            other.level != "dynamo"
            or other.graph_id != case.graph_id
            or not any(item.recorded for item in other.inputs)
        ):
            continue
        pairs = list(zip(case.inputs, other.inputs, strict=False))
        if len(other.inputs) == len(case.inputs) and all(map(_alike, *zip(*pairs, strict=True))):
            given = (replace(item, fill=seen.fill, data=seen.data) if seen.recorded else item for item, seen in pairs)
            return replace(case, inputs=tuple(given))
    return case


def _alike(one: GraphInput, other: GraphInput) -> bool:
    metas = [(item.meta.shape, item.meta.dtype) if item.meta is not None else None for item in (one, other)]
    return metas[0] == metas[1]


def _key(case: GraphCase) -> str:
    return repr(replace(case, graph_id="", backend="", own_backend=()))
