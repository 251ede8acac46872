"""The same random numbers in every run of one call, whatever else the runs do and in whatever order they draw.

While a `Dice` is in use every operation begins with one and the same state of the generators. So two draws of one
distribution, size and dtype are the same numbers in eager, nudged, in double precision, and in a compiled graph that draws
by calling ATen (Inductor's `fallback_random`), also where it draws in another order. Who draws is seen by what an operation
does to the generators, so operators of the user's count as well. Invariant: the generators go on outside of an operation
as if it had drawn nothing.
"""

import collections

from .. import compat
from .modes import DOUBLE, NotDoubleError, is_float, name_of, written

OTHER_SEED = 15485863


class Draw:
    """One operation that drew: what it is called, what it was given, and what kind of numbers came out."""

    def __init__(self, torch, name, func, args, kwargs, result):
        self.name = name
        self.dtypes = [item.dtype for item in compat.tensors_in((args, kwargs))]
        self.default = torch.get_default_dtype()
        self.kind = (_distribution(func), *(_form(item) for item in compat.tensors_in(result)))


class Dice:
    """The state that every operation begins with: that of the generators when this is made."""

    def __init__(self, torch):
        self.torch = torch
        self.state = _states(torch)
        self.draws = []  # of the last run that was watched
        self.turned = ()  # names of operations that draw other numbers

    def watch(self):
        """A mode in which every operation begins with that state; who draws is kept in `draws`, from now on."""
        self.draws = []
        return compat.dispatching(lambda func, args, kwargs: self.call(func, args, kwargs, self.draws))

    def call(self, func, args, kwargs, draws=None):
        """The operation's result, drawn from that state."""
        outside = _states(self.torch)
        _set(self.torch, self.state)
        if name_of(func) in self.turned:
            self.torch.manual_seed(OTHER_SEED)
        begins = _states(self.torch)
        try:
            result = func(*args, **kwargs)
            if draws is not None and not _equal(self.torch, begins, _states(self.torch)):
                draws.append(Draw(self.torch, name_of(func), func, args, kwargs, result))
            return result
        finally:
            _set(self.torch, outside)

    def doubled(self, draws):
        """A function for runs in double precision, which must draw as `draws` (of eager) did: an operation that draws is
        given numbers of the dtypes it was given there, since in double precision it would draw others.
        """
        left, torch = list(draws), self.torch
        names = {draw.name for draw in draws}

        def call(func, args, kwargs, plain):
            if name_of(func) not in names:
                return func(*args, **kwargs)
            draw = left.pop(0) if left else None
            if draw is None or draw.name != name_of(func):
                raise NotDoubleError("%s is not what eager drew" % func)
            return _as_in_eager(torch, self, draw, func, *plain)

        return call


def not_in_both(one, other):
    """Names of the operations of `one` whose numbers the other run did not draw as often, of the same size and dtype."""
    counts, others = _counted(one), _counted(other)
    return sorted({draw.name for draw in one if counts[draw.kind] != others[draw.kind]})


def drawn_more(one, other):
    """Whether the other run drew of some size and dtype more often: in another order both draw as often."""
    return bool(_counted(other) - _counted(one))


def _counted(draws):
    return collections.Counter(draw.kind for draw in draws)


def _as_in_eager(torch, dice, draw, func, args, kwargs):
    dtypes, narrowed = iter(draw.dtypes), []

    def narrow(value):
        if isinstance(value, torch.Tensor):
            dtype = next(dtypes, value.dtype)
            made = value.to(dtype) if value.dtype != dtype else value
            narrowed.append((value, made))
            return made
        if isinstance(value, (list, tuple)):
            return type(value)(narrow(item) for item in value)
        return value

    args, kwargs = tuple(narrow(item) for item in args), {key: narrow(item) for key, item in kwargs.items()}
    before = torch.get_default_dtype()
    torch.set_default_dtype(draw.default)
    try:
        result = dice.call(func, args, kwargs)
    finally:
        torch.set_default_dtype(before)
    schema = getattr(func, "_schema", None)
    if schema is not None and any(written(argument) for argument in schema.arguments):
        for wide, made in narrowed:
            if made is not wide:
                wide.copy_(made)
    back = {id(made): wide for wide, made in narrowed}
    return _widened(torch, result, back)


def _widened(torch, result, back):
    if isinstance(result, (list, tuple)):
        return type(result)(_widened(torch, item, back) for item in result)
    if not isinstance(result, torch.Tensor):
        return result
    if id(result) in back:
        return back[id(result)]
    name = DOUBLE.get(str(result.dtype).split(".")[-1])
    return result.to(getattr(torch, name)) if name is not None and is_float(result) else result


def _distribution(func):
    """`randn` for aten.randn_like, `uniform` for aten.uniform_: an in-place draw and one into a new tensor are the same."""
    name = name_of(func)
    return name[: -len("_like")] if name.endswith("_like") else name


def _form(tensor):
    return (str(tensor.dtype), tuple(int(size) for size in tensor.shape), tuple(int(step) for step in tensor.stride()))


def _states(torch):
    found = [torch.get_rng_state()]
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        found += torch.cuda.get_rng_state_all()
    return found


def _set(torch, states):
    torch.set_rng_state(states[0])
    if len(states) > 1:
        torch.cuda.set_rng_state_all(states[1:])


def _equal(torch, one, other):
    return len(one) == len(other) and all(torch.equal(left, right) for left, right in zip(one, other))  # noqa: B905
