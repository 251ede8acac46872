"""From what the runs of one call gave to the first value that is wrong: `rule`, element by element."""

from . import rule
from .modes import is_float, real_of

NONE, NAN, UP, DOWN = 0, 1, 2, 3
CHANCE_FACTOR = 3  # how far compiled must stand out from what eager would be blamed for


def close(torch, eager, compiled, smallest=rule.SMALLEST_SIZE):
    """Whether all is as close as the dtype promises, of a tensor no smaller than `smallest`. Shapes and dtypes agree."""
    if torch.equal(eager, compiled):
        return True
    if not is_float(eager):
        return False
    one, other = plain(torch, eager), plain(torch, compiled)
    if not torch.equal(_kinds(torch, one), _kinds(torch, other)):
        return False
    return not bool(_apart(torch, one, other, eager.dtype, smallest=smallest).any())


def suspicious(torch, eager, compiled, smallest):
    """Names whose values or metadata are not those of eager, in the order they were given; `smallest` by name."""
    found = []
    for name, one in eager.tensors.items():
        other = compiled.tensors.get(name)
        if other is None:
            if name.startswith("output"):  # a gradient that is missing follows from an output that takes none
                found.append(name)
            continue
        facts = name in eager.facts and rule.metadata_difference(eager.facts[name], compiled.facts[name])
        same = one.shape == other.shape and one.dtype == other.dtype
        if facts or not same or not close(torch, one, other, smallest(name)):
            found.append(name)
    return found


def steps_apart(torch, eager, compiled, nudged):
    """Whether a number that no nudge moved is another one compiled, be it by ever so little."""
    if nudged.shape != eager.shape:  # which hangs on what was nudged
        return False
    one, other, moved = (plain(torch, item) for item in (eager, compiled, nudged))
    return bool(((one == moved) & (one != 0) & one.isfinite() & (other != one) & other.isfinite()).any())


def same_again(torch, eager, given, smallest):
    """Whether another run of eager gave the same, as far as its dtype promises. What is not a number stays that."""
    if eager.shape != given.shape or eager.dtype != given.dtype:
        return False
    return close(torch, eager, given, smallest)


def identical(one, other):
    """Whether two tensors hold the same, NaN being the same as NaN."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(((one == other) | ((one != one) & (other != other))).all())


def wrong_value(torch, eager, compiled, reference, varied, measured, smallest):
    """What is wrong with one tensor's values, as facts, or None.

    `reference` is the double-precision tensor or None, `varied` what else eager may give (at least two), `measured` whether
    operations were nudged. The same rule is put to each of the varied runs, in the light of the others: where it would blame
    eager itself for some elements, compiled must stand out from that by far.
    """
    if len(varied) < 2 or eager.shape != compiled.shape or eager.dtype != compiled.dtype:
        return None
    if any(other.shape != eager.shape for other in varied):
        return None  # the shape depends on what was nudged
    if reference is not None and reference.shape != eager.shape:
        reference = None
    if is_float(eager):
        judge = _Rounded(torch, eager, reference, varied, measured, smallest)
    else:
        judge = _Exact(torch, eager, reference, varied)
    for exactly in (
        False,
        True,
    ):  # one by one: of few runs, each moves elements that no other moves, and these look exact
        wrong = judge.wrong(compiled, exactly)
        count = int(wrong.sum())
        by_chance = (
            [int(judge.wrong(item, exactly, number).sum()) for number, item in enumerate(varied)] if count else []
        )
        if count and (not any(by_chance) or count > CHANCE_FACTOR * max(by_chance) + CHANCE_FACTOR):
            return judge.facts(compiled, wrong)
    return None


class _Exact:
    """Integers and booleans: an element is wrong where nothing that was tried moved eager's, nor double precision does."""

    def __init__(self, torch, eager, reference, varied):
        self.torch, self.eager = torch, eager
        self.moved = torch.zeros_like(eager, dtype=torch.uint8)
        for item in varied:
            self.moved += item != eager
        comparable = reference is not None and not is_float(reference)
        self.reference = reference if comparable else None
        self.sure = reference == eager if comparable else torch.ones_like(eager, dtype=torch.bool)

    def wrong(self, item, exactly, number=None):
        """Where `item` is wrong; `number` says that it is one of the varied runs itself."""
        return (item != self.eager) & (self.moved == (0 if number is None else 1)) & self.sure

    def facts(self, compiled, wrong):
        worst = int(wrong.reshape(-1).to(self.torch.uint8).argmax())
        off = (compiled.to(self.torch.float64) - self.eager.to(self.torch.float64)).abs()
        known = self.reference is not None
        return dict(
            _facts(wrong, self.eager, compiled, self.reference, worst),
            kind="values",
            eager_error=0.0,
            compiled_error=float(self.torch.where(wrong, off, self.torch.zeros_like(off)).max()),
            spread=0.0,
            reference=known,
        )


