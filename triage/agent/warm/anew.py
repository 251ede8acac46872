"""Compiles every function anew at each of its calls: no graph of an earlier call is used again, whatever the guards say."""

import functools

from .. import compat


def install():
    """Replace torch.compile in this process; `module.compile()` goes through it."""
    import torch

    torch.compile = _anew(torch, torch.compile)


def _anew(torch, plain):
    @functools.wraps(plain)
    def compiling(model=None, **options):
        if model is None:
            return lambda model: compiling(model, **options)
        compiled = plain(model, **options)
        if isinstance(compiled, torch.nn.Module):
            compiled.forward = _forgetting(torch, compiled.forward)
            return compiled
        return _forgetting(torch, compiled)

    return compiling


def _forgetting(torch, call):
    @functools.wraps(call)
    def forgetful(*args, **kwargs):
        torch._dynamo.reset()
        return call(*args, **kwargs)

    return compat.standing_for(call, forgetful)
