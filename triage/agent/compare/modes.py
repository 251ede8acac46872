"""Dispatch modes under which eager tells how sure of its own results it is.

`Doubled` runs a graph in double precision, also where the graph itself asks for another one. `Nudged` runs it as a compiler
might legitimately have: every result that is rounded is a few units off, equal elements are sorted the other way round,
memory that nobody wrote holds something else. Both see ATen operations, of the backward pass too; a higher-order operator is
one of them, whatever it holds.
"""

from .. import compat
from . import memory, repeats, rule, scalars

DOUBLE = dict.fromkeys(("float16", "bfloat16", "float32"), "float64")
DOUBLE.update(complex32="complex128", complex64="complex128")

# Operations that copy, select or compare: their results are exact, there is nothing to nudge. A quotient or remainder that is
# rounded to an integer is defined to the last bit too.
EXACT = frozenset(
    (  # noqa: SIM905 - a table of words
        "_local_scalar_dense _reshape_copy _to_copy _unsafe_index abs alias amax amin aminmax argmax "
        "argmin as_strided_copy bucketize cat ceil channel_shuffle clamp clamp_max clamp_min clone "
        "constant_pad_nd copy copysign cummax cummin detach diag_embed diagonal_copy embedding "
        "expand_copy eye fill flip floor floor_divide fmax fmin fmod full full_like gather "
        "hardtanh heaviside index index_copy index_fill index_put index_select isin kthvalue lift lift_fresh "
        "lift_fresh_copy masked_fill masked_scatter masked_select max max_pool2d_with_indices "
        "max_pool3d_with_indices maximum median min minimum mode nan_to_num nanmedian native_channel_shuffle "
        "neg new_full new_ones new_zeros nextafter one_hot ones ones_like permute_copy pixel_shuffle "
        "reflection_pad1d reflection_pad2d reflection_pad3d relu remainder repeat repeat_interleave "
        "replication_pad1d replication_pad2d replication_pad3d resolve_conj resolve_neg roll round "
        "scalar_tensor scatter searchsorted select_backward select_copy select_scatter set_data sgn sign "
        "signbit slice_backward slice_copy slice_scatter sort split_copy split_with_sizes_copy stack take "
        "threshold threshold_backward topk transpose_copy tril triu trunc unbind_copy "
        "unfold_copy upsample_nearest1d upsample_nearest2d upsample_nearest3d view_copy where zero zeros "
        "zeros_like"
    ).split()
)
NEXT = "aten.nextafter.default"  # the number next to a half is another one than the double next to it
UNWRITTEN = frozenset(("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"))
# Position of the dimension among the arguments, and its default (None: over all elements).
TIES = {
    "sort": (1, -1),
    "topk": (2, -1),
    "argmax": (1, None),
    "argmin": (1, None),
    "max": (1, None),
    "min": (1, None),
    "kthvalue": (2, -1),
    "median": (1, None),
    "nanmedian": (1, None),
    "mode": (1, -1),
}


class NotDoubleError(Exception):
    """The graph means something else in double precision."""


def doubled(torch, call=None, single=False, nexts=(), casts=False):
    """A mode in which every floating result is double (complex: of doubles).

    `call(func, args, kwargs, plain)` calls the operations in its stead; `plain` are the arguments as the graph has them. With
    `single` all in the graph is of single precision, so numbers are what eager makes of them (`scalars.py`). `nexts`: in which
    dtypes eager looked for the number next to another, in order. `casts`: what the graph casts to fewer digits has those alone.
    """
    left = list(nexts)

    def in_double(func, args, kwargs):
        if str(func) == NEXT and left:
            dtype = left.pop(0)
            return func(*(item.to(dtype) for item in args)).double()
        if str(func).startswith(("aten.view.dtype", "aten.nextafter")) or "quantize" in str(func):
            raise NotDoubleError("%s reads bits" % func)
        wide = _with_doubles(torch, args), _with_doubles(torch, kwargs)
        if single:
            wide = scalars.rounded(name_of(func), _is_exact(name_of(func), *wide), *wide)
        result = func(*wide[0], **wide[1]) if call is None else call(func, *wide, (args, kwargs))
        asked = kwargs.get("dtype") if casts and name_of(func) == "_to_copy" else None
        return result.to(asked).to(result.dtype) if str(asked).split(".")[-1] in DOUBLE else result

    return compat.dispatching(in_double, whole=True)


def _with_doubles(torch, value):
    if isinstance(value, torch.dtype):
        name = DOUBLE.get(str(value).split(".")[-1])
        return getattr(torch, name) if name else value
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(_with_doubles(torch, item) for item in value)
    if isinstance(value, dict):
        return {key: _with_doubles(torch, item) for key, item in value.items()}
    return value


