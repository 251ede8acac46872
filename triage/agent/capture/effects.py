"""What the user's files do to torch beside defining things: registrations, patches, passes, settings that are objects.

A captured graph says nothing of these, and yet a failure may need them: a lowering that `import mylib.patches` registers,
a pass put into Inductor's config, a function of torch that is replaced. So the statements with such an effect are carried
as source, in the order in which they ran, with everything they name (`carry`). Statements that work rather than
prepare (calls of models, checks, training) are no effects; of a function that the script calls, its body is looked at.
"""

from __future__ import annotations

import ast
import sys
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

from .. import whose
from .carry import Carrier
from .registrations import callee
from .units import Statement, Unit, imported_name, user_units

# Calls and decorators of torch that prepare nothing, or that a candidate does by itself.
_WORK = frozenset(
    (  # noqa: SIM905 - a table of words
        "allclose assert_close assert_equal autocast backward barrier checkpoint compile destroy_process_group empty_cache "
        "enable_grad equal export initial_seed init_process_group inference_mode is_available jit load manual_seed "
        "manual_seed_all no_grad profile reset save script seed set_device set_grad_enabled set_num_interop_threads "
        "set_num_threads set_printoptions spawn step synchronize trace"
    ).split()
)
_CONFIGS = frozenset(("torch._dynamo.config", "torch._inductor.config", "torch._functorch.config"))
_ASSIGNS = (ast.Assign, ast.AugAssign, ast.AnnAssign)
_BLOCKS = (ast.If, ast.For, ast.While, ast.With, ast.Try)
DEPTH = 3  # of functions called by functions that are looked into

Does = Callable[[Dict[str, Unit], Unit, ast.AST], bool]

_known: Dict[Any, Tuple[List[str], List[Dict[str, str]]]] = {}
_done: Dict[str, Any] = {}  # `told`, and the `key` it was told for


def setup(
    registrations: List[Statement], first: List[str], namespaces: Set[str]
) -> Tuple[List[str], List[Dict[str, str]]]:
    """Import lines and statements that do again what the user's files did to torch, and which of them have an effect
    (`text`, `place`); empty where they did nothing.

    `registrations` (of custom operators) and the lines of `first` are carried too, where there is anything else.
    """
    users = frozenset(module.__file__ for _, module in _users_modules())
    key = (users, tuple(item.key() for item in registrations), tuple(first))
    if key not in _known:
        try:
            _known[key] = _setup(registrations, first, namespaces)
        except Exception:  # the graph can be told without it
            _known[key] = [], []
    return _known[key]


def _setup(
    registrations: List[Statement], first: List[str], namespaces: Set[str]
) -> Tuple[List[str], List[Dict[str, str]]]:
    units, order, every, packages = _what_was_done()
    carrier = Carrier(units, namespaces)
    keys = {item.key() for item in registrations}
    effects = [item for item in every if item.key() not in keys]
    if not effects and not packages:
        return [], []
    for item in registrations + effects:
        carrier.take(item)
    lines = list(dict.fromkeys(first + packages + carrier.text([unit.file for unit in order])))
    places = [each for item in effects for each in _where(units, item)]
    return lines, [{"text": item.text, "place": "%s:%d" % (item.unit.file, item.node.lineno)} for item in places]


def _what_was_done() -> Tuple[Dict[str, Unit], List[Unit], List[Statement], List[str]]:
    """The user's files, in the order in which they ran, what in them has an effect and can be carried, and the packages.

    Every graph asks; it is worked out again where a file came, or a name in one.
    """
    key = tuple((name, module.__file__, len(vars(module))) for name, module in _users_modules())
    if _done.get("key") != key:
        units = user_units()
        order = _in_order(units)
        effects = [item for unit in order for item in doing(_is_effect, units, unit, unit.statements)]
        effects = [item for item in effects if can_be_carried(units, item)]
        _done.update(key=key, told=(units, order, effects, _packages(order)))
    return _done["told"]


def files() -> Tuple[Dict[str, Unit], List[Unit]]:
    """The user's files by name, and in the order in which they ran."""
    return _what_was_done()[:2]


def _users_modules() -> List[Tuple[str, Any]]:
    """Names and modules of the user's files that are loaded."""
    named = [(name, module, getattr(module, "__file__", None)) for name, module in list(sys.modules.items())]
    return [(name, module) for name, module, file in named if isinstance(file, str) and whose.is_users(file)]


