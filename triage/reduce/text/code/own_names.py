"""What is known of a script's own names: which stand for one definition, and which calls fit it. Silent where it is not sure."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from triage.reduce.text.code.compile_calls import compiled_name, is_torch_compile
from triage.reduce.text.code.nodes import all_arguments, string_of
from triage.reduce.text.code.script import Definition, Function, Script

MODULE = ("torch.nn.Module", "nn.Module", "Module")  # as programs spell it
_GIVES_ITSELF = frozenset({"bfloat16", "cpu", "double", "eval", "float", "half", "to", "train"})


def times_bound(script: Script) -> Counter[str]:
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


def known_definitions(script: Script) -> dict[str, Definition]:
    """Names that stand for one definition and nothing else, compiled or not."""
    times = times_bound(script)
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
    made = known.get(compiled_name(value))
    return made if isinstance(made, Function) else None


def _methods(kind: ast.ClassDef) -> dict[str, Function]:
    return {item.name: item for item in kind.body if isinstance(item, Function) and not item.decorator_list}


def fits_known(call: ast.Call, known: dict[str, Definition]) -> bool:
    """False where what is called is known, and does not take these arguments."""
    callee = call.func
    made = known.get(callee.id) if isinstance(callee, ast.Name) else _compiled(callee, known)
    if isinstance(made, Function):
        return takes(made.args, call)
    if isinstance(made, ast.ClassDef):
        return _makes(made, call)
    if isinstance(callee, ast.Attribute) and isinstance(callee.value, ast.Name):
        kind = known.get(callee.value.id)
        method = _methods(kind).get(callee.attr) if isinstance(kind, ast.ClassDef) else None
        return method is None or takes(method.args, call)
    if isinstance(callee, ast.Attribute) and isinstance(callee.value, ast.Call):
        method = _methods(kind).get(callee.attr) if (kind := _instance(callee.value, known)) is not None else None
        return method is None or takes(method.args, call, bound=1)
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
    return bool(init.decorator_list) or takes(init.args, call, bound=1)


def _assigns(kind: ast.ClassDef) -> bool:
    """Whether a class holds more than functions: `__call__ = forward`."""
    return not all(isinstance(item, Function | ast.Pass | ast.Expr) for item in kind.body)


class Methods:
    """The methods of the script's classes that are called on `self`, and that nothing in the script replaces."""

    def __init__(self, script: Script, times: Counter[str]) -> None:
        self._script, self._times = script, times
        self._set = {target.attr for target, _ in _kept(script) if isinstance(target, ast.Attribute)}
        self._set |= {
            str(node.value) for node in script.nodes if isinstance(node, ast.Constant)
        }  # setattr(x, "name", f)

    def fits(self, call: ast.Call) -> bool:
        """False where a method of the class that it stands in is called with other arguments than it takes."""
        callee = call.func
        if not (isinstance(callee, ast.Attribute) and ast.unparse(callee.value) == "self"):
            return True
        if self._times[callee.attr] != 1 or callee.attr in self._set:
            return True
        kind = next((above for above in self._script.above(call) if isinstance(above, ast.ClassDef)), None)
        method = _methods(kind).get(callee.attr) if kind is not None else None
        return method is None or takes(method.args, call, bound=1)


def is_module(kind: ast.ClassDef) -> bool:
    """Whether `torch.nn.Module` is its only base."""
    return len(kind.bases) == 1 and ast.unparse(kind.bases[0]) in MODULE


