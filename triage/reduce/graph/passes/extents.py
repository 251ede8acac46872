"""Extents: the sizes of tensors, turned down together.

All dimensions of one extent change at once, in every input, and the arguments that mention the number change with them, for
a view or an expand repeats the sizes of its input. Where several extents are multiples of one (heads times width), they can
keep their ratio. What is recorded of inner results is changed alike; it is only a guess from then on.

How far down is a question of its own (`triage.reduce.graph.dials`): many failures need a size above some bound, and the bound
itself is worth reporting.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from triage.judge.judgement import RefusedError
from triage.model import trees
from triage.model.graphcase import GraphCase, GraphInput, SubGraph, TensorMeta
from triage.reduce.graph.cropping import Places, cropped, places_of
from triage.reduce.graph.edits import Edit, checked
from triage.reduce.graph.passes.proposal import map_inputs, map_nodes, tensors, with_meta


@dataclass(frozen=True)
class Resize:
    """Some extents become others. `arguments`: numbers in arguments too; `multiples`: also multiples of them."""

    sizes: tuple[tuple[int, int], ...]
    arguments: bool = True
    multiples: bool = False

    @property
    def what(self) -> str:
        return "with " + ", ".join(f"{new} instead of {old}" for old, new in self.sizes)

    def apply(self, case: GraphCase) -> GraphCase:
        tables = [item.data for item in case.inputs if item.recorded and item.data is not None]
        places = places_of(tables, self.sizes)
        changed = map_inputs(case, lambda item: self._input(item, places))
        changed = map_nodes(
            changed,
            lambda node: replace(
                node,
                args=trees.map_integers(node.args, self._argument) if self.arguments else node.args,
                kwargs=trees.map_integers(node.kwargs, self._argument) if self.arguments else node.kwargs,
                out=[self._meta(meta) if meta is not None else None for meta in node.out],
            ),
        )
        return checked(case, replace(changed, subgraphs=tuple(map(self._graph, changed.subgraphs))))

    def _graph(self, graph: SubGraph) -> SubGraph:
        return replace(graph, metas=tuple(self._meta(meta) if meta is not None else None for meta in graph.metas))

    def _extent(self, extent: int) -> int:
        for old, new in self.sizes:
            if extent == old:
                return new
        if self.multiples:
            for old, new in self.sizes:
                if old > 1 and extent > old and extent % old == 0:
                    return extent // old * new
        return extent

    def _argument(self, number: int) -> int:
        return self._extent(number) if number > 1 else number

    def _input(self, item: GraphInput, places: Places) -> GraphInput:
        if item.kind == "int" and isinstance(item.value, int):
            return replace(item, value=self._extent(item.value))
        if item.meta is None:
            return item
        meta = self._meta(item.meta)
        if item.base is not None and meta.shape != item.meta.shape:
            raise RefusedError("an input that shares storage with another keeps its size")
        return replace(with_meta(item, meta, cropped(item.data, meta.shape, places)), fill=self._fill(item.fill))

    def _meta(self, meta: TensorMeta) -> TensorMeta:
        shape = tuple(self._extent(extent) for extent in meta.shape)
        return replace(meta, shape=shape, stride=restrided(meta, shape))

    def _fill(self, fill: str) -> str:
        """Whole numbers usually index a dimension: they stay below every new extent."""
        if not fill.startswith("randint:"):
            return fill
        low, high = (int(text) for text in fill.split(":")[1:])
        bound = max(low + 1, min(high, *(new for _, new in self.sizes)))
        return f"randint:{low}:{bound}"


@dataclass(frozen=True)
class ExtentDial:
    """One extent of the inputs, wherever it occurs."""

    value: int
    low: int = 1

    @property
    def slot(self) -> str:
        return f"extent {self.value}"

    def edits(self, value: int) -> tuple[Edit, ...]:
        sizes = ((self.value, value),)
        return (
            Resize(sizes),
            Resize(sizes, multiples=True),
            Resize(sizes, arguments=False),
            Resize(sizes, arguments=False, multiples=True),
        )

    def boundary(self, failing: int, passing: int) -> str:
        return f"It fails with a size of {failing} and passes with {passing}."


def extents(case: GraphCase) -> list[int]:
    """The distinct extents above 1 of the inputs, and of tensors that operations make from nothing; largest first."""
    metas = [item.meta for item in tensors(case)]
    metas += [meta for node in case.nodes if not any(node.reads) for meta in node.out]
    return sorted({extent for meta in metas if meta is not None for extent in meta.shape if extent > 1}, reverse=True)


def dials(case: GraphCase) -> Iterator[ExtentDial]:
    for size in extents(case):
        yield ExtentDial(size)


def restrided(meta: TensorMeta, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides for a new shape: the same order of dimensions, the same gaps in proportion, expanded dimensions expanded."""
    if shape == tuple(meta.shape) or len(meta.stride) != len(shape):
        return tuple(meta.stride)
    inner_first = sorted(
        (index for index in range(len(shape)) if meta.stride[index] != 0),
        key=lambda index: (meta.stride[index], meta.shape[index] > 1, -index),
    )
    strides = [0] * len(shape)
    old_dense = new_dense = 1
    for index in inner_first:
        gap = max(1, meta.stride[index] // old_dense) if meta.stride[index] % old_dense == 0 else 1
        strides[index] = new_dense * gap
        old_dense = meta.stride[index] * max(1, meta.shape[index])
        new_dense = strides[index] * max(1, shape[index])
    return tuple(strides)
