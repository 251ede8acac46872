"""The operators that reproducers seed, and do not reorder, are those that torch itself calls random."""

from __future__ import annotations

import re

import pytest

from triage.model.graphcase import GraphNode
from triage.reduce.printing.body import is_random

pytestmark = pytest.mark.e2e
torch = pytest.importorskip("torch")

# Random only where they drop out, and then called by other names in a program: attention and recurrent layers.
FUSED = re.compile(r"attention|_rnn|rnn_|^gru|^lstm")


def test_what_torch_calls_random_is_known() -> None:
    operators = [name for name in dir(torch.ops.aten) if not name.startswith("__")]
    packets = [(name, getattr(torch.ops.aten, name)) for name in operators]
    seeded = [
        name
        for name, packet in packets
        if isinstance(packet, torch._ops.OpOverloadPacket)
        and any(torch.Tag.nondeterministic_seeded in getattr(packet, each).tags for each in packet.overloads())
    ]
    names = [*seeded, "dropout", "normal_", "bernoulli_", "uniform_", "exponential_"]
    unknown = {
        name for name in names if not FUSED.search(name) and not is_random(GraphNode("x", "call_function", name))
    }
    assert len(seeded) > 10 and not unknown
