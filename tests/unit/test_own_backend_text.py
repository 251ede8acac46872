"""The backend of the program's own as text: with all that it names, and with what fills its tables."""

import functools
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from triage.agent import boot

torch = pytest.importorskip("torch")
boot.load_agent()
effects, filling, own_backend, units = (
    importlib.import_module(f"{boot.PACKAGE}.capture.{name}") for name in ("effects", "filling", "own_backend", "units")
)

REWRITES = """
import operator
import torch

REWRITES = []
NAMES = {"slow": 1}
SEEN = []
LEVEL = 0


def rewrite(fn):
    REWRITES.append(fn)
    return fn


def set_level(number):
    global LEVEL
    LEVEL = number


def unused(gm):
    return operator.add


@rewrite
def softmax(gm):
    SEEN.append(gm)
    return torch.div, NAMES, LEVEL
"""
BACKEND = """
import functools
import importlib
import rewrites
import torch
from rewrites import REWRITES

TABLE = {}


class Compiler:
    def __init__(self):
        self.rules = []

    def rule(self, fn):
        self.rules.append(fn)
        return fn

    def compile(self, gm, inputs):
        return gm.forward


compiler = Compiler()


@compiler.rule
def first(gm):
    return gm


def backend(gm, inputs):
    for each in REWRITES:
        each(gm)
    return TABLE[gm.name]


def register(name):
    def decorator(fn):
        TABLE[name] = fn
        return fn
    return decorator


def closing(level):
    def inner(gm, inputs):
        return level
    return inner


made = closing(3)


class Engine:
    def __init__(self, level, rules=(), name="none"):
        self.level, self._rules, self.kept = level, rules, []

    def __call__(self, gm, inputs):
        return self.level, [each.__name__ for each in self._rules]


class Rule:
    known = []

    def __init_subclass__(cls):
        Rule.known.append(cls)


class Early(Rule):
    pass


def asking(gm, inputs):
    return [each.__name__ for each in Rule.known]


class Step:
    pass


class Only(Step):
    pass


def subclasses(gm, inputs):
    return [each.__name__ for each in Step.__subclasses__()]


class Forgetful:
    def __init__(self, level):
        self.twice = 2 * level

    def __call__(self, gm, inputs):
        return self.twice


def with_passes(level, inner):
    passes = [each for each in REWRITES[:level]] + [first]
    lower = torch._dynamo.backends.registry.lookup_backend(inner)

    def backend_of_passes(gm, inputs):
        return [each.__name__ for each in passes], level, lower.__name__

    return backend_of_passes


def importing(name):
    import json
    import torch.nn.functional as F
    owned = importlib.import_module(name)

    def importer(gm, inputs):
        return json.dumps([F.relu.__name__, owned.__name__])

    return importer


def stated(options):
    return lambda gm, inputs: backend_with(gm, inputs, **options)


def backend_with(gm, inputs, *, level, dtype):
    return level, dtype


def main():
    def local(gm, inputs):
        return REWRITES
    return local
"""
PLUGIN = """
import rewrites
from backend import Rule, register


@register("relu")
def relu(gm):
    return gm


def other(gm):
    return gm


class Late(Rule):
    pass


def work():
    rewrites.REWRITES.append(other)
    print("done")


rewrites.set_level(2)
work()
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module `backend` of a program of three files, all loaded, known to the agent as the only ones of the user's."""
    monkeypatch.syspath_prepend(tmp_path)
    modules = {}
    for name, text in {"rewrites": REWRITES, "backend": BACKEND, "plugin": PLUGIN}.items():
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
        modules[name] = importlib.import_module(name)
    files = {module.__file__: units.unit_of(name, vars(module), module.__file__) for name, module in modules.items()}
    monkeypatch.setattr(effects, "files", lambda: (files, list(files.values())))
    yield modules["backend"]
    for name in modules:
        sys.modules.pop(name, None)


