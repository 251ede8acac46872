"""What no person writes, and Python takes all the same: rules of `validity`, seen without a run."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

from triage.model.syntax import last_name
from triage.reduce.text.code.compile_calls import compiled_name
from triage.reduce.text.code.nodes import FUNCTIONS, bound_name, imported_modules, is_bare_constant
from triage.reduce.text.code.script import Definition, Function, Script, blocks_of

_LEAVES = (ast.Return, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await)
_EXITS = ("exit", "quit", "sys.exit", "os._exit")
_ENDS = ("StopIteration", "Exception", "BaseException")  # what takes the end of an iterator

_FILLS = ("append", "add", "extend", "insert", "setdefault", "discard")


def endless_loops(script: Script) -> Iterator[str]:
    """Loops that nothing ends: seen as `while True: pass`, left of a pass that rewrote a graph until nothing changed."""
    for node in script.nodes:
        if isinstance(node, ast.While) and _goes_on(node) and not _is_left(node):
            yield f"nothing ends `while {ast.unparse(node.test)}`"
        elif isinstance(node, ast.For) and _counts_on(node.iter) and not _is_left(node):
            yield f"nothing ends `for ... in {ast.unparse(node.iter)}`"


def unawaited(script: Script) -> Iterator[str]:
    """Calls of a coroutine function for nothing: its body never runs, so it passes uncompiled whatever stands there."""
    names = {node.name for node in script.nodes if isinstance(node, ast.AsyncFunctionDef) and not _yields(node)}
    made = [node for node in script.nodes if isinstance(node, ast.Assign) and compiled_name(node.value) in names]
    names |= {node.targets[0].id for node in made if isinstance(node.targets[0], ast.Name)}
    for node in script.nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            called = node.value.func
            if last_name(called) in names or compiled_name(called) in names:
                yield f"nobody awaits {ast.unparse(called)}()"


def called_modules(script: Script) -> Iterator[str]:
    """Modules called as if they were functions: seen as `asyncio(self)`, in a body that is traced and never runs."""
    modules = set(map(bound_name, imported_modules(script.nodes)))
    stored = {node.id for node in script.nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    stored |= {node.arg for node in script.nodes if isinstance(node, ast.arg)}
    for node in script.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in modules - stored:
            yield f"the module {node.func.id} is called"


def doubled_names(script: Script) -> Iterator[str]:
    """Functions and classes of one block that have one name: the reader takes the first, Python the last."""
    for node in script.nodes:
        for block in blocks_of(node):
            seen: set[str] = set()
            for item in block:
                if isinstance(item, Definition) and not item.decorator_list:
                    if item.name in seen:
                        yield f"two definitions of {item.name}"
                    seen.add(item.name)


def asks_nothing(script: Script) -> Iterator[str]:
    """Conditions that are a name of the module's own, which always holds: `if __name__:` is what is left of a guard."""
    for node in script.nodes:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id in ("__name__", "__file__"):
            yield f"`if {node.test.id}:` asks nothing"


def doubtful_syntax(script: Script) -> Iterator[str]:
    """What Python itself warns of: `x is 1`, `assert (x, "...")`, `1()`, an escape that is none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            compile(script.text, "repro.py", "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return
    for warning in caught:
        yield str(warning.message)


# -- loops ------------------------------------------------------------------------------------------------------------


def _goes_on(loop: ast.While) -> bool:
    """Whether nothing in a loop can change its test."""
    if isinstance(loop.test, ast.Constant):
        return bool(loop.test.value)
    asked = list(ast.walk(loop.test))
    lengths = [node.func for node in asked if isinstance(node, ast.Call) and ast.unparse(node.func) == "len"]
    calls = sum(isinstance(node, ast.Call | ast.Await | ast.NamedExpr) for node in asked)
    if calls > len(lengths):
        return False
    # A name that the loop so much as mentions may stand for something that changes.
    read = _things(loop.test) - {"len"}
    touched = {thing for statement in loop.body for thing in _things(statement)}
    if any(_overlap(thing, other) for thing in read for other in touched):
        return False
    inside = [node for statement in loop.body for node in ast.walk(statement)]
    may_change = any(isinstance(node, ast.Call) and not _only_fills(node) for node in inside)
    looks_inside = bool(lengths) or any(isinstance(node, ast.Attribute | ast.Subscript) for node in asked)
    return not (may_change and looks_inside)


def _things(node: ast.AST) -> set[str]:
    """The names that are mentioned, each with one attribute where that is read of it: `x`, `self.seen`."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return {f"{node.value.id}.{node.attr}"}
    if isinstance(node, ast.Name):
        return {node.id}
    return {thing for child in ast.iter_child_nodes(node) for thing in _things(child)}


def _overlap(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


def _only_fills(call: ast.Call) -> bool:
    """`self.seen.append(x)`: a collection is changed, and nothing else."""
    return isinstance(call.func, ast.Attribute) and call.func.attr in _FILLS


def _is_left(loop: ast.While | ast.For) -> bool:
    return any(_leaves(statement, inner=False) for statement in loop.body)


def _leaves(node: ast.AST, *, inner: bool, exhausted: bool = True) -> bool:
    """Whether a node of a loop may leave it; `exhausted`: an iterator that comes to its end there does."""
    if isinstance(node, _LEAVES) or (isinstance(node, ast.Break) and not inner):
        return True
    if isinstance(node, ast.Call) and ast.unparse(node.func) in (*_EXITS, *(["next"] if exhausted else [])):
        return True
    if isinstance(node, FUNCTIONS):
        return False
    inner = inner or isinstance(node, ast.While | ast.For)
    parts = [(child, exhausted) for child in ast.iter_child_nodes(node)]
    if isinstance(node, ast.If) and _is_decided(node.test):
        held = isinstance(node.test, ast.Constant) and bool(node.test.value)
        parts = [(child, exhausted) for child in (node.body if held else node.orelse)]
    elif isinstance(node, ast.Try):
        handlers = [] if all(map(_raises_nothing, node.body)) else node.handlers
        parts = [(child, exhausted and not any(map(_takes_the_end, handlers))) for child in node.body]
        parts += [(child, exhausted) for child in (*handlers, *node.orelse, *node.finalbody)]
    return any(_leaves(child, inner=inner, exhausted=each) for child, each in parts)


def _raises_nothing(statement: ast.stmt) -> bool:
    """`pass`, a constant or a name: no handler is reached from there."""
    only_named = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Name)
    return isinstance(statement, ast.Pass) or only_named or is_bare_constant(statement)


def _takes_the_end(handler: ast.ExceptHandler) -> bool:
    """Whether it goes on after an iterator has come to its end."""
    taken = handler.type
    kinds = taken.elts if isinstance(taken, ast.Tuple) else [taken]
    return any(kind is None or ast.unparse(kind) in _ENDS for kind in kinds)


def _is_decided(test: ast.expr) -> bool:
    """Whether a condition asks nothing: `if "":` is what is left of one that was never met."""
    asks = (ast.Name, ast.Call, ast.Await, ast.Attribute, ast.Subscript)
    return not any(isinstance(node, asks) for node in ast.walk(test))


def _counts_on(node: ast.expr) -> bool:
    name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
    return name in ("itertools.count", "itertools.cycle", "count", "cycle") or (
        name in ("itertools.repeat", "repeat") and isinstance(node, ast.Call) and len(node.args) == 1
    )


# -- coroutines -------------------------------------------------------------------------------------------------------


def _yields(function: Function) -> bool:
    return any(isinstance(node, ast.Yield) for node in ast.walk(function))
