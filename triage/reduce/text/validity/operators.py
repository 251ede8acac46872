"""What `torch.library` asks of registrations and of calls of what they register: rules of `validity`, seen without a run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.model.effects import REGISTERED_NAMESPACES
from triage.model.syntax import parse_expression
from triage.reduce.printing.kernels import broken_contracts
from triage.reduce.text.code.nodes import bound_name, imported_modules, string_of
from triage.reduce.text.code.own_names import DEFINES_OPERATOR, known_definitions, spreads, takes
from triage.reduce.text.code.script import Definition, Function, Script


def broken_operators(script: Script) -> Iterator[str]:
    """Kernels of custom operators that return nothing, or what they were given: any backend may then do anything."""
    yield from broken_contracts(script.tree)


def unfit_operators(script: Script) -> Iterator[str]:
    """Registrations without what `torch.library` asks for: a name with its namespace, `mutates_args`, types for a schema."""
    modules = set(map(bound_name, imported_modules(script.nodes)))
    for function in script.nodes:
        for mark in function.decorator_list if isinstance(function, Function) else ():
            named = mark.func if isinstance(mark, ast.Call) else mark
            told = ast.unparse(named)
            if not _defines(named):
                continue
            if not isinstance(mark, ast.Call) or not _names_operator(mark):
                yield f"{told} is not given a name and mutates_args"
            elif isinstance(function, Function) and not _has_schema(mark, function, modules):
                yield f"the operator {function.name} has no schema"


def unknown_operators(script: Script) -> Iterator[str]:
    """`torch.ops.ns.name` where no string of the script says ns and name, as all that registers an operator does."""
    texts = [text for node in script.nodes if (text := string_of(node)) is not None]
    found = dict[str, None]()
    for node in script.nodes if "torch.ops." in script.text else ():
        if isinstance(node, ast.Attribute) and ast.unparse(node).startswith("torch.ops."):
            parts = ast.unparse(node).split(".")
            if len(parts) != 4 or parts[2] in REGISTERED_NAMESPACES:
                continue  # no string of a script need say it; a docstring may, and would be needed then
            if not all(any(part in text for text in texts) for part in parts[2:]):
                found[".".join(parts)] = None
    for name in found:
        yield f"nothing registers {name}"


def misfit_kernels(script: Script) -> Iterator[str]:
    """Functions given to `register_autograd` that torch cannot call (torch/_library/autograd.py has the calls)."""
    known = known_definitions(script)
    for call in script.calls if "register_autograd" in script.text else ():
        if not ast.unparse(call.func).endswith("register_autograd"):
            continue
        if spreads(call):
            continue
        keywords = {item.arg: item.value for item in call.keywords}
        given = call.args[1:] if _is_of_library(call) else call.args
        backward = given[0] if given else keywords.get("backward")
        if backward is None or not _may_take(backward, known, "backward(ctx, grad)"):
            yield "register_autograd is given no backward(ctx, *grads)"
        setup = keywords.get("setup_context")
        is_none = setup is None or (isinstance(setup, ast.Constant) and setup.value is None)
        if (
            setup is not None
            and not is_none
            and not _may_take(setup, known, "f(ctx=ctx, inputs=inputs, output=output)")
        ):
            yield "register_autograd is given no setup_context(ctx, inputs, output)"


def _defines(mark: ast.expr) -> bool:
    return ast.unparse(mark) in (*DEFINES_OPERATOR, *(f"torch.library.{name}" for name in DEFINES_OPERATOR))


def _is_of_library(call: ast.Call) -> bool:
    """`torch.library.register_autograd(operator, backward)`; that of an operator has no operator in front."""
    function = isinstance(call.func, ast.Name) or ast.unparse(call.func).endswith("library.register_autograd")
    return function or (
        bool(call.args) and isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str)
    )


def _may_take(value: ast.expr, known: dict[str, Definition], call: str) -> bool:
    """False where a value is surely no function that takes this call."""
    made = known.get(value.id) if isinstance(value, ast.Name) else value
    if not isinstance(made, Function | ast.Lambda):
        return not isinstance(value, ast.Constant)
    asked = parse_expression(call)
    return isinstance(asked, ast.Call) and takes(made.args, asked)


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
