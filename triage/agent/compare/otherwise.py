"""Run a compiled function's code uncompiled, its results rounded otherwise: does the program's own check bear that?

A program that hands its results on to the next call (a simulation, a long training run) may make of the last bit of one call
all digits of the last one. Where its check fails with results that are as right as eager's, it says nothing of a compiler.
"""

import functools
import inspect

from .. import compat
from . import added, modes, randomness


def rounding_otherwise(torch, function):
    """The function; floating numbers that it returns or writes into its arguments are a few units of the last place off, and
    so is what it adds to others in one operation that rounds once.
    """

    @functools.wraps(function)
    def run(*args, **kwargs):
        try:
            given = compat.tensors_in((args, kwargs, _state_of(torch, function)))
            before = [(tensor, compat.version_of(tensor)) for tensor in given]
        except Exception:  # arguments of a kind that nothing is known of
            return function(*args, **kwargs)
        with added.rounded_otherwise(torch):
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
    """The tensors that it may write into besides its arguments: of its object, its closure, globals that it names."""
    found = []
    for holder in [getattr(function, "__self__", None), *_named(function)]:
        if isinstance(holder, torch.Tensor):
            found.append(holder)
        elif isinstance(holder, torch.nn.Module):
            found += holder.state_dict(keep_vars=True).values()
        elif isinstance(holder, torch.optim.Optimizer):
            found += [parameter for group in holder.param_groups for parameter in group["params"]]
            found += [each for state in holder.state.values() for each in state.values()]
    tensors = [each for each in found if isinstance(each, torch.Tensor)]
    return list({id(each): each for each in tensors}.values())


def _named(function):
    """What the names of a function stand for that are not its own: those of a closure, and globals."""
    function = inspect.unwrap(getattr(function, "__func__", function))
    code = getattr(function, "__code__", None)
    if code is None:
        return []
    given = getattr(function, "__globals__", {})
    found = [given[name] for name in code.co_names if name in given]
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # not bound yet
            continue
    return found


def _memory(tensor):
    return compat.address_of(tensor) or id(tensor)
