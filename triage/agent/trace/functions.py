"""Functions of a running program: whose method, by which defaults, found by which name, and which of them another one made."""

import inspect
import sys
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
    held = {}
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):  # noqa: B905  strict= is not in Python 3.9
        try:
            held[name] = cell.cell_contents
        except ValueError:  # not bound yet
            continue
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
