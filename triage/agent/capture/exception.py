"""An exception object as plain data (the shape of `RaisedException` in triage's model)."""

import functools
import linecache
import os
import re
import signal
import sys
import traceback

from .. import whose
from . import checks

MESSAGE_LIMIT = 24_000
FRAME_LIMIT = 80
_OURS = ("torch", "functorch", "torchgen", "triage")

# Dynamo, a graph that is interpreted, and symbolic shapes (torch/fx/experimental/symbolic_shapes.py, torch/_dynamo/guards.py).
_USER_STACK = re.compile(r"from user code:|Original traceback:|User [Ss]tack(?: \(most recent call last\))?:\n")
FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>.+)$')

# What Dynamo calls the rest of a function, behind a break in it (torch/_dynamo/resume_execution.py); as triage/explain/places.py.
_RESUMED = re.compile(r"torch_dynamo_resume_in_(.+)_at_\d+\Z")

# Of a traceback in another process.
_TOLD_BY = ("concurrent.futures.process._RemoteTraceback", "multiprocessing.pool.RemoteTraceback")
_IN_A_MESSAGE = re.compile(r"\nOriginal Traceback \(most recent call last\):\n|terminated with the following error:\n")
_START = "Traceback (most recent call last):\n"
_RECORDING_ENDED = "operation failed due to a previous error during capture"  # cudaErrorStreamCaptureInvalidated
_FRAMES = re.compile(r'^ +File "([^"\n]+)", line (\d+), in (.+)$', re.MULTILINE)


def describe(error, phase, swallowed=False, depth=0, in_graph=False):
    """`error` as a dictionary; the exception it wraps, if it is one of torch's wrappers, under `inner`.

    `in_graph` says that it left a compiled graph while that ran.
    """
    kind = type(error)
    inner = getattr(error, "inner_exception", None)
    if not isinstance(inner, BaseException) or inner is error or depth > 4:
        inner = None
    message = _message(error)
    return {
        "type": _type_name(kind),
        "message": _bounded(message),
        "frames": _frames(error),
        "inner": describe(inner, phase, swallowed, depth + 1) if inner is not None else None,
        "cause": _cause(error) if inner is None else None,
        "user_code": _user_code(error, message),
        "phase": phase,
        "swallowed": swallowed,
        "in_graph": in_graph,
        "check": checks.compared(error) if depth == 0 and phase in ("uncaught", "test") else None,
        "rank": rank(),
        "world": world(),
        "libraries": _libraries(error),
    }


def _cause(error):
    """The exception at the bottom of those that `error` was raised from: a wrapper of torch's may hide whose code it was in."""
    found, seen = error, 0
    while _reason(found) is not None and seen < 20:
        found, seen = _reason(found), seen + 1
    if found is error:
        return None
    return {"type": _type_name(type(found)), "message": _bounded(_message(found)), "frames": _frames(found)}


def _reason(error):
    """What an exception was raised from. Dynamo re-raises its own `from None`, and only the context has the first one.

    So has that of a CUDA graph which cannot be recorded: its end says no more than that something was wrong before it.
    """
    own = type(error).__module__ == "torch._dynamo.exc"
    late = _RECORDING_ENDED in _message(error) and not error.__suppress_context__
    return error.__cause__ or (error.__context__ if own or late else None)


def _type_name(kind):
    module = getattr(kind, "__module__", "")
    return kind.__qualname__ if module in ("builtins", "__main__") else "%s.%s" % (module, kind.__qualname__)


def exit_status(error):
    """With which status a SystemExit ends a process, as the interpreter does it; None for any other exception."""
    if not isinstance(error, SystemExit):
        return None
    return 0 if error.code is None else error.code & 0xFF if isinstance(error.code, int) else 1


def _message(error):
    if isinstance(error, SyntaxError):
        return "%s (%s, line %s)" % (error.msg, error.filename, error.lineno)
    status = exit_status(error)
    try:
        if status is not None:
            return "exit status %d%s" % (status, "" if isinstance(error.code, int) else ": %s" % (error.code,))
        return str(error)
    except Exception as broken:
        return "<message could not be read: %s>" % type(broken).__name__


def _bounded(text):
    """Both ends of a long text, and the lines of a compiler's output in between that tell."""
    if len(text) <= MESSAGE_LIMIT:
        return text
    head, middle, tail = text[: MESSAGE_LIMIT - 6000], text[MESSAGE_LIMIT - 6000 : -4000], text[-4000:]
    telling = [line[:500] for line in middle.splitlines() if "error: " in line][:4]
    left_out = len(text) - len(head) - len(tail)
    return "\n".join([head, "... %d characters left out ..." % left_out, *telling, tail])


