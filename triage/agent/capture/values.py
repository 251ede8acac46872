"""Tensors as plain data: their meta, how their values may be made again, and, when asked for, the values themselves.

Sizes are plain integers (the hint of a symbolic size, i.e. what was seen at run time), with the symbols named beside.
Values are looked at only where a real tensor is at hand; a reading that fails falls back to what the dtype allows.
"""

from __future__ import annotations

import contextlib
import math
import struct
from typing import Any, Dict, List, Optional, Tuple

from .. import compat
from ..compat import gpu

# Sizes that depend on data have no hint; any small number that is neither 0 nor 1 will do.
UNBACKED_HINT = 4
# A constant of this many elements at most is written into the case; a recorded input may have more. A batch may have more than a
# parameter: what is odd in a program is odd in what it reads, and a model has many parameters.
INLINE_CONSTANT = 64
INLINE_RECORDED = 16384
INLINE_BATCH = 65536
# All inputs of one graph together: a script that holds more takes long to read.
RECORDED_ALTOGETHER = 262_144
# Tensors larger than this are not scanned for their range: the scan would cost the user time.
SCAN_LIMIT = 20_000_000


def hint(size: Any) -> Any:
    """The number a symbolic scalar stood for; numbers pass through."""
    if isinstance(size, (bool, int, float)):
        return size
    node = getattr(size, "node", None)
    if node is None:
        return int(size)
    value = None
    try:
        value = node.hint
    except Exception:
        value = None
    if value is None:
        try:
            value = compat.hint_of(node.shape_env, node.expr)
        except Exception:
            value = None
    if value is None:
        return UNBACKED_HINT
    if isinstance(value, bool):
        return value
    kind = type(size).__name__
    try:
        return float(value) if kind == "SymFloat" else bool(value) if kind == "SymBool" else int(value)
    except Exception:
        return UNBACKED_HINT


def symbol(size: Any) -> Optional[str]:
    """The expression of a symbolic size, e.g. `s0` or `3*s0`; None for a plain number."""
    if isinstance(size, (bool, int, float)):
        return None
    node = getattr(size, "node", None)
    expression = getattr(node, "expr", None)
    if expression is None or getattr(expression, "is_number", False):
        return None
    return str(expression)


def name_of(thing: Any) -> str:
    """`float32` for torch.float32, `channels_last` for torch.channels_last."""
    return str(thing).split(".")[-1]


def is_tensor(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor)


def tensor_meta(tensor: Any) -> Dict[str, Any]:
    """The TensorMeta dictionary of a real or fake tensor."""
    shape = tuple(tensor.shape)
    strided = name_of(getattr(tensor, "layout", "strided")) == "strided"
    symbols = {}
    for dimension, size in enumerate(shape):
        text = symbol(size)
        if text is not None:
            symbols[str(dimension)] = text
    try:
        stride = [int(hint(step)) for step in tensor.stride()] if strided else []
        offset = int(hint(tensor.storage_offset())) if strided else 0
    except Exception:
        stride, offset = contiguous([int(hint(size)) for size in shape]), 0
    return {
        "shape": [int(hint(size)) for size in shape],
        "stride": stride,
        "dtype": name_of(tensor.dtype),
        "device": str(getattr(tensor, "device", "cpu")),
        "requires_grad": bool(tensor.requires_grad),
        "storage_offset": offset,
        "symbols": symbols,
        "layout": name_of(getattr(tensor, "layout", "strided")),
        "lazy": compat.left_undone(tensor),
    }


def contiguous(shape: List[int]) -> List[int]:
    """Row-major strides."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return strides[::-1]


def metas(value: Any) -> Tuple[List[Optional[Dict[str, Any]]], bool]:
    """(out, multi) of a node's recorded value: one meta, or one per element of a tuple or list; nothing where unknown."""
    if value is None:
        return [], False
    if is_tensor(value):
        return [tensor_meta(value)], False
    if isinstance(value, (tuple, list)) and type(value).__name__ != "Size":
        return [tensor_meta(item) if is_tensor(item) else None for item in _flat(value)], True
    return [None], False


def _flat(value: Any):
    for item in value:
        if isinstance(item, (tuple, list)):
            yield from _flat(item)
        else:
            yield item


