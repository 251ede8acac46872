"""On which device a value lies, as a program says it."""


def moved(module):
    """`.to("cuda")` of a module whose parameters lie there."""
    try:
        tensor = next((each for group in (module.parameters(), module.buffers()) for each in group), None)
    except Exception:  # one that is still being made
        return ""
    return '.to("%s")' % name_of(tensor.device) if tensor is not None and is_elsewhere(tensor.device) else ""


def is_elsewhere(device):
    return device.type not in ("cpu", "meta")


def name_of(device):
    """A device as a program names it: the first one of its kind without its number."""
    return str(device) if device.index else device.type
