"""The gradients that the program's own backward pass brings to the outputs of a compiled call.

A gradient may be wrong only for what the program sends back: nothing at a masked pixel, thousands under a scaled loss. No
made-up one shows that. So a call that was compared and found right is kept until the backward pass that comes through it has
ended, and compared once more under the gradients that arrived.
"""

import functools
import math

from ..capture import values
from ..capture.inputs import graph_input
from .copies import BYTES_AT_MOST
from .modes import is_float
from .run import flat

WAITING = 8  # calls that wait for their backward pass; of more, or of larger ones, the oldest are given up


class Waiting:
    """Calls that have returned, each with what is known of it, until their backward pass has ended."""

    def __init__(self):
        self._calls = []

    def __len__(self):
        return len(self._calls)

    def add(self, torch, result, copied, *known):
        """Wait for the gradients at the outputs in `result`; whether any can arrive. `copied` bytes are held meanwhile."""
        arrived = _watched(torch, result)
        if arrived is None:
            return False
        self._calls = [*self._calls[1 - WAITING :], (arrived, copied, known)]
        while len(self._calls) > 1 and sum(held for _, held, _ in self._calls) > BYTES_AT_MOST:
            del self._calls[0]
        return True

    def ended(self):
        """[(gradients by output, what is known)] of the calls that a backward pass came through."""
        ready = [(arrived, known) for arrived, _, known in self._calls if arrived]
        self._calls = [waiting for waiting in self._calls if not waiting[0]]
        return ready


def _watched(torch, result):
    """A dictionary that the gradients of the outputs will be in; None where no output takes one."""
    arrived, watched = {}, False
    for index, item in enumerate(flat(result)):
        # A hook on a leaf would stay with the program's own parameter.
        if isinstance(item, torch.Tensor) and item.requires_grad and not item.is_leaf and is_float(item):
            item.register_hook(functools.partial(_arrives, arrived, "output %d" % index))
            watched = True
    return arrived if watched else None


def _arrives(arrived, name, gradient):
    if name not in arrived and values.is_real(gradient) and str(gradient.layout) == "torch.strided":
        arrived[name] = gradient.detach().clone()


def described(case, gradients):
    """The gradients that arrived as inputs of a described graph. Ones alone go without saying."""
    entries = []
    for index, output in enumerate(case["outputs"]):
        name = output.get("ref") if isinstance(output, dict) else None
        found = gradients.get("output %d" % index)
        if name is None or found is None:  # a number, or no gradient came: the backward pass need not begin there
            continue
        entry = graph_input("gradient_of_%s" % name, meta=values.tensor_meta(found), role="gradient", gradient_of=name)
        entry["fill"], entry["data"] = _filled(found)
        entries.append(entry)
    return entries if any(entry["fill"] != "ones" for entry in entries) else []


def _filled(tensor):
    """How it is made again: one number everywhere where that is it, its elements where they are few."""
    number = tensor.flatten()[0].item() if tensor.numel() else None
    if isinstance(number, complex) and number.imag == 0:
        number = number.real
    if isinstance(number, float) and bool((tensor == number).all()):
        text = repr(number) if math.isfinite(number) else 'float("%s")' % number
        return {0.0: "zeros", 1.0: "ones"}.get(number, "full:" + text), None
    elements = values.data(tensor, values.INLINE_RECORDED)
    return ("values", elements) if elements is not None else ("randn", None)
