"""A call of the program's, made once more: the same inputs, the modes that it had, and a backward pass where it had one."""

import contextlib

from .. import compat


class Call(object):
    """Holds the function and its arguments; a tensor of an autograd graph is held without that, which may be gone by then."""

    def __init__(self, torch, function, args, kwargs):
        self.torch, self.function = torch, function
        self.args, self.kwargs = _detached(torch, args), _detached(torch, kwargs)
        self.backward = False  # whether the program sent gradients back after it
        self._modes = _modes(torch)

    def make(self):
        """Call, and send gradients back where the program did."""
        with contextlib.ExitStack() as stack:
            for mode in self._modes:
                stack.enter_context(mode())
            result = self.function(*self.args, **self.kwargs)
        if self.backward:
            total = _total(result)
            if total is not None:
                total.backward()


def _modes(torch):
    """Makers of the contexts in which the call is made: gradients, inference, autocast."""
    if torch.is_inference_mode_enabled():
        made = [lambda: torch.inference_mode(True)]
    else:
        grad = torch.is_grad_enabled()
        made = [lambda: torch.set_grad_enabled(grad)]
    for device in ("cpu", "cuda"):
        on, dtype = compat.autocast_of(device)
        if on:
            made.append(lambda device=device, dtype=dtype: torch.autocast(device, dtype=dtype))
    return made


def _detached(torch, value):
    if isinstance(value, torch.Tensor):
        if not value.requires_grad or value.is_leaf:
            return value
        return value.detach().requires_grad_()
    if type(value) in (list, tuple):
        return type(value)(_detached(torch, item) for item in value)
    if type(value) is dict:
        return {key: _detached(torch, item) for key, item in value.items()}
    return value


def _total(value):
    """The sum of what gradients can be sent back from; None where there is nothing."""
    parts = [item.sum() for item in compat.tensors_in(value) if item.requires_grad and not item.is_complex()]
    return sum(parts[1:], parts[0]) if parts else None
