"""Functions of a running program: whose method, by which defaults, found by which name, and which of them another one made."""

import ast
import inspect
import linecache
import sys
import textwrap
import types

PLACES = ("torch", "torch.nn.functional", "torch.nn", "torch.func", "torch.Tensor", "operator", "math", "builtins")


def public_name(function):
    """`torch.relu` or `len`: where torch or Python keeps a function under its own name, None for any other."""
    for place in PLACES:
        home = sys.modules.get(place) if place != "torch.Tensor" else getattr(sys.modules.get("torch"), "Tensor", None)
        if getattr(home, function.__name__, None) is function:
            return function.__name__ if place == "builtins" else "%s.%s" % (place, function.__name__)
    return None


def making(function):
    """How a function came about that another one made, `scaled(2)` or `torch.func.grad(loss)`: (that one, args, kwargs).

    What its maker was given is in its closure or is the default. None where that cannot be told, and for any other function.
    """
    code = getattr(function, "__code__", None)
    modules = list(function.__globals__.values()) if isinstance(function, types.FunctionType) else ()
    maker = next((each for each in modules if _defines(each, code)), None)
    if maker is None:
        return None
    held = held_by(function)
    args, kwargs, skipped = [], {}, False
    for each in inspect.signature(maker, follow_wrapped=False).parameters.values():
        value = held.get(each.name, each.default)
        if value is each.empty:
            return None
        skipped = skipped or value is each.default or each.kind is each.KEYWORD_ONLY
        if skipped and value is not each.default:
            kwargs[each.name] = value
        elif not skipped:
            args.append(value)
    return maker, args, kwargs


def held_by(function):
    """What a function reads of those around it: {name: value}."""
    held = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):  # noqa: B905  no strict= in 3.9
        try:
            held[name] = cell.cell_contents
        except ValueError:  # not bound yet
            continue
    return held


def written(function):
    """(name, statement that defines it) of a function as its file has it, without decorators. Raises LookupError."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename)
    name = "function" if code.co_name == "<lambda>" else code.co_name
    for node in ast.walk(ast.parse("".join(lines))):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            if code.co_firstlineno in (node.lineno, *[each.lineno for each in node.decorator_list]):
                return name, textwrap.dedent("".join(lines[node.lineno - 1 : node.end_lineno]))
        elif isinstance(node, ast.Lambda) and (node.lineno, "<lambda>") == (code.co_firstlineno, code.co_name):
            named = tuple(each.arg for each in node.args.args)  # what tells it from others on that line
            if named == code.co_varnames[: code.co_argcount]:
                return name, "function = %s\n" % ast.get_source_segment("".join(lines), node)
    raise LookupError(name)


def _defines(maker, code):
    return isinstance(maker, types.FunctionType) and any(each is code for each in maker.__code__.co_consts)


def original(function):
    """The function that torch.compile was given, of what it gave: ours and Dynamo's own stand around it."""
    for _ in range(10):
        inner = getattr(function, "_torchdynamo_orig_callable", None)
        if inner is None:
            return function
        function = inner
    return function


def defaults(frame):
    """Default values of the function of a frame, by name, where the function can be found."""
    code = frame.f_code
    function = None
    first = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
    owned = owner(type(first), code)
    function = unwrapped((owned.__dict__ if owned else frame.f_globals).get(code.co_name))
    if getattr(function, "__code__", None) is not code:
        return {}
    names = code.co_varnames[: code.co_argcount]
    given = function.__defaults__ or ()
    found = dict(zip(names[len(names) - len(given) :], given))  # noqa: B905  strict= is not in Python 3.9
    found.update(function.__kwdefaults__ or {})
    return found


def owner(kind, code):
    """The class of a method's code, None where it is no method."""
    for each in kind.__mro__:
        found = unwrapped(each.__dict__.get(code.co_name))
        if getattr(found, "__code__", None) is code:
            return each
    return None


def unwrapped(function):
    for _ in range(10):
        if getattr(function, "__wrapped__", None) is None:
            return function
        function = function.__wrapped__
    return function
