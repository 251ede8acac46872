"""From what the runs of one call gave to the first value that is wrong: the rule of `accuracy_rule`, element by element."""

from . import accuracy_rule as rule

NONE, NAN, UP, DOWN = 0, 1, 2, 3


def close(torch, eager, compiled):
    """Whether all is as close as the dtype promises. Shapes and dtypes agree."""
    if torch.equal(eager, compiled):
        return True
    if not _rounded(eager):
        return False
    one, other = _plain(torch, eager), _plain(torch, compiled)
    if not torch.equal(_kinds(torch, one), _kinds(torch, other)):
        return False
    return not bool(_apart(torch, one, other, eager.dtype).any())


def suspicious(torch, eager, compiled):
    """Names whose values or metadata are not those of eager, in the order they were given."""
    found = []
    for name, one in eager.tensors.items():
        other = compiled.tensors.get(name)
        if other is None:
            continue
        facts = name in eager.facts and rule.metadata_difference(eager.facts[name], compiled.facts[name])
        same = one.shape == other.shape and one.dtype == other.dtype
        if facts or not same or not close(torch, one, other):
            found.append(name)
    return found


def wrong_value(torch, eager, compiled, reference, varied, measured):
    """What is wrong with one tensor's values, as facts, or None.

    `reference` is the double-precision tensor or None, `varied` what else eager may give (at least one), `measured` whether
    operations were nudged.
    """
    if not varied or eager.shape != compiled.shape or eager.dtype != compiled.dtype:
        return None
    if any(other.shape != eager.shape for other in varied):
        return None  # the shape depends on what was nudged
    if reference is not None and reference.shape != eager.shape:
        reference = None
    if not _rounded(eager):
        return _wrong_exact(torch, eager, compiled, reference, varied)
    one, other = _plain(torch, eager), _plain(torch, compiled)
    exact = one if reference is None else _plain(torch, reference)
    spread, steady = torch.zeros_like(one), torch.ones_like(one, dtype=torch.bool)
    kinds = _kinds(torch, one)
    for item in varied:
        plain = _plain(torch, item)
        steady &= _kinds(torch, plain) == kinds
        spread = torch.maximum(spread, _distance(torch, plain, one))
    steady &= _kinds(torch, exact.to(_real(torch, eager.dtype)).to(torch.float64)) == kinds
    changed = steady & (_kinds(torch, other) != kinds)
    both = steady & (kinds == NONE) & ~changed
    error = torch.where(both, (one - exact).abs(), torch.zeros_like(one))
    typical, absolute = _rms(torch, torch.maximum(error, spread)), _absolute(torch, one, eager.dtype)
    limit = rule.allowed(error, spread, typical, absolute, reference is not None, measured)
    off = torch.where(both, (other - exact).abs(), torch.zeros_like(one))
    wrong = changed | (both & _apart(torch, one, other, eager.dtype) & (off > limit))
    if not bool(wrong.any()):
        return None
    far = torch.where(wrong, off - limit, torch.full_like(off, -1.0))
    worst = int(torch.where(changed, torch.full_like(off, float("inf")), far).argmax())
    return {
        "kind": "values",
        "wrong": int(wrong.sum()),
        "elements": one.numel(),
        "eager_error": float(error.max()),
        "compiled_error": float("inf") if bool(changed.any()) else float(off.max()),
        "spread": float(torch.where(spread.isfinite(), spread, torch.zeros_like(spread)).max()),
        "reference": reference is not None,
        "at": _position(worst, one.shape),
        "eager": float(one.reshape(-1)[worst]),
        "compiled": float(other.reshape(-1)[worst]),
        "exact": float(exact.reshape(-1)[worst]) if reference is not None else None,
    }


def _wrong_exact(torch, eager, compiled, reference, varied):
    """Integers and booleans: an element is wrong where nothing that was tried moved eager's."""
    wrong = eager != compiled
    for item in varied:
        wrong &= item == eager
    if reference is not None and not reference.dtype.is_floating_point:
        wrong &= reference == eager
    if not bool(wrong.any()):
        return None
    worst = int(wrong.reshape(-1).to(torch.uint8).argmax())
    at = [float(item.reshape(-1)[worst]) for item in (eager, compiled)]
    return {
        "kind": "values",
        "wrong": int(wrong.sum()),
        "elements": eager.numel(),
        "eager_error": 0.0,
        "compiled_error": abs(at[0] - at[1]),
        "spread": 0.0,
        "reference": reference is not None,
        "at": _position(worst, eager.shape),
        "eager": at[0],
        "compiled": at[1],
        "exact": at[0] if reference is not None else None,
    }


def _rounded(tensor):
    return tensor.dtype.is_floating_point or tensor.dtype.is_complex


def _plain(torch, tensor):
    """Doubles; complex numbers as pairs of them."""
    if tensor.dtype.is_complex:
        return torch.view_as_real(tensor.resolve_conj().to(torch.complex128))
    return tensor.to(torch.float64)


def _real(torch, dtype):
    return {torch.complex64: torch.float32, torch.complex128: torch.float64}.get(dtype, dtype)


def _kinds(torch, plain):
    """What kind of number each element is: finite, NaN, infinity, minus infinity."""
    kinds = torch.zeros_like(plain, dtype=torch.uint8)
    kinds[plain.isnan()] = NAN
    kinds[plain == float("inf")] = UP
    kinds[plain == float("-inf")] = DOWN
    return kinds


def _distance(torch, one, other):
    far = (one - other).abs()
    return torch.where(far.isnan(), torch.zeros_like(far), far)


def _absolute(torch, plain, dtype):
    """The absolute tolerance of a tensor: the dtype's share of its typical size."""
    finite = torch.where(plain.isfinite(), plain, torch.zeros_like(plain))
    name = str(dtype).split(".")[-1]
    return rule.tolerance(name) * max(float(_rms(torch, finite)), rule.SMALLEST_SIZE)


def _apart(torch, one, other, dtype):
    """Where two finite numbers are not close."""
    relative = rule.tolerance(str(dtype).split(".")[-1])
    return (one - other).abs() > relative * one.abs() + _absolute(torch, one, dtype)


def _rms(torch, plain):
    finite = torch.where(plain.isfinite(), plain, torch.zeros_like(plain))
    return float(finite.square().mean().sqrt()) if plain.numel() else 0.0


def _position(index, shape):
    found = []
    for size in reversed(tuple(shape)):
        index, place = divmod(index, size)
        found.append(place)
    return found[::-1]
