"""What the source of a custom operator tells: whether a kernel may write into its arguments, whether a registration fits.

An operator may say `mutates_args=()` and write into its input all the same; then a second call on the same tensor computes
something else, with any backend. So what a registration says is believed only where its functions are seen not to write:
in-place methods, `out=`, stores into elements, functions that are not known. New tensors may be written to. Pure functions
over text: names are resolved by their spelling.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from triage.model.effects import VIEWS
from triage.model.syntax import called_name, first_name, parse
from triage.model.text import words

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
# Calls that may give back the storage of what they were called on or with.
_VIEWS = VIEWS | words(
    "asarray as_tensor astype cpu cuda data dequantize double float from_dlpack from_numpy half numpy requires_grad_ type_as"
)
# What holds no storage.
_FACTS = frozenset({"shape", "dtype", "device", "ndim", "layout", "is_cuda", "requires_grad", "itemsize", "nbytes"})
_NUMBERS = frozenset({"len", "int", "float", "bool", "range", "sum", "abs", "isinstance", "round", "str", "repr"})
_BUILTINS = _NUMBERS | frozenset(
    {"all", "any", "dict", "enumerate", "getattr", "hasattr", "id", "list", "max", "min", "print", "reversed", "set",
     "sorted", "tuple", "type", "zip"}
)  # fmt: skip
_WRITE = frozenset({"copyto", "put", "putmask", "place", "fill", "put_along_axis", "memmove", "data_ptr"})
_KNOWN_PACKAGES = frozenset({"torch", "numpy", "math", "operator", "functools", "itertools", "typing"})
_REGISTERING = frozenset({"register_fake", "impl_abstract", "register_kernel", "impl"})
_DEFINING = frozenset({"custom_op", "triton_op"})


def may_write(statements: Sequence[ast.stmt]) -> bool:
    """Whether a function among these statements, or in them, may write into one of its arguments."""
    nodes = [node for statement in statements for node in ast.walk(statement)]
    functions = [node for node in nodes if isinstance(node, Function)]
    own = {node.name for node in functions if not isinstance(node, ast.Lambda)}
    foreign = {
        alias.asname or alias.name.split(".")[0]
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if (getattr(node, "module", None) or alias.name).split(".")[0] not in _KNOWN_PACKAGES
    }
    known = _BUILTINS | own | {name for node in nodes for name in _imported(node)} - foreign
    return any(_writes(function, _Names(known, foreign)) for function in functions)


def misfit(text: str) -> str:
    """The operator of which a kernel or fake in this source does not take the arguments; empty where all do."""
    functions = [node for node in ast.walk(parse(text)) if isinstance(node, ast.FunctionDef)]
    counts: dict[str, int] = {}
    for function in functions:
        for name in _operators(function, _DEFINING):
            counts[name] = counts[function.name] = len(_parameters(function))
    for function in functions:
        for name in _operators(function, _REGISTERING):
            if name in counts and not _takes(function, counts[name]):
                return name
    return ""


def is_registered(function: ast.FunctionDef) -> bool:
    """Whether a decorator tells torch of it, for an operator: a fake is called while something is compiled, and not else."""
    return any(True for _ in _operators(function, _REGISTERING))


def broken_contracts(tree: ast.AST) -> Iterator[str]:
    """Kernels and fakes that return nothing though their operator returns something, or that return what they were given.

    The schema of an operator says what it returns, and that it is new memory; nothing checks that in eager, and what a
    compiler makes of it is no bug of the compiler's.
    """
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    silent = {
        name
        for function in functions
        for operator in _operators(function, _DEFINING)
        for name in (operator, function.name)
        if function.returns is not None and ast.unparse(function.returns) == "None"
    }
    for function in functions:
        for operator in _operators(function, _DEFINING | _REGISTERING):
            returned = [node.value for node in _own_nodes(function) if isinstance(node, ast.Return)]
            values = [value for value in returned if value is not None and ast.unparse(value) != "None"]
            if not values and operator not in silent and not isinstance(function.body[-1], ast.Raise):
                yield f"a kernel of {operator} returns nothing"
            elif any(_shares(value, _given_names(function)) for value in values):
                yield f"a kernel of {operator} returns what it was given"


def _given_names(function: Function) -> set[str]:
    """Names for what a function was given, or for views of it."""
    given = set(_parameters(function))
    nodes = list(ast.walk(function))
    while True:
        more = {name for node in nodes for name in _aliases(node, given)} - given
        if not more:
            return given
        given |= more


def _own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """What stands in a function, but not in functions within it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, Function):
            waiting += ast.iter_child_nodes(node)


