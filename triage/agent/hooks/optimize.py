"""`torch._dynamo.optimize(backend)(f)`, the older spelling of `torch.compile`: it is forced and watched in the same way.

`torch.compile` itself goes through it; that call is told by `boundary.in_torch_compile` and left alone.
"""

import functools
import sys

from . import boundary, is_compiling


def patch_dynamo(module, recorder):
    """Replace `torch._dynamo.optimize`."""
    original = module.optimize

    @functools.wraps(original)
    def optimize(*args, **kwargs):
        if boundary.in_torch_compile():
            return original(*args, **kwargs)
        rung = recorder.config.get("rung")
        kwargs = dict(kwargs)
        backend = args[0] if args else kwargs.pop("backend", "inductor")
        used = {"backend": backend, "fullgraph": kwargs.get("nopython", False), "dynamic": kwargs.get("dynamic")}
        context = original(backend if rung in (None, boundary.UNCOMPILED) else rung, *args[1:], **kwargs)
        return _Watching(context, used, recorder)

    module.optimize = optimize
    if recorder.config.get("rung") == boundary.UNCOMPILED:
        is_compiling.patch(module, recorder)


class _Watching(object):
    """What `optimize` gave, called on a function or module."""

    def __init__(self, context, used, recorder):
        self._context, self._used, self._recorder = context, used, recorder

    def __call__(self, model):
        torch = sys.modules["torch"]
        boundary.note_use(torch, self._recorder, model, self._used)
        if self._recorder.config.get("rung") == boundary.UNCOMPILED:
            made = boundary.uncompiled(torch, model, self._recorder)
        else:
            made = self._context(model)
        return boundary.record_calls(made, torch, self._recorder, self._used)

    def __getattr__(self, name):
        return getattr(self._context, name)

    def __enter__(self):
        return self._context.__enter__()

    def __exit__(self, *facts):
        return self._context.__exit__(*facts)
