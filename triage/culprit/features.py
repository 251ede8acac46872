"""What a text uses of torch that is no operation: `torch.func.jvp`, `torch.autograd.Function`, `torch.utils.checkpoint`.

Where Dynamo traces them wrongly no operation is to blame, and these names say more of the failure than any number. So do those
of NumPy and of Python's library that a function calls, which Dynamo models or replaces: `numpy.cumsum`, `collections.deque`;
those of torch's state that it sets, which the compiler keeps and puts back; that a class is one of Python's own, made anew; and
what of the language itself Dynamo has to play: generators, metaclasses, special methods.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from triage.model.syntax import parse

# A name in a package of torch's, but for those that hold operations and their modules, draw random numbers, compare results,
# or steer torch. Packages are written small: `torch.Tensor.add` is an operation.
_FEATURE = re.compile(
    r"torch\.(?!nn\.|linalg\.|special\.|fft\.|ops\.|random\.|testing\.|backends\."
    r"|compiler\.(?:compile|cudagraph_\w+|disable|is_\w+|reset|set_\w+)$)[a-z]\w*\.[\w.]+|torch\.vmap"
)
# What Dynamo has of an operation where it is a value (`op = torch.Tensor.__mul__`), not called there.
_METHOD = re.compile(r"torch\.Tensor\.\w+")
# Where a function calls them, or they are compiled themselves. The constructors of old are given sizes or data.
_MODELLED = re.compile(
    r"(?:functools|heapq|itertools|numpy)\.[\w.]+|random\.(?!seed)\w+|torch\.(?:set|use)_\w+|torch\.\w*Tensor"
)
# Wherever it is made: Dynamo keeps a model of it, also of one that a module or a global variable holds.
_CONTAINER = re.compile(r"collections\.(?!abc\b)[\w.]+")
# A method by which Python asks a class for what an expression means. Nearly every class has the first.
_SPECIAL = re.compile(r"__(?!init__)\w+__")
_BUILT_IN = frozenset({"bytes", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple"})


def features_of(text: str) -> tuple[str, ...]:
    """Their full names, each once, in the order of the text; nothing of a text that cannot be parsed."""
    try:
        nodes = list(ast.walk(parse(text)))
    except (SyntaxError, ValueError):
        return ()
    known = dict(_imported(nodes))
    inner = {node.value for node in nodes if isinstance(node, ast.Attribute)}
    whole = [node for node in nodes if isinstance(node, ast.Attribute | ast.Name) and node not in inner]
    whole.sort(key=lambda node: (node.lineno, node.col_offset))
    compiled = _compiled(nodes)
    called, kept = _called_in_functions(nodes) | compiled, _kept(nodes) | compiled

    def tells(name: str, node: ast.AST) -> bool:
        modelled = node in called and _MODELLED.fullmatch(name)
        used = _FEATURE.fullmatch(name) or _CONTAINER.fullmatch(name) or modelled
        return bool(used or (node in kept and _METHOD.fullmatch(name)))

    named = [(_full(ast.unparse(node), known), node) for node in whole]
    language = [*_made_anew(nodes), *_played(nodes)]
    return tuple(dict.fromkeys([*language, *(name for name, node in named if tells(name, node))]))


def _made_anew(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """What Python's own types do is known to Dynamo, and not what a class makes of it."""
    bases = [ast.unparse(base) for node in nodes if isinstance(node, ast.ClassDef) for base in node.bases]
    yield from (f"a subclass of {base}" for base in bases if base in _BUILT_IN)


def _played(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """What Dynamo does not run but plays, step by step as CPython would."""
    if any(isinstance(node, ast.YieldFrom) for node in nodes):
        yield "yield from"
    elif any(isinstance(node, ast.Yield) for node in nodes):
        yield "a generator"
    for each in (node for node in nodes if isinstance(node, ast.ClassDef)):
        if any(ast.unparse(base) == "type" for base in each.bases):
            yield "a metaclass"
        yield from (
            method.name
            for method in each.body
            if isinstance(method, ast.FunctionDef) and _SPECIAL.fullmatch(method.name)
        )


def _called_in_functions(nodes: Sequence[ast.AST]) -> set[ast.AST]:
    """What is called there, not in the data that a text makes for them."""
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.Lambda)]
    return {node.func for each in functions for node in ast.walk(each) if isinstance(node, ast.Call)}


def _kept(nodes: Sequence[ast.AST]) -> set[ast.AST]:
    """What is given a name, or stands in a table."""
    bound = {node.value for node in nodes if isinstance(node, ast.Assign)}
    tables = [node for node in nodes if isinstance(node, ast.Dict | ast.List | ast.Tuple)]
    return bound | {item for table in tables for item in ast.iter_child_nodes(table)}


def _compiled(nodes: Sequence[ast.AST]) -> set[ast.AST]:
    """What torch.compile is given itself: `torch.compile(np.cumsum)`."""
    calls = [node for node in nodes if isinstance(node, ast.Call) and node.args]
    return {call.args[0] for call in calls if ast.unparse(call.func) == "torch.compile"}


def _imported(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, str]]:
    """What each imported name stands for."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                package = alias.name.partition(".")[0]
                yield (alias.asname, alias.name) if alias.asname else (package, package)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)


def _full(name: str, known: dict[str, str]) -> str:
    first, dot, rest = name.partition(".")
    return f"{known[first]}{dot}{rest}" if first in known else ""
