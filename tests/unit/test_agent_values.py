"""What a function was called on, as text: how objects were made, or by what they have become."""

from __future__ import annotations

import collections
import dataclasses
import functools
import sys
import threading
import types
from typing import ClassVar

import pytest

from triage.agent.capture.values import UNBACKED_HINT, hint
from triage.agent.trace.values import Speller


def speller_of(*modules: str):
    return Speller(lambda name: name in modules)


class Settings:
    def __init__(self, width, **rest):
        self.width = width
        self.rest = rest


class Bare:
    def width(self):
        return 3


@dataclasses.dataclass
class Sizes:
    width: int = 8
    heads: int = 2
    names: list[str] = dataclasses.field(default_factory=list)
    odd: object = None
    area: int = dataclasses.field(init=False, default=0)


class Wide(Sizes):
    names: ClassVar = ["w"]  # no field of its own: what makes it is not told


def scaled(settings, factor=2):
    return settings.width * factor


def told(*arguments, **named):
    """What is told of a call of `scaled`; constructors within are seen."""
    speller = speller_of(__name__)
    seen = []

    def watch(frame, event, arg):
        if frame.f_code.co_name == "__init__":
            speller.constructed(frame)
        elif frame.f_code is scaled.__code__:
            seen.extend(speller.calls(frame))

    sys.settrace(watch)
    try:
        settings = Settings(*arguments, **named)
        settings.width = 5
        scaled(settings, factor=3)
    finally:
        sys.settrace(None)
    return seen


@pytest.fixture(autouse=True)
def a_torch_without_gradients(monkeypatch):
    torch = types.SimpleNamespace(
        is_grad_enabled=lambda: True,
        **{name: type(name, (), {}) for name in ("Tensor", "dtype", "layout", "memory_format", "device")},
        nn=types.SimpleNamespace(Module=type("Module", (), {})),
    )
    monkeypatch.setitem(sys.modules, "torch", torch)


def test_an_object_is_spelled_as_it_was_made_and_as_it_is_now():
    made, flat = told(4, name="x")
    assert made["call"] == f"<<{__name__}:scaled>>" and not made.get("flat")
    assert made["args"] == f"<<{__name__}:Settings>>(4, name='x'), 3"
    assert flat["args"] == "types.SimpleNamespace(width=5, rest={'name': 'x'}), 3" and flat["flat"]


def test_an_object_without_attributes_is_made_again():
    assert speller_of(__name__).spell(Bare()) == f"<<{__name__}:Bare>>()"


def test_what_cannot_be_spelled_is_told_by_its_type():
    with pytest.raises(Exception, match="a lock"):
        speller_of(__name__).spell(threading.Lock())


def test_a_bound_method_is_that_of_the_object_made_again():
    speller = speller_of(__name__)
    assert speller.spell(Bare().width) == f"<<{__name__}:Bare>>().width"
    closed = types.MethodType(scaled, threading.Lock())
    with pytest.raises(Exception, match="a lock"):
        speller.spell(closed)


def test_what_torch_compile_gave_is_compiled_again_unless_the_module_has_it_by_its_name(monkeypatch):
    @functools.wraps(Bare.width)
    def compiled(*given):
        return compiled._torchdynamo_orig_callable(*given)

    compiled._torchdynamo_orig_callable = Bare().width
    assert speller_of(__name__).spell(compiled) == f"torch.compile(<<{__name__}:Bare>>().width)"
    monkeypatch.setattr(compiled, "__qualname__", "scaled")
    monkeypatch.setitem(globals(), "scaled", compiled)
    assert speller_of(__name__).spell(compiled) == f"<<{__name__}:scaled>>"


def weighted(first, scale=1.0, *, shift=0, way=max):
    """Makes functions, as a program's factory and the transforms of `torch.func` do."""
    bound = scale * 2

    def inner(x):
        return way(first, x) * bound + shift

    return inner


def unkept(first, second):
    return lambda x: x + first


