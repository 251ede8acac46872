"""Another function in the place of what a reduced text compiles: does its operation matter to how it fails?

Of a graph that is asked in `conditions`. A text has no operation that can be exchanged: what it compiles may be given anything,
and what comes of it is used somewhere. So nothing is learned unless it fails as before.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from triage.culprit.inquiry import Inquiry
from triage.model.report import AblationRow
from triage.model.stage import Verdict
from triage.model.syntax import parse, parse_expression

_COMPILE = "torch.compile"


def fails_with_another(text: str, setting: str, functions: Sequence[str], inquiry: Inquiry) -> AblationRow | None:
    """The row of the table, where the text fails as before though it compiles one of these functions instead; else None."""
    for function in functions:
        result = inquiry.run(with_another(text, function))
        if result is not None and inquiry.oracle.judge(result).verdict is Verdict.SAME_FAILURE:
            return inquiry.row(setting, result)
    return None


def with_another(text: str, function: str) -> str | None:
    """The text that compiles `torch.tanh` of its first argument, to be run and not shown.

    None where it compiles more than one thing, or by another way than a call.
    """
    try:
        tree = parse(text)
    except (SyntaxError, ValueError):
        return None
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and ast.unparse(node) == _COMPILE]
    called = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.func in uses and node.args]
    if len(uses) != 1 or len(called) != 1:
        return None
    called[0].args[0] = parse_expression(f"lambda first, *rest: {function}(first)")
    return ast.unparse(tree)
