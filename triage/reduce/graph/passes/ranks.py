"""Ranks: dimensions of size 1 go, then the leading dimension of the inputs that have most; else all of them become one.

What fails from so many elements on (a loop that is vectorised from 16) does not survive the loss of a dimension once its extents
are as small as they may be together. In one dimension, the number that it needs is plain to see.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from triage.model.graphcase import GraphCase, GraphInput, GraphNode, TensorMeta
from triage.reduce.graph.cropping import cropped
from triage.reduce.graph.edits import Edit, checked
from triage.reduce.graph.passes.proposal import Choice, map_inputs, map_nodes, tensors, with_meta
from triage.reduce.printing.fills import contiguous
from triage.reduce.printing.literals import numbers_in


@dataclass(frozen=True)
class DropLeading:
    """These inputs lose their first dimension; lists of sizes as long as their rank lose their first element."""

    names: frozenset[str]
    rank: int
    lists: bool = True

    @property
    def what(self) -> str:
        return f"with {self.rank - 1} dimensions instead of {self.rank}"

    def apply(self, case: GraphCase) -> GraphCase:
        changed = map_inputs(case, lambda item: _headless(item) if item.name in self.names else item)
        if self.lists:
            changed = map_nodes(changed, self._node)
        return checked(case, changed)

    def _node(self, node: GraphNode) -> GraphNode:
        return replace(node, args=self._shorter(node.args, top=True), kwargs=self._shorter(node.kwargs))

    def _shorter(self, tree: Any, *, top: bool = False) -> Any:
        if isinstance(tree, dict):
            return {key: self._shorter(item) for key, item in tree.items()}
        if isinstance(tree, list):
            sizes = not top and len(tree) == self.rank and all(type(item) is int for item in tree)
            return tree[1:] if sizes else [self._shorter(item) for item in tree]
        return tree


@dataclass(frozen=True)
class Squeeze:
    """These inputs lose every dimension of size 1."""

    names: frozenset[str]
    what: str = "without dimensions of size 1"

    def apply(self, case: GraphCase) -> GraphCase:
        return checked(case, map_inputs(case, lambda item: _squeezed(item) if item.name in self.names else item))


@dataclass(frozen=True)
class Flatten:
    """These inputs keep their elements, in one dimension."""

    names: frozenset[str]
    rank: int

    @property
    def what(self) -> str:
        return f"with one dimension instead of {self.rank}"

    def apply(self, case: GraphCase) -> GraphCase:
        return checked(case, map_inputs(case, lambda item: _in_one(item) if item.name in self.names else item))


def propose(case: GraphCase) -> Iterator[Choice]:
    ranked = {item.name: len(item.meta.shape) for item in tensors(case) if item.meta is not None and item.base is None}
    most = max(ranked.values(), default=0)
    if most == 0:
        return
    flat = frozenset(item.name for item in tensors(case) if item.meta is not None and 1 in item.meta.shape)
    deepest = frozenset(name for name, rank in ranked.items() if rank == most)
    edits: list[Edit] = [Squeeze(flat)] if flat else []
    edits += [DropLeading(deepest, most), DropLeading(deepest, most, lists=False)]
    edits += [Flatten(deepest, most)] if most > 1 and _plain(case, deepest) else []
    yield Choice("ranks", tuple(edits))
    for name, rank in ranked.items():
        if rank and len(ranked) > 1:
            yield Choice(f"rank {name}", (DropLeading(frozenset({name}), rank, lists=False),))


def _plain(case: GraphCase, names: frozenset[str]) -> bool:
    """Whether nothing but their shapes is to be lost: no strides of their own, no base, no symbolic sizes."""
    metas = [item.meta for item in tensors(case) if item.name in names and item.view_of is None]
    plain = [meta for meta in metas if meta and not meta.symbols and tuple(meta.stride) == contiguous(meta.shape)]
    return len(plain) == len(names)


def _in_one(item: GraphInput) -> GraphInput:
    meta = item.meta
    if meta is None:
        return item
    shape = (math.prod(meta.shape),)
    data = list(numbers_in(item.data)) if isinstance(item.data, list) else item.data
    return with_meta(item, replace(meta, shape=shape, stride=contiguous(shape)), data)


def _headless(item: GraphInput) -> GraphInput:
    meta = item.meta
    if meta is None or not meta.shape:
        return item
    first = cropped(item.data, (1, *meta.shape[1:]))
    data = first[0] if isinstance(first, list) and first else item.data
    return with_meta(item, _without(meta, {0}), data)


def _squeezed(item: GraphInput) -> GraphInput:
    meta = item.meta
    if meta is None:
        return item
    gone = {index for index, extent in enumerate(meta.shape) if extent == 1}
    return with_meta(item, _without(meta, gone), _flat(item.data, meta.shape))


def _without(meta: TensorMeta, gone: set[int]) -> TensorMeta:
    left = [index for index in range(len(meta.shape)) if index not in gone]
    symbols = {str(place): meta.symbols[str(index)] for place, index in enumerate(left) if str(index) in meta.symbols}
    return replace(
        meta,
        shape=tuple(meta.shape[index] for index in left),
        stride=tuple(meta.stride[index] for index in left if index < len(meta.stride)),
        symbols=symbols,
    )


def _flat(data: Any, shape: tuple[int, ...]) -> Any:
    if not shape or not isinstance(data, list):
        return data
    inner = [_flat(item, shape[1:]) for item in data]
    return inner[0] if shape[0] == 1 and inner else inner