def test_a_function_that_another_one_made_is_a_call_of_that_one():
    """What the maker's parameters were given is in the closure; the name that `functools.wraps` left on it is another's."""
    spell = speller_of(__name__).spell
    assert spell(weighted(3)) == f"<<{__name__}:weighted>>(3)"
    assert spell(weighted([1], shift=scaled)) == f"<<{__name__}:weighted>>([1], shift=<<{__name__}:scaled>>)"
    assert spell(functools.wraps(scaled)(weighted(3))) == f"<<{__name__}:weighted>>(3)"
    with pytest.raises(Exception, match="a lock"):
        spell(weighted(threading.Lock()))
    with pytest.raises(Exception, match="the function"):  # what was not kept nobody knows
        spell(unkept(1, 2))


def test_a_compiled_call_of_such_a_function_is_told_as_it_was_made_and_called():
    """Not the first of the program's functions within: of `compile(grad(loss))` that is `loss`."""
    inner = weighted(2)
    inner._torchdynamo_orig_callable = weighted(4, shift=1)  # Dynamo's own function stands around it
    seen = []

    def watch(frame, event, arg):
        if frame.f_code.co_name == "inner":
            seen.extend(speller_of(__name__).calls(frame, (inner, (5,), {"y": 6})))

    sys.settrace(watch)
    try:
        inner(1)
    finally:
        sys.settrace(None)
    (call,) = seen
    assert (call["call"], call["args"]) == (f"<<{__name__}:weighted>>(4, shift=1)", "5, y=6") and call["self"] is None
    assert not call["before"]


class Trainer:
    def __init__(self, rate):
        self.rate = rate

    def step(self, scales):
        rate = self.rate

        @functools.lru_cache
        def inner(x):
            return max(scales) * rate * x

        return inner.__wrapped__


def test_a_function_within_another_comes_with_its_text_and_what_it_reads_of_that_one():
    """As of `def run(compiled): model = Net(); def step(x): ...`, where nothing can be named from outside."""
    inner, spoken = Trainer(3).step(collections.deque([1, 2])), unkept(4, 5)
    seen = []

    def watch(frame, event, arg):
        if frame.f_code in (inner.__code__, spoken.__code__):
            made = inner if frame.f_code is inner.__code__ else spoken
            seen.extend(speller_of(__name__).calls(frame, (made, (7,), {})))

    sys.settrace(watch)
    try:
        inner(1), spoken(1)
    finally:
        sys.settrace(None)
    first, second = seen
    assert (first["call"], first["args"]) == ("inner", "7")
    assert first["before"] == [
        "rate = 3\n",
        "scales = collections.deque([1, 2], maxlen=None)\n",
        "def inner(x):\n    return max(scales) * rate * x\n",
    ]
    assert (second["call"], second["before"]) == ("function", ["first = 4\n", "function = lambda x: x + first\n"])


def test_a_copy_of_a_module_is_made_as_the_last_of_its_class_was():
    speller, base = speller_of(__name__), sys.modules["torch"].nn.Module
    kind = type("Net", (base,), {"__module__": __name__, "training": False, "children": lambda self: [base()]})
    made, copied = kind(), kind()
    with pytest.raises(Exception, match="a Net"):
        speller.spell(copied)
    speller.made[id(made)] = (made, f"<<{__name__}:Net>>(3)", None)
    assert speller.spell(copied) == f"<<{__name__}:Net>>(3).eval()"


def test_the_number_behind_a_symbol_is_asked_for_without_a_warning_of_torch():
    class Older:
        def size_hint(self, expression, allow_none):
            return 7 if allow_none else None

    class Newer:
        def size_hint(self, expression, allow_none):
            raise FutureWarning("use guarding_hint_or_throw instead")

        def guarding_hint_or_throw(self, expression):
            return {"s0": 7}[expression]

    def size(env, expression):
        return types.SimpleNamespace(node=types.SimpleNamespace(hint=None, shape_env=env, expr=expression))

    assert [hint(size(Older(), "s0")), hint(size(Newer(), "s0")), hint(size(Newer(), "u0"))] == [7, 7, UNBACKED_HINT]