class _Rounded:
    """Floating numbers, complex ones as pairs: by their distance from the reference, and by their kind (NaN, infinity)."""

    def __init__(self, torch, eager, reference, varied, measured, smallest):
        self.torch, self.dtype, self.smallest = torch, eager.dtype, smallest
        self.eager = plain(torch, eager)
        self.reference = None if reference is None else plain(torch, reference)
        self.exact = self.eager if reference is None else self.reference
        self.kinds = _kinds(torch, self.eager)
        self.sure = _kinds(torch, self.exact.to(real_of(torch, eager.dtype)).to(torch.float64)) == self.kinds
        self.moved = torch.zeros_like(self.kinds)
        self.spread, self.second = torch.zeros_like(self.eager), torch.zeros_like(self.eager)
        self.widest = torch.full_like(self.kinds, 255)  # which run has the largest distance
        for number, item in enumerate(varied):
            self._add(number, plain(torch, item))
        same = self.sure & (self.kinds == NONE)
        self.error = torch.where(same, (self.eager - self.exact).abs(), torch.zeros_like(self.eager))
        self.typical = rms(torch, torch.maximum(self.error, self.spread))
        if smallest == rule.FINEST_SIZE and measured and reference is not None and self._has_its_digits():
            self.smallest = smallest = rule.LEAST_SIZE
        self.absolute = _absolute(torch, self.eager, eager.dtype, smallest)
        self.measured = measured
        # What no nudge moves comes of selecting and comparing alone, and has no rounding in it. A zero is not moved by any.
        self.stands = (self.exact == self.eager) & (self.eager != 0) & (measured and reference is not None)
        self.stands = self.stands & (smallest < rule.SMALLEST_SIZE)

    def _has_its_digits(self):
        """Whether it is known to its tolerance however small it is: what a cancellation leaves is not."""
        name = str(self.dtype).split(".")[-1]
        return self.typical <= rule.tolerance(name) * rms(self.torch, self.eager)

    def _add(self, number, item):
        torch = self.torch
        self.moved += _kinds(torch, item) != self.kinds
        far = _distance(torch, item, self.eager)
        wider = far > self.spread
        self.second = torch.where(wider, self.spread, torch.maximum(self.second, far))
        self.spread = torch.where(wider, far, self.spread)
        self.widest[wider] = number

    def wrong(self, item, exactly, number=None):
        """Where `item` is wrong, `exactly` also where it is off by ever so little from what has no rounding in it; `number` says
        that it is one of the varied runs itself.
        """
        torch, item = self.torch, plain(self.torch, item)
        changed = _kinds(torch, item) != self.kinds
        moved = self.moved if number is None else self.moved - changed.to(torch.uint8)
        spread = self.spread if number is None else torch.where(self.widest == number, self.second, self.spread)
        steady = self.sure & (moved == 0)
        limit = rule.allowed(self.error, spread, self.typical, self.absolute, self.reference is not None, self.measured)
        off = (item - self.exact).abs()
        apart = _apart(torch, self.eager, item, self.dtype, smallest=self.smallest) & (off > limit)
        if exactly:
            apart = apart | (self.stands & (spread == 0) & (off > 0))
        return steady & (changed | ((self.kinds == NONE) & apart))

    def facts(self, compiled, wrong):
        torch, item = self.torch, plain(self.torch, compiled)
        kinds = _kinds(torch, item)
        changed = wrong & (kinds != self.kinds)
        off = torch.where(wrong & ~changed, (item - self.exact).abs(), torch.zeros_like(item))
        worst = int(torch.where(changed, torch.full_like(off, float("inf")), off).argmax())
        return dict(
            _facts(wrong, self.eager, item, self.reference, worst),
            **_kind(changed, self.kinds, kinds),
            eager_error=float(self.error.max()),
            compiled_error=float("inf") if bool(changed.any()) else float(off.max()),
            spread=float(torch.where(self.spread.isfinite(), self.spread, torch.zeros_like(self.spread)).max()),
            reference=self.reference is not None,
        )


