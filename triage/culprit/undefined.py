"""A conversion of which torch says that its result is undefined: a float that does not fit into an integer dtype.

Eager and compiled code may give other integers then, and neither is wrong. That a failure is that is shown by a run: with
the same numbers, but for those that do not fit, the reproducer passes.
"""

from __future__ import annotations

import ast

from triage.culprit.inquiry import Inquiry
from triage.model.graphcase import GraphCase
from triage.model.stage import Verdict
from triage.model.syntax import parse
from triage.reduce.printing.printer import Form, count_ops, print_if_possible

METHODS = ("to", "type", "byte", "char", "short", "int", "long")
CONVERSIONS = (*METHODS, "torch.ops.aten._to_copy.default", "torch.ops.prims.convert_element_type.default")
FLOATS = ("float64", "float32", "float16", "bfloat16")
BITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63, "uint8": 8, "uint16": 16, "uint32": 32}


def undefined_conversion(case: GraphCase, form: Form, inquiry: Inquiry) -> str:
    """The integer dtype into which the reproducer's only operation converts what does not fit; empty where it is not that."""
    if count_ops(case) != 1:
        return ""
    node = next((node for node in case.nodes if node.target in CONVERSIONS and len(node.reads) == 1), None)
    read = next((item.meta for item in case.inputs if node is not None and item.name == node.reads[0]), None)
    made = node.out[0] if node is not None and node.out else None
    if node is None or read is None or made is None or read.dtype not in FLOATS or made.dtype not in BITS:
        return ""
    source = print_if_possible(case, form=form)
    fitting = _made_to_fit(source, made.dtype) if source is not None else None
    return made.dtype if inquiry.verdict(fitting) is Verdict.NO_FAILURE else ""


def _made_to_fit(source: str, dtype: str) -> str | None:
    """The script whose only tensor holds numbers that fit, made so before the call; None where it has several.

    Inside the function the same would be compiled together with the conversion, which may then be built in another way.
    """
    tree = parse(source)
    function = next((item for item in tree.body if isinstance(item, ast.FunctionDef)), None)
    names = [argument.arg for argument in function.args.args] if function is not None else []
    made = [
        item
        for item in tree.body
        if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name) and item.targets[0].id in names
    ]
    if len(made) != 1 or len(names) != 1:
        return None
    most = 1 << BITS[dtype]
    largest = most - max(1, most >> 8)  # of all that fit the largest that bfloat16 has, too
    smallest = 0 if dtype.startswith("u") else -most
    lines = source.splitlines()
    lines.insert(
        made[0].end_lineno or 0, f"{names[0]} = torch.clamp(torch.nan_to_num({names[0]}), {smallest}, {largest})"
    )
    return "\n".join(lines) + "\n"
