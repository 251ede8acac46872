"""How the inputs of a reproducer are made, the way a person would write it.

`creation` gives one expression per input that has the recorded shape, strides, storage offset, dtype and device. Layouts
are told by the view that makes them (`.t()`, `.mT`, `.permute`, `.expand`, a slice); what no view explains falls back to
`as_strided`. Strides of dimensions with at most one element carry no information and are ignored.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Sequence
from dataclasses import replace
from typing import Any

from triage.model.graphcase import GraphInput, TensorMeta
from triage.reduce.printing.literals import element, fits, has_bool, has_float, in_runs, numbers_in, written

FLOATS = {"float16", "bfloat16", "float32", "float64"}
SMALL_FLOATS = {"float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"}
COMPLEX = {"complex32", "complex64", "complex128"}
INTEGERS = {"uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"}
WIDE_UNSIGNED = {"uint16", "uint32", "uint64"}  # without most kernels
RANGES = {"bool": (0, 1), "uint8": (0, 255), "int8": (-128, 127), "int16": (-32768, 32767), "uint16": (0, 65535)}
DTYPES = FLOATS | SMALL_FLOATS | COMPLEX | INTEGERS | {"bool"}
RANDOM = ("randn", "rand", "randint", "uniform")
DRAWN = (*RANDOM, "linspace")  # floating point but for randint
UNSEEN = 1 << 20  # elements that the base of a view may have; above that, those that the view reaches and as many again


class NoFillError(ValueError):
    """A tensor that no expression makes, with the reason."""


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides, in elements."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def storage_size(meta: TensorMeta) -> int:
    """Elements of storage that the tensor reaches, its offset included."""
    if 0 in meta.shape:
        return meta.storage_offset
    return meta.storage_offset + 1 + sum((size - 1) * step for size, step in zip(meta.shape, meta.stride, strict=False))


def is_random(item: GraphInput) -> bool:
    return item.kind == "tensor" and effective_fill(item).split(":")[0] in RANDOM


def effective_fill(item: GraphInput) -> str:
    """The recorded fill, or the nearest that the dtype allows (a reducer changes dtypes without looking here)."""
    meta = item.meta
    dtype = meta.dtype if meta is not None else "float32"
    fill = item.fill
    if fill == "values" and (item.data is None or (meta is not None and not fits(item.data, meta.shape))):
        fill = "randn"
    kind = fill.partition(":")[0]
    if (dtype == "bool" and kind in DRAWN) or (dtype in INTEGERS and kind in DRAWN and kind != "randint"):
        return "randint:0:2"
    if kind in ("randint", "uniform") and dtype in COMPLEX:
        return "randn"
    return fill


def creation(item: GraphInput, *, requires_grad: bool) -> str:
    """The expression that makes `item`. Raises NoFillError where there is none."""
    meta = item.meta
    if meta is None:
        raise NoFillError(f"nothing is recorded of the input {item.name}")
    if meta.layout != "strided":
        raise NoFillError(f"the input {item.name} has layout {meta.layout}")
    if meta.dtype not in DTYPES:
        raise NoFillError(f"the input {item.name} has dtype {meta.dtype}")
    if meta.lazy:
        return _grad(_undone(item, meta), requires_grad)
    fill = effective_fill(item)
    if fill == "values":
        return _grad(_strided_values(item, meta), requires_grad)
    shape, view = layout(meta)
    text = fresh(shape, meta, fill, requires_grad=requires_grad and not view)
    return text + view + (".requires_grad_()" if requires_grad and not text.endswith("requires_grad=True)") else "")


def _undone(item: GraphInput, meta: TensorMeta) -> str:
    """A tensor whose conjugation or negation is left undone, or that has no storage because it is known to be zero."""
    if meta.lazy == "zero":
        options = "" if meta.dtype == "float32" else f", dtype=torch.{meta.dtype}"
        options += "" if meta.device == "cpu" else f', device="{meta.device}"'
        return f"torch._efficientzerotensor({_tuple(meta.shape)}{options})"
    text = creation(replace(item, meta=replace(meta, lazy="")), requires_grad=False)
    return f"{text}.conj()" if meta.lazy == "conj" else f"torch._neg_view({text})"


def fresh(shape: Sequence[int], meta: TensorMeta, fill: str, *, requires_grad: bool = False) -> str:
    """A new contiguous tensor."""
    kind, *bounds = fill.split(":")
    sizes = ", ".join(map(str, shape)) if shape else "()"
    dtype = meta.dtype
    if kind in ("randn", "rand", "ones", "zeros", "empty"):
        drawn = INTEGERS | {"bool"} if kind in ("randn", "rand") else set()
        convert, options = _told_dtype(dtype, SMALL_FLOATS | drawn, "float32")
        call = f"torch.{kind}({sizes}"
    elif kind in ("arange", "linspace"):
        count = math.prod(shape)
        if kind == "arange":
            convert, options = _told_dtype(dtype, SMALL_FLOATS | COMPLEX | WIDE_UNSIGNED | {"bool"}, "int64")
        else:
            convert, options = _told_dtype(dtype, SMALL_FLOATS, "float32")
        call = f"torch.{kind}({', '.join([*bounds, str(count)])}"
        if len(shape) != 1:
            convert = f".reshape({sizes})" + convert
    elif kind == "randint":
        low, high = _bounds(bounds, dtype)
        convert, options = _told_dtype(dtype, SMALL_FLOATS | COMPLEX, "int64")
        call = f"torch.randint({low}, {high}, {_tuple(shape)}"
    elif kind == "uniform":
        convert, options = _told_dtype(dtype, SMALL_FLOATS, "float32")
        convert = f".uniform_({', '.join(bounds)})" + convert
        call = f"torch.empty({sizes}"
    elif kind == "full":
        number = bounds[0] if bounds else "0"
        convert, options = _told_dtype(dtype, SMALL_FLOATS, _implied(number))
        call = f"torch.full({_tuple(shape)}, {number}"
    else:
        raise NoFillError(f"unknown fill {fill!r}")
    if meta.device != "cpu":
        options.append(f'device="{meta.device}"')
    if requires_grad and not convert:
        options.append("requires_grad=True")
    return ", ".join([call, *options]) + ")" + convert


def _told_dtype(dtype: str, converted: Container[str], implied: str) -> tuple[str, list[str]]:
    """(the suffix that converts to a dtype which torch cannot make at once, the arguments that name any other than it takes)."""
    if dtype in converted:
        return f".to(torch.{dtype})", []
    return "", [] if dtype == implied else [f"dtype=torch.{dtype}"]


def _implied(number: str) -> str:
    """The dtype that torch.full takes from a number as it is written."""
    if number in ("True", "False"):
        return "bool"
    return "int64" if number.lstrip("-").isdigit() else "float32"


def _bounds(bounds: Sequence[str], dtype: str) -> tuple[int, int]:
    """The bounds of a randint, inside of what the dtype holds."""
    low, high = (int(bounds[0]), int(bounds[1])) if len(bounds) == 2 else (0, 2)
    least, most = RANGES.get(dtype, (low, high - 1))
    low = min(max(low, least), most)
    return low, max(min(high, most + 1), low + 1)


def _tuple(shape: Sequence[int]) -> str:
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def layout(meta: TensorMeta) -> tuple[tuple[int, ...], str]:
    """(shape of a contiguous tensor, view of it as a suffix) that give the recorded shape and strides."""
    shape, stride = tuple(meta.shape), tuple(meta.stride)
    if len(stride) != len(shape) or (0 in shape and not meta.storage_offset):
        return shape, ""
    for explain in (_plain, _expanded, _permuted, _sliced):
        found = explain(shape, stride, meta.storage_offset)
        if found is not None:
            return found
    size = max(storage_size(meta), 1)
    offset = f", {meta.storage_offset}" if meta.storage_offset else ""
    return (size,), f".as_strided({_tuple(shape)}, {_tuple(stride)}{offset})"


Layout = tuple[tuple[int, ...], str]


def same_strides(shape: Sequence[int], one: Sequence[int], other: Sequence[int]) -> bool:
    """Equal where they matter: in dimensions of more than one element."""
    return all(a == b for size, a, b in zip(shape, one, other, strict=True) if size > 1)


def _plain(shape: tuple[int, ...], stride: tuple[int, ...], offset: int) -> Layout | None:
    return (shape, "") if not offset and same_strides(shape, stride, contiguous(shape)) else None


def _expanded(shape: tuple[int, ...], stride: tuple[int, ...], offset: int) -> Layout | None:
    if offset or not any(step == 0 and size > 1 for size, step in zip(shape, stride, strict=True)):
        return None
    small = tuple(1 if step == 0 else size for size, step in zip(shape, stride, strict=True))
    if not same_strides(small, stride, contiguous(small)):
        return None
    lead = next((index for index, size in enumerate(small) if size != 1), len(small))
    # Leading dimensions need not be there before an expand.
    return small[lead:] if any(step == 0 for step in stride[:lead]) else small, f".expand({', '.join(map(str, shape))})"


def _permuted(shape: tuple[int, ...], stride: tuple[int, ...], offset: int) -> Layout | None:
    if offset or len(shape) < 2:
        return None
    order = sorted(range(len(shape)), key=lambda index: (-stride[index], shape[index] == 1, index))
    memory = tuple(shape[index] for index in order)
    if not same_strides(memory, tuple(stride[index] for index in order), contiguous(memory)):
        return None
    back = tuple(order.index(index) for index in range(len(shape)))
    if len(shape) == 2:
        return memory, ".t()"
    if back == (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2):
        return memory, ".mT"
    if len(shape) == 4 and _channels_last(shape, stride):
        return shape, ".to(memory_format=torch.channels_last)"
    return memory, f".permute{back}"


def _channels_last(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    n, c, h, w = shape
    return c > 1 and h * w > 1 and same_strides(shape, stride, (c * h * w, 1, c * w, c)) and n >= 1


def _sliced(shape: tuple[int, ...], stride: tuple[int, ...], offset: int) -> Layout | None:
    """A part of a larger contiguous tensor: x[:, 2:6]."""
    if not shape or stride[-1] != 1 or 0 in stride or any(a < b for a, b in itertools.pairwise(stride)):
        return None
    full, starts, rest = [], [], offset
    for index, step in enumerate(stride):
        extent = None if index == 0 else stride[index - 1] // step
        if index and stride[index - 1] % step:
            return None
        start, rest = divmod(rest, step)
        if extent is None:
            extent = start + shape[0]
        if start + shape[index] > extent:
            return None
        full.append(extent)
        starts.append(start)
    slices = []
    for size, extent, start in zip(shape, full, starts, strict=True):
        stop = start + size
        slices.append(f"{start or ''}:{stop if stop != extent else ''}")
    while slices and slices[-1] == ":":
        slices.pop()
    return tuple(full), f"[{', '.join(slices)}]" if slices else ""


def _grad(text: str, requires_grad: bool) -> str:
    if not requires_grad:
        return text
    if text.startswith("torch.tensor(") and text.count(")") == 1:
        return text[:-1] + ", requires_grad=True)"
    return text + ".requires_grad_()"


def _strided_values(item: GraphInput, meta: TensorMeta) -> str:
    text = tensor_literal(item.data, meta)
    if 0 in meta.shape or same_strides(meta.shape, meta.stride, contiguous(meta.shape)):
        return text
    shape, stride = _tuple(meta.shape), _tuple(meta.stride)
    if any(step == 0 and size > 1 for size, step in zip(meta.shape, meta.stride, strict=True)):
        small = tensor_literal(_unexpanded(item.data, meta.stride), meta)
        return f"{small}.expand{shape}"
    return f"torch.empty_strided({shape}, {stride}, dtype=torch.{meta.dtype}).copy_({text})"


def _unexpanded(data: Any, stride: Sequence[int]) -> Any:
    if not stride or not isinstance(data, list):
        return data
    rows = data[:1] if stride[0] == 0 else data
    return [_unexpanded(row, stride[1:]) for row in rows]


def tensor_literal(data: Any, meta: TensorMeta) -> str:
    """`torch.tensor([...])` with a dtype where the elements do not imply it."""
    floats = has_float(data)
    implied = "float32" if floats else "bool" if has_bool(data) else "int64"
    if 0 in meta.shape:
        return fresh(meta.shape, meta, "empty")
    options = "" if meta.dtype == implied else f", dtype=torch.{meta.dtype}"
    if meta.device != "cpu":
        options += f', device="{meta.device}"'
    flat = list(numbers_in(data))
    if written(flat) == len(flat):
        return f"torch.tensor({element(data)}{options})"
    shape = f".reshape{_tuple(meta.shape)}" if len(meta.shape) > 1 else ""
    return f"torch.tensor({in_runs(flat)}{options}){shape}"


def seen_of(base: TensorMeta, meta: TensorMeta) -> TensorMeta:
    """A base of one dimension that has no more elements than a view with `meta` reaches."""
    return replace(
        base, shape=(storage_size(meta),), stride=(1,), dtype=meta.dtype, device=meta.device, storage_offset=0
    )


def based(item: GraphInput) -> tuple[TensorMeta, str] | None:
    """What an input is printed as a view of, and the suffix that makes it; None for one that is no view.

    That is the recorded base; or as much of its storage as the view reaches, where the base is far larger or there is no
    such view of it (a reducer changes inputs without looking here). Values written out are those of the view itself.
    """
    meta, base = item.meta, item.view_of
    if meta is None or base is None or meta.layout != "strided" or meta.lazy or 0 in meta.shape:
        return None
    if effective_fill(item) == "values":
        return replace(meta, requires_grad=base.requires_grad), "[:]" if meta.shape else ".view(())"
    base = replace(base, dtype=meta.dtype, device=meta.device)
    suffix = view_of(base, meta) if storage_size(base) <= max(UNSEEN, 2 * storage_size(meta)) else None
    if suffix is None:
        base = seen_of(base, meta)
        suffix = view_of(base, meta)
    return None if suffix is None else (base, suffix)


def view_of(base: TensorMeta, meta: TensorMeta, room: int = 0) -> str | None:
    """The suffix that makes a view with `meta` from the tensor printed for `base`; None where that is not possible.

    The printed base has its own contiguous storage, so the view must lie inside of what the base reaches; or inside of
    `room`, the elements of a larger storage of which the base is itself printed as a view.
    """
    if base.dtype != meta.dtype or 0 in meta.shape or 0 in base.shape:
        return None
    if base.lazy != meta.lazy:
        plain = {base.lazy, meta.lazy} == {"", "conj"} and view_of(base, replace(meta, lazy=base.lazy))
        return f"{plain}.conj()" if plain else None
    shape, suffix = layout(base)
    offset = meta.storage_offset if suffix else meta.storage_offset - base.storage_offset
    reached = math.prod(shape) if suffix else storage_size(base)
    if offset < 0 or storage_size(meta) > max(room, reached, storage_size(base)):
        return None
    if base.shape == meta.shape and base.stride == meta.stride and offset == base.storage_offset:
        return "[:]" if meta.shape else ".view(())"
    inside = storage_size(meta) <= storage_size(base)
    if inside and not suffix and base.stride == contiguous(base.shape):
        if meta.stride == contiguous(meta.shape) and not offset and math.prod(meta.shape) == math.prod(base.shape):
            return f".view({', '.join(map(str, meta.shape)) or '()'})"
        rows = base.stride[0] if base.shape else 1
        if meta.shape[1:] == base.shape[1:] and meta.stride == base.stride and offset % rows == 0:
            start, stop = offset // rows, offset // rows + meta.shape[0]
            return f"[{start or ''}:{stop if stop != base.shape[0] else ''}]"
        if meta.shape == base.shape[1:] and meta.stride == base.stride[1:] and offset % rows == 0:
            return f"[{offset // rows}]"
        if len(base.shape) == 2 and meta.shape == base.shape[::-1] and meta.stride == base.stride[::-1] and not offset:
            return ".t()"
    return as_strided(replace(meta, storage_offset=offset))


def as_strided(meta: TensorMeta) -> str:
    """The suffix that makes a view with `meta` of any tensor with its storage."""
    tail = f", {meta.storage_offset}" if meta.storage_offset else ""
    return f".as_strided({_tuple(meta.shape)}, {_tuple(meta.stride)}{tail})"
