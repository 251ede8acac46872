"""A slice: some units of a graph as a graph of their own.

What a kept unit reads from a dropped one becomes an input made from the recorded meta, or the number itself where it was
a size; a producer whose value cannot be written down (unknown number, tuple) is kept too, and so are the contexts around
kept units. A value that only dropped units read becomes an output, so that nothing kept is dead code; so does one that they
read after it was changed in place. Returned values stay returned. Whatever was not needed any more (inputs, sub-graphs) is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from triage.judge.judgement import RefusedError
from triage.model import trees
from triage.model.effects import changed, viewed
from triage.model.graphcase import GraphCase, GraphInput, GraphNode, SubGraph, TensorMeta
from triage.reduce.graph.cropping import cropped
from triage.reduce.graph.wiring import Wiring
from triage.reduce.printing.fills import contiguous


def keep(wiring: Wiring, units: Collection[str], *, escaping: bool = False) -> GraphCase:
    """The slice of these units. With `escaping`, values read both inside and outside become outputs as well.

    Raises RefusedError where nothing is left.
    """
    kept = _closure(wiring, units)
    if not kept:
        raise RefusedError("no operation is left")
    alive = {name for unit in kept for name in wiring.members[unit]}
    alive -= _unused_picks(wiring, alive)
    return assemble(wiring, [node for node in wiring.case.nodes if node.name in alive], {}, escaping=escaping)


def assemble(
    wiring: Wiring, nodes: list[GraphNode], replaced: Mapping[str, Any], *, escaping: bool = False
) -> GraphCase:
    """A case of some of the nodes, in which references to `replaced` values stand for the trees given.

    References to other nodes that are not there become inputs or numbers. Raises RefusedError where they cannot.
    """
    case = wiring.case
    alive = {node.name for node in nodes}
    border: dict[str, GraphInput] = {}

    def resolve(name: str) -> Any:
        if name in replaced:
            return trees.rewrite(replaced[name], resolve)
        if name in alive or name in wiring.inputs:
            return trees.ref(name)
        if name in wiring.numbers:
            return literal(wiring.numbers[name])
        if name not in wiring.metas:
            raise RefusedError(f"{name} is not a tensor of known shape, so it cannot become an input")
        border[name] = border_input(name, wiring.metas[name], wiring.seen.get(name), backward=_wants_grad(wiring))
        return trees.ref(name)

    rewritten = [node.rewritten(resolve) for node in nodes]
    outputs = _outputs(wiring, rewritten, replaced, resolve, escaping)
    arriving = _gradients(wiring, outputs)
    written = {name for node in rewritten for name in changed(node)}
    return prune(
        replace(
            case,
            inputs=(*case.inputs, *(_writable(item, case, written) for item in _in_order(wiring, border)), *arriving),
            nodes=tuple(rewritten),
            outputs=outputs,
            unprintable=() if len(rewritten) < len(case.nodes) else case.unprintable,
        )
    )


def prune(case: GraphCase) -> GraphCase:
    """The case without the inputs and sub-graphs that nothing uses."""
    returned = set(trees.refs(list(case.outputs)))
    used = {name for node in case.nodes for name in node.reads} | returned
    used |= {item.name for item in case.inputs if case.backward and item.gradient_of in returned}
    for item in reversed(case.inputs):
        if item.name in used and item.base is not None:
            used.add(item.base)
    inputs = tuple(item for item in case.inputs if item.name in used)
    return replace(case, inputs=inputs, subgraphs=_used_graphs(case))


def _gradients(wiring: Wiring, outputs: tuple[Any, ...]) -> list[GraphInput]:
    """What is returned now and was not before gets the gradient that was seen to arrive at it."""
    case = wiring.case
    known = {item.gradient_of for item in case.inputs} - {None}
    if not known or not case.backward:
        return []
    new = [name for name in dict.fromkeys(trees.refs(list(outputs))) if name not in known and name in wiring.nodes]
    return [
        gradient_input(name, wiring.metas[name], wiring.nodes[name].gradient)
        for name in new
        if name in wiring.metas and wiring.nodes[name].gradient is not None
    ]


def gradient_input(name: str, meta: TensorMeta, elements: Any) -> GraphInput:
    """The gradient at which a backward pass begins, with the elements it was seen to have."""
    plain = TensorMeta(meta.shape, contiguous(meta.shape), meta.dtype, meta.device)
    title = f"gradient_of_{name}"
    return GraphInput(
        title, meta=plain, role="gradient", fill="values", data=cropped(elements, meta.shape), gradient_of=name
    )


def border_input(name: str, meta: TensorMeta, data: Any = None, *, backward: bool = False) -> GraphInput:
    """An input that stands for a value inside the graph: with the elements it was seen to have, if they are given.

    Made-up whole numbers are 1 or 2: they may be indices, and they may be divided by.
    """
    differentiable = is_floating(meta.dtype)
    grad = differentiable and (meta.requires_grad or backward)
    fill = "randn" if differentiable else "randint:0:2" if meta.dtype == "bool" else "randint:1:3"
    if data is not None:
        data, fill = cropped(data, meta.shape), "values"
    return GraphInput(name=name, meta=replace(meta, requires_grad=grad, storage_offset=0), fill=fill, data=data)


def is_floating(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat", "complex", "double", "half"))


def literal(value: Any) -> Any:
    """A known number, or tuple of numbers, as an argument tree."""
    if isinstance(value, tuple):
        return {"tuple": [literal(item) for item in value]}
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"float": str(value)}
    return value


def _closure(wiring: Wiring, units: Collection[str]) -> set[str]:
    """The units, the producers of what cannot cross the border, and the contexts around them all."""
    kept: set[str] = set()
    waiting = [unit for unit in units if unit in wiring.members]
    if all(unit in wiring.contexts for unit in waiting):
        return set()
    while waiting:
        unit = waiting.pop()
        if unit in kept:
            continue
        kept.add(unit)
        waiting.extend(wiring.around[unit])
        for member in wiring.members[unit]:
            for name in wiring.reads[member]:
                crosses = name in wiring.inputs or name in wiring.numbers or name in wiring.metas
                if not crosses and name in wiring.unit_of:
                    waiting.append(wiring.unit_of[name])
    return kept


def _unused_picks(wiring: Wiring, alive: set[str]) -> set[str]:
    """Picks that no node of the whole graph reads and that are not returned."""
    returned = set(wiring.outputs())
    return {
        name for name in alive if wiring.unit_of[name] != name and name in wiring.metas
        and name not in wiring.users and name not in returned
    }  # fmt: skip


def _outputs(
    wiring: Wiring, nodes: list[GraphNode], replaced: Mapping[str, Any], resolve: Callable[[str], Any], escaping: bool
) -> tuple[Any, ...]:
    if not replaced and len(nodes) == len(wiring.case.nodes):
        return wiring.case.outputs
    alive = {node.name for node in nodes}
    read_inside = {name for node in nodes for name in node.reads}
    computed: dict[str, None] = {}
    passed_on: dict[str, None] = {}  # inputs returned as they are: of interest only where nothing else is returned
    for name in wiring.outputs():
        for target in trees.refs(resolve(name)) if name in replaced else [name]:
            if target in alive:
                computed[target] = None
            elif target in wiring.inputs or name in replaced:
                passed_on[target] = None
    written = _written(wiring, nodes)
    for node in nodes:
        dropped = [user for user in wiring.users.get(node.name, ()) if user not in alive]
        seen_changed = any(wiring.place[user] > written.get(node.name, len(wiring.place)) for user in dropped)
        if dropped and (escaping or seen_changed or node.name not in read_inside) and _is_value(wiring, node):
            computed[node.name] = None
    names = list(computed) or _last_value(wiring, nodes) or list(passed_on)
    if not names:
        raise RefusedError("nothing is returned")
    return tuple(trees.ref(name) for name in names)


def _written(wiring: Wiring, nodes: list[GraphNode]) -> dict[str, int]:
    """The values that these nodes change in place, also through views, each with the first node that does so.

    Who reads such a value later reads the change, and what is wrong may be seen there only, as beside the view.
    """
    found: dict[str, int] = {}
    for node in nodes:
        for name in changed(node):
            target: str | None = name
            while target is not None:
                found.setdefault(target, wiring.place[node.name])
                target = viewed(wiring.nodes[target]) if target in wiring.nodes else None
    return found


def _is_value(wiring: Wiring, node: GraphNode) -> bool:
    if node.multi:
        return not any(wiring.unit_of.get(user) == node.name for user in wiring.users.get(node.name, ()))
    return node.name not in wiring.numbers and wiring.unit_of[node.name] not in wiring.contexts


def _last_value(wiring: Wiring, nodes: list[GraphNode]) -> list[str]:
    """What to return where nobody reads anything: the last computed tensor, or what the last operation changed."""
    for node in reversed(nodes):
        if wiring.unit_of[node.name] in wiring.contexts or node.name in wiring.numbers:
            continue
        targets = changed(node)
        if targets and node.name not in wiring.metas:
            return [targets[0]]
        return [node.name]
    return []


def _in_order(wiring: Wiring, border: Mapping[str, GraphInput]) -> list[GraphInput]:
    return [border[name] for name in sorted(border, key=lambda name: wiring.place[name])]


def _wants_grad(wiring: Wiring) -> bool:
    """Whether border inputs must require grad: the failure needs a backward pass, and the metas do not say through what."""
    if not wiring.case.backward:
        return False
    return not any(meta.requires_grad for node in wiring.case.nodes for meta in node.out if meta is not None)


def _writable(item: GraphInput, case: GraphCase, changed: set[str]) -> GraphInput:
    """A leaf that requires grad cannot be changed in place; a former inner value could."""
    if item.name in changed and item.meta is not None and not case.backward:
        return replace(item, meta=replace(item.meta, requires_grad=False))
    return item


def _used_graphs(case: GraphCase) -> tuple[SubGraph, ...]:
    by_name = {graph.name: graph for graph in case.subgraphs}
    used: set[str] = set()
    waiting = [name for node in case.nodes for name in trees.graphs([node.args, node.kwargs])]
    while waiting:
        name = waiting.pop()
        if name in by_name and name not in used:
            used.add(name)
            waiting.extend(inner for node in by_name[name].nodes for inner in trees.graphs([node.args, node.kwargs]))
    return tuple(graph for graph in case.subgraphs if graph.name in used)
