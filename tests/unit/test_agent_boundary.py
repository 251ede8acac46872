"""torch.compile without a compiler: what stands in for it on the uncompiled rung."""

from __future__ import annotations

import importlib
import types

import pytest

from triage.agent import boot

torch = pytest.importorskip("torch")
boot.load_agent()
boundary = importlib.import_module(f"{boot.PACKAGE}.hooks.boundary")


def told(**config: object) -> types.SimpleNamespace:
    return types.SimpleNamespace(config=config)


def test_what_cannot_be_called_is_refused_as_torch_compile_refuses_it() -> None:
    """Else a mistake of a candidate's own would pass there, and be told as a failure of the compiler."""
    with pytest.raises(AssertionError):  # not every release says more
        boundary.uncompiled(torch, torch.ones(1), told())


def test_a_function_stays_itself_and_a_module_is_wrapped() -> None:
    def step(x: object) -> object:
        return x

    assert boundary.uncompiled(torch, step, told()) is step
    assert "_orig_mod" in vars(boundary.uncompiled(torch, torch.nn.Linear(2, 2), told()))["_modules"]


def test_without_its_wrapper_a_module_comes_back_as_it_is_and_knows_itself_by_the_name_in_it() -> None:
    net = torch.nn.Linear(2, 2)
    given = boundary.uncompiled(torch, net, told(unwrapped=True))
    assert given is net and given._orig_mod is net
    assert list(given.state_dict()) == ["weight", "bias"] and len(list(given.modules())) == 1


def test_a_watched_function_is_compiled_once_more_as_it_is_unwatched() -> None:
    """Else a program that compiles one function twice, or a candidate that does, fails with us alone."""

    def step(x: object) -> object:
        return x

    compiled = torch.compile(step, backend="eager")
    watched = boundary.record_calls(compiled, torch, told(), {})
    assert watched is not compiled
    assert torch.compile(watched, backend="inductor")._torchdynamo_orig_callable is step


def test_what_is_compiled_is_told_by_the_name_that_the_program_gives_it() -> None:
    """Of `module.compile()` torch.compile is given a method of torch's."""
    net = torch.nn.Linear(2, 2)
    names = [boundary._name_of(torch, given) for given in (net, net._call_impl, net.forward, torch.relu)]
    assert names == ["Linear", "Linear", "Linear.forward", torch.relu.__qualname__]
