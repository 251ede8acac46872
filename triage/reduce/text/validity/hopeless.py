"""What raises wherever it is reached, seen without a run: rules of `validity`, which tells what the program itself may do.

Most candidates that bring nothing end so before anything is compiled: an argument less than a function takes, an operator
without its schema, a pair unpacked from what returns none. Each rule is silent where it cannot be sure: names that are bound
more than once, definitions with decorators, classes with bases.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from triage.reduce.text.code.nodes import own_nodes
from triage.reduce.text.code.own_names import (
    Methods,
    Modules,
    fits_known,
    is_module,
    known_definitions,
    spreads,
    times_bound,
)
from triage.reduce.text.code.script import Definition, Function, Script

_LEAST_ARGUMENTS = {
    1: "range len iter next enumerate isinstance getattr sum min max abs sorted map "
    "torch.ones torch.zeros torch.empty torch.full torch.rand torch.randn torch.randint torch.arange torch.tensor "
    "torch.ones_like torch.zeros_like torch.empty_like torch.full_like torch.rand_like torch.randn_like "
    "torch.nn.LayerNorm torch.nn.BatchNorm1d torch.nn.BatchNorm2d torch.manual_seed torch.cat torch.stack",
    2: "torch.nn.Linear torch.nn.Embedding torch.testing.assert_close torch.allclose torch.equal torch.full torch.where "
    "isinstance getattr map",
    3: "torch.nn.Conv1d torch.nn.Conv2d torch.nn.Conv3d torch.nn.Bilinear",
}  # a function's own number is the largest it stands at
# Functions of torch take something, but for those that ask it for a state, switch one, or stand above a definition.
_FUNCTION = re.compile(r"torch\.(?:(?:func|linalg|fft|special|nn\.functional)\.)?[a-z]\w*")
_NEEDS_NOTHING = re.compile(r"torch\.(?:compile|finfo|(?:get|is|are|has)_\w+|\w*(?:_grad|_mode|seed))")
_MOST_NEEDED = max(_LEAST_ARGUMENTS)
_LEAST = {name: least for least, names in _LEAST_ARGUMENTS.items() for name in names.split()}
_NO_SEQUENCES = frozenset({"range", "len", "print", "int", "float", "list", "tuple", "dict", "object", "type", "zip"})
_ITERATED = ("__iter__", "__getitem__")
_DEEP = 3  # functions that return what functions return


def misfit_calls(script: Script) -> Iterator[str]:
    """Calls of own functions and modules that do not fit their parameters, and of some others that need more than they have."""
    known, times = known_definitions(script), times_bound(script)
    modules, methods = Modules(script, times), Methods(script, times)
    for call in script.calls:
        given = len(call.args) + len(call.keywords)
        name = ast.unparse(call.func) if given < _MOST_NEEDED else ""
        if given < _least(name) and times[name.split(".")[0]] == name.startswith("torch.") and not spreads(call):
            yield f"{name}() is given {given or 'nothing'}"
        elif not (fits_known(call, known) and modules.fits(call) and methods.fits(call)):
            yield f"{ast.unparse(call.func)} does not take these arguments"


def _least(name: str) -> int:
    """How many arguments it needs at least, as far as that is known."""
    takes_some = _FUNCTION.fullmatch(name) and not _NEEDS_NOTHING.fullmatch(name)
    return _LEAST.get(name, 1 if takes_some else 0)


def bare_modules(script: Script) -> Iterator[str]:
    """Modules whose `__init__` does not call torch's: they lack what torch looks up when they are compiled or called."""
    for node in script.nodes:
        if isinstance(node, ast.ClassDef) and is_module(node):
            for item in node.body:
                if isinstance(item, Function) and item.name == "__init__" and not _calls_init(item):
                    yield f"{node.name} is no module before torch's __init__"


def _calls_init(function: Function) -> bool:
    called = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    return any(isinstance(func, ast.Attribute) and func.attr == "__init__" for func in called)


def unset_attributes(script: Script) -> Iterator[str]:
    """Attributes that a method reads of its object, and that nothing sets: by a statement, a definition, or a name in a string.

    What a base outside the script has is one of them as well, so the program's own are to be allowed.
    """
    read = dict[str, None]()
    there: set[str] = set()
    for node in script.nodes:
        if isinstance(node, ast.Attribute):
            if isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name) and node.value.id == "self":
                read[node.attr] = None
            elif not isinstance(node.ctx, ast.Load):
                there.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            there.add(node.value)
        elif isinstance(node, Definition):
            there.add(node.name)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            there.add(node.id)  # of a class, maybe
        elif isinstance(node, ast.keyword) and node.arg is not None:
            there.add(node.arg)  # of what fills a namespace
    for name in read:
        if name not in there and not name.startswith("__"):
            yield f"nothing sets self.{name}"


def bad_unpacking(script: Script) -> Iterator[str]:
    """Tuples and loops over what cannot be iterated over, or has another number of elements."""
    known, times = known_definitions(script), times_bound(script)
    modules = Modules(script, times)
    for node in script.nodes:
        if isinstance(node, ast.For):
            values, count = node.iter, None
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple | ast.List):
            targets = node.targets[0].elts
            if any(isinstance(item, ast.Starred) for item in targets):
                continue
            values, count = node.value, len(targets)
        else:
            continue
        if _never_gives(values, count, known, times, modules):
            yield f"{ast.unparse(values)} does not give {'elements' if count is None else f'{count} elements'}"


# -- what is iterated over ----------------------------------------------------------------------------------------------


def _never_gives(
    value: ast.expr | None,
    count: int | None,
    known: dict[str, Definition],
    times: Counter[str],
    modules: Modules,
    depth: int = 0,
) -> bool:
    """Whether a value surely has not so many elements, or (`count` is None) surely none that one could iterate over."""
    if value is None or isinstance(value, ast.Lambda):
        return True
    if isinstance(value, ast.Constant):
        return not isinstance(value.value, str | bytes) or (count is not None and len(value.value) != count)
    if isinstance(value, ast.Name | ast.Call) and (kind := modules.kind(value)) is not None:
        return not any(isinstance(item, Function) and item.name in _ITERATED for item in kind.body)
    if isinstance(value, ast.Name):
        own = isinstance(known.get(value.id), Function)
        return own or (value.id in _NO_SEQUENCES and not times[value.id])
    if isinstance(value, ast.List | ast.Tuple):
        return (
            count is not None and len(value.elts) != count and not any(isinstance(i, ast.Starred) for i in value.elts)
        )
    if not isinstance(value, ast.Call) or depth > _DEEP:
        return False
    made = known.get(value.func.id) if isinstance(value.func, ast.Name) else None
    made = made or modules.forward(value)
    if not isinstance(made, ast.FunctionDef):
        return False
    inner = list(own_nodes(made))
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in inner):
        return False
    returned = [node.value for node in inner if isinstance(node, ast.Return)]
    # A local name may hide the definition of the same name, but such a name is bound twice and so not known.
    return all(_never_gives(item, count, known, times, modules, depth + 1) for item in returned)
