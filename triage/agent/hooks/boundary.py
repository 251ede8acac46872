"""The compile boundary: `torch.compile` itself, calls of what it returns, and backward passes.

`torch.compile` is replaced by a function that forces the backend of the probe's rung and wraps what comes back, so that an
exception is recorded where it leaves compiled code, also when the program catches it; so is a SystemExit, of which no
excepthook is told. Tried on torch 2.1 to 2.15: this catches `torch.compile(m)`, the decorator with and without arguments,
`m.compile()`, and imports by name.
"""

import functools
import os
import sys
import threading

from .. import compat
from ..capture import backends
from ..compare import otherwise, randomness
from . import is_compiling, unwritten, wrapped_keys

UNCOMPILED = "uncompiled"
BUILT_IN = ("eager", "aot_eager", "aot_eager_decomp_partition", "inductor")

_inside = threading.local()
_IGNORED = (StopIteration, StopAsyncIteration, GeneratorExit)


def patch_torch(torch, recorder):
    """Replace torch.compile and watch backward passes."""
    original = torch.compile
    if getattr(original, "_triage_original", None) is not None:
        return

    @functools.wraps(original)
    def compile(model=None, *args, **kwargs):
        if model is None:  # decorator with arguments
            return functools.wraps(original)(lambda function: compile(function, *args, **kwargs))
        if _torch_itself(sys._getframe(1), kwargs):
            return unwatched(model, *args, **kwargs)
        note_use(torch, recorder, model, kwargs)
        if isinstance(model, torch.nn.Module):
            wrapped_keys.watch(torch, recorder)
        rung = recorder.config.get("rung")  # a copy of the program goes on with another
        if rung == UNCOMPILED:
            return record_calls(uncompiled(torch, model, recorder), torch, recorder, kwargs)
        told = dict(_forced(kwargs, rung), **(recorder.config.get("compile_arguments") or {}))
        return record_calls(unwatched(model, *args, **told), torch, recorder, kwargs)

    def unwatched(*args, **kwargs):
        _inside.depth = getattr(_inside, "depth", 0) + 1
        try:
            return original(*args, **kwargs)
        finally:
            _inside.depth -= 1

    compile._triage_original = original
    torch.compile = compile
    if recorder.config.get("rung") == UNCOMPILED:
        is_compiling.patch(torch.compiler, recorder)
    if recorder.config.get("unwritten"):
        unwritten.patch(torch, recorder)
    _watch_backward(torch, recorder)


def _forced(kwargs, rung):
    """The keyword arguments with the rung's backend. `mode` and `options` only make sense to Inductor."""
    if rung is None:
        return kwargs
    forced = dict(kwargs)
    backend = forced.get("backend")
    if rung != "inductor" or (backend is not None and backend != "inductor"):
        forced.pop("mode", None)
        forced.pop("options", None)
    forced["backend"] = rung
    return forced


def _torch_itself(frame, kwargs):
    """Whether torch compiles something for its own ends: an eager higher-order operator (scan, while_loop, flex_attention)
    is traced with a backend that torch picks. What passes on a program's wish (`Module.compile`) names none.
    """
    home = compat.home_of_torch()
    while frame is not None and frame.f_code.co_filename.startswith(home + os.path.join("nn", "modules")):
        frame = frame.f_back
    if frame is None or not frame.f_code.co_filename.startswith(home):
        return False
    return kwargs.get("backend") is not None or frame.f_code.co_filename.startswith(home + "_")


def in_torch_compile():
    """Whether this thread is inside torch.compile."""
    return getattr(_inside, "depth", 0) > 0


def uncompiled(torch, model, recorder):
    """The same interface without a compiler: a module keeps its `_orig_mod` wrapper, as programs rely on it.

    With `unwrapped` it comes back as it is, and only knows itself by that name. What cannot be called is refused, as
    torch.compile refuses it.
    """
    if callable(model) and not isinstance(model, torch.nn.Module):
        return model
    if recorder.config.get("unwrapped") and isinstance(model, torch.nn.Module):
        model.__dict__["_orig_mod"] = model  # no submodule: nothing is saved or counted twice
        return model
    try:
        import torch._dynamo

        return torch._dynamo.disable(model)
    except Exception:
        if not callable(model):
            raise
        return model  # a platform without Dynamo