def ran(told: list[str]) -> Any:
    """What the text gives when it is run by itself."""
    expression, *statements = told
    names: dict[str, Any] = {"__name__": "elsewhere"}
    exec("\n".join(statements), names)
    return names, eval(expression, names)


def test_a_backend_brings_what_it_names_and_what_fills_its_tables(program: ModuleType) -> None:
    told = own_backend.carried(program.backend)
    text = "\n".join(told)
    names, backend = ran(told)
    assert told[0] == "backend" and backend is not program.backend
    assert [each.__name__ for each in names["REWRITES"]] == ["softmax", "other"]
    assert list(names["TABLE"]) == ["relu"] and names["LEVEL"] == 2
    assert not any(word in text for word in ("import rewrites", "def unused", "done", "Compiler", "functools"))


def test_a_method_of_an_object_brings_the_object_and_its_rules(program: ModuleType) -> None:
    told = own_backend.carried(program.compiler.compile)
    names, backend = ran(told)
    assert told[0] == "compiler.compile" and backend.__self__ is names["compiler"]
    assert [each.__name__ for each in names["compiler"].rules] == ["first"]


def test_what_was_assigned_from_a_call_is_made_again(program: ModuleType) -> None:
    told = own_backend.carried(program.made)
    assert told[0] == "made" and ran(told)[1](None, None) == 3


def test_a_function_inside_another_that_closes_over_nothing_stands_by_itself(program: ModuleType) -> None:
    told = own_backend.carried(program.main())
    assert told[0] == "local" and len(ran(told)[1](None, None)) == 2


def test_classes_that_their_base_takes_note_of_are_brought(program: ModuleType) -> None:
    assert ran(own_backend.carried(program.asking))[1](None, None) == ["Early", "Late"]
    assert ran(own_backend.carried(program.subclasses))[1](None, None) == ["Only"]


@pytest.mark.parametrize(
    ("made", "gives"),
    [
        (lambda program: program.closing(5), 5),
        (lambda program: program.with_passes(1, "eager"), (["softmax", "first"], 1, "eager")),
        (lambda program: program.importing("math"), '["relu", "math"]'),
        (lambda program: program.stated({"level": 2, "dtype": torch.float16}), (2, torch.float16)),
        (lambda program: functools.partial(program.backend_with, level=2, dtype=None), (2, None)),
        (lambda program: program.Engine(4, [program.first]), (4, ["first"])),
        (lambda program: program.Engine(4).__call__, (4, [])),
    ],
    ids=["closure", "passes", "modules", "lambda", "partial", "object", "method"],
)
def test_a_backend_made_at_run_time_is_made_again(program: ModuleType, made: Callable[..., Any], gives: Any) -> None:
    told = own_backend.carried(made(program))
    assert ran(told)[1](None, None) == gives
    assert not any("backends.debugging" in each for each in told)
    assert not any("with_passes" in each or "closing" in each or "stated" in each for each in told)


def test_a_backend_of_torch_is_named_as_every_release_names_it(program: ModuleType) -> None:
    told = "\n".join(own_backend.carried(program.with_passes(1, "eager")))
    assert 'torch._dynamo.backends.registry.lookup_backend("eager")' in told
    assert "import torch._dynamo.backends.registry\n" in told


def test_what_torch_hands_on_to_it_is_bound(program: ModuleType) -> None:
    told = own_backend.carried(program.backend_with, {"level": (1, 2), "dtype": torch.half})
    assert told[0] == "functools.partial(backend_with, level=(1, 2), dtype=torch.float16)"
    assert ran(told)[1](None, None) == ((1, 2), torch.float16)
    assert own_backend.carried(program.backend_with)[0] == "backend_with"


def test_what_nothing_makes_again_has_no_text(program: ModuleType) -> None:
    assert own_backend.carried(program.importing("plugin")) == []
    assert own_backend.carried(program.Forgetful(5)) == own_backend.carried(lambda gm, inputs: gm) == []
    assert own_backend.carried("inductor") == own_backend.carried("no such backend") == own_backend.carried(None) == []
