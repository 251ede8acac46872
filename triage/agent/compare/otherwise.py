"""Run a compiled function's code uncompiled, its results rounded otherwise: does the program's own check bear that?

A program that hands its results on to the next call (a simulation, a long training run) may make of the last bit of one call
all digits of the last one. Where its check fails with results that are as right as eager's, it says nothing of a compiler.
"""

import functools

from . import modes, randomness


def rounding_otherwise(torch, function):
    """The function, whose floating results are each a few units of the last place off; what is memory of its arguments stays."""

    @functools.wraps(function)
    def run(*args, **kwargs):
        result = function(*args, **kwargs)
        try:
            return _nudged(torch, result, (args, kwargs, _state_of(torch, function)))
        except Exception:  # a result of a kind that nothing is known of
            return result

    return run


def _nudged(torch, result, given):
    from torch.utils import _pytree

    known = {_place(item) for item in _pytree.tree_flatten(given)[0] if isinstance(item, torch.Tensor)}
    put_back = randomness.kept(torch)  # the program's own random numbers are as they were

    def change(value):
        if not isinstance(value, torch.Tensor) or isinstance(value, torch.nn.Parameter) or _place(value) in known:
            return value
        return modes.shaken(torch, value, False)

    try:
        return _pytree.tree_map(change, result)
    finally:
        put_back()


def _state_of(torch, function):
    module = getattr(function, "__self__", None)
    return list(module.state_dict(keep_vars=True).values()) if isinstance(module, torch.nn.Module) else []


def _place(tensor):
    try:
        return tensor.untyped_storage().data_ptr()
    except Exception:  # no memory of its own, or an older torch
        return id(tensor)
