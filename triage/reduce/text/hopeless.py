"""What raises wherever it is reached, seen without a run: rules of `validity`, which tells what the program itself may do.

Most candidates that bring nothing end so before anything is compiled: an argument less than a function takes, an operator
without its schema, a pair unpacked from what returns none. Each rule is silent where it cannot be sure: names that are bound
more than once, definitions with decorators, classes with bases.
"""

from __future__ import annotations

import ast
import bisect
from collections import Counter
from collections.abc import Iterator

from triage.model.effects import OWN_NAMESPACES
from triage.reduce.text.names import KNOWN, Occurrences
from triage.reduce.text.script import Definition, Function, Script
from triage.reduce.text.shape import is_torch_compile

_NEEDS_ARGUMENTS = frozenset(
    (  # noqa: SIM905 - a table of words
        "range len iter next enumerate isinstance getattr sum min max abs sorted map "
        "torch.ones torch.zeros torch.empty torch.full torch.rand torch.randn torch.randint torch.arange torch.tensor "
        "torch.ones_like torch.zeros_like torch.empty_like torch.full_like torch.rand_like torch.randn_like "
        "torch.nn.Linear torch.nn.LayerNorm torch.nn.Embedding torch.manual_seed torch.cat torch.stack"
    ).split()
)
_NO_SEQUENCES = frozenset({"range", "len", "print", "int", "float", "list", "tuple", "dict", "object", "type", "zip"})
_DEFINING = ("custom_op", "triton_op")
# No string of a script need say them. A docstring may, and would be needed then.
_OF_TORCH = frozenset(
    {*OWN_NAMESPACES, "prim", "inductor", "c10d", "mkldnn", "mkl", "quantized", "torchvision", "torchaudio"}
)
_DEEP = 3  # functions that return what functions return


def misfit_calls(script: Script) -> Iterator[str]:
    """Calls of the script's own functions that do not fit their parameters, and some that need an argument and have none."""
    known, times = _known(script), _times_bound(script)
    for call in script.nodes:
        if not isinstance(call, ast.Call):
            continue
        name = ast.unparse(call.func) if not call.args and not call.keywords else ""
        if name in _NEEDS_ARGUMENTS and times[name.split(".")[0]] == name.startswith("torch."):
            yield f"{name}() is given nothing"
        elif not _fits_known(call, known):
            yield f"{ast.unparse(call.func)} does not take these arguments"


def missing_attributes(script: Script) -> Iterator[str]:
    """Attributes of plain functions that no function has: `f.register_fake` once f is no operator any more."""
    set_somewhere = {n.attr for n in script.nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}
    if any(isinstance(node, ast.Name) and node.id in ("setattr", "update_wrapper", "wraps") for node in script.nodes):
        return
    known = _known(script)
    for node in script.nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            made = known.get(node.value.id)
            plain = isinstance(made, Function) and not made.decorator_list and made.name == node.value.id
            if plain and not hasattr(_known, node.attr) and node.attr not in set_somewhere:
                yield f"the function {node.value.id} has no {node.attr}"


def bad_unpacking(script: Script) -> Iterator[str]:
    """Tuples and loops over what cannot be iterated over, or has another number of elements."""
    known, times = _known(script), _times_bound(script)
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
        if _never_gives(values, count, known, times):
            yield f"{ast.unparse(values)} does not give {'elements' if count is None else f'{count} elements'}"


def early_reads(script: Script) -> Iterator[str]:
    """Names that statements of the module read above all that bind them. Until a builtin is bound it is what Python has."""
    seen = Occurrences(script)
    starred = any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in script.nodes)
    elsewhere = {name for node in script.nodes if isinstance(node, ast.Global) for name in node.names}
    ends = [script.lines_span(statement)[1] for statement in script.tree.body]

    def number(place: int) -> int:
        return bisect.bisect_right(ends, place)

    first: dict[str, int] = {}
    for item in seen.module.found:
        if item.binds:
            first[item.name] = min(number(item.start), first.get(item.name, len(ends)))
    for item in () if starred else seen.module.found:
        if item.name in KNOWN or not item.placed:
            continue
        if not item.binds and item.name not in elsewhere and number(item.start) < first.get(item.name, -1):
            yield f"{item.name} is read before anything defines it"


