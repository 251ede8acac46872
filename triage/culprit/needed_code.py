"""What the program did to the compiler and the reproducer cannot do without: a decomposition, a lowering, a pass, a patch.

An exception names the code that raised it (`own_code`). Where that is torch's, or where a result is wrong, the reduction is
the witness: the captured graph alone passes, and fails below one of the program's own registrations.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from triage.model.graphcase import Effect
from triage.model.own_code import OwnCode
from triage.model.syntax import parse

# What a statement gives to the compiler, by the words in it. The first that fits holds.
_ROLES: tuple[tuple[str, str], ...] = (
    (r"\bregister_decomposition\b|\bdecompositions?(?:_table)?(?:\[|\.update\()", "decomposition"),
    (r"\bregister_lowering\b|\blowerings\[", "lowering"),
    (r"\bpre_grad_custom_pass\b", "pre-grad pass"),
    (r"\bjoint_custom_(?:pre|post)_pass\b", "joint-graph pass"),
    (r"\bpost_grad_custom_(?:pre|post)_pass\b", "post-grad pass"),
    (r"\bregister_(?:graph_pattern|replacement|lowering_pattern)\b|\bpost_grad_fusion_options\b", "graph pass"),
)
_OF_LIBRARIES = re.compile(
    r"\bregister_(?:fake|kernel|autograd|meta)\b|\bcustom_op\b|\.(?:define|impl)\(|\bregister_backend\b"
)
_OPERATOR = re.compile(r"\bops\.(\w+)\.(\w+)")
_ATEN = re.compile(r"\baten\.(\w+)")
PATCH = "patch of torch"


def needed_code(source: str, effects: Sequence[Effect]) -> OwnCode | None:
    """Of what the program's files do to torch, the first that a reduced script still does; None where it does nothing."""
    try:
        kept = {_face(text) for text in _statements(source)} - {None}
    except SyntaxError:
        return None
    for effect in effects:
        face = _face(effect.text)
        if face in kept and face is not None:
            role, subject = face
            place = PurePath(effect.place).name
            operator = subject if "::" in subject else None
            return OwnCode(
                role, place, f"{place}: {_first_code(effect.text)}", raised=False, operator=operator, needed=True
            )
    return None


def _statements(source: str) -> Iterator[str]:
    for node in ast.walk(parse(source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield "\n".join(f"@{ast.unparse(each)}" for each in node.decorator_list)
        elif isinstance(node, ast.Assign | ast.Expr):
            yield ast.unparse(node)


def _face(text: str) -> tuple[str, str] | None:
    """(role, operator or patched name) of a statement; None where it gives nothing to the compiler."""
    head = "\n".join(line for line in text.splitlines() if line.startswith("@")) or text
    if _OF_LIBRARIES.search(head):
        return None
    role = next((role for pattern, role in _ROLES if re.search(pattern, head)), None)
    if role is not None:
        return role, _operator(head)
    target = _patched(text)
    return (PATCH, target) if target else None


def _operator(text: str) -> str:
    whole, aten = _OPERATOR.search(text), _ATEN.search(text)
    if whole is not None and whole.group(1) != "aten":
        return f"{whole.group(1)}::{whole.group(2)}"
    return f"aten::{aten.group(1)}" if aten is not None else ""


def _patched(text: str) -> str:
    """The last two names of `torch._inductor.ir.Reduction.create = ...`, whatever the modules are called in the script."""
    try:
        node = parse(text).body[0]
    except (SyntaxError, IndexError):
        return ""
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Attribute):
        return ""
    if isinstance(node.value, ast.Constant) or "config" in ast.unparse(node.targets[0]):
        return ""  # a setting
    return ".".join(ast.unparse(node.targets[0]).split(".")[-2:])


def _first_code(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return " ".join(line.strip() for line in lines[:2]) if lines[0].startswith("@") else lines[0].strip()
