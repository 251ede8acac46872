"""When is a compiled value wrong? The numbers of the rule, and the rule over what was measured. No torch in here.

*Close* to eager within the tolerance of its dtype is right, whatever else is known. What is not close is wrong only where it is
further from a double-precision reference than everything eager itself can explain: eager's own error, and the *spread* of
eager runs in which every rounding was nudged, every tie broken the other way, every random number drawn anew and every
uninitialised value filled with something else. A false blame is worse than a miss: where the spread could not be measured,
nothing is blamed.

Where something is known to be wrong, closeness is not enough for what has no rounding in it: a number that is that of double
precision to the last bit and that no nudge moves (a quotient rounded down, a pixel that is picked) is exact, or wrong.
"""

# Relative tolerance by dtype; the absolute one is the same share of the tensor's typical size. float32 is that of torch's own
# accuracy checks (`tol` of torch._dynamo.utils.same), the others are in proportion to their precision.
TOLERANCE = {"float64": 1e-7, "float32": 1e-4, "float16": 5e-3, "bfloat16": 2e-2}
SMALLEST_SIZE = 1e-3  # tensors smaller than this throughout are compared as if they were of this size
FINEST_SIZE = 1e-9  # where it is known that something is wrong, and asked where it begins: that may be a small value
LEAST_SIZE = 1e-30  # the same of what is sure of its digits: it is no remainder of larger numbers that cancelled

# How far the result of one operation is nudged, in units of its last place, in the gentle and the rough runs. A fused kernel
# is off by a few of them; roughly nudged runs meet the steps (masks, roundings) that compiled code may only just meet. Half
# precision is so coarse that its steps are met anyway.
EPSILON = {"float64": 2.2e-16, "float32": 1.2e-7, "float16": 9.8e-4, "bfloat16": 7.8e-3}
GENTLE, ROUGH = 4.0, 32.0
COARSE, GENTLE_COARSE, ROUGH_COARSE = 1e-4, 1.0, 2.0

# Eager itself is wrong where it is so many tolerances off, further than FACTOR times its spread, and compiled is within one.
FAR = 10.0

# Compiled may be this many times further from the reference than eager can explain.
FACTOR = 4.0
FACTOR_WITHOUT_REFERENCE = 10.0


def tolerance(dtype):
    """The tolerance for a dtype's name; of what is not known here that of bfloat16, the coarsest."""
    return TOLERANCE.get(real_name(dtype), TOLERANCE["bfloat16"])


def nudge(dtype, rough):
    """How far results of this dtype are nudged, relative to them."""
    epsilon = EPSILON.get(real_name(dtype), EPSILON["bfloat16"])
    if epsilon > COARSE:
        return epsilon * (ROUGH_COARSE if rough else GENTLE_COARSE)
    return epsilon * (ROUGH if rough else GENTLE)


def real_name(dtype):
    """The dtype's name; of a complex one that of its parts."""
    return {"complex128": "float64", "complex64": "float32", "complex32": "float16"}.get(dtype, dtype)


def allowed(eager_error, spread, typical, absolute, reference, measured):
    """How far one element may be from the reference.

    `eager_error` and `spread` are of this element, `typical` is their root mean square over the tensor, `absolute` the
    tolerance. `reference` says whether there is one, `measured` whether operations were nudged (or only the inputs).
    """
    factor = FACTOR if reference else FACTOR_WITHOUT_REFERENCE
    if not measured:
        factor *= 2
    return factor * (_larger(eager_error, spread) + typical) + absolute


def _larger(one, other):
    """The larger of two numbers, or of two tensors element by element."""
    return one.maximum(other) if hasattr(one, "maximum") else max(one, other)


def layout_differs(shape, eager, compiled):
    """Whether two strides lay the elements out differently; dimensions with at most one element carry no information.

    Where eager's own elements overlap or leave gaps (an expanded tensor, a slice), compiled code may make them dense.
    """
    if 0 in shape or not dense(shape, eager):
        return False
    return any(size > 1 and one != other for size, one, other in zip(shape, eager, compiled))  # noqa: B905 - not in Python 3.9


def dense(shape, stride):
    """Whether the elements fill their storage without gaps or overlaps, in any order of the dimensions."""
    expected = 1
    steps = [(step, size) for size, step in zip(shape, stride) if size > 1]  # noqa: B905 - not in Python 3.9
    for step, size in sorted(steps):
        if step != expected:
            return False
        expected *= size
    return True


def metadata_difference(eager, compiled):
    """(kind, words) of the first fact in which two descriptions of a tensor differ, None where they agree.

    A description is a dictionary with dtype, shape, stride, requires_grad, grad_fn (whether it has one) and aliases (names of the
    inputs whose storage it has).
    """
    for kind in ("dtype", "shape", "requires_grad"):
        if eager[kind] != compiled[kind] or (kind == "requires_grad" and cut_off(eager, compiled)):
            told = metadata_facts(kind, eager, compiled)
            return kind, "%s is %s compiled, %s in eager" % (kind, told["compiled_is"], told["eager_is"])
    if layout_differs(eager["shape"], eager["stride"], compiled["stride"]):
        return "strides", "strides are %s compiled, %s in eager" % (_words(compiled["stride"]), _words(eager["stride"]))
    if eager["aliases"] != compiled["aliases"]:
        return "aliasing", "it shares the storage of %s compiled, of %s in eager" % (
            " and ".join(compiled["aliases"]) or "no input",
            " and ".join(eager["aliases"]) or "no input",
        )
    return None


def cut_off(eager, compiled):
    """Whether a backward pass comes through it in eager, and ends at what is compiled; or the other way round."""
    return eager["requires_grad"] != compiled["requires_grad"] or (eager["grad_fn"] and not compiled["grad_fn"])


def metadata_facts(kind, eager, compiled):
    """The fact that differs, of each of the two, in words."""
    key = {"strides": "stride", "aliasing": "aliases"}.get(kind, kind)
    if kind == "requires_grad" and eager[key] == compiled[key]:
        return {"compiled_is": "%s without a grad_fn" % compiled[key], "eager_is": _words(eager[key])}
    return {"compiled_is": _words(compiled[key]), "eager_is": _words(eager[key])}


def _words(fact):
    return str(tuple(fact)) if isinstance(fact, (list, tuple)) else str(fact)