def unfit_operators(script: Script) -> Iterator[str]:
    """Registrations without what `torch.library` asks for: a name with its namespace, `mutates_args`, types for a schema."""
    modules = {
        alias.asname or alias.name for node in script.nodes if isinstance(node, ast.Import) for alias in node.names
    }
    for function in script.nodes:
        for mark in function.decorator_list if isinstance(function, Function) else ():
            told = ast.unparse(mark.func if isinstance(mark, ast.Call) else mark)
            if told not in (*_DEFINING, *(f"torch.library.{name}" for name in _DEFINING)):
                continue
            if not isinstance(mark, ast.Call) or not _names_operator(mark):
                yield f"{told} is not given a name and mutates_args"
            elif isinstance(function, Function) and not _has_schema(mark, function, modules):
                yield f"the operator {function.name} has no schema"


def unknown_operators(script: Script) -> Iterator[str]:
    """`torch.ops.ns.name` where no string of the script says ns and name, as all that registers an operator does."""
    texts = [node.value for node in script.nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    found = dict[str, None]()
    for node in script.nodes if "torch.ops." in script.text else ():
        if isinstance(node, ast.Attribute) and ast.unparse(node).startswith("torch.ops."):
            parts = ast.unparse(node).split(".")
            if len(parts) != 4 or parts[2] in _OF_TORCH:
                continue
            if not all(any(part in text for text in texts) for part in parts[2:]):
                found[".".join(parts)] = None
    for name in found:
        yield f"nothing registers {name}"


# -- what is known of a script's own names ------------------------------------------------------------------------------


def _times_bound(script: Script) -> Counter[str]:
    """How often each name is bound, in whatever scope."""
    times: Counter[str] = Counter()
    for node in script.nodes:
        if isinstance(node, ast.Name):
            times[node.id] += not isinstance(node.ctx, ast.Load)
        elif isinstance(node, ast.arg):
            times[node.arg] += 1
        elif isinstance(node, ast.alias):
            times[(node.asname or node.name).split(".")[0]] += 1
        elif isinstance(node, Definition | ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            times[node.name or ""] += 1
        elif isinstance(node, ast.MatchMapping):
            times[node.rest or ""] += 1
    return times


def _known(script: Script) -> dict[str, Definition]:
    """Names that stand for one definition and nothing else, compiled or not."""
    times = _times_bound(script)
    found: dict[str, Definition] = {}
    for node in script.nodes:
        if (
            isinstance(node, Definition)
            and times[node.name] == 1
            and not isinstance(script.parents[node], ast.ClassDef)
        ):
            marks = [mark.func if isinstance(mark, ast.Call) else mark for mark in node.decorator_list]
            simple = not node.bases and not node.keywords if isinstance(node, ast.ClassDef) else True
            if simple and all(is_torch_compile(mark) for mark in marks):
                found[node.name] = node
    for node in script.nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name, made = node.targets[0].id, _compiled(node.value, found)
            if made is not None and times[name] == 1:
                found[name] = made
    return found


def _compiled(value: ast.AST, known: dict[str, Definition]) -> Definition | None:
    """What `torch.compile(f)` compiles."""
    if isinstance(value, ast.Call) and is_torch_compile(value.func) and value.args:
        made = known.get(value.args[0].id) if isinstance(value.args[0], ast.Name) else None
        return made if isinstance(made, Function) else None
    return None


def _methods(kind: ast.ClassDef) -> dict[str, Function]:
    return {item.name: item for item in kind.body if isinstance(item, Function) and not item.decorator_list}


def _fits_known(call: ast.Call, known: dict[str, Definition]) -> bool:
    """False where what is called is known, and does not take these arguments."""
    callee = call.func
    made = known.get(callee.id) if isinstance(callee, ast.Name) else _compiled(callee, known)
    if isinstance(made, Function):
        return _takes(made.args, call)
    if isinstance(made, ast.ClassDef):
        return _makes(made, call)
    if isinstance(callee, ast.Attribute) and isinstance(callee.value, ast.Name):
        kind = known.get(callee.value.id)
        method = _methods(kind).get(callee.attr) if isinstance(kind, ast.ClassDef) else None
        return method is None or _takes(method.args, call)
    if isinstance(callee, ast.Attribute) and isinstance(callee.value, ast.Call):
        method = _methods(kind).get(callee.attr) if (kind := _instance(callee.value, known)) is not None else None
        return method is None or _takes(method.args, call, bound=1)
    if isinstance(callee, ast.Call) and (kind := _instance(callee, known)) is not None and not kind.decorator_list:
        return any(getattr(item, "name", "") == "__call__" for item in kind.body) or _assigns(kind)
    return True


def _instance(value: ast.Call, known: dict[str, Definition]) -> ast.ClassDef | None:
    """The class of `A()`."""
    kind = known.get(value.func.id) if isinstance(value.func, ast.Name) else None
    return kind if isinstance(kind, ast.ClassDef) else None


def _makes(kind: ast.ClassDef, call: ast.Call) -> bool:
    if any(getattr(item, "name", "") == "__new__" for item in kind.body) or _assigns(kind) or kind.decorator_list:
        return True
    init = next((item for item in kind.body if isinstance(item, Function) and item.name == "__init__"), None)
    if init is None:
        return not call.args and not call.keywords
    return bool(init.decorator_list) or _takes(init.args, call, bound=1)


def _assigns(kind: ast.ClassDef) -> bool:
    """Whether a class holds more than functions: `__call__ = forward`."""
    return not all(isinstance(item, Function | ast.Pass | ast.Expr) for item in kind.body)


def _takes(given: ast.arguments, call: ast.Call, bound: int = 0) -> bool:
    """Whether a call fits these parameters, the first `bound` of which are given already."""
    if any(isinstance(item, ast.Starred) for item in call.args) or any(item.arg is None for item in call.keywords):
        return True
    positional = [*given.posonlyargs, *given.args]
    if len(positional) < bound:
        return given.vararg is not None
    named = {str(item.arg) for item in call.keywords}
    count = bound + len(call.args)
    by_name = {item.arg for item in (*given.args, *given.kwonlyargs)}
    if (count > len(positional) and given.vararg is None) or (named - by_name and given.kwarg is None):
        return False
    needed = [item.arg for item in positional[count : len(positional) - len(given.defaults)]]
    pairs = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    needed += [item.arg for item, default in pairs if default is None]
    return set(needed) <= named and not named & {item.arg for item in positional[:count]} & by_name


# -- what is iterated over ----------------------------------------------------------------------------------------------


def _never_gives(
    value: ast.expr | None, count: int | None, known: dict[str, Definition], times: Counter[str], depth: int = 0
) -> bool:
    """Whether a value surely has not so many elements, or (`count` is None) surely none that one could iterate over."""
    if value is None or isinstance(value, ast.Lambda):
        return True
    if isinstance(value, ast.Constant):
        return not isinstance(value.value, str | bytes) or (count is not None and len(value.value) != count)
    if isinstance(value, ast.Name):
        own = isinstance(known.get(value.id), Function)
        return own or (value.id in _NO_SEQUENCES and not times[value.id])
    if isinstance(value, ast.List | ast.Tuple):
        return (
            count is not None and len(value.elts) != count and not any(isinstance(i, ast.Starred) for i in value.elts)
        )
    made = known.get(value.func.id) if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else None
    if not isinstance(made, ast.FunctionDef) or depth > _DEEP:
        return False
    inner = list(_own_nodes(made))
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in inner):
        return False
    returned = [node.value for node in inner if isinstance(node, ast.Return)]
    # A local name may hide the definition of the same name, but such a name is bound twice and so not known.
    return all(_never_gives(item, count, known, times, depth + 1) for item in returned)


def _own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """What stands in a function, but not in functions within it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Definition | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


# -- registrations ------------------------------------------------------------------------------------------------------


def _names_operator(mark: ast.Call) -> bool:
    """Whether a call of `custom_op` has what it cannot do without."""
    keywords = {item.arg for item in mark.keywords}
    if None in keywords or any(isinstance(item, ast.Starred) for item in mark.args):
        return True
    if not mark.args or "mutates_args" not in keywords:
        return False
    name = mark.args[0]
    return not isinstance(name, ast.Constant) or (isinstance(name.value, str) and "::" in name.value)


def _has_schema(mark: ast.Call, function: Function, modules: set[str]) -> bool:
    """Whether a schema is given, or can be inferred from the types."""
    if any(item.arg in ("schema", None) for item in mark.keywords):
        return True
    given = function.args
    types = [item.annotation for item in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    if given.vararg is not None or given.kwarg is not None or function.returns is None:
        return False
    return all(item is not None and not _is_no_type(item, modules) for item in (*types, function.returns))


def _is_no_type(annotation: ast.expr, modules: set[str]) -> bool:
    number = isinstance(annotation, ast.Constant) and not isinstance(annotation.value, str | None)
    return number or (isinstance(annotation, ast.Name) and annotation.id in modules)
