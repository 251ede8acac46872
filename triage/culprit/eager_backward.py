"""An error of autograd that eager raises too, once a backward pass comes: the compiler traces that pass ahead of time.

What autograd keeps for the backward pass may not be changed in place. A compiled function that does so raises at its call, an
eager one at `backward()`, and never where none comes. That a failure is that is shown by a run of the reproducer, uncompiled.
"""

from __future__ import annotations

import ast

from triage.culprit.inquiry import Inquiry
from triage.judge.judgement import CandidateResult
from triage.judge.signature import FailureSignature
from triage.model.rungs import UNCOMPILED
from triage.model.syntax import parse

CHANGED = "one of the variables needed for gradient computation has been modified by an inplace operation"
_BACKWARD = """\
from torch.utils._pytree import tree_leaves
sum(item.sum() for item in tree_leaves({call}) if item.requires_grad).backward()
"""


def raised_by_eager_too(signature: FailureSignature, source: str, inquiry: Inquiry) -> bool:
    """Whether the reproducer's eager call raises that as well, once it is gone back through."""
    text = _with_backward(source) if CHANGED in signature.message else None
    if text is None or inquiry.budget.spent():
        return False
    return _raises(inquiry.runner.run(text, rung=UNCOMPILED.name, timeout=inquiry.limit()))


def _raises(result: CandidateResult) -> bool:
    error = result.outcome.exception
    return error is not None and CHANGED in error.innermost().message


def _with_backward(source: str) -> str | None:
    """The script up to its eager call, with a backward pass from all that it returns; None where no such call stands alone."""
    for item in parse(source).body:
        call = item.value if isinstance(item, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            before = "\n".join(source.splitlines()[: item.lineno - 1])
            return f"{before}\n{_BACKWARD.format(call=ast.unparse(call))}"
    return None