def _frames(error):
    node = error.__traceback__
    found = _callers(node.tb_frame) if node is not None else []
    count, handlers = 0, _signal_handlers()
    while node is not None and count < 2000:
        code = node.tb_frame.f_code
        found.append((code.co_filename, node.tb_lineno, code.co_name, node.tb_frame.f_globals, code in handlers))
        node, count = node.tb_next, count + 1
    if len(found) > FRAME_LIMIT:  # a recursion: both ends tell more than the middle
        found = found[: FRAME_LIMIT // 2] + found[-FRAME_LIMIT // 2 :]
    here = [_frame(*entry) for entry in found if "_triage_agent" not in entry[3].get("__name__", "")]
    return here + [_frame(*line) for line in _elsewhere(error)]


def _elsewhere(error):
    """File, line and function of each frame in the process that raised `error`, outermost first; none where it was this one.

    Only the text comes back to the one that asked: `concurrent.futures` and `multiprocessing.pool` raise the worker's exception
    from one that holds it; a DataLoader and `torch.multiprocessing.spawn` write it into the message (torch/_utils.py,
    torch/multiprocessing/spawn.py).
    """
    cause = error.__cause__
    try:
        if "%s.%s" % (type(cause).__module__, type(cause).__qualname__) in _TOLD_BY:
            text = str(cause)
        else:
            told = str(error)
            found = _IN_A_MESSAGE.search(told)
            text = told[found.start() :] if found is not None else ""
    except Exception:  # it could not be read
        return []
    last = text.rpartition(_START)[2]  # of a chain, the one that ended it
    return [(file, int(line), function) for file, line, function in _FRAMES.findall(last)][-FRAME_LIMIT // 2 :]


def _signal_handlers():
    """The code of the functions that a signal calls, in the middle of whatever runs."""
    found = []
    for number in signal.valid_signals():
        try:
            handler = signal.getsignal(number)
        except Exception:
            continue
        while isinstance(handler, functools.partial):
            handler = handler.func
        if callable(handler):
            call = handler if hasattr(handler, "__code__") else type(handler).__call__
            # A method has that of its function; what is built in has none.
            found.append(getattr(call, "__code__", None))
    return found


def _libraries(error):
    """Version by name, of the installed packages other than torch that the traceback goes through."""
    found, node, count = {}, error.__traceback__, 0
    while node is not None and count < 2000:
        name = whose.in_packages(node.tb_frame.f_code.co_filename).split("/")[0]
        module = sys.modules.get(name)
        version = getattr(module, "__version__", None)
        if name not in _OURS and isinstance(version, str):
            found[name] = version[:64]
        node, count = node.tb_next, count + 1
    return found


def _callers(frame):
    """The frames above the one that caught the exception: its traceback does not reach them yet."""
    found = []
    frame = frame.f_back
    while frame is not None and len(found) < 2000:
        found.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, frame.f_globals))
        frame = frame.f_back
    return found[::-1]


def _frame(file, line, function, module_globals=None, handler=False):
    return {
        "file": file,
        "line": line or 0,
        "function": function_of(function),
        "code": linecache.getline(file, line or 0, module_globals).strip()[:300],
        "handler": handler,
    }


def function_of(name):
    """`forward`, also of what follows a break in it."""
    found = _RESUMED.match(name)
    return function_of(found.group(1)) if found else name


def _user_code(error, message):
    """Lines of the user's program that the compiler itself names: Dynamo's stack, or the node's recorded one."""
    stack = getattr(error, "real_stack", None)
    if isinstance(stack, traceback.StackSummary) and stack:
        return [_frame(entry.filename, entry.lineno, entry.name) for entry in stack[-8:]]
    places = list(_USER_STACK.finditer(message))
    if not places:
        return []
    found = [FRAME.match(line) for line in message[places[-1].end() :].splitlines()]
    return [_frame(m.group("file"), int(m.group("line")), m.group("function")) for m in found if m][-8:]


def rank():
    """The number of this process in its group; None where there is no group."""
    return _of_group("get_rank", "RANK")


def world():
    """How many processes its group has; None where there is no group."""
    return _of_group("get_world_size", "WORLD_SIZE")


def _of_group(question, variable):
    distributed = sys.modules.get("torch.distributed")
    try:
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            return getattr(distributed, question)()
    except Exception:
        return None
    return _launched_as(variable)


def _launched_as(name):
    """What torchrun told the process, which may not have made its group yet."""
    told = os.environ.get(name, "") if "TORCHELASTIC_RUN_ID" in os.environ else ""
    return int(told) if told.isdigit() else None
