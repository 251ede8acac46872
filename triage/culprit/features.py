"""What a text uses of torch that is no operation: `torch.func.jvp`, `torch.autograd.Function`, `torch.utils.checkpoint`.

Where Dynamo traces them wrongly no operation is to blame, and these names say more of the failure than any number. So do those
of NumPy and of Python's library that a function calls, which Dynamo models or replaces: `numpy.cumsum`, `collections.deque`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from triage.model.syntax import parse

# A name in a package of torch's, but for those that hold operations and their modules, draw random numbers, compare results,
# or steer torch. Packages are written small: `torch.Tensor.add` is an operation.
_FEATURE = re.compile(
    r"torch\.(?!nn\.|linalg\.|special\.|fft\.|ops\.|random\.|testing\.|backends\."
    r"|compiler\.(?:compile|cudagraph_\w+|disable|is_\w+|reset|set_\w+)$)[a-z]\w*\.[\w.]+"
)
# Where a function calls them, or they are compiled themselves.
_MODELLED = re.compile(r"(?:collections|functools|heapq|itertools|numpy)\.[\w.]+")


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
    called = {*_called_in_functions(tree), *_compiled(tree)}
    names = [(_full(ast.unparse(node), known), id(node) in called) for node in whole]
    told = (name for name, is_called in names if _FEATURE.fullmatch(name) or (is_called and _MODELLED.fullmatch(name)))
    return tuple(dict.fromkeys(told))


def _called_in_functions(tree: ast.Module) -> set[int]:
    """What is called there, not in the data that a text makes for them."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda)]
    return {id(node.func) for each in functions for node in ast.walk(each) if isinstance(node, ast.Call)}


def _compiled(tree: ast.Module) -> set[int]:
    """What torch.compile is given itself: `torch.compile(np.cumsum)`."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    return {id(call.args[0]) for call in calls if ast.unparse(call.func) == "torch.compile"}


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
