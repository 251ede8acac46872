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
        self.casts, self.levels = _autocast_depth(), _functorch_depth()

    def __exit__(self, *facts):
        torch = sys.modules["torch"]
        if self.levels is not None and _functorch_depth() > self.levels:
            torch._C._functorch.pop_dynamic_layer_stack_and_undo_to_depth(self.levels)
        while _autocast_depth() > self.casts:
            if torch.autocast_decrement_nesting() == 0:
                torch.clear_autocast_cache()


def _autocast_depth():
    torch = sys.modules["torch"]
    torch.autocast_increment_nesting()
    return torch.autocast_decrement_nesting()


def _functorch_depth():
    """None where this torch cannot be asked (before 2.2)."""
    ask = getattr(sys.modules["torch"]._C._functorch, "get_dynamic_layer_stack_depth", None)
    return ask() if ask is not None else None
