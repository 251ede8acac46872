"""What a pass may propose: a choice between edits, or a dial that turns a number down.

The laws of a pass: it is a pure function of a case; it proposes the simplest alternative first; it never loops to a
fixpoint by itself (the shrinking loop does); and it never asks whether an edit is valid PyTorch: running is for the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from triage.judge.judgement import RefusedError
from triage.model.graphcase import Context, GraphCase, GraphInput, GraphNode, SubGraph, TensorMeta
from triage.reduce.graph.edits import Edit, checked
from triage.reduce.printing.fills import seen_of

# Keywords whose absence PyTorch warns about.
EXPECTED = frozenset({("softmax", "dim"), ("log_softmax", "dim"), ("softmin", "dim"), ("meshgrid", "indexing")})


@dataclass(frozen=True)
class Choice:
    """Alternatives for one place (`slot`) of a case, simplest first. At most one of them is made."""

    slot: str
    edits: tuple[Edit, ...]


class Dial(Protocol):
    """A number that can be turned down. `edits(value)` are the ways to set it, likeliest to be valid first."""

    @property
    def slot(self) -> str: ...

    @property
    def value(self) -> int: ...

    @property
    def low(self) -> int: ...

    def edits(self, value: int) -> tuple[Edit, ...]: ...

    def boundary(self, failing: int, passing: int) -> str:
        """The sentence that tells a failing and a passing neighbour apart."""
        ...


@dataclass(frozen=True)
class Pass:
    """One row of the table of passes."""

    name: str
    description: str
    choices: Callable[[GraphCase], Iterable[Choice]] = lambda case: ()
    dials: Callable[[GraphCase], Iterable[Dial]] = lambda case: ()


@dataclass(frozen=True)
class ChangeCase:
    """New values for fields of the case itself. `what` goes into the sentence "it passes ..."."""

    changes: tuple[tuple[str, Any], ...]
    what: str

    def apply(self, case: GraphCase) -> GraphCase:
        return checked(case, replace(case, **dict(self.changes)))


@dataclass(frozen=True)
class ChangeContext:
    """New values for fields of the context."""

    changes: tuple[tuple[str, Any], ...]
    what: str

    def apply(self, case: GraphCase) -> GraphCase:
        context: Context = replace(case.context, **dict(self.changes))
        return checked(case, replace(case, context=context))


@dataclass(frozen=True)
class ChangeInput:
    """New values for fields of some inputs, those of their meta written as `meta.dtype`."""

    names: frozenset[str]
    changes: tuple[tuple[str, Any], ...]
    what: str

    def apply(self, case: GraphCase) -> GraphCase:
        return checked(case, map_inputs(case, lambda item: self._changed(item) if item.name in self.names else item))

    def _changed(self, item: GraphInput) -> GraphInput:
        own = {name: value for name, value in self.changes if not name.startswith("meta.")}
        inner = {name.removeprefix("meta."): value for name, value in self.changes if name.startswith("meta.")}
        meta = replace(item.meta, **inner) if item.meta is not None and inner else item.meta
        return replace(item, meta=meta, **own)


def node_named(case: GraphCase, name: str) -> GraphNode:
    """The operation of this name in the graph itself. Raises RefusedError where it is not there any more."""
    node = next((node for node in case.nodes if node.name == name), None)
    if node is None:
        raise RefusedError(f"{name} is not there any more")
    return node


def map_inputs(case: GraphCase, change: Callable[[GraphInput], GraphInput]) -> GraphCase:
    return replace(case, inputs=tuple(change(item) for item in case.inputs))


def with_meta(item: GraphInput, meta: TensorMeta, data: Any) -> GraphInput:
    """The input in another shape, with these elements; where it is a view, its base follows."""
    base = item.view_of
    if base is not None and item.meta is not None and meta.shape != item.meta.shape:
        base = seen_of(base, meta)
    return replace(item, meta=meta, data=data, view_of=base)


def map_nodes(case: GraphCase, change: Callable[[GraphNode], GraphNode]) -> GraphCase:
    """The case with every node changed, those of nested graphs included."""

    def in_graph(graph: SubGraph) -> SubGraph:
        return replace(graph, nodes=tuple(change(node) for node in graph.nodes))

    return replace(
        case,
        nodes=tuple(change(node) for node in case.nodes),
        subgraphs=tuple(in_graph(graph) for graph in case.subgraphs),
    )


def map_node(case: GraphCase, name: str, change: Callable[[GraphNode], GraphNode]) -> GraphCase:
    """The case with the nodes of this name changed."""
    return map_nodes(case, lambda node: change(node) if node.name == name else node)


def tensors(case: GraphCase) -> list[GraphInput]:
    """The tensor inputs."""
    return [item for item in case.inputs if item.kind == "tensor" and item.meta is not None]