class Modules:
    """The script's own `torch.nn.Module` classes, and the names and attributes that hold one of them and nothing else."""

    def __init__(self, script: Script, times: Counter[str]) -> None:
        self._kinds = {
            node.name: node
            for node in script.tree.body
            if isinstance(node, ast.ClassDef) and times[node.name] == 1 and not node.decorator_list
            if is_module(node) and not node.keywords and not _assigns(node)
            if "__call__" not in _methods(node)
        }
        stores: dict[str, list[ast.expr | None]] = {}
        for target, value in _kept(script) if self._kinds else ():
            stores.setdefault(ast.unparse(target).rpartition(".")[2], []).append(value)
        self._held: dict[str, ast.ClassDef] = {}
        for _ in range(2):  # `net = Net()`, then `fast = torch.compile(net)`
            for name, values in stores.items():
                kind = self._made(values[0]) if len(values) == 1 and times[name] <= 1 else None
                if kind is not None:
                    self._held[name] = kind

    def fits(self, call: ast.Call) -> bool:
        """False where a call makes or calls one of these with other arguments than it takes."""
        made = self._kinds.get(call.func.id) if isinstance(call.func, ast.Name) else None
        found = _methods(made).get("__init__") if made is not None else self.forward(call)
        return found is None or takes(found.args, call, bound=1)

    def forward(self, call: ast.Call) -> Function | None:
        """What a call of one of these runs."""
        callee = call.func
        if isinstance(callee, ast.Attribute) and ast.unparse(callee.value) == "self":
            kind = self._held.get(callee.attr)
        else:
            kind = self.kind(callee) if isinstance(callee, ast.Name | ast.Call) else None
        return _methods(kind).get("forward") if kind is not None else None

    def kind(self, value: ast.expr) -> ast.ClassDef | None:
        """The class that a name or a call surely gives an object of."""
        return self._made(value)

    def _made(self, value: ast.expr | None) -> ast.ClassDef | None:
        """The class of `A(1)`, `A(1).eval()`, `torch.compile(a)`; None where it is not known."""
        if isinstance(value, ast.Name):
            return self._held.get(value.id)
        if not isinstance(value, ast.Call):
            return None
        if isinstance(value.func, ast.Name):
            return self._kinds.get(value.func.id)
        if is_torch_compile(value.func) and value.args:
            return self._made(value.args[0])
        same = isinstance(value.func, ast.Attribute) and value.func.attr in _GIVES_ITSELF
        return self._made(value.func.value) if same else None  # type: ignore[attr-defined]


def _kept(script: Script) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Names and attributes that are set, with what they are set to; None where one would have to look closer."""
    for node in script.nodes:
        if not isinstance(node, ast.Name | ast.Attribute) or isinstance(node.ctx, ast.Load):
            continue
        above = script.parents[node]
        beyond = script.parents.get(above)
        if isinstance(above, ast.Assign) and len(above.targets) == 1:
            yield node, above.value
        elif isinstance(above, ast.Tuple) and isinstance(beyond, ast.Assign) and isinstance(beyond.value, ast.Tuple):
            same = len(beyond.value.elts) == len(above.elts)
            yield node, beyond.value.elts[above.elts.index(node)] if same else None
        else:
            yield node, None


def spreads(call: ast.Call) -> bool:
    """Whether it gives a list or a dictionary as its arguments, so that nobody can count them."""
    return any(isinstance(item, ast.Starred) for item in call.args) or any(item.arg is None for item in call.keywords)


def takes(given: ast.arguments, call: ast.Call, bound: int = 0) -> bool:
    """Whether a call fits these parameters, the first `bound` of which are given already."""
    if spreads(call):
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


DEFINES_OPERATOR = ("custom_op", "triton_op")
_REGISTERS = ("register_fake", "register_kernel", "impl_abstract")


def registered_with(script: Script, node: Function) -> list[Function]:
    """The function of a custom operator, then those registered for it that have as many parameters; `[node]` for any other."""
    for operator in script.nodes:
        keys = _keys(operator, DEFINES_OPERATOR)
        if not keys or not isinstance(operator, Function):
            continue
        count = len(all_arguments(operator.args))
        others = [
            other
            for other in script.nodes
            if isinstance(other, Function)
            and _keys(other, _REGISTERS) & keys
            and len(all_arguments(other.args)) == count
        ]
        if node in (operator, *others):
            return [operator, *others]
    return [node]


def _keys(node: ast.AST, marks: tuple[str, ...]) -> set[str]:
    """What names the operator of a decorator like these: its own name, or that of its function."""
    found = set[str]()
    for mark in node.decorator_list if isinstance(node, Function) else ():
        named, given = (mark.func, mark.args[:1]) if isinstance(mark, ast.Call) else (mark, [])
        if ast.unparse(named).rpartition(".")[2] not in marks:
            continue
        found |= {text for item in given if (text := string_of(item)) is not None}
        if marks is DEFINES_OPERATOR and isinstance(node, Function):
            found.add(node.name)
        elif marks is _REGISTERS:
            owner = [named.value] if isinstance(named, ast.Attribute) else []
            found |= {item.id for item in (*owner, *given) if isinstance(item, ast.Name)}
    return found
