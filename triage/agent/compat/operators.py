"""Operators: who registered them, where, and what their fake kernels give."""

import os
import sys

from .feature import Missing
from .installed import home_of_torch
from .tensors import flattened


def custom_op_definition(qualified):
    """The object `torch.library.custom_op` made for an operator `ns::name` (2.4 and newer), None where there is none."""
    try:
        return sys.modules["torch._library.custom_ops"].OPDEFS.get(qualified)
    except Exception:
        return None


def dispatcher_text(qualified):
    """What the dispatcher knows of an operator, with the files its kernels were registered in; empty where unknown."""
    try:
        return sys.modules["torch"]._C._dispatch_dump(qualified)
    except Exception:
        return ""


def registered_at(qualified):
    """`file:line` of what registered an operator `ns::name`, None where that is not known."""
    import re

    code = getattr(_kernel(qualified), "__code__", None)
    if code is not None:
        return "%s:%d" % (code.co_filename, code.co_firstlineno)
    sites = re.findall(r"registered at (\S.*?:\d+)(?= ::|$)", dispatcher_text(qualified), re.M)
    home = home_of_torch()
    return next((site for site in sites if site[0] == "/" and not site.startswith((home, "/dev/null"))), None)


def defined_by_torch(qualified):
    """Whether `torch.library.custom_op` made the operator `ns::name` of a function that stands in one of torch's own files.

    A function inside another is none: `torch.library.triton_op` gives one of its own for that of the program.
    """
    kernel = _kernel(qualified)
    code = getattr(kernel, "__code__", None)
    if code is None or "<locals>" in kernel.__qualname__:
        return False
    return os.path.abspath(code.co_filename).startswith(home_of_torch())


def _kernel(qualified):
    """The function `custom_op` was given, without its decorators."""
    import inspect

    kernel = getattr(custom_op_definition(qualified), "_init_fn", None)
    return inspect.unwrap(kernel) if callable(kernel) else None


def known_operators():
    """Names `ns::name` of the operators that were asked for through `torch.ops` so far."""
    found = []
    try:
        for space, names in list(vars(sys.modules["torch"].ops).items()):
            found += ["%s::%s" % (space, name) for name in getattr(names, "_dir", ())]
    except Exception:
        return []
    return found


def loaded_libraries():
    """Paths of the shared libraries that `torch.ops.load_library` loaded."""
    try:
        return sorted(sys.modules["torch"].ops.loaded_libraries)
    except Exception:
        return []


def operator_types():
    """The types of `torch.ops.ns.name` and `torch.ops.ns.name.overload`."""
    ops = sys.modules["torch"]._ops
    return tuple(getattr(ops, name) for name in ("OpOverload", "OpOverloadPacket") if hasattr(ops, name))


def opcheck():
    """`torch.library.opcheck` (2.4 and newer)."""
    check = getattr(sys.modules["torch"].library, "opcheck", None)
    return check if check is not None else Missing("this torch has no torch.library.opcheck (2.4 and newer)")


def fake_tensor_mode():
    """The class whose `dispatch(func, types, args, kwargs)` gives the fake result of every operation."""
    from torch._subclasses import FakeTensorMode

    return FakeTensorMode


def fake_call(operator, args, kwargs):
    """(the leaves of its arguments as fake tensors, those of what its fake kernel gives)."""
    mode = fake_tensor_mode()()
    flat, put_back = flattened((args, kwargs))
    tensor = sys.modules["torch"].Tensor
    inputs = [mode.from_tensor(item.detach()) if isinstance(item, tensor) else item for item in flat]
    args, kwargs = put_back(inputs)
    with mode:
        return inputs, flattened(operator(*args, **kwargs))[0]
