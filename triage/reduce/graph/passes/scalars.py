"""Numbers in arguments 1, 0 or 2."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from triage.judge.judgement import RefusedError
from triage.model import trees
from triage.model.effects import operation
from triage.model.graphcase import GraphCase, GraphNode
from triage.model.text import words
from triage.reduce.graph.edits import Edit, checked
from triage.reduce.graph.passes.proposal import Choice, map_node
from triage.reduce.graph.weight import number_cost
from triage.reduce.graph.wiring import operations

# Numbers in these are sizes or dimensions, and follow the shapes.
_SHAPED = words(
    "_unsafe_view as_strided broadcast_to expand getitem movedim narrow new_ones new_zeros permute repeat "
    "reshape select size slice split split_with_sizes tile transpose unflatten unfold view"
)


@dataclass(frozen=True)
class SetNumber:
    """Another number at one place of an operation's arguments; the path begins with `args` or `kwargs`."""

    node: str
    path: trees.Path
    old: Any
    new: Any
    operation: str = ""

    @property
    def what(self) -> str:
        return f"with {_shown(self.new)} instead of {_shown(self.old)} as an argument of {self.operation or self.node}"

    def apply(self, case: GraphCase) -> GraphCase:
        def change(node: GraphNode) -> GraphNode:
            both = {"args": node.args, "kwargs": node.kwargs}
            try:
                here = trees.at(both, self.path)
            except (LookupError, TypeError):
                here = None
            if here != self.old:
                raise RefusedError("the argument is not there any more")
            both = trees.put(both, self.path, self.new)
            return replace(node, args=both["args"], kwargs=both["kwargs"])

        return checked(case, map_node(case, self.node, change))


def propose(case: GraphCase) -> Iterator[Choice]:
    """Numbers in arguments. A list of equal numbers (a kernel size, a padding) changes as one."""
    for node in operations(case):
        if operation(node) in _SHAPED:
            continue
        both = {"args": node.args, "kwargs": node.kwargs}
        sizes = _made_sizes(node)
        for path, values in _equal_lists(both):
            if values[0] not in sizes:
                yield from _choice(node, path, values, [[new] * len(values) for new in _simpler(values[0])])
        for path, value in trees.numbers(both):
            inside_list = len(path) > 2 and isinstance(path[-2], int)
            if not inside_list and value not in sizes:
                yield from _choice(node, path, value, _simpler(value))
        for path, value in trees.complexes(both):
            simple = {"complex": [0, 1]}
            yield from _choice(node, path, value, [1.0] if value == simple else [1.0, simple])


def _choice(node: GraphNode, path: trees.Path, old: Any, news: list[Any]) -> Iterator[Choice]:
    edits: tuple[Edit, ...] = tuple(SetNumber(node.name, path, old, new, operation(node)) for new in news)
    if edits:
        yield Choice(f"scalar {node.name} {path}", edits)


def _made_sizes(node: GraphNode) -> set[int]:
    """The extents of what an operation makes from nothing: the pass over extents changes them, with all that follows."""
    if any(node.reads):
        return set()
    return {extent for meta in node.out if meta is not None for extent in meta.shape}


def _shown(value: Any) -> str:
    if trees.is_complex(value):
        return str(complex(*value["complex"]))
    return str(value)


def _simpler(value: int | float) -> list[int | float]:
    """1, 0 and 2, of the same type, as far as they are simpler than the number itself. -1 is simple: the last dimension."""
    if value == -1:
        return []
    simple: list[int | float] = [type(value)(number) for number in (1, 0, 2)]
    return [number for number in simple if number_cost(number) < number_cost(value)]


def _equal_lists(tree: Any) -> Iterator[tuple[trees.Path, list[Any]]]:
    for path, item in trees.walk(tree):
        numbers = isinstance(item, list) and len(path) > 1 and all(type(each) in (int, float) for each in item)
        if numbers and len(item) > 1 and len(set(item)) == 1:
            yield path, item
