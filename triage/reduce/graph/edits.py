"""Structural edits of a case, as data.

An edit says what it does and, applied to a case, gives a smaller one or refuses before anything is run. Edits are pure
and know nothing of searches: which to try, and in what order, is decided elsewhere. Every edit names units (see
`triage.reduce.graph.wiring`), so tuples, in-place operations and contexts stay whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

from triage.judge.judgement import RefusedError
from triage.model import trees
from triage.model.effects import changed
from triage.model.graphcase import GraphCase, TensorMeta
from triage.reduce.graph.slices import assemble, keep, prune
from triage.reduce.graph.wellformed import flaw
from triage.reduce.graph.wiring import Wiring


class Edit(Protocol):
    """A change of a case. `what` says it as a condition of the failure: "x is contiguous", "without the keyword dim"."""

    @property
    def what(self) -> str: ...

    def apply(self, case: GraphCase) -> GraphCase:
        """The case after the edit. Raises RefusedError where that is the same case, or not a well-formed one."""
        ...


@dataclass(frozen=True)
class Keep:
    """Only these units."""

    units: frozenset[str]

    @property
    def what(self) -> str:
        return f"only {', '.join(sorted(self.units))}"

    def apply(self, case: GraphCase) -> GraphCase:
        return checked(case, keep(Wiring(case), self.units))


@dataclass(frozen=True)
class Cut:
    """Without these units; what was read from them becomes an input."""

    units: frozenset[str]
    escaping: bool = False

    @property
    def what(self) -> str:
        return f"without {', '.join(sorted(self.units))}"

    def apply(self, case: GraphCase) -> GraphCase:
        wiring = Wiring(case)
        return checked(case, keep(wiring, set(wiring.units) - self.units, escaping=self.escaping))


@dataclass(frozen=True)
class Bypass:
    """These units are replaced by something they read that has the same shape and dtype; by an input where nothing has.

    `choice` counts through the arguments that fit, so that each can be tried.
    """

    units: tuple[str, ...]
    choice: int = 0

    @property
    def what(self) -> str:
        return f"with {', '.join(self.units)} bypassed"

    def apply(self, case: GraphCase) -> GraphCase:
        wiring = Wiring(case)
        gone = sorted((unit for unit in self.units if unit in wiring.members), key=lambda unit: wiring.place[unit])
        if not gone:
            raise RefusedError("nothing to bypass")
        replaced: dict[str, Any] = {}
        for unit in gone:
            fitting = substitutes(wiring, unit)
            for name, names in fitting.items():
                if self.choice and self.choice >= len(names):
                    raise RefusedError(f"{name} has no argument number {self.choice} that fits")
                if names:
                    chosen = names[self.choice]
                    replaced[name] = replaced.get(chosen, trees.ref(chosen))
        if not replaced:
            raise RefusedError("no argument has the shape and dtype of the result")
        without = {member for unit in gone for member in wiring.members[unit]}
        nodes = [node for node in case.nodes if node.name not in without]
        return checked(case, assemble(wiring, nodes, replaced))


@dataclass(frozen=True)
class Merge:
    """A unit is replaced by an earlier one that calls the same target and gives the same kind of tensor."""

    unit: str

    @property
    def what(self) -> str:
        return f"with {self.unit} computed once"

    def apply(self, case: GraphCase) -> GraphCase:
        wiring = Wiring(case)
        node, meta = wiring.nodes.get(self.unit), wiring.metas.get(self.unit)
        if node is None or meta is None:
            raise RefusedError(f"{self.unit} is not a single tensor")
        for other in wiring.units[: wiring.units.index(self.unit)]:
            twin = wiring.metas.get(other)
            if wiring.nodes[other].target == node.target and twin is not None and same_kind(twin, meta):
                rest = [item for item in case.nodes if item.name != self.unit]
                return checked(case, assemble(wiring, rest, {self.unit: trees.ref(other)}))
        raise RefusedError(f"nothing before {self.unit} is like it")


@dataclass(frozen=True)
class ReturnOnly:
    """One of the returned values alone; operations that it does not need are gone."""

    value: str

    @property
    def what(self) -> str:
        return f"when only {self.value} is returned"

    def apply(self, case: GraphCase) -> GraphCase:
        if self.value not in trees.refs(list(case.outputs)):
            raise RefusedError(f"{self.value} is not returned")
        return checked(case, drop_dead(replace(case, outputs=(trees.ref(self.value),))))


@dataclass(frozen=True)
class ReturnNothing:
    """Only what the graph changes is left to look at: a value that is returned may hide what goes wrong there."""

    @property
    def what(self) -> str:
        return "when nothing is returned"

    def apply(self, case: GraphCase) -> GraphCase:
        if case.backward:
            raise RefusedError("a backward pass begins with what is returned")
        return checked(case, drop_dead(replace(case, outputs=())))


@dataclass(frozen=True)
class DropOutput:
    """All returned values but one; operations that nobody needs any more are gone."""

    value: str

    @property
    def what(self) -> str:
        return f"when {self.value} is not returned"

    def apply(self, case: GraphCase) -> GraphCase:
        names = list(dict.fromkeys(trees.refs(list(case.outputs))))
        if self.value not in names or len(names) == 1:
            raise RefusedError(f"{self.value} is not one of several outputs")
        rest = tuple(trees.ref(name) for name in names if name != self.value)
        return checked(case, drop_dead(replace(case, outputs=rest)))


@dataclass(frozen=True)
class DropContext:
    """Without a mode switch (and the one that undoes it); what ran inside stays."""

    unit: str

    @property
    def what(self) -> str:
        return f"without {self.unit}"

    def apply(self, case: GraphCase) -> GraphCase:
        wiring = Wiring(case)
        if self.unit not in wiring.contexts:
            raise RefusedError(f"{self.unit} is no mode switch")
        gone = set(wiring.members[self.unit])
        return checked(case, replace(case, nodes=tuple(node for node in case.nodes if node.name not in gone)))


def substitutes(wiring: Wiring, unit: str) -> dict[str, list[str]]:
    """For each value of a unit that others read, or that is returned: the values the unit reads that could stand for it."""
    members = wiring.members[unit]
    returned = set(wiring.outputs())
    read = wiring.reads[unit]
    found: dict[str, list[str]] = {}
    for member in members:
        outside = any(user not in members for user in wiring.users.get(member, ()))
        meta = wiring.metas.get(member)
        if (outside or member in returned) and meta is not None:
            found[member] = [name for name in read if name in wiring.metas and same_kind(wiring.metas[name], meta)]
    return found


def same_kind(left: TensorMeta, right: TensorMeta) -> bool:
    """Whether one tensor can stand where the other stood."""
    return (left.shape, left.dtype, left.device, left.layout) == (right.shape, right.dtype, right.device, right.layout)


def checked(before: GraphCase, after: GraphCase) -> GraphCase:
    """`after`, if it is well formed and not what was there before. Raises RefusedError."""
    if after == before:
        raise RefusedError("no change")
    reason = flaw(after)
    if reason:
        raise RefusedError(reason)
    return after


def drop_dead(case: GraphCase) -> GraphCase:
    """The case without operations that neither lead to an output nor change anything, and without unused inputs."""
    wiring = Wiring(case)
    alive = _needed(wiring)
    names = {name for unit in alive for name in wiring.members[unit]}
    return prune(replace(case, nodes=tuple(node for node in case.nodes if node.name in names)))


def inputs_for_opaque(case: GraphCase) -> GraphCase:
    """The case with every operation that cannot be printed replaced by inputs. Raises RefusedError where it cannot be."""
    wiring = Wiring(case)
    opaque = {wiring.unit_of[node.name] for node in case.nodes if node.opaque}
    if not opaque:
        return case
    return keep(wiring, set(wiring.units) - opaque)


def _needed(wiring: Wiring) -> set[str]:
    """The units that outputs and mutations depend on; contexts included."""
    waiting = list(wiring.outputs())
    waiting += [node.name for node in wiring.case.nodes if changed(node)]
    needed: set[str] = set()
    while waiting:
        unit = wiring.unit_of.get(waiting.pop())
        if unit is None or unit in needed:
            continue
        needed.add(unit)
        waiting.extend(wiring.around[unit])
        waiting.extend(name for member in wiring.members[unit] for name in wiring.reads[member])
    return needed
