"""Where a backend of the program's stands, whatever torch or Python it is wrapped in."""

import functools
import importlib
from collections.abc import Callable
from typing import Any

import pytest

from triage.agent import boot

torch = pytest.importorskip("torch")
boot.load_agent()
backends = importlib.import_module(f"{boot.PACKAGE}.capture.backends")


def mine(gm: Any, inputs: Any, extra: Any = None) -> Any:
    return gm.forward


def decorator(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any) -> Any:
        return function(*args)

    return wrapper


class Compiler:
    def __call__(self, gm: Any, inputs: Any) -> Any:
        return gm.forward

    def compile(self, gm: Any, inputs: Any) -> Any:
        return gm.forward


def of_aot_autograd() -> Any:
    from torch._dynamo.backends.common import aot_autograd

    return aot_autograd(fw_compiler=mine)


def of_inductor() -> Any:
    from torch._inductor.compile_fx import compile_fx

    return functools.partial(compile_fx, inner_compile=mine)


def by_name() -> str:
    from torch._dynamo.backends import registry

    if "of_this_test" not in registry._BACKENDS:
        registry.register_backend(mine, name="of_this_test")
    return "of_this_test"


@pytest.mark.parametrize(
    ("backend", "function"),
    [
        (lambda: mine, "mine"),
        (lambda: functools.partial(mine, extra=1), "mine"),
        (lambda: decorator(mine), "mine"),
        (Compiler, "__call__"),
        (lambda: Compiler().compile, "compile"),
        (of_aot_autograd, "mine"),
        (of_inductor, "mine"),
        (by_name, "mine"),
    ],
)
def test_it_is_the_function_that_the_program_wrote(backend: Callable[[], Any], function: str) -> None:
    found = backends.place_of(backend())
    assert found["file"] == __file__ and found["function"] == function
    assert found["code"].startswith(f"def {function}(")


@pytest.mark.parametrize("backend", ["cudagraphs", "no_such_backend", torch.compile, print, 3])
def test_what_torch_and_python_bring_is_nobodys(backend: Any) -> None:
    assert backends.place_of(backend) is None
