"""Tensors, and arrays of NumPy's, as expressions: by shape and dtype, few elements as they are."""

import math

from ..compat import gpu
from . import devices
from .unspoken import UnspokenError

ELEMENTS = 8


def spelled(torch, value, ranges=False):
    """An expression for a tensor like it. `ranges`: whole numbers are drawn from their range, and are no noughts."""
    if type(value) not in (torch.Tensor, torch.nn.Parameter) or value.layout is not torch.strided:
        raise UnspokenError("a %s" % type(value).__qualname__)
    shape, dtype = tuple(value.shape), value.dtype
    text = ", ".join(str(int(size)) for size in shape) or "()"
    told = "" if dtype == torch.get_default_dtype() else ", dtype=%s" % dtype
    device = value.device
    where = ', device="%s"' % devices.name_of(device) if devices.is_elsewhere(device) else ""
    where += ", requires_grad=True" if value.requires_grad and value.is_leaf else ""
    seen = gpu.can_read(value)
    if value.numel() <= ELEMENTS and not dtype.is_complex and seen:
        values = value.detach().cpu().tolist()
        if dtype == torch.int64 or dtype == torch.bool:
            told = ""
        if value.numel() and not _has_odd(values):
            made = "torch.tensor(%r%s%s)" % (values, told, where)
            return "torch.nn.Parameter(%s)" % made if isinstance(value, torch.nn.Parameter) else made
    if dtype == torch.bool:
        made = "torch.ones(%s, dtype=torch.bool%s)" % (text, where)
    elif dtype.is_floating_point or dtype.is_complex:
        made = "torch.randn(%s%s%s)" % (text, told, where)
    elif (
        seen and ranges and value.numel() and dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    ):
        low, high = int(value.min()), int(value.max())
        made = "torch.randint(%d, %d, %r, dtype=%s%s)" % (low, high + 1, shape, dtype, where)
    else:
        made = "torch.zeros(%s, dtype=%s%s)" % (text, dtype, where)
    return "torch.nn.Parameter(%s)" % made if isinstance(value, torch.nn.Parameter) else made


def of_array(torch, value):
    """The tensor with the elements of an array of NumPy's, where torch has its dtype."""
    try:
        return torch.from_numpy(value.copy())
    except (TypeError, ValueError):
        raise UnspokenError("an array of %s" % value.dtype) from None


def _has_odd(values):
    if isinstance(values, list):
        return any(_has_odd(item) for item in values)
    return isinstance(values, float) and not math.isfinite(values)
