"""What is not wrong and yet not the same: how eager and compiled round, and the signs of their zeros."""

from . import measure, rule
from .modes import is_float

# Default tolerances of torch.testing.assert_close, relative and absolute, by dtype (torch/testing/_comparison.py).
DEFAULTS = {"float64": (1e-7, 1e-7), "float32": (1.3e-6, 1e-5), "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5)}


def rounds_otherwise(eager, compiled, name):
    """Whether both are floating tensors of one form that hold other numbers."""
    one, other = eager.tensors[name], compiled.tensors.get(name)
    return _alike(one, other) and is_float(one) and not measure.identical(one, other)


def steps_otherwise(eager, compiled, name, varied):
    """Whether both are integers or booleans of one form that are not the same, as those of another run of eager are not."""
    one, other = eager.tensors[name], compiled.tensors.get(name)
    if not _alike(one, other) or is_float(one) or measure.identical(one, other):
        return False
    again = [given.tensors.get(name) for given in varied]
    return any(item is not None and not measure.identical(one, item) for item in again)


NOTHING = 1e-2  # a value that is so much smaller than the errors of both is none but for rounding
FAR_OFF = "numbers that are far off"


def rounding(torch, name, eager, compiled, reference, varied=(), cast=None):
    """How far apart they are, and how far each is from double precision where that is known; and where eager alone is wrong.

    `varied` is what else eager may give, once rounded otherwise; `cast` is double precision but where the graph itself asks for
    a dtype of fewer digits, which compiled code leaves out: so far its numbers may be off.
    """
    one, other = (measure.plain(torch, given.tensors[name]) for given in (eager, compiled))
    exact, cast = (_plain_of(torch, given, name, eager.tensors[name].shape) for given in (reference, cast))
    dtype = str(eager.tensors[name].dtype).split(".")[-1]
    steps = not is_float(eager.tensors[name])
    relative, absolute = (0.0, 1.0) if steps else DEFAULTS.get(rule.real_name(dtype), DEFAULTS["bfloat16"])
    apart = measure.finite(torch, (one - other).abs())
    varied = [given.tensors[name] for given in varied if name in given.tensors]
    varied = [item for item in varied if item.shape == eager.tensors[name].shape]
    spread = measure.spread(torch, eager.tensors[name], varied)
    if exact is not None and cast is not None:
        moved = measure.spread(torch, exact, [cast])
        spread = moved if spread is None else spread.maximum(moved)
    alone = measure.eager_alone(torch, one, other, None if steps else exact, eager.tensors[name].dtype, spread)
    compiled_error = None if exact is None else _largest(measure.finite(torch, (other - exact).abs()))
    eager_error = None if exact is None else _largest(measure.finite(torch, (one - exact).abs()))
    return {
        "item": name,
        "dtype": dtype,
        "shape": list(eager.tensors[name].shape),
        "difference": _largest(apart),
        "relative": measure.rms(torch, apart) / (measure.rms(torch, one) or 1.0),
        "steps": steps,
        "unbounded": bool((torch.isfinite(one) != torch.isfinite(other)).any()),
        "eager_wrong": int(alone.sum()),
        "eager_gives": _gives(one[alone]),
        "tolerances": _largest(apart / (relative * measure.finite(torch, one.abs()) + absolute)),
        "compiled_error": compiled_error,
        "eager_error": eager_error,
        "spread": None if spread is None else _largest(measure.finite(torch, spread)),
        "of_zero": not steps
        and exact is not None
        and _largest(exact.abs()) < NOTHING * min(compiled_error, eager_error),
    }


def _plain_of(torch, given, name, shape):
    tensor = given.tensors.get(name) if given is not None else None
    return measure.plain(torch, tensor) if tensor is not None and tensor.shape == shape else None


def rank(told):
    """What is worth telling first: that eager alone is wrong, that it is not sure of a finite number, how far apart they are.

    Where all are as close as a check may ask, one that is nothing but rounding comes first: a program may divide by it.
    """
    tolerances = told["tolerances"]
    return bool(told["eager_wrong"]), told["unbounded"], max(tolerances, 1.0), told["of_zero"], tolerances


def _gives(numbers):
    """What these numbers are."""
    found = (("NaN", numbers.isnan()), ("infinity", numbers.isinf()), (FAR_OFF, numbers.isfinite()))
    return " and ".join(name for name, there in found if bool(there.any()))


def signs_differ(torch, eager, compiled, name):
    """Whether a zero of one sign is compiled where eager has the other."""
    one, other = eager.tensors[name], compiled.tensors.get(name)
    return _alike(one, other) and is_float(one) and bool(_other_signs(torch, one, other).any())


def wrong_sign(torch, name, eager, compiled, again):
    """Facts where every other run of eager, also in double precision, has the sign that eager has; else None."""
    one = eager.tensors[name]
    wrong = _other_signs(torch, one, compiled.tensors[name])
    for given in again:
        other = given.tensors.get(name)
        if other is None or other.shape != one.shape:
            return None
        wrong = wrong & ~_other_signs(torch, one, other)
        wrong = wrong & (measure.plain(torch, other) == 0)
    if not bool(wrong.any()):
        return None
    return {
        "kind": "zero_sign",
        "words": "has zeros of the other sign",
        "wrong": int(wrong.sum()),
        "elements": wrong.numel(),
    }


def _other_signs(torch, one, other):
    one, other = measure.plain(torch, one), measure.plain(torch, other)
    return (one == 0) & (other == 0) & (torch.signbit(one) != torch.signbit(other))


def _alike(one, other):
    return other is not None and one.shape == other.shape and one.dtype == other.dtype


def _largest(plain):
    return float(plain.max()) if plain.numel() else 0.0
