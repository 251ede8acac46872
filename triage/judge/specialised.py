"""Where a size that was marked as dynamic became a constant: the message of what is raised for it ends in that line.

It is raised once all is traced, as guards are made, so type, words and frames are the same whatever operation it was that asked
for the number (torch/fx/experimental/symbolic_shapes.py, `specialization_stacks`).
"""

from __future__ import annotations

import ast
import re

from triage.model.syntax import OPERATORS, called_name, parse

_STACK = re.compile(r"\n *User stack:\n(?P<stack>(?: +\S.*\n?)+)")
_FRAME = re.compile(r"^ *File \"[^\"\n]+\", line \d+, in .+\n +(?P<code>(?!File \").+)", re.MULTILINE)


def specialised_by(message: str) -> tuple[str, ...]:
    r"""The operations of the innermost line of the message's stack, of which one did it; none where it cannot be read by itself.

    What Python marks in that line reaches from the operation to the end of what is computed with its result, so it tells no more.

    >>> line = '  File "model.py", line 7, in forward\n    return (x * self.scale).sin()\n            ^^^^^^^^^^^^^^^^^^^^^\n'
    >>> specialised_by(f"Constraints violated (L['x'].size()[0])!\n\nUser stack:\n{line}")
    ('mul', 'sin')
    """
    found = _STACK.search(message)
    lines = [frame["code"] for frame in _FRAME.finditer(found["stack"])] if found is not None else []
    return _operations(lines[-1]) if lines else ()


def _operations(line: str) -> tuple[str, ...]:
    code = line.strip()
    try:
        tree = parse(f"{code} pass" if code.endswith(":") else code)
    except (SyntaxError, ValueError):  # it goes on in the next line
        return ()
    return tuple(sorted({name for node in ast.walk(tree) if (name := _named(node))}))


def _named(node: ast.AST) -> str:
    if isinstance(node, (ast.BinOp, ast.AugAssign)):
        return OPERATORS.get(type(node.op), "")
    return called_name(node)
