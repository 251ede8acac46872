"""Where a backend stands that a program brings: the function behind the name, the wrapper or the object that it gave.

What torch makes of a compiler (`aot_autograd(fw_compiler=...)`, `functools.partial(compile_fx, ...)`) is torch's; the function
in it is the program's, or a library's.
"""

import contextlib
import functools
import linecache
import os
import types

from .. import compat, whose

_MOST = 50  # objects that are looked at


def place_of(backend):
    """{file, line, function, code} of the first function behind it that is neither torch's nor Python's; None where none is."""
    if isinstance(backend, str):
        backend = compat.registered_backend(backend)
    waiting, seen = [backend], []
    while waiting and len(seen) < _MOST:
        each = waiting.pop(0)
        if any(each is other for other in seen):
            continue
        seen.append(each)
        code = None if hasattr(each, "__wrapped__") else getattr(each, "__code__", None)
        if isinstance(code, types.CodeType) and not _is_torchs_or_pythons(code.co_filename):
            return {
                "file": os.path.abspath(code.co_filename),
                "line": code.co_firstlineno,
                "function": code.co_name,
                "code": linecache.getline(code.co_filename, code.co_firstlineno).strip()[:300],
            }
        waiting += _behind(each)
    return None


def _behind(each):
    """What an object calls, or may hand on: what it wraps, its arguments, what it holds."""
    if hasattr(each, "__wrapped__"):
        return [each.__wrapped__]
    if isinstance(each, functools.partial):
        return [each.func, *each.args, *each.keywords.values()]
    if isinstance(each, types.MethodType):
        return [each.__func__, each.__self__]
    if isinstance(each, types.FunctionType):
        return list(_closed_over(each))
    if isinstance(each, dict):
        return list(each.values())
    if isinstance(each, (list, tuple)):
        return list(each)
    if isinstance(each, type):
        return [each.__dict__.get("__init__"), each.__dict__.get("__new__")]
    if callable(each):
        return [type(each).__call__, *getattr(each, "__dict__", {}).values()]
    return []


def _closed_over(function):
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # an empty one
            yield cell.cell_contents


def _is_torchs_or_pythons(file):
    return file.startswith(("<", compat.home_of_torch())) or whose.is_pythons(file)
