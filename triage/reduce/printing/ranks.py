"""Collectives in a script that runs in one process: a process group of one rank, or one that only pretends to be larger.

A graph says of a collective its group's name and, where the shape of the result depends on it, the group's size. A group
of one needs no other process and no address (`HashStore`), and computes. Where the graph was made for more ranks,
PyTorch's fake group stands in (torch/testing/_internal/distributed/fake_pg.py): nothing is sent, and results are not the
script's. That is enough for a compiler that fails, and a candidate is only believed when it fails in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from triage.model import effects
from triage.model.graphcase import GraphCase, GraphNode

_PREFIXES = tuple(f"torch.ops.{namespace}." for namespace in effects.COLLECTIVES)
_DEFAULT_GROUP = "0"  # what torch.distributed calls the group of all ranks


def is_collective(node: GraphNode) -> bool:
    return node.target.startswith(_PREFIXES)


def in_default_group(nodes: Iterable[GraphNode]) -> list[GraphNode]:
    """The nodes, each collective in the group that the script makes. Names of other groups mean nothing elsewhere."""
    return [_regrouped(node) if is_collective(node) else node for node in nodes]


def setup(case: GraphCase, nodes: Sequence[GraphNode]) -> list[str]:
    """The lines that make the process group; none where no node speaks with other ranks."""
    ranks = max((_ranks(node) for node in nodes if is_collective(node)), default=0)
    if ranks == 0:
        return []
    if ranks > 1:
        return [f'dist.init_process_group("fake", store=FakeStore(), rank=0, world_size={ranks})']
    devices = {item.meta.device.split(":")[0] for item in case.inputs if item.meta is not None}
    backend = "nccl" if "cuda" in devices else "gloo"
    return [f'dist.init_process_group("{backend}", store=dist.HashStore(), rank=0, world_size=1)']


def _regrouped(node: GraphNode) -> GraphNode:
    if not node.args or not isinstance(node.args[-1], str):
        return node
    return replace(node, args=[*node.args[:-1], _DEFAULT_GROUP])


def _ranks(node: GraphNode) -> int:
    """The fewest ranks among which the collective makes sense: its group's size, or one more than the rank it names."""
    whole = [arg for arg in node.args if isinstance(arg, int) and not isinstance(arg, bool)]
    lists = [len(arg) for arg in node.args if isinstance(arg, list) and all(isinstance(size, int) for size in arg)]
    named = 1 if "broadcast" in node.target else 0
    return max([1, *(number + named for number in whole), *lists])