def nudged(torch, rough, dice=None, whole=False):
    """A mode in which eager gives what else it might have given. `rough` nudges further, `whole` as far as that each time;
    `dice` says what is drawn.
    """

    def shake(tensor):
        return shaken(torch, tensor, rough, whole)

    def call(func, args, kwargs):
        return _nudged(torch, rough, shake, func if dice is None else _Thrown(dice, func), args, kwargs)

    return compat.dispatching(call, whole=True)


def _nudged(torch, rough, shake, func, args, kwargs):
    name = name_of(func)
    schema = getattr(func, "_schema", None)
    if name in UNWRITTEN:
        return _filled(torch, func(*args, **kwargs), rough)
    if name in TIES and args and not kwargs.get("stable"):
        other = _other_way(torch, name, func, args, kwargs)
        if other is not None:
            return other
    if not any(kwargs.values()):
        args = repeats.turned(name, args) or args
    if compat.is_higher_order(func):
        return _each(torch, func(*_each(torch, args, shake), **kwargs), shake)
    if schema is None or _is_view(schema) or _is_exact(name, args, kwargs):
        return func(*args, **kwargs)
    mutable = any(written(argument) for argument in schema.arguments)
    if not mutable and torch.Tag.pointwise not in getattr(func, "tags", ()):
        # A sum or a product of matrices adds up in another order: its error is that of the operands, not of the result.
        args = tuple(shake(item) if index < 2 else item for index, item in enumerate(args))
    result = func(*args, **kwargs)
    if not mutable:
        return _each(torch, result, shake)
    for index, argument in enumerate(schema.arguments):
        value = args[index] if index < len(args) else kwargs.get(argument.name)
        if written(argument) and isinstance(value, torch.Tensor) and is_float(value) and value.numel():
            value.copy_(shake(value))
    return result


class _Thrown(object):
    """An operation that draws what the dice say; else it is the operation."""

    def __init__(self, dice, func):
        self.dice, self.func = dice, func

    def __call__(self, *args, **kwargs):
        return self.dice.call(self.func, args, kwargs)

    def __getattr__(self, name):
        return getattr(self.func, name)


def unchanged(nexts):
    """A mode that changes nothing. Where a result is another one under it, no mode can be trusted: `linalg_pinv` of complex
    numbers loses a conjugation when it is dispatched to Python (torch 2.13). To `nexts` it adds what `doubled` asks for.
    """

    def call(func, args, kwargs):
        result = func(*args, **kwargs)
        if str(func) == NEXT:
            nexts.append(result.dtype)
        return result

    return compat.dispatching(call, whole=True)


def written_in_order(torch, writes, reverse):
    """A mode that adds to `writes` the names of the operations which write where indices say; `reverse` turns their order.

    What nobody wrote is zero: it is not to be taken for the order.
    """

    def call(func, args, kwargs):
        name = name_of(func)
        if name in UNWRITTEN:
            return _of_bytes(torch, func(*args, **kwargs), memory.FILLINGS[0])
        other = None if any(kwargs.values()) else repeats.turned(name, args)
        if other is not None and name not in writes:
            writes.append(name)
        return func(*(other if other is not None and reverse else args), **kwargs)

    return compat.dispatching(call, whole=True)


class Overflows(object):
    """Notes which operations give infinity or NaN of finite numbers: `aten.pow`, and which of those it was, in order."""

    def __init__(self, torch):
        self.torch, self.found, self.counts = torch, [], {}

    def mode(self):
        return compat.dispatching(self.call, whole=True)

    def call(self, func, args, kwargs, plain=None):
        name = str(getattr(func, "overloadpacket", func))
        self.counts[name] = self.counts.get(name, 0) + 1
        finite = name_of(func) not in UNWRITTEN and all(map(self._finite, compat.flattened((args, kwargs))[0]))
        result = func(*args, **kwargs)
        if finite and not all(map(self._finite, compat.flattened(result)[0])):
            self.found.append((name, self.counts[name]))
        return result

    def _finite(self, value):
        if not _has_values(self.torch, value) or not is_float(value):
            return True
        return bool(self.torch.isfinite(value).all())


def surrounded(torch, byte):
    """A mode in which every new tensor lies between bytes of this value, and what was not written holds them."""

    def call(func, args, kwargs):
        result = func(*args, **kwargs)
        if name_of(func) in UNWRITTEN:
            return _of_bytes(torch, result, byte)
        schema = getattr(func, "_schema", None)
        if schema is None or _is_view(schema) or any(written(argument) for argument in schema.arguments):
            return result
        return _each(torch, result, lambda tensor: _placed(torch, tensor, byte))

    return compat.dispatching(call, whole=True)


