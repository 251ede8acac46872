"""The operators that reproducers seed, and do not reorder, are those that torch itself calls random."""

from __future__ import annotations

import re

import pytest

from triage.model.graphcase import GraphNode
from triage.reduce.printing.body import is_random

pytestmark = [pytest.mark.e2e, pytest.mark.quick]
torch = pytest.importorskip("torch")

# Random only where they drop out, and then called by other names in a program: attention and recurrent layers.
FUSED = re.compile(r"attention|_rnn|rnn_|^gru|^_?lstm")
# Tagged as random, and called by attention and cuDNN alone: which kernel to take, a mask in place, the state of a generator.
INNER = {
    "_fused_sdp_choice",
    "_fill_mem_eff_dropout_mask_",
    "_cudnn_init_dropout_state",
    "_nested_tensor_softmax_with_shape",
}


def test_what_torch_calls_random_is_known() -> None:
    # All that torch registers: `dir(torch.ops.aten)` has those alone that were used in this process.
    schemas = [schema.name for schema in torch._C._jit_get_all_schemas() if schema.name.startswith("aten::")]
    operators = sorted({name.partition("::")[2] for name in schemas if not name.startswith("aten::__")})
    packets = [(name, getattr(torch.ops.aten, name)) for name in operators]
    seeded = [
        name
        for name, packet in packets
        if isinstance(packet, torch._ops.OpOverloadPacket)
        and any(torch.Tag.nondeterministic_seeded in getattr(packet, each).tags for each in packet.overloads())
    ]
    names = [*seeded, "dropout", "normal_", "bernoulli_", "uniform_", "exponential_"]
    drops = {"training": True, "dropout_p": 0.5}  # what these are by default, some draw nothing
    unknown = {
        name
        for name in {*names} - INNER
        if not FUSED.search(name) and not is_random(GraphNode("x", "call_function", name, kwargs=drops))
    }
    assert len(seeded) > 10 and not unknown
