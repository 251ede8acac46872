"""Dtypes: float32 for every floating dtype, int64 for every whole one; all inputs of a dtype together, then each alone.

Alone only where no operation would then be given two dtypes instead of one: what it promotes to is another matter than what
failed (a sum of bfloat16 and float32 is not one of bfloat16).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from triage.model import trees
from triage.model.graphcase import GraphCase, TensorMeta
from triage.reduce.graph.edits import Edit, checked
from triage.reduce.graph.passes.proposal import Choice, map_inputs, map_nodes, tensors
from triage.reduce.graph.slices import is_floating


@dataclass(frozen=True)
class ChangeDtype:
    """One dtype for another: in these inputs, in arguments that name it, and in what is recorded of results."""

    names: frozenset[str]
    old: str
    new: str

    @property
    def what(self) -> str:
        return f"with {self.new} instead of {self.old}"

    def apply(self, case: GraphCase) -> GraphCase:
        changed = map_inputs(
            case, lambda item: replace(item, meta=self._meta(item.meta)) if item.name in self.names else item
        )
        changed = map_nodes(
            changed,
            lambda node: replace(
                node,
                args=_renamed(node.args, self.old, self.new),
                kwargs=_renamed(node.kwargs, self.old, self.new),
                out=[self._meta(meta) for meta in node.out],
            ),
        )
        return checked(case, changed)

    def _meta(self, meta: TensorMeta | None) -> TensorMeta | None:
        if meta is None or meta.dtype != self.old:
            return meta
        return replace(meta, dtype=self.new, requires_grad=meta.requires_grad and is_floating(self.new))


def propose(case: GraphCase) -> Iterator[Choice]:
    groups: dict[str, list[str]] = {}
    for item in tensors(case):
        assert item.meta is not None
        groups.setdefault(item.meta.dtype, []).append(item.name)
    for dtype, names in groups.items():
        new = "float32" if is_floating(dtype) else "int64"
        if dtype in (new, "bool"):
            continue
        together: list[Edit] = [ChangeDtype(frozenset(names), dtype, new)]
        single = [name for name in names if not would_mix(case, name)] if len(names) > 1 else []
        alone = [ChangeDtype(frozenset({name}), dtype, new) for name in single]
        yield Choice(f"dtype {dtype}", (*together, *alone))


def would_mix(case: GraphCase, name: str) -> bool:
    """Whether an operation takes this input, or what is made of it alone, together with another value of its dtype."""
    known = {item.name: item.meta.dtype for item in tensors(case) if item.meta is not None}
    known |= {node.name: node.out[0].dtype for node in case.nodes if node.out and node.out[0] is not None}
    changed = {name}
    for node in case.nodes:
        given = set(trees.refs([node.args, node.kwargs]))
        if given & changed:
            if any(known.get(other) == known[name] for other in given - changed):
                return True
            changed.add(node.name)
    return False


def _renamed(tree: Any, old: str, new: str) -> Any:
    return trees.mapped(tree, lambda item: {"dtype": new} if item == {"dtype": old} else item)
