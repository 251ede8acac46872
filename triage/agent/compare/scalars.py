"""Python's numbers beside tensors of single precision: eager rounds them to that, and is exact about the number that comes of it.

The remainder of 1e10 by 0.1 is 0.0999 for the double nearest to 0.1, and 0.0884 for the float32 nearest to it, as eager has it;
0.3 // 0.1 is 3 for the one and 2 for the other. A reference in double precision that takes the double says that eager is wrong.
"""

import struct

COMPARISONS = frozenset("eq ge gt le lt ne".split())  # noqa: SIM905 - a table of words
# Exact, but computed of a number as it was given: how many elements there are, and which of them is the nearest.
_AS_GIVEN = ("arange", "upsample")
_WIDE = ("float64", "complex128")


def is_single(torch, gm, tensors):
    """Whether a graph on these tensors computes with nothing of double precision, as far as its text tells."""
    if str(torch.get_default_dtype()).endswith("float64") or any(str(item.dtype).endswith(_WIDE) for item in tensors):
        return False
    graphs = [module.graph for module in gm.modules() if hasattr(module, "graph")]
    texts = ("%s %s %s" % (node.target, node.args, node.kwargs) for graph in graphs for node in graph.nodes)
    return not any(word in text for text in texts for word in (*_WIDE, "double"))


def rounded(name, exact, args, kwargs):
    """The arguments of an operation, its numbers as eager rounds them, where its result is `exact` or a comparison."""
    if name.startswith(_AS_GIVEN) or not (exact or name in COMPARISONS):
        return args, kwargs
    return tuple(map(_single, args)), {key: _single(value) for key, value in kwargs.items()}


def _single(value):
    return struct.unpack("f", struct.pack("f", value))[0] if type(value) is float else value
