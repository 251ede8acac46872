"""What a text uses of torch that is no operation: `torch.func.jvp`, `torch.autograd.Function`, `torch.utils.checkpoint`.

Where Dynamo traces them wrongly no operation is to blame, and these names say more of the failure than any number.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from triage.model.syntax import parse

# A name in a package of torch's, but for those that hold operations and their modules, draw random numbers, compare results,
# or steer torch. Packages are written small: `torch.Tensor.add` is an operation.
_FEATURE = re.compile(
    r"torch\.(?!nn\.|linalg\.|special\.|fft\.|ops\.|random\.|testing\.|compiler\.|backends\.)[a-z]\w*\.[\w.]+"
)


def features_of(text: str) -> tuple[str, ...]:
    """Their full names, each once, in the order of the text; nothing of a text that cannot be parsed."""
    try:
        tree = parse(text)
    except (SyntaxError, ValueError):
        return ()
    known = dict(_imported(tree))
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    whole = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute | ast.Name) and id(node) not in inner]
    whole.sort(key=lambda node: (node.lineno, node.col_offset))
    names = [_full(ast.unparse(node), known) for node in whole]
    return tuple(dict.fromkeys(filter(_FEATURE.fullmatch, names)))


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """What each imported name stands for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                package = alias.name.partition(".")[0]
                yield (alias.asname, alias.name) if alias.asname else (package, package)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)


def _full(name: str, known: dict[str, str]) -> str:
    first, dot, rest = name.partition(".")
    return f"{known[first]}{dot}{rest}" if first in known else ""
