"""Autocast, and what else a graph may enter and, since it raised, never leave."""

import sys


def autocast_of(device):
    """(whether operations on this device are cast by themselves now, the dtype they are cast to)."""
    torch = sys.modules["torch"]
    try:
        return torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)
    except (TypeError, AttributeError):  # torch before 2.4 asks without a device
        if device == "cpu":
            return torch.is_autocast_cpu_enabled(), torch.get_autocast_cpu_dtype()
        return torch.is_autocast_enabled(), torch.get_autocast_gpu_dtype()


def autocast_is_on():
    """Whether operations are cast by themselves now, on any device."""
    return any(autocast_of(device)[0] for device in ("cpu", "cuda"))


def autocast_off():
    """A context in which operations keep the precision of their operands, on every device that casts by itself."""
    import contextlib

    torch = sys.modules["torch"]
    stack = contextlib.ExitStack()
    for device in ("cpu", "cuda"):
        try:
            stack.enter_context(torch.autocast(device, enabled=False))
        except Exception:  # a torch built without it
            continue
    return stack


def autocast_as_now():
    """A function that gives a context in which operations are cast as they are now. What is cast inside is not kept: a cast
    weight, and with it the weight, would stay in memory until the program leaves its own autocast.
    """
    import contextlib

    torch = sys.modules["torch"]
    devices = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
    found = [(device, *autocast_of(device)) for device in devices]

    def again():
        stack = contextlib.ExitStack()
        for device, enabled, dtype in found:
            stack.enter_context(torch.autocast(device, dtype=dtype, enabled=enabled, cache_enabled=False))
        return stack

    return again


class NothingLeftEntered(object):
    """A context that leaves what a graph entered and, since it raised, never left: autocast and the levels of torch.func.

    A program one level too deep in autocast keeps what it cast for good, and computes with weights of an earlier step.
    """

    def __enter__(self):
        self.casts, self.levels = _autocast_depth(), _levels()

    def __exit__(self, *facts):
        torch = sys.modules["torch"]
        while _levels() > self.levels:
            _leave_level(torch._C._functorch)
        while _autocast_depth() > self.casts:
            if torch.autocast_decrement_nesting() == 0:
                torch.clear_autocast_cache()


def _autocast_depth():
    torch = sys.modules["torch"]
    torch.autocast_increment_nesting()
    return torch.autocast_decrement_nesting()


def _levels():
    innermost = sys.modules["torch"]._C._functorch.peek_interpreter_stack()
    return innermost.level() if innermost is not None else 0


def _leave_level(functorch):
    """Leave the innermost transform. What torch has for several at once leaves two for each in 2.4 to 2.10 at least."""
    kinds = functorch.TransformType
    leave = {
        kinds.Vmap: functorch._vmap_decrement_nesting,
        kinds.Grad: functorch._grad_decrement_nesting,
        kinds.Jvp: functorch._jvp_decrement_nesting,
        kinds.Functionalize: functorch._func_decrement_nesting,
    }.get(functorch.peek_interpreter_stack().key(), functorch.pop_dynamic_layer_stack)
    leave()