@dataclass(frozen=True)
class _Names:
    """Functions that are known, or looked at by themselves, and names of packages nothing is known of."""

    known: frozenset[str] | set[str]
    foreign: set[str]


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.split(".")[0] for alias in node.names)


# -- writing ----------------------------------------------------------------------------------------------------------


def _writes(function: Function, names: _Names) -> bool:
    given = _given_names(function)
    return any(_is_write(node, given, names) for node in ast.walk(function))


def _aliases(node: ast.AST, given: set[str]) -> Iterator[str]:
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr | ast.For | ast.comprehension | ast.withitem):
        value = getattr(node, "value", None) or getattr(node, "iter", None) or getattr(node, "context_expr", None)
        if value is not None and _shares(value, given):
            targets = getattr(node, "targets", None) or [
                getattr(node, "target", None),
                getattr(node, "optional_vars", None),
            ]
            for target in filter(None, targets):
                yield from (item.id for item in ast.walk(target) if isinstance(item, ast.Name))


def _shares(node: ast.AST, given: set[str]) -> bool:
    """Whether a value may have storage of what was given."""
    if isinstance(node, ast.Name):
        return node.id in given
    if isinstance(node, ast.Attribute) and node.attr in _FACTS:
        return False
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in _NUMBERS:
        return False
    if isinstance(node, ast.Call):
        parts = [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
        known = isinstance(node.func, ast.Attribute) and node.func.attr not in _VIEWS
        inside = isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_")  # gives back what it changed
        return (not known or inside) and any(_shares(part, given) for part in parts)
    if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare | ast.Constant | ast.Lambda):
        return False
    return any(_shares(child, given) for child in ast.iter_child_nodes(node))


def _is_write(node: ast.AST, given: set[str], names: _Names) -> bool:
    if isinstance(node, ast.AugAssign):
        return _shares(node.target, given)
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
        return _shares(node.value, given)
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return node.attr in ("data", "real", "imag") and _shares(node.value, given)
    if isinstance(node, ast.Call):
        return _call_writes(node, given, names)
    return False


def _call_writes(call: ast.Call, given: set[str], names: _Names) -> bool:
    touched = [*call.args, *(keyword.value for keyword in call.keywords)]
    into = [keyword.value for keyword in call.keywords if keyword.arg in ("out", "inplace")]
    if any(_shares(item, given) or isinstance(item, ast.Constant) for item in into):
        return True
    name = called_name(call)
    if isinstance(call.func, ast.Attribute):
        receiver = call.func.value
        # A tensor's method changes the tensor, a module's function what it is given.
        if first_name(receiver) not in names.known:
            touched = [receiver, *touched[: 0 if name.endswith("_") else None]]
    if not any(_shares(item, given) for item in touched):
        return False
    if name in _WRITE or (name.endswith("_") and not name.endswith("__") and name != "requires_grad_"):
        return True
    return not _is_known(call.func, names)


def _is_known(function: ast.expr, names: _Names) -> bool:
    """A method of a tensor, a function of a known module, a builtin, or one that is looked at by itself."""
    if isinstance(function, ast.Name):
        return function.id in names.known
    if isinstance(function, ast.Attribute):
        return first_name(function) not in names.foreign
    return False


# -- fitting ----------------------------------------------------------------------------------------------------------


def _operators(function: ast.FunctionDef, kinds: frozenset[str]) -> Iterator[str]:
    """The operator that a decorator of these kinds names: `ns::name`, or the function that defines it."""
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if getattr(called, "attr", getattr(called, "id", "")) not in kinds:
            continue
        texts = [item.value for item in ast.walk(decorator) if isinstance(item, ast.Constant)]
        named = [text for text in texts if isinstance(text, str) and "::" in text]
        if named:
            yield named[0]
        elif isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            yield called.value.id


def _parameters(function: Function) -> list[str]:
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return [item.arg for item in (*named, given.vararg, given.kwarg) if item is not None]


def _takes(function: ast.FunctionDef, count: int) -> bool:
    given = function.args
    named = len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs)
    optional = len(given.defaults) + len(list(filter(None, given.kw_defaults)))
    return (named - optional <= count and given.vararg is not None) or named - optional <= count <= named