def record_calls(compiled, torch, recorder, settings):
    """Watch the calls of a compiled function or module; the object keeps its type and its attributes.

    `settings` are the keyword arguments that torch.compile was given.
    """
    if recorder.config.get("rung") == UNCOMPILED and recorder.config.get("rounds_otherwise"):
        change = functools.partial(otherwise.rounding_otherwise, torch)
    else:
        change = _as_it_is
    whose = recorder.config.get("other_stream") if recorder.config.get("rung") == UNCOMPILED else None
    stream = functools.partial(randomness.other_stream, torch, whose) if whose else None
    if isinstance(compiled, torch.nn.Module):
        forward = compiled.__dict__.get("forward")
        if forward is not None:
            compiled.__dict__["forward"] = _watched(change(forward), recorder, stream, settings)
        return compiled
    if not callable(compiled) or isinstance(compiled, type):
        return compiled
    return _watched(change(compiled), recorder, stream, settings)


def _as_it_is(function):
    return function


def _watched(function, recorder, stream, settings):
    def watched(*args, **kwargs):
        recorder.enter("calls", (function, args, kwargs))
        outer = recorder.compiled_with(settings)
        try:
            if stream is None:  # a step may take less than a tenth of a millisecond: nothing that it can do without
                return function(*args, **kwargs)
            with stream():
                return function(*args, **kwargs)
        except _IGNORED:
            raise
        except (Exception, SystemExit) as error:
            recorder.raised(error, "call")
            raise
        finally:
            recorder.compiled_with(outer)
            recorder.leave("calls")

    try:
        return compat.standing_for(function, functools.wraps(function)(watched))
    except Exception:
        return watched


def _watch_backward(torch, recorder):
    """Wrap the one function every backward pass goes through (torch 2.4 and newer; before that, the public two)."""
    graph = getattr(torch.autograd, "graph", None)
    if hasattr(graph, "_engine_run_backward"):
        wrapped = _watched_backward(graph._engine_run_backward, recorder)
        graph._engine_run_backward = wrapped
        if hasattr(torch.autograd, "_engine_run_backward"):
            torch.autograd._engine_run_backward = wrapped
        return
    for name in ("backward", "grad"):
        setattr(torch.autograd, name, _watched_backward(getattr(torch.autograd, name), recorder))


def _watched_backward(function, recorder):
    look = compat.frame_setter()  # Dynamo looks at frames of ours, too, after a graph break

    @functools.wraps(function)
    def watched(*args, **kwargs):
        before = look(None)
        comparing = recorder.comparing()  # not the program's
        if not comparing:
            recorder.enter("backwards")
            # run_backward(tensors, grad_tensors, keep_graph, create_graph, inputs, ...); see torch/autograd/__init__.py
            if kwargs.get("create_graph") or (len(args) > 3 and args[3] is True):
                recorder.double_backward = True
        look(before)
        try:
            return function(*args, **kwargs)
        except (Exception, SystemExit) as error:
            look(None)
            if not comparing:
                recorder.mark(error, phase="backward")
                recorder.raised(error, "backward")
            raise
        finally:
            look(None)
            if not comparing:
                recorder.leave("backwards")
            look(before)

    recorder.passed_over.append(watched)
    return watched


def note_use(torch, recorder, model, kwargs):
    """Tell what is compiled, how, and on which line of the program."""
    backend = kwargs.get("backend")
    by_name = isinstance(backend, str) or backend is None
    named = backend if by_name else getattr(backend, "__name__", type(backend).__name__)
    frame = sys._getframe(2)
    inside = tuple(os.path.dirname(os.path.abspath(file)) + os.sep for file in (torch.__file__, __file__))
    while frame is not None and frame.f_code.co_filename.startswith(inside):
        frame = frame.f_back
    custom = backend is not None and backend not in BUILT_IN
    recorder.channel.say(
        "compile_call",
        alone=recorder.alone() and not compat.may_use_accelerator(torch),
        standby=recorder.standby is not None and recorder.standby.may_come(),
        backend=named,
        backend_by_name=by_name,
        custom_backend=custom,
        backend_at=_place_of(backend)
        if custom and recorder.config.get("rung") is None
        else None,  # else it is not loaded
        mode=kwargs.get("mode"),
        fullgraph=bool(kwargs.get("fullgraph", False)),
        dynamic=kwargs.get("dynamic"),
        options=sorted(str(name) for name in (kwargs.get("options") or ())),
        name=_name_of(torch, model),
        wraps=isinstance(model, torch.nn.Module),
        where="%s:%d" % (os.path.basename(frame.f_code.co_filename), frame.f_lineno) if frame is not None else "",
    )


def _name_of(torch, model):
    """Of a function, or of a module's class: `module.compile()` gives torch.compile the module's call, which torch defines."""
    called = getattr(model, "__self__", None) if getattr(model, "__name__", "") == "_call_impl" else None
    model = called if isinstance(called, torch.nn.Module) else model
    return getattr(model, "__qualname__", type(model).__qualname__)


def _place_of(backend):
    try:
        return backends.place_of(backend)
    except Exception:  # an object that does not like to be looked at
        return None