def test_whole_numbers_are_made_by_their_range_where_values_are_compared(monkeypatch):
    class Kind(str):
        is_floating_point = is_complex = False

    small = Kind("torch.int8")

    class Tensor:
        layout, dtype, requires_grad, is_leaf, shape = "strided", small, False, True, (3, 4)
        device = types.SimpleNamespace(type="cpu", index=None)
        min, max, numel = (lambda self: -3), (lambda self: 8), (lambda self: 12)

    kinds = dict.fromkeys(("uint8", "int16", "int32", "int64", "bool"), Kind("other"))
    torch = types.SimpleNamespace(
        Tensor=Tensor, strided="strided", int8=small, **kinds, get_default_dtype=lambda: "torch.float32",
        nn=types.SimpleNamespace(Module=type("Module", (), {}), Parameter=type("Parameter", (), {})),
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "torch", torch)
    speller = speller_of()
    assert speller.spell(Tensor()) == "torch.zeros(3, 4, dtype=torch.int8)"
    speller.ranges = True
    assert speller.spell(Tensor()) == "torch.randint(-3, 9, (3, 4), dtype=torch.int8)"
    Tensor.device = types.SimpleNamespace(type="cuda", index=0)
    torch.cuda = types.SimpleNamespace(is_initialized=lambda: True, is_current_stream_capturing=lambda: False)
    assert speller.spell(Tensor()) == 'torch.randint(-3, 9, (3, 4), dtype=torch.int8, device="cuda")'
    torch.cuda.is_current_stream_capturing = lambda: True  # then it cannot be read
    assert speller.spell(Tensor()) == 'torch.zeros(3, 4, dtype=torch.int8, device="cuda")'


def test_an_array_of_numpys_is_that_of_a_tensor(monkeypatch):
    kind = type("dtype", (str,), {"is_floating_point": True, "is_complex": False})("torch.float64")

    class Tensor:
        layout, dtype, requires_grad, shape = "strided", kind, False, (3, 4)
        device = types.SimpleNamespace(type="cpu", index=None)
        numel = lambda self: 12  # noqa: E731

    def from_numpy(array):
        if array.dtype == "object":
            raise TypeError("can't convert np.ndarray of type numpy.object_")
        return Tensor()

    array = type("ndarray", (), {"__module__": "numpy", "dtype": "float64", "copy": lambda self: self})()
    plain = {name: type(name, (), {}) for name in ("dtype", "layout", "memory_format", "device")}
    torch = types.SimpleNamespace(
        Tensor=Tensor, strided="strided", from_numpy=from_numpy, get_default_dtype=lambda: "torch.float32", bool="bool",
        int64="int64", nn=types.SimpleNamespace(Module=type("Module", (), {}), Parameter=type("P", (), {})), **plain,
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert speller_of().spell([array]) == "[torch.randn(3, 4, dtype=torch.float64).numpy()]"
    type(array).dtype = "object"
    with pytest.raises(Exception, match="an array of object"):
        speller_of().spell(array)


@pytest.mark.parametrize(
    ("value", "modules", "text"),
    [
        (Sizes(16), (), f"<<{__name__}::Sizes>>(width=16)"),  # of a package: what is not the default
        (Sizes(names=["a"]), (), f"<<{__name__}::Sizes>>(names=['a'])"),
        (Wide(3, names=["w"]), (), f"<<{__name__}::Wide>>(width=3)"),
        (Sizes(16), (__name__,), f"<<{__name__}:Sizes>>(width=16, heads=2, names=[], odd=None)"),
    ],
)
def test_an_object_of_a_dataclass_is_made_anew(value, modules, text):
    assert speller_of(*modules).spell(value) == text


def test_a_dataclass_that_cannot_be_found_again_has_its_attributes(monkeypatch):
    monkeypatch.delattr(sys.modules[__name__], "Sizes")
    assert speller_of().spell(Sizes_(3)).startswith("types.SimpleNamespace(width=3, ")


Sizes_ = Sizes