def fill(tensor: Any) -> str:
    """How values of the same kind can be made: the range of a real tensor, or what its dtype allows."""
    seen = _scan(tensor)
    dtype = name_of(tensor.dtype)
    if dtype == "bool":
        if seen is not None and seen[0] == seen[1]:
            return "ones" if seen[1] else "zeros"
        return "randint:0:2"
    if not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
        return _integer_fill(tensor, seen)
    if seen is None:
        return "randn"
    low, high = seen
    if low == high and low in (0.0, 1.0):
        return "zeros" if low == 0.0 else "ones"
    if _is_arange(tensor, low, high):
        return "arange"
    # Probabilities, variances and distances: their domain matters to log, sqrt and the losses.
    return "rand" if low >= 0.0 else "randn"


def _integer_fill(tensor: Any, seen: Optional[Tuple[Any, Any]]) -> str:
    if seen is None:
        return "randint:0:2"
    low, high = int(seen[0]), int(seen[1])
    if low == high and low in (0, 1):
        return "zeros" if low == 0 else "ones"
    if _is_arange(tensor, low, high):
        return "arange"
    # Indices start at 0, also where the smallest did not occur; a divisor must not become 0.
    return "randint:%d:%d" % (min(low, 1), high + 1)


def _is_arange(tensor: Any, low: Any, high: Any) -> bool:
    """Whether the elements count up from 0 in the order of the dimensions."""
    import torch

    count = tensor.numel()
    if count < 2 or (low, high) != (0, count - 1):
        return False
    try:
        return bool(
            (tensor.detach().reshape(-1) == torch.arange(count, device=tensor.device, dtype=tensor.dtype)).all()
        )
    except Exception:
        return False


def _scan(tensor: Any) -> Optional[Tuple[Any, Any]]:
    """(lowest, highest) of a real tensor's values; None where there is nothing to see or it cannot be seen."""
    if not is_real(tensor):
        return None
    try:
        plain = tensor.detach()
        if plain.numel() == 0 or plain.numel() > SCAN_LIMIT or plain.dtype.is_complex:
            return None
        low, high = plain.min().item(), plain.max().item()
    except Exception:  # no kernel for this dtype, a subclass, a device in an error state
        return None
    return None if isinstance(low, float) and not (math.isfinite(low) and math.isfinite(high)) else (low, high)


def is_real(tensor: Any) -> bool:
    """Whether the tensor has values that can be read: neither fake, nor functional, nor on the meta device.

    Nor on a GPU while a CUDA graph is recorded, which reading would spoil.
    """
    import torch

    plain = (torch.Tensor, torch.nn.Parameter, getattr(torch.nn, "Buffer", torch.Tensor))
    if not is_tensor(tensor) or type(tensor) not in plain:
        return False
    try:
        return gpu.can_read(tensor) and not compat.is_functional(tensor)
    except Exception:
        return False


def recorded(role: str) -> int:
    """How many elements of an input of that role are recorded at most."""
    return INLINE_BATCH if role == "input" else INLINE_RECORDED


def data(tensor: Any, limit: int) -> Optional[Any]:
    """The elements as nested lists; None where there are more than `limit` or they cannot be read."""
    try:
        if not is_real(tensor) or tensor.numel() > limit or name_of(tensor.layout) != "strided":
            return None
        return _elements(tensor.detach().cpu().to(_readable(tensor.dtype)).tolist(), name_of(tensor.dtype))
    except Exception:
        return None


def _readable(dtype: Any) -> Any:
    """A dtype whose tolist is exact: the small float formats have none of their own in older torch."""
    import torch

    return torch.float32 if dtype.is_floating_point and dtype not in (torch.float32, torch.float64) else dtype


def _elements(value: Any, dtype: str) -> Any:
    if isinstance(value, list):
        return [_elements(item, dtype) for item in value]
    if isinstance(value, complex):
        return {"complex": [number(value.real, dtype), number(value.imag, dtype)]}
    return number(value, dtype)


def number(value: Any, dtype: str = "float64") -> Any:
    """A JSON number; nan, inf and -inf as strings; floats of 32 bits or fewer in their shortest exact spelling."""
    if not isinstance(value, float):
        return value
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if dtype == "float64" or dtype == "complex128":
        return value
    for digits in range(1, 10):
        short = float("%.*g" % (digits, value))
        if _as_single(short) == value:
            return short
    return value


def _as_single(value: float) -> Optional[float]:
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return None


@contextlib.contextmanager
def outside_modes():
    """Leave the tracing modes (fake, functional, proxy) that are active while a graph is being compiled.

    Reading a real tensor's values under them would be traced, or refused.
    """
    import torch

    with compat.tracing_modes_off(), torch.no_grad():
        yield