def _where(units: Dict[str, Unit], statement: Statement) -> List[Statement]:
    """The statements that have the effect: those inside the function, where one is called that does nothing but prepare."""
    return list(_in_called(_is_effect, units, statement.unit, statement.node, DEPTH - 1)) or [statement]


def can_be_carried(units: Dict[str, Unit], statement: Statement) -> bool:
    """Whether it stands by itself with all that it names, and is no work."""
    carrier = Carrier(units, set())
    carrier.take(statement)
    text = "\n".join(carrier.text())
    return not carrier.missing and not any(word in text for word in ("torch.compile", ".backward(", "parse_args("))


# -- order ------------------------------------------------------------------------------------------------------------


def _in_order(units: Dict[str, Unit]) -> List[Unit]:
    """The files in the order in which they ran: each after those that it imports."""
    by_name = {unit.name: unit for unit in units.values()}
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    found: List[Unit] = []
    begun: Set[str] = set()

    def visit(unit: Unit) -> None:
        if unit.file in begun:
            return
        begun.add(unit.file)
        for name in _imports(unit):
            if name in by_name:
                visit(by_name[name])
        found.append(unit)

    for unit in sorted(units.values(), key=lambda unit: unit.file != main):
        visit(unit)
    return found


def _imports(unit: Unit) -> Iterator[str]:
    """Names of modules that a file may import, with the packages that they lie in."""
    for node in ast.walk(unit.tree):
        names: List[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = imported_name(node, unit)
            names = [base] + ["%s.%s" % (base, alias.name) for alias in node.names]
        for name in names:
            parts = name.split(".")
            for count in range(1, len(parts) + 1):
                yield ".".join(parts[:count])


def _packages(units: List[Unit]) -> List[str]:
    """`import package` for installed packages that know torch: they may do to it what the user's files do."""
    found: Dict[str, None] = {}
    for unit in units:
        for name in _imports(unit):
            module = sys.modules.get(name)
            file = getattr(module, "__file__", None) or ""
            if "." not in name and whose.is_installed(file) and name != "torch" and _knows_torch(name):
                found["import %s" % name] = None
    return list(found)


def _knows_torch(package: str) -> bool:
    torch = sys.modules["torch"]
    below = [module for name, module in list(sys.modules.items()) if name.split(".")[0] == package]
    own = ("torch", "functorch", "torchgen", "numpy", "_pytest", "pytest")
    return package not in own and any(getattr(module, "__dict__", {}).get("torch") is torch for module in below)


# -- effects ----------------------------------------------------------------------------------------------------------


def doing(
    does: Does, units: Dict[str, Unit], unit: Unit, statements: List[Statement], depth: int = 0
) -> Iterator[Statement]:
    """Those of the statements that do it: a block that does nothing else as it stands, else what is inside."""
    for statement in statements:
        if isinstance(statement.node, _BLOCKS):
            inner = list(doing(does, units, unit, unit.inside(statement), depth))
            if inner and only_prepares(unit, statement.node):
                yield statement
            else:
                yield from inner
        elif does(units, unit, statement.node):
            yield statement
        elif depth < DEPTH:
            yield from _in_called(does, units, unit, statement.node, depth + 1)


def _in_called(does: Does, units: Dict[str, Unit], unit: Unit, node: ast.AST, depth: int) -> Iterator[Statement]:
    """Those inside the user's function that a statement calls."""
    for other, function in called_by(units, unit, node):
        yield from doing(does, units, other, other.inside(Statement(other, function)), depth)


def only_prepares(unit: Unit, block: ast.AST) -> bool:
    """Whether a block does nothing that is work: then it is carried as it stands."""
    for node in ast.walk(block):
        if isinstance(node, ast.Call) and callee(node) in _WORK | {"print", "main"}:
            return False
        if isinstance(node, ast.Call) and isinstance(value_of(unit, node.func), _modules()):
            return False
    return True


def _is_effect(units: Dict[str, Unit], unit: Unit, node: ast.AST) -> bool:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return any(_registers(units, unit, item) for item in node.decorator_list)
    if isinstance(node, _ASSIGNS):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(_is_torchs(unit, target) for target in targets if not isinstance(target, ast.Name)):
            return not _is_plain_setting(unit, targets[0], node.value)
        return isinstance(node.value, ast.Call) and "register" in _chain(node.value)
    if isinstance(node, ast.Delete):
        return any(_is_torchs(unit, target) for target in node.targets if not isinstance(target, ast.Name))
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _prepares(units, unit, node.value)


def _prepares(units: Dict[str, Unit], unit: Unit, call: ast.Call) -> bool:
    if callee(call) in _WORK or _root(call) == "print":
        return False
    if _root(call) in ("setattr", "delattr") and call.args:
        return _is_torchs(unit, call.args[0])
    return _is_torchs(unit, call.func) or any(
        _installs(other, function) for other, function in called_by(units, unit, ast.Expr(call))
    )


def _registers(units: Dict[str, Unit], unit: Unit, decorator: ast.expr) -> bool:
    name = (
        callee(decorator)
        if isinstance(decorator, ast.Call)
        else getattr(decorator, "attr", getattr(decorator, "id", ""))
    )
    if name in _WORK:
        return False
    if _is_torchs(unit, decorator):
        return True
    call = decorator if isinstance(decorator, ast.Call) else ast.Call(decorator, [], [])
    return any(_installs(other, function) for other, function in called_by(units, unit, ast.Expr(call)))


def _installs(unit: Unit, function: ast.AST) -> bool:
    """Whether a function of the user's does nothing but prepare: what it does to torch is seen in its own text."""
    if not only_prepares(unit, function):
        return False
    for node in ast.walk(function):
        if isinstance(node, _ASSIGNS):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(_is_torchs(unit, target) for target in targets if not isinstance(target, ast.Name)):
                return True
        if isinstance(node, ast.Call) and _root(node) == "setattr" and node.args and _is_torchs(unit, node.args[0]):
            return True
        if isinstance(node, ast.Call) and "register" in callee(node) and _is_torchs(unit, node.func):
            return True
    return False


def called_by(units: Dict[str, Unit], unit: Unit, node: ast.AST):
    """(unit, definition) of the user's function that a statement calls."""
    value = getattr(node, "value", None) if isinstance(node, (ast.Expr, ast.Assign)) else None
    function = value_of(unit, value.func) if isinstance(value, ast.Call) else None
    code = getattr(function, "__code__", None)
    other = units.get(getattr(code, "co_filename", "")) if code is not None else None
    if other is None:
        return
    for item in ast.walk(other.tree):
        first = min([getattr(item, "lineno", 0)] + [each.lineno for each in getattr(item, "decorator_list", [])])
        if (
            isinstance(item, ast.FunctionDef)
            and item.name == code.co_name
            and code.co_firstlineno in (first, item.lineno)
        ):
            yield other, item
            return


# -- names ------------------------------------------------------------------------------------------------------------


def _is_torchs(unit: Unit, node: ast.AST) -> bool:
    """Whether an expression begins with something of torch's: a module, or what was imported from one; no tensor or model."""
    name = _root(node)
    if name in unit.namespace:  # else it is imported inside a function, as what is slow to import often is
        value = unit.namespace[name]
        if isinstance(value, type(sys)):
            return value.__name__.split(".")[0] == "torch"
        if isinstance(value, _modules()):
            return False
        homes = [getattr(value, "__module__", None), type(value).__module__]
        if any(str(home).split(".")[0] == "torch" for home in homes):
            return True
    return unit.origins.get(name, "").split(".")[0] == "torch"


def _modules() -> Any:
    torch = sys.modules["torch"]
    return (torch.Tensor, torch.nn.Module, torch.optim.Optimizer)


def _is_plain_setting(unit: Unit, target: ast.expr, value: Optional[ast.expr]) -> bool:
    """A setting that is a literal: it is read off the config itself."""
    while isinstance(target, ast.Attribute):
        target = target.value
        if getattr(value_of(unit, target), "__name__", "") in _CONFIGS:
            try:
                ast.literal_eval(value)  # type: ignore[arg-type]
                return True
            except (ValueError, TypeError, SyntaxError, MemoryError):
                return False
    return False


def value_of(unit: Unit, node: ast.AST) -> Any:
    """What a dotted name stands for; None where that cannot be told."""
    if isinstance(node, ast.Name):
        return unit.namespace.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = value_of(unit, node.value)
        return vars(owner).get(node.attr) if isinstance(owner, type(sys)) else None
    return None


def _root(node: ast.AST) -> str:
    """The first name of `a.b(c)[d].e`."""
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _chain(node: ast.AST) -> str:
    """All names of what is called, e.g. `register_lowering` of `register_lowering(op)(f)`."""
    words = []
    while isinstance(node, (ast.Attribute, ast.Call)):
        words.append(getattr(node, "attr", ""))
        node = node.func if isinstance(node, ast.Call) else node.value
    return " ".join([*words, getattr(node, "id", "")])
