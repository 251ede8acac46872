"""One run of a graph on copies, and everything it gives: outputs, inputs it changed, gradients, and what their metadata is.

Every run of one call sees the same values, the same random numbers and the same incoming gradients.
"""

import collections
import contextlib

from .. import compat
from ..capture import values
from . import randomness
from .modes import is_float

OTHER_SEED = 104729
# How what a run gave is named.
AFTER = " after the call"
GRADIENT = "gradient of "


class Given:
    """What one run gave: `tensors` and `facts` by name, e.g. `output 0`, `gradient of l_x_`.

    `absent` are gradients that were None: to most programs those are zeros, which stand for them. `written` are inputs that
    the run wrote to, also where they hold what they held before.
    """

    def __init__(self):
        self.tensors, self.absent, self.written = collections.OrderedDict(), set(), set()
        self.facts = {}


class Runner:
    """Runs functions on copies of one call's arguments. `names` are those of the arguments, for words."""

    def __init__(self, torch, copier, names, gradients):
        self.torch, self.copier, self.names = torch, copier, names
        self.gradients = gradients and torch.is_grad_enabled()
        # A run may come when the program has left them: most programs take gradients outside of autocast.
        self.cast, self.casts = compat.autocast_as_now(), compat.autocast_is_on()
        self.backward_cast = compat.autocast_off
        self.grad_enabled = torch.is_grad_enabled()
        self.incoming = None  # by output, what the program's own backward pass brought; None for made-up ones
        self.sent = {}  # by output, what the first run sent back

    def before(self, held):
        """What the inputs, and what the graph holds, are before the call, under the names they have after it."""
        arguments, _ = self.copier.copies()
        return {name + AFTER: tensor for name, tensor in self._taken(arguments, held)}

    def run(self, function, mode=None, double=False, shaken=None, seed=None, held=(), around=None):
        """What `function` gives under `mode`. `seed` draws other random numbers; `held`, as (name, tensor), is what it holds."""
        torch = self.torch
        arguments, leaves = self.copier.copies(double, shaken, around)
        leaves = [(GRADIENT + self.names[position], leaf) for position, leaf in leaves]
        parameters = [(name, leaf) for name, leaf in held if isinstance(leaf, torch.nn.Parameter)]
        leaves += [(GRADIENT + name, leaf) for name, leaf in parameters if leaf.requires_grad]
        restore = randomness.kept(torch)
        try:
            if seed is not None:
                torch.manual_seed(OTHER_SEED + seed)
            with self._as_called(double), mode or contextlib.nullcontext():
                taken = self._taken(arguments, held)
                versions = [compat.version_of(tensor) for _, tensor in taken]
                given = self._gather(function(*arguments), taken)
                given.written = {
                    name + AFTER
                    for (name, tensor), before in zip(taken, versions)  # noqa: B905 - not in Python 3.9
                    if compat.version_of(tensor) != before
                }
                if self.gradients:
                    with self._casts_of_backward(double):
                        self._backward(given, leaves)
        finally:
            restore()
        given.live = None
        return given

    @contextlib.contextmanager
    def _as_called(self, double):
        """Gradients and casts are on or off as they were at the call, and a graph that raises leaves nothing switched.

        In double precision new tensors are double too, and nothing is cast.
        """
        torch = self.torch
        casts = compat.autocast_off if double else self.cast
        with compat.NothingLeftEntered(), torch.set_grad_enabled(self.grad_enabled), casts():
            if not double:
                yield
                return
            before = torch.get_default_dtype()
            torch.set_default_dtype(torch.float64)
            try:
                yield
            finally:
                torch.set_default_dtype(before)

    def _casts_of_backward(self, double):
        """A backward pass is cast as where the program takes it: compiled code has the casts of the call in it."""
        return compat.autocast_off() if double else self.backward_cast()

    def given(self, result, arguments, held):
        """What a call gave that somebody else has made."""
        found = self._gather(result, self._taken(arguments, held))
        found.live = None
        return found

    def _taken(self, arguments, held):
        """What a call may read and change, as (name, tensor): arguments, and what the graph holds (parameters of optimizers)."""
        given = zip(self.names, arguments)  # noqa: B905 - not in Python 3.9
        plain = [(name, item) for name, item in held if values.is_real(item) and item.layout == self.torch.strided]
        return [*((name, item) for name, item in given if isinstance(item, self.torch.Tensor)), *plain]

    def _gather(self, result, taken):
        given = Given()
        given.live = []
        storages = collections.OrderedDict()
        for name, tensor in taken:
            storages.setdefault(compat.address_of(tensor), name)
        for index, item in enumerate(flat(result)):
            name = "output %d" % index
            if isinstance(item, self.torch.Tensor):
                if not values.is_real(item) or item.layout != self.torch.strided:
                    continue
                given.live.append((name, item))
                given.facts[name] = _facts(item, storages)
                given.tensors[name] = _kept(self.torch, item)
            elif isinstance(item, (bool, int, float)):
                given.tensors[name] = self.torch.tensor(item, dtype=self.torch.float64)
        for name, tensor in taken:
            given.tensors[name + AFTER] = _kept(self.torch, tensor)
        return given

    def _backward(self, given, leaves):
        wanted = [(name, item) for name, item in given.live if _has_grad_fn(item) and is_float(item)]
        if self.incoming is not None:
            wanted = [(name, item) for name, item in wanted if name in self.incoming]
        if not wanted or not leaves:
            return
        sent = {name: self._sent(name, item, number) for number, (name, item) in enumerate(wanted)}
        self.sent = self.sent or sent
        found = self.torch.autograd.grad(
            [item for _, item in wanted],
            [leaf for _, leaf in leaves],
            list(sent.values()),
            allow_unused=True,
        )
        for (name, leaf), gradient in zip(leaves, found):  # noqa: B905 - not in Python 3.9
            if gradient is not None and gradient.is_sparse:
                gradient = gradient.to_dense()  # of an embedding's weight
            if gradient is not None and gradient.layout == self.torch.strided:
                given.tensors[name] = _kept(self.torch, gradient)
            elif gradient is None:
                given.tensors[name] = self.torch.zeros_like(leaf)
                given.absent.add(name)

    def _sent(self, name, item, number):
        if self.incoming is None:
            return _incoming(self.torch, item, number)
        return self.incoming[name].to(item.dtype)


def _incoming(torch, item, number):
    """The gradient that arrives at an output: around one, the same in every run. A complex one is not its own conjugate."""
    generator = torch.Generator("cpu").manual_seed(number + 1)
    dtype = torch.complex128 if item.dtype.is_complex else torch.float64
    noise = torch.randn(item.shape, generator=generator, dtype=dtype, device="cpu")  # not the program's default device
    return (1 + 0.5 * noise).to(item.device).to(item.dtype)


def _kept(torch, item):
    with torch.no_grad():
        return item.detach().clone()


def _facts(item, storages):
    owner = storages.get(compat.address_of(item))
    return {
        "dtype": str(item.dtype).split(".")[-1],
        "shape": tuple(int(size) for size in item.shape),
        "stride": tuple(int(step) for step in item.stride()),
        "requires_grad": bool(item.requires_grad),
        "grad_fn": _has_grad_fn(item),
        "aliases": (owner,) if owner is not None else (),
    }


def _has_grad_fn(item):
    """Whether a backward pass goes on from it. Compiled code may return what requires a gradient, and has nowhere to send it."""
    return bool(item.requires_grad) and not item.is_leaf


def flat(result):
    """Everything in a result, in order."""
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        for item in result:
            for inner in flat(item):
                yield inner
    else:
        yield result
