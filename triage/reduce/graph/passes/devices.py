"""Devices: the CPU in the place of a GPU, so that anybody can run it; else the GPU without its number.

Only whole: an operation whose tensors lie on two devices fails for that. What names a device in its own name (`x.cuda()`) is
left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from triage.model import trees
from triage.model.graphcase import GraphCase, GraphInput, TensorMeta
from triage.reduce.graph.edits import checked
from triage.reduce.graph.passes.proposal import Choice, map_inputs, map_nodes, tensors

_GPU = re.compile(r"(cuda|xpu|mps)(?::\d+)?")


@dataclass(frozen=True)
class MoveTo:
    """All that lies on a GPU, or is put there, on this device."""

    device: str

    @property
    def what(self) -> str:
        return f"on the device {self.device}"

    def apply(self, case: GraphCase) -> GraphCase:
        changed = map_inputs(case, self._input)
        changed = map_nodes(
            changed,
            lambda node: replace(
                node,
                args=self._moved(node.args),
                kwargs=self._moved(node.kwargs),
                out=[self._meta(meta) for meta in node.out],
            ),
        )
        autocast = tuple(self._moved(list(case.context.autocast)))
        graphs = tuple(replace(graph, metas=tuple(map(self._meta, graph.metas))) for graph in changed.subgraphs)
        context = replace(case.context, autocast=autocast)
        return checked(case, replace(changed, context=context, subgraphs=graphs))

    def _input(self, item: GraphInput) -> GraphInput:
        return replace(item, meta=self._meta(item.meta), view_of=self._meta(item.view_of))

    def _meta(self, meta: TensorMeta | None) -> TensorMeta | None:
        return replace(meta, device=self.device) if meta is not None and _GPU.fullmatch(meta.device) else meta

    def _moved(self, tree: Any) -> Any:
        return trees.mapped(tree, lambda item: self.device if isinstance(item, str) and _GPU.fullmatch(item) else item)


def gpu_of(case: GraphCase) -> str | None:
    """The kind of GPU that the tensors of a case lie on: `cuda`; None where it uses none, or names one in an operation's name."""
    kinds = [found[1] for item in tensors(case) if item.meta and (found := _GPU.fullmatch(item.meta.device))]
    named = any(_GPU.fullmatch(node.target.rpartition(".")[2]) for node in case.nodes)
    return kinds[0] if kinds and not named else None


def propose(case: GraphCase) -> Iterator[Choice]:
    kind = gpu_of(case)
    if kind is not None:
        yield Choice("device", (MoveTo("cpu"), MoveTo(kind)))
