"""Shrinking passes as a table. A pass only enumerates edits; order here is the order in which they are tried.

`STRUCTURE` takes parts of the graph away; `SIMPLER` makes what is left plain. What the passes of a list propose is
tried together first, so a reproducer that needs nothing special costs one query, however many passes there are.
"""

from __future__ import annotations

from triage.reduce.graph.passes import (
    autograd,
    backward,
    bodies,
    carried,
    config,
    defaults,
    devices,
    dtypes,
    elements,
    extents,
    fills,
    gradients,
    inline,
    keywords,
    modes,
    numbers,
    operands,
    outputs,
    preamble,
    ranks,
    scalars,
    small,
    storage,
    tables,
    trailing,
)
from triage.reduce.graph.passes.proposal import Choice, Dial, Pass

STRUCTURE = (
    Pass("outputs", "fewer returned values", outputs.propose),
    Pass("inline", "nested graphs written out", inline.propose),
    Pass("elements", "fewer tensors in lists of them", elements.propose),
    Pass("carried", "fewer values handed on and captured by loops", carried.propose),
    Pass("operands", "fewer values captured by nested graphs, no block masks", operands.propose),
    Pass("bodies", "fewer operations inside nested graphs", bodies.propose),
)
SIMPLER = (
    Pass("backward", "no backward pass for a failure in forward", backward.propose),
    Pass("modes", "no modes of torch.compile, autocast, no_grad or determinism", modes.propose),
    Pass("config", "no config lines", config.propose),
    Pass("preamble", "no registrations and imports", preamble.propose),
    Pass("autograd", "no requires_grad, no parameters", autograd.propose),
    Pass("storage", "no views, contiguous, without offset or shared storage", storage.propose),
    Pass("gradients", "ones, or one number, as incoming gradients", gradients.propose),
    Pass("fills", "ones, zeros or a range as values", fills.propose),
    Pass("numbers", "numbers written into the graph", numbers.propose),
    Pass("keywords", "no keyword arguments", keywords.propose),
    Pass("defaults", "no arguments that are the defaults", defaults.propose),
    Pass("dtypes", "float32 and int64", dtypes.propose),
    Pass("small", "every extent 1 or 2", small.propose),
)
DETAILS = (
    Pass("devices", "the CPU in the place of a GPU", devices.propose),
    Pass("tables", "few numbers, in few digits, where values are written out", tables.propose),
    Pass("extents", "each extent down to where it still fails", dials=extents.dials),
    Pass("ranks", "fewer dimensions", ranks.propose),
    Pass("trailing", "no arguments that have a default", trailing.propose),
    Pass("scalars", "numbers in arguments 1, 0 or 2", scalars.propose),
)

# What may let a size go down further once it has made an argument simpler, and the sizes: a window must fit into its input.
ARGUMENTS = frozenset({"trailing", "scalars"})
SIZES = frozenset({"small", "extents"})

__all__ = ["ARGUMENTS", "DETAILS", "SIMPLER", "SIZES", "STRUCTURE", "Choice", "Dial", "Pass"]
