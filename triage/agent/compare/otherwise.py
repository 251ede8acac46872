"""Run a compiled function's code uncompiled, its results rounded otherwise: does the program's own check bear that?

A program that hands its results on to the next call (a simulation, a long training run) may make of the last bit of one call
all digits of the last one. Where its check fails with results that are as right as eager's, it says nothing of a compiler.
"""

import functools

from .. import compat
from . import modes, randomness


def rounding_otherwise(torch, function):
    """The function; floating numbers that it returns or writes into its arguments are a few units of the last place off."""

    @functools.wraps(function)
    def run(*args, **kwargs):
        try:
            given = compat.tensors_in((args, kwargs, _state_of(torch, function)))
            before = [(tensor, compat.version_of(tensor)) for tensor in given]
        except Exception:  # arguments of a kind that nothing is known of
            return function(*args, **kwargs)
        result = function(*args, **kwargs)
        try:
            return _nudged(torch, result, before)
        except Exception:  # a result of such a kind
            return result

    return run


def _nudged(torch, result, before):
    known = {_memory(tensor) for tensor, _ in before}
    put_back = randomness.kept(torch)  # the program's own random numbers are as they were

    def change(value):
        if not isinstance(value, torch.Tensor) or isinstance(value, torch.nn.Parameter) or _memory(value) in known:
            return value
        return modes.shaken(torch, value, False, whole=True)  # and gradients, by the same factors

    try:
        for tensor, version in before:
            if version != compat.version_of(tensor):  # by `.data`, which autograd does not take for a change
                tensor.data.copy_(modes.shaken(torch, tensor.data, False, whole=True))
        leaves, put_back_leaves = compat.flattened(result)
        return put_back_leaves([change(leaf) for leaf in leaves])
    finally:
        put_back()


def _state_of(torch, function):
    module = getattr(function, "__self__", None)
    return list(module.state_dict(keep_vars=True).values()) if isinstance(module, torch.nn.Module) else []


def _memory(tensor):
    return compat.address_of(tensor) or id(tensor)
