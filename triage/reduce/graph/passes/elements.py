"""Fewer tensors in the lists that an operation is given (`torch._foreach_add_`, a fused optimizer's step)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from triage.judge.judgement import RefusedError
from triage.model import trees
from triage.model.graphcase import GraphCase, GraphNode
from triage.reduce.graph.edits import Edit, checked, drop_dead
from triage.reduce.graph.nested import elements_of
from triage.reduce.graph.passes.proposal import Choice, node_named
from triage.reduce.graph.wiring import is_pick

FEW = 8  # elements, each of which is tried alone


@dataclass(frozen=True)
class KeepElements:
    """The operation `node` with the elements at these places of its lists alone."""

    node: str
    places: tuple[int, ...]

    @property
    def what(self) -> str:
        return f"with {len(self.places)} of the elements of {self.node}"

    def apply(self, case: GraphCase) -> GraphCase:
        node = node_named(case, self.node)
        count = _length(case, node)
        if not count or self.places[-1] >= count or len(self.places) >= count:
            raise RefusedError(f"{self.node} has no such elements")
        fewer = replace(
            node,
            args=[_kept(item, count, self.places) for item in node.args],
            kwargs={name: _kept(item, count, self.places) for name, item in node.kwargs.items()},
            out=[node.out[place] for place in self.places] if len(node.out) == count else node.out,
        )
        nodes = []
        for item in case.nodes:
            if item is node:
                nodes.append(fewer)
            elif not _takes_from(item, node):
                nodes.append(item)
            elif item.args[1] in self.places:
                nodes.append(replace(item, args=[item.args[0], self.places.index(item.args[1])]))
            # else it is gone, and `checked` refuses the case where somebody reads it
        return checked(case, drop_dead(replace(case, nodes=tuple(nodes))))


def propose(case: GraphCase) -> Iterator[Choice]:
    """One element alone; of many the halves first. Then one fewer."""
    for node in case.nodes:
        count = _length(case, node)
        if count < 2:
            continue
        places = range(count)
        chosen: list[Sequence[int]] = [places[: count // 2], places[count // 2 :]]
        if count <= FEW:
            chosen = [[place] for place in places]
            chosen += [[other for other in places if other != place] for place in places] if count > 2 else []
        edits: list[Edit] = [KeepElements(node.name, tuple(each)) for each in chosen]
        yield Choice(f"elements of {node.name}", tuple(edits))


def _length(case: GraphCase, node: GraphNode) -> int:
    """How many elements the lists of tensors of this operation have, where all have as many; else 0.

    Its result must be a list as well, of which single elements are taken, or be read by nobody.
    """
    lists = [items for tree in (*node.args, *node.kwargs.values()) if (items := _tensors(tree)) is not None]
    readers = [item for item in case.nodes if node.name in item.reads]
    returned = node.name in set(trees.refs(list(case.outputs)))
    if len({len(items) for items in lists}) != 1 or returned or not all(_takes_from(item, node) for item in readers):
        return 0
    return len(lists[0])


def _takes_from(item: GraphNode, node: GraphNode) -> bool:
    """Whether an operation takes one element of the result of another."""
    return is_pick(item) and trees.as_ref(item.args[0]) == node.name


def _tensors(tree: Any) -> list[Any] | None:
    items = elements_of(tree)
    return items if items and all(trees.as_ref(item) is not None for item in items) else None


def _kept(tree: Any, count: int, places: Sequence[int]) -> Any:
    items = _tensors(tree)
    if items is None or len(items) != count:
        return tree
    left = [items[place] for place in places]
    return {"tuple": left} if isinstance(tree, dict) else left
