"""Nested graphs written out in place of the operation that holds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from triage.judge.judgement import RefusedError
from triage.model import trees
from triage.model.graphcase import GraphCase, GraphNode, SubGraph
from triage.reduce.graph.edits import Edit, checked, drop_dead
from triage.reduce.graph.nested import elements_of, operands_of
from triage.reduce.graph.passes.proposal import Choice
from triage.reduce.graph.slices import border_input
from triage.reduce.graph.wiring import is_pick


@dataclass(frozen=True)
class Inline:
    """The body `graph` in place of the operation `node` that was given it."""

    node: str
    graph: str

    @property
    def what(self) -> str:
        return f"with the body {self.graph} written out"

    def apply(self, case: GraphCase) -> GraphCase:
        node = next((item for item in case.nodes if item.name == self.node), None)
        body = next((item for item in case.subgraphs if item.name == self.graph), None)
        if node is None or body is None:
            raise RefusedError(f"no {self.node} with a body {self.graph}")
        given = operands_of(node, body)
        if given is None:
            raise RefusedError(f"it is not known what {self.node} passes to {self.graph}")
        inner = _renamed(body, self.node, dict(zip(body.inputs, given, strict=True)))
        results = inner.outputs if isinstance(inner.outputs, list) else elements_of(inner.outputs)
        replaced = _results(case, self.node, results)
        nodes: list[GraphNode] = []
        for item in case.nodes:
            if item.name == self.node:
                nodes.extend(inner.nodes)
            elif item.name not in replaced:
                nodes.append(item.rewired(replaced))
        outputs = tuple(trees.rewrite(list(case.outputs), lambda name: replaced.get(name, trees.ref(name))))
        return checked(case, drop_dead(replace(case, nodes=tuple(nodes), outputs=outputs)))


@dataclass(frozen=True)
class Lift:
    """The body `graph` alone, as the whole case: what was passed to it becomes an input.

    The backward of an autograd.Function is code like any other; where it fails, it fails as a forward as well.
    """

    graph: str

    @property
    def what(self) -> str:
        return f"with {self.graph} alone"

    def apply(self, case: GraphCase) -> GraphCase:
        body = next((item for item in case.subgraphs if item.name == self.graph), None)
        if body is None or len(body.metas) != len(body.inputs):
            raise RefusedError(f"what {self.graph} is given was not recorded")
        read = {name for node in body.nodes for name in trees.refs([node.args, node.kwargs])}
        read.update(trees.refs(body.outputs))
        known = zip(body.inputs, body.metas, strict=True)
        inputs = tuple(border_input(name, meta) for name, meta in known if meta is not None and name in read)
        results = tuple(trees.ref(name) for name in dict.fromkeys(trees.refs(body.outputs)))
        lifted = replace(case, inputs=inputs, nodes=body.nodes, outputs=results, backward=False, backward_order=1)
        return checked(case, drop_dead(lifted))


def propose(case: GraphCase) -> Iterator[Choice]:
    """Each operation that holds bodies, with one of them written out in its place."""
    for node in case.nodes:
        bodies: list[Edit] = [Inline(node.name, name) for name in trees.graphs([node.args, node.kwargs])]
        bodies += [Lift(name) for name in trees.graphs([node.args, node.kwargs])]
        if bodies:
            yield Choice(f"body of {node.name}", tuple(bodies))


def _renamed(body: SubGraph, prefix: str, given: dict[str, Any]) -> SubGraph:
    names = {node.name: f"{prefix}_{node.name}" for node in body.nodes}

    def resolve(name: str) -> Any:
        return given[name] if name in given else trees.ref(names.get(name, name))

    nodes = tuple(replace(node.rewritten(resolve), name=names[node.name]) for node in body.nodes)
    return replace(body, nodes=nodes, outputs=trees.rewrite(body.outputs, resolve))


def _results(case: GraphCase, name: str, results: list[Any] | None) -> dict[str, Any]:
    """What the operation and the picks of its result stand for once its body is written out."""
    if results is None:
        raise RefusedError("the body does not return a tuple")
    replaced: dict[str, Any] = {name: {"tuple": results}}
    for node in case.nodes:
        if is_pick(node) and trees.as_ref(node.args[0]) == name:
            index = node.args[1]
            if not -len(results) <= index < len(results):
                raise RefusedError("the body returns fewer values than are read")
            replaced[node.name] = results[index]
    if len(results) == 1:
        replaced[name] = results[0]
    return replaced
