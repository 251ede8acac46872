"""The control of what fails in another door of the compiler: there the program's function is called in eager, and that is all.

A reduced script that fails in `torch.export` must be a program that runs: with the rung `eager in place of torch.export` the
door calls what it was given with the inputs it was given, and the script ends well there. What a door takes is in its
documentation: torch/export/__init__.py, torch/_inductor/__init__.py, torch/jit/_trace.py, torch/onnx/__init__.py.
"""

import functools
import inspect
import sys

from .. import compat

IN_PLACE = "eager in place of "  # as model/rungs.py has it


def named(rung):
    """The door that this rung replaces, None where it is another rung."""
    return rung[len(IN_PLACE) :] if rung is not None and rung.startswith(IN_PLACE) else None


def patches(door):
    """What `imports.after_import` takes: by module, a function that replaces the door's functions there."""
    return {
        module: functools.partial(_replace, calls)
        for owner, module, calls in (
            (
                "torch.export",
                "torch.export",
                {"export": _called, "draft_export": _called, "export_for_training": _called},
            ),
            ("AOTInductor", "torch._inductor", {"aoti_compile_and_package": _of_program, "aot_compile": _called}),
            ("AOTInductor", "torch._export", {"aot_compile": _called}),
            ("torch.onnx.export", "torch.onnx", {"export": _called}),
            ("torch.jit", "torch.jit", {"trace": _traced, "script": _nothing, "trace_module": _nothing}),
            ("torch.fx.symbolic_trace", "torch.fx", {"symbolic_trace": _nothing}),
            ("make_fx", "torch.fx.experimental.proxy_tensor", {"make_fx": _made}),
        )
        if owner == door
    }


def _replace(calls, module):
    home = compat.home_of_torch()

    def in_place(original, call):
        first = next(iter(inspect.signature(original).parameters))  # what to run: mod, model, func, gm, ...

        @functools.wraps(original)
        def door(*args, **kwargs):
            if sys._getframe(1).f_code.co_filename.startswith(home):
                return original(*args, **kwargs)
            if not args and first in kwargs:
                args = (kwargs.pop(first),)
            return call(*args, **kwargs)

        return door

    for name, call in calls.items():
        if hasattr(module, name):
            setattr(module, name, in_place(getattr(module, name), call))


def _called(function, args=(), *others, kwargs=None, **settings):
    """`export(module, args, kwargs)`, where ONNX has its file third; what was exported already is not called itself."""
    if hasattr(function, "example_inputs") and not args:
        _of_program(function)
    if kwargs is None and others and isinstance(others[0], dict):
        kwargs = others[0]
    args = args if isinstance(args, (tuple, list)) else (args,)
    function(*args, **(kwargs or {}))
    raise SystemExit(0)


def _of_program(program, *others, **settings):
    """`aoti_compile_and_package(exported)`: with the inputs it was exported for."""
    args, kwargs = program.example_inputs
    program.module()(*args, **kwargs)
    raise SystemExit(0)


def _traced(function, example_inputs=(), *others, **settings):
    """`jit.trace(function, inputs, example_kwarg_inputs=...)`."""
    inputs = () if example_inputs is None else example_inputs
    _called(function, inputs, kwargs=settings.get("example_kwarg_inputs"))


def _nothing(*args, **settings):
    """The door is given no inputs: there is nothing to call."""
    raise SystemExit(0)


def _made(function, *others, **settings):
    """`make_fx(function)(*args)`."""
    return lambda *args: _called(function, args)