def _kind(changed, eager, compiled):
    """`nan` or `inf` where elements changed into, or from, what is no finite number, and which of the two has it."""
    for kind, marks in (("nan", (NAN,)), ("inf", (UP, DOWN))):
        has = [changed & sum(kinds == mark for mark in marks).bool() for kinds in (eager, compiled)]
        if bool((has[0] | has[1]).any()):
            first, second = bool(has[0].any()), bool(has[1].any())
            return {"kind": kind, "sense": "both" if first and second else "eager" if first else "compiled"}
    return {"kind": "values"}


def _facts(wrong, eager, compiled, reference, worst):
    return {
        "wrong": int(wrong.sum()),
        "elements": wrong.numel(),
        "at": _position(worst, wrong.shape),
        "eager": float(eager.reshape(-1)[worst]),
        "compiled": float(compiled.reshape(-1)[worst]),
        "exact": float(reference.reshape(-1)[worst]) if reference is not None else None,
    }


def plain(torch, tensor):
    """Doubles; complex numbers as pairs of them."""
    if tensor.dtype.is_complex:
        return torch.view_as_real(tensor.resolve_conj().to(torch.complex128))
    return tensor.to(torch.float64)


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


def _absolute(torch, plain, dtype, smallest):
    """The absolute tolerance of a tensor: the dtype's share of its typical size."""
    name = str(dtype).split(".")[-1]
    return rule.tolerance(name) * max(rms(torch, plain), smallest)


def _apart(torch, one, other, dtype, factor=1.0, smallest=rule.SMALLEST_SIZE):
    """Where two finite numbers are not close; by more than so many tolerances."""
    relative = rule.tolerance(str(dtype).split(".")[-1])
    return (one - other).abs() > factor * (relative * one.abs() + _absolute(torch, one, dtype, smallest))


def eager_alone(torch, eager, compiled, exact, dtype, spread):
    """Where eager gives NaN or infinity, or numbers that are far off, and double precision and compiled agree on something else.

    All are plain. `spread` is how far eager's numbers move once rounded otherwise, None where nobody asked: what moves that far
    is no mistake of eager's.
    """
    if exact is None:
        return torch.zeros_like(eager, dtype=torch.bool)
    exact = exact.to(real_of(torch, dtype)).to(torch.float64)  # as far as the dtype reaches
    agree = (_kinds(torch, exact) == _kinds(torch, compiled)) & ~_apart(torch, exact, compiled, dtype)
    other_kind = ~eager.isfinite() & (_kinds(torch, eager) != _kinds(torch, exact))
    far = _apart(torch, exact, eager, dtype, rule.FAR) & eager.isfinite() & exact.isfinite()
    if spread is not None:
        far = far & ((eager - exact).abs() > rule.FACTOR * (spread + rms(torch, spread)))
    return agree & (other_kind | far)


def spread(torch, eager, varied):
    """How far each of these runs' numbers is from eager's at most, element by element; None where there are none."""
    found = None
    for item in varied:
        far = _distance(torch, plain(torch, item), plain(torch, eager))
        found = far if found is None else found.maximum(far)
    return found


def finite(torch, plain):
    """The numbers, zero in the place of what is none."""
    return torch.where(plain.isfinite(), plain, torch.zeros_like(plain))


def rms(torch, plain):
    """The root mean square of the finite numbers."""
    return float(finite(torch, plain).square().mean().sqrt()) if plain.numel() else 0.0


def _position(index, shape):
    found = []
    for size in reversed(tuple(shape)):
        index, place = divmod(index, size)
        found.append(place)
    return found[::-1]
