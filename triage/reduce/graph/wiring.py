"""How the operations of a case hang together: the view of a `GraphCase` on which slices and searches are defined.

The atom of an edit is the *unit*, named after its first node: an operation together with the nodes that pick elements of
its tuple, or a mode switch together with the one that undoes it. Invariant: a case that holds whole units stays well
formed, so nothing ever has to keep a pick without its producer or leave a context open.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from triage.model import trees
from triage.model.effects import changed, is_context, opener_of, opens, operation, sets_grad_mode, sets_state
from triage.model.graphcase import GraphCase, GraphInput, GraphNode, TensorMeta
from triage.reduce.graph.scalars import evaluate


@dataclass(frozen=True, eq=False)
class Wiring:
    """Everything about a case that follows from its data. Build one per case; it computes on demand and never changes."""

    case: GraphCase

    @cached_property
    def nodes(self) -> dict[str, GraphNode]:
        return {node.name: node for node in self.case.nodes}

    @cached_property
    def inputs(self) -> dict[str, GraphInput]:
        return {item.name: item for item in self.case.inputs}

    @cached_property
    def place(self) -> dict[str, int]:
        """Position of each node."""
        return {node.name: index for index, node in enumerate(self.case.nodes)}

    @cached_property
    def metas(self) -> dict[str, TensorMeta]:
        """The recorded tensor of each value that is exactly one tensor."""
        found = {item.name: item.meta for item in self.case.inputs if item.kind == "tensor" and item.meta is not None}
        for node in self.case.nodes:
            if node.tensor is not None:
                found[node.name] = node.tensor
        return found

    @cached_property
    def seen(self) -> dict[str, Any]:
        """The elements that the result of a node was seen to have."""
        return {node.name: node.data for node in self.case.nodes if node.data is not None}

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """The number (or tuple of numbers) of each value that is known without running anything."""
        known: dict[str, Any] = {
            item.name: item.value
            for item in self.case.inputs
            if item.kind in ("int", "float", "bool") and item.value is not None
        }
        for node in self.case.nodes:
            if node.name not in self.metas:
                value = evaluate(node, known, self.metas)
                if value is not None:
                    known[node.name] = value
        return known

    @cached_property
    def reads(self) -> dict[str, tuple[str, ...]]:
        """The values each node reads, in order, without repetitions."""
        return {node.name: tuple(dict.fromkeys(node.reads)) for node in self.case.nodes}

    @cached_property
    def users(self) -> dict[str, tuple[str, ...]]:
        """The nodes that read each value, in order."""
        found: dict[str, dict[str, None]] = {}
        for node in self.case.nodes:
            for name in self.reads[node.name]:
                found.setdefault(name, {})[node.name] = None
        return {name: tuple(readers) for name, readers in found.items()}

    @cached_property
    def unit_of(self) -> dict[str, str]:
        """The unit each node belongs to."""
        units: dict[str, str] = {}
        grad_mode, grad_opener = self.case.context.grad_enabled, ""
        stacks: dict[str, list[str]] = {}
        setters: dict[str, str] = {}  # of each state that is not yet as the last call leaves it, who set it first
        left = {state: node.args for node in self.case.nodes if (state := sets_state(node)) is not None}
        for node in self.case.nodes:
            units[node.name] = node.name
            source = trees.as_ref(node.args[0]) if node.args else None
            mode, opener = sets_grad_mode(node), opener_of(node)
            if is_pick(node) and source in self.nodes and source in units and self.nodes[source].multi:
                units[node.name] = units[source]
            elif mode is not None:
                if grad_opener:
                    units[node.name] = grad_opener
                    grad_opener = "" if mode == grad_mode else grad_opener
                elif mode != grad_mode:
                    grad_opener = node.name
            elif (state := sets_state(node)) is not None:
                units[node.name] = setters.setdefault(state, node.name)
                if node.args == left[state]:
                    del setters[state]
            elif opens(node):
                stacks.setdefault(operation(node), []).append(node.name)
            elif opener is not None:
                open_now = stacks.get(opener, [])
                mine = source if source in open_now else (open_now[-1] if open_now else None)
                if mine is not None:
                    open_now.remove(mine)
                    units[node.name] = mine
        return units

    @cached_property
    def members(self) -> dict[str, tuple[str, ...]]:
        """The nodes of each unit, in order; the keys are the units, in order of their first node."""
        found: dict[str, list[str]] = {}
        for name, unit in self.unit_of.items():
            found.setdefault(unit, []).append(name)
        return {unit: tuple(names) for unit, names in found.items()}

    @cached_property
    def contexts(self) -> tuple[str, ...]:
        """The units that only switch a mode."""
        return tuple(unit for unit in self.members if is_context(self.nodes[unit]))

    @cached_property
    def units(self) -> tuple[str, ...]:
        """Every unit that computes something, in order."""
        modes = set(self.contexts)
        return tuple(unit for unit in self.members if unit not in modes)

    @cached_property
    def around(self) -> dict[str, tuple[str, ...]]:
        """For each unit, the contexts it runs inside of."""
        spans = [
            (unit, self.place[self.members[unit][0]], self.place[self.members[unit][-1]]) for unit in self.contexts
        ]
        # A context that nothing closes holds to the end.
        spans = [(unit, start, end if end > start else len(self.case.nodes)) for unit, start, end in spans]
        found: dict[str, tuple[str, ...]] = {}
        for unit in self.members:
            here = self.place[unit]
            found[unit] = tuple(context for context, start, end in spans if start < here < end)
        return found

    @cached_property
    def parents(self) -> dict[str, tuple[str, ...]]:
        """The units each unit reads from, nearest first; who changed a value in place counts as its producer too."""
        found: dict[str, dict[str, None]] = {unit: {} for unit in self.members}
        changed_by: dict[str, str] = {}
        for node in self.case.nodes:
            unit = self.unit_of[node.name]
            for name in self.reads[node.name]:
                for producer in (changed_by.get(name), self.unit_of.get(name)):
                    if producer is not None and producer != unit:
                        found[unit][producer] = None
            changed_by.update(dict.fromkeys(changed(node), unit))
        return {unit: tuple(sorted(producers, key=lambda name: -self.place[name])) for unit, producers in found.items()}

    @cached_property
    def children(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {unit: [] for unit in self.members}
        for unit, producers in self.parents.items():
            for producer in producers:
                found[producer].append(unit)
        return {unit: tuple(readers) for unit, readers in found.items()}

    def distances(self, start: str, *, forward: bool) -> dict[str, int]:
        """Hops from the unit `start` to the units it depends on (and, with `forward`, to those that depend on it)."""
        hops, edge = {start: 0}, [start]
        while edge:
            following: list[str] = []
            for unit in edge:
                near = self.parents[unit] + (self.children[unit] if forward else ())
                for other in near:
                    if other not in hops:
                        hops[other] = hops[unit] + 1
                        following.append(other)
            edge = following
        return hops

    def outputs(self) -> tuple[str, ...]:
        """The values the case returns, in order, without repetitions."""
        return tuple(dict.fromkeys(trees.refs(list(self.case.outputs))))


def operations(case: GraphCase) -> list[GraphNode]:
    """Nodes that compute something, those of nested graphs included; not picks of a tuple, sizes or mode switches."""
    wiring = Wiring(case)
    outer = [wiring.nodes[unit] for unit in wiring.units if unit not in wiring.numbers]
    return outer + case.nested_nodes


def is_pick(node: GraphNode) -> bool:
    """Whether a node has the form `x[k]` with a whole number k: an element, if x is a tuple."""
    if node.kind != "get_item" and node.target not in ("operator.getitem", "_operator.getitem"):
        return False
    return len(node.args) == 2 and isinstance(node.args[1], int) and not isinstance(node.args[1], bool)
