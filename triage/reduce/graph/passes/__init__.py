"""Shrinking passes as a table. A pass only enumerates edits; order here is the order in which they are tried.

`STRUCTURE` takes parts of the graph away; `SIMPLER` makes what is left plain. What the passes of a list propose is
tried together first, so a reproducer that needs nothing special costs one query, however many passes there are.
"""

from __future__ import annotations

from triage.reduce.graph.passes import arguments, context, dtypes, extents, layout, nested, outputs, ranks, values
from triage.reduce.graph.passes.proposal import Choice, Dial, Pass

STRUCTURE = (
    Pass("outputs", "fewer returned values", outputs.outputs),
    Pass("inline", "nested graphs written out", nested.inline),
    Pass("operands", "fewer values captured by nested graphs", nested.operands),
    Pass("bodies", "fewer operations inside nested graphs", nested.bodies),
)
SIMPLER = (
    Pass("backward", "no backward pass for a failure in forward", context.backward),
    Pass("modes", "no modes of torch.compile, autocast, no_grad or determinism", context.modes),
    Pass("config", "no config lines", context.config),
    Pass("preamble", "no registrations and imports", context.preamble),
    Pass("autograd", "no requires_grad, no parameters", layout.autograd),
    Pass("storage", "contiguous, without offset or shared storage", layout.storage),
    Pass("gradients", "ones, or one number, as incoming gradients", values.gradients),
    Pass("fills", "ones, zeros or a range as values", values.fills),
    Pass("numbers", "numbers written into the graph", values.numbers),
    Pass("keywords", "no keyword arguments", arguments.keywords),
    Pass("dtypes", "float32 and int64", dtypes.dtypes),
    Pass("small", "every extent 1 or 2", extents.small),
)
DETAILS = (
    Pass("extents", "each extent down to where it still fails", dials=extents.dials),
    Pass("ranks", "fewer dimensions", ranks.ranks),
    Pass("trailing", "no arguments that have a default", arguments.trailing),
    Pass("scalars", "numbers in arguments 1, 0 or 2", arguments.scalars),
)

__all__ = ["DETAILS", "SIMPLER", "STRUCTURE", "Choice", "Dial", "Pass"]