def _of_bytes(torch, tensor, byte):
    if _has_values(torch, tensor) and tensor.numel():
        memory.plain_storage(torch, tensor).view(torch.uint8).fill_(byte)
    return tensor


def _placed(torch, tensor, byte):
    """The tensor somewhere else, its strides kept; as it is where it is no plain tensor of its own memory."""
    if not _has_values(torch, tensor) or type(tensor) is not torch.Tensor or compat.left_undone(tensor):
        return tensor
    flat = memory.surrounded(torch, memory.plain_storage(torch, tensor), byte)
    return flat.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


def _has_values(torch, value):
    """Whether it is a tensor with elements in memory: a lazy zero has none, nor what asks the meta device for its shape."""
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided or value.device.type == "meta":
        return False
    return compat.left_undone(value) != "zero"


def name_of(func):
    """`add` for aten.add.Tensor and aten.add_.Tensor."""
    packet = str(getattr(func, "overloadpacket", func)).split(".")[-1]
    return packet.rstrip("_") if not packet.endswith("__") else packet


def _is_view(schema):
    return any(returned.alias_info is not None and not returned.alias_info.is_write for returned in schema.returns)


def written(argument):
    return argument.alias_info is not None and argument.alias_info.is_write


def _is_exact(name, args, kwargs):
    if name == "arange":  # of whole numbers
        return all(float(item).is_integer() for item in args if isinstance(item, (int, float)))
    if name in ("abs", "sgn"):  # of a complex number: a root and a quotient
        return not args[0].dtype.is_complex
    if name == "index_put":  # which may add up
        return not (len(args) > 3 and args[3]) and not kwargs.get("accumulate")
    if (name == "round" and kwargs.get("decimals")) or (name == "scatter" and kwargs.get("reduce")):
        return False
    return name in EXACT or kwargs.get("rounding_mode") is not None  # a quotient rounded to an integer


def is_float(value):
    """Whether its numbers are rounded."""
    return value.dtype.is_floating_point or value.dtype.is_complex


def real_of(torch, dtype):
    """The dtype of each part of a complex number; any other dtype itself."""
    return {torch.complex64: torch.float32, torch.complex128: torch.float64}.get(dtype, dtype)


def shaken(torch, value, rough, whole=False):
    """A tensor whose elements are each a little off, by chance as far as that or by the `whole` of it; anything else as it is."""
    if not _has_values(torch, value) or not is_float(value) or not value.numel():
        return value
    dtype = value.dtype
    far = rule.nudge(str(dtype).split(".")[-1], rough)
    real = real_of(torch, dtype)
    if real not in (torch.float32, torch.float64):
        real = torch.float32
    noise = torch.rand(value.shape, dtype=real, device=value.device)
    noise = (noise.round_() if whole else noise).mul_(2 * far).add_(1 - far)
    wide = value if dtype.is_complex or dtype == real else value.to(real)
    return (wide * noise).to(dtype)


def _each(torch, result, change):
    if isinstance(result, torch.Tensor):
        return change(result)
    if isinstance(result, (list, tuple)):
        return type(result)(_each(torch, item, change) for item in result)
    return result


def _filled(torch, tensor, rough):
    """Memory that nobody has written, with something in it; NaN in rough runs, so that all it reaches is known by it."""
    if isinstance(tensor, torch.Tensor) and tensor.numel():
        if not is_float(tensor):
            tensor.copy_(torch.randint(0, 2, tensor.shape, device=tensor.device))
        elif rough:
            tensor.fill_(float("nan"))
        else:
            tensor.copy_(torch.rand(tensor.shape, device=tensor.device).mul_(2).sub_(1))
    return tensor


def _other_way(torch, name, func, args, kwargs):
    """The result of an operation that looks for elements in order, had it looked from the other end; None where it cannot."""
    position, default = TIES[name]
    source = args[0]
    dimension = args[position] if len(args) > position else kwargs.get("dim", default)
    if not isinstance(source, torch.Tensor) or not source.dim() or not source.numel():
        return None
    if isinstance(dimension, torch.Tensor):
        return None  # max(x, y)
    if dimension is None:
        if name not in ("argmax", "argmin"):
            return None  # a value alone
        last = source.numel() - 1
        return last - func(source.flip(list(range(source.dim()))), *args[1:], **kwargs)
    last = source.shape[dimension] - 1
    result = func(source.flip([dimension]), *args[1:], **kwargs)
    if name in ("argmax", "argmin"):
        return last - result
    return type(result)((result[0], last - result[1])) if type(result) is tuple else (result[0], last - result[1])
