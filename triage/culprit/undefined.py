"""A conversion of which torch says that its result is undefined: a float that does not fit into an integer dtype.

Eager and compiled code may give other integers then, and neither is wrong. That a failure is that is shown by a run: with
the same numbers, but for those that do not fit, the reproducer passes. It must still fail where as much is done to the numbers
and none is changed: another kernel may be right where this one is wrong.
"""

from __future__ import annotations

import math
from dataclasses import replace

from triage.culprit.inquiry import Inquiry
from triage.model import trees
from triage.model.graphcase import GraphCase, GraphNode, TensorMeta
from triage.model.stage import Verdict
from triage.reduce.graph.candidate import Candidate
from triage.reduce.printing.printer import Form, Unprintable, count_ops

METHODS = ("to", "type", "byte", "char", "short", "int", "long")
CONVERSIONS = (*METHODS, "torch.ops.aten._to_copy.default", "torch.ops.prims.convert_element_type.default")
FLOATS = ("float64", "float32", "float16", "bfloat16")
BITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63, "uint8": 8, "uint16": 16, "uint32": 32}


def undefined_conversion(case: GraphCase, form: Form, inquiry: Inquiry) -> str:
    """The integer dtype into which the reproducer's only operation converts what does not fit; empty where it is not that."""
    if count_ops(case) != 1 or inquiry.budget.spent():
        return ""
    node = next((node for node in case.nodes if node.target in CONVERSIONS and len(node.reads) == 1), None)
    read = next((item.meta for item in case.inputs if node is not None and item.name == node.reads[0]), None)
    made = node.out[0] if node is not None and node.out else None
    if node is None or read is None or made is None or read.dtype not in FLOATS or made.dtype not in BITS:
        return ""
    unchanged = {"nan": math.nan, "posinf": math.inf, "neginf": -math.inf}
    for numbers, bounds, wanted in (
        ({}, _fitting(made.dtype), Verdict.NO_FAILURE),
        (unchanged, (-math.inf, math.inf), Verdict.SAME_FAILURE),
    ):
        try:
            source = Candidate(_held_inside(case, node, read, numbers, bounds), form).source()
        except Unprintable:
            return ""
        result = inquiry.runner.run(source, rung=inquiry.rung, timeout=inquiry.limit())
        if inquiry.oracle.judge(result).verdict is not wanted:
            return ""
    return made.dtype


def _fitting(dtype: str) -> tuple[int, int]:
    """The smallest and the largest number that fit, of those that bfloat16 has, too."""
    most = 1 << BITS[dtype]
    return 0 if dtype.startswith("u") else -most, most - max(1, most >> 8)


def _held_inside(
    case: GraphCase, node: GraphNode, read: TensorMeta, numbers: dict[str, float], bounds: tuple[float, float]
) -> GraphCase:
    """The case in which what is converted was made a number before (as nan_to_num is told), and kept inside the bounds."""
    number, inside = f"{node.name}_number", f"{node.name}_inside"
    before = (
        GraphNode(
            number, "call_function", "torch.nan_to_num", [trees.ref(node.reads[0])], kwargs=dict(numbers), out=[read]
        ),
        GraphNode(inside, "call_function", "torch.clamp", [trees.ref(number), *bounds], out=[read]),
    )
    place = case.nodes.index(node)
    changed = node.rewritten(lambda name: trees.ref(inside))
    return replace(case, nodes=(*case.nodes[:place], *before, changed, *case.nodes[place + 1 :]))
