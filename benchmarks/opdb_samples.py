"""The samples of PyTorch's own databases of operations, modules and optimisers, as texts of scripts. Imports torch.

What is random, or has no name that a script could write, is left out. `torch.testing._internal` needs the package expecttest.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from opdb_text import Call, UnprintableError, literal, script

# Of what these give nothing can be expected: random numbers, memory that nobody wrote.
RANDOM = ("empty", "resize", "bernoulli", "dropout", "normal", "rand", "uniform", "multinomial", "lowrank", "cauchy",
          "exponential", "geometric", "rrelu", "nn.functional.fractional")  # fmt: skip
OPTIMIZER = """\
import torch


def trained(compile):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2)).to({dtype})
    optimizer = torch.optim.{name}({arguments})
    step = compile(optimizer.step)
    x = torch.randn(6, 4, dtype={dtype})
    for _ in range(2):
        optimizer.zero_grad()
        model(x).square().sum().backward()
        step()
    return [weight.detach() for weight in model.parameters()]


want = trained(lambda step: step)
got = trained(lambda step: torch.compile({compiled}))
torch.testing.assert_close(got, want, equal_nan=True)
"""
Make = Callable[[], str]


@dataclass(frozen=True)
class Wanted:
    """Of each line of a database: in these dtypes, `most` samples, compiled with this backend."""

    dtypes: list[torch.dtype]
    most: int
    backend: str


@dataclass(frozen=True)
class Entry:
    """One line of a database in one dtype. `samples` gives names and what makes their texts, one at a time."""

    database: str
    name: str
    dtype: torch.dtype
    samples: Callable[[], Iterator[tuple[str, Make]]]

    @property
    def key(self) -> str:
        return f"{self.database}/{self.name}-{str(self.dtype).rpartition('.')[2]}"


def entries(databases: list[str], wanted: Wanted) -> list[Entry]:
    """All of them, in one order in every process."""
    made = {"op": _operations, "custom_op": _custom, "autograd_function": _functions, "hop": _higher_order,
            "module": _modules, "optim": _optimizers}  # fmt: skip
    return [entry for name in databases for entry in made[name](wanted)]


def is_random(name: str) -> bool:
    return any(word in name for word in RANDOM)


def function_of(info: Any) -> str | None:
    """The function of torch that an entry of op_db is; None where it is none."""
    owner: Any = torch
    for part in info.name.split("."):
        owner = getattr(owner, part, None)
    return f"torch.{info.name}" if owner is not None and owner is info.op else None


def _operations(wanted: Wanted) -> Iterator[Entry]:
    from torch.testing._internal.common_methods_invocations import op_db

    for info in op_db:
        forms = [] if is_random(info.name) else list(_forms(info))
        if forms:
            yield from _of_infos("op", info, forms, wanted)


def _forms(info: Any) -> Iterator[tuple[str, bool]]:
    """How a person writes it: as a function, as a method, in place."""
    name = function_of(info)
    if name is not None:
        yield name, False
    elif info.method_variant is not None and hasattr(torch.Tensor, info.name):
        yield info.name, True
    if info.inplace_variant is not None and hasattr(torch.Tensor, f"{info.name}_"):
        yield f"clone().{info.name}_", True


def _custom(wanted: Wanted) -> Iterator[Entry]:
    from torch.testing._internal.custom_op_db import custom_op_db

    before = "import torch.testing._internal.custom_op_db"
    for info in custom_op_db:
        name = getattr(info.op, "_qualified_op_name", None) or info.op.name()
        named = "torch.ops." + name.replace("::", ".")
        yield from _of_infos("custom_op", info, [(named, False)], wanted, before)


def _functions(wanted: Wanted) -> Iterator[Entry]:
    from torch.testing._internal import autograd_function_db as module

    for info in module.autograd_function_db:
        owner = getattr(info.op, "__self__", None)
        if inspect.isclass(owner) and getattr(module, owner.__name__, None) is owner:
            before = f"from {module.__name__} import {owner.__name__}"
            yield from _of_infos("autograd_function", info, [(f"{owner.__name__}.apply", False)], wanted, before)


def _higher_order(wanted: Wanted) -> Iterator[Entry]:
    from torch.testing._internal.hop_db import hop_db

    for info in hop_db:
        module, name = getattr(info.op, "__module__", ""), getattr(info.op, "__name__", "<")
        if name.isidentifier():
            yield from _of_infos("hop", info, [(name, False)], wanted, f"from {module} import {name}")


def _of_infos(
    database: str,
    info: Any,
    forms: list[tuple[str, bool]],
    wanted: Wanted,
    before: str = "",
) -> Iterator[Entry]:
    for dtype in wanted.dtypes:
        if dtype in info.supported_dtypes("cpu"):
            yield Entry(
                database,
                info.formatted_name,
                dtype,
                partial(_of_info, info, forms, dtype, wanted, before),
            )


def _of_info(
    info: Any, forms: list[tuple[str, bool]], dtype: torch.dtype, wanted: Wanted, before: str
) -> Iterator[tuple[str, Make]]:
    backward = family(dtype) if info.supports_autograd else ""
    for number, sample in enumerate(itertools.islice(info.sample_inputs("cpu", dtype), wanted.most)):
        for name, method in forms:
            call = Call(name, (sample.input, *sample.args), sample.kwargs, method, before)
            form = f"{number}{'-inplace' if name.endswith('_') else ''}"
            yield from _ways(call, form, wanted.backend, backward)


def _ways(call: Call, form: str, backend: str, backward: str) -> Iterator[tuple[str, Make]]:
    yield form, lambda: script(call, backend)
    yield f"{form}-dynamic", lambda: script(call, backend, dynamic=True)
    if backward:
        yield f"{form}-grad", lambda: script(call, backend, backward=backward)


def family(dtype: torch.dtype) -> str:
    """What its gradients are of; nothing where it has none."""
    return "complex" if dtype.is_complex else "floating_point" if dtype.is_floating_point else ""


def _modules(wanted: Wanted) -> Iterator[Entry]:
    from torch.testing._internal.common_modules import module_db

    for info in module_db:
        name = f"torch.nn.{info.module_cls.__name__}"
        random = is_random(name.lower()) or "Transformer" in name  # these have dropout
        if not random and getattr(torch.nn, info.module_cls.__name__, None) is info.module_cls:
            for dtype in (dtype for dtype in wanted.dtypes if dtype in info.dtypes):
                yield Entry("module", name[9:], dtype, partial(_of_module, info, dtype, wanted))


def _of_module(info: Any, dtype: torch.dtype, wanted: Wanted) -> Iterator[tuple[str, Make]]:
    inputs = info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=False, training=True)
    for number, sample in enumerate(itertools.islice(inputs, wanted.most)):
        made, given = sample.constructor_input, sample.forward_input
        if given is None:
            continue
        with contextlib.suppress(UnprintableError):
            words = [literal(value) for value in made.args]
            words += [f"{key}={literal(value)}" for key, value in made.kwargs.items()]
            before = (
                f"\ntorch.manual_seed(0)\nmodule = torch.nn.{info.module_cls.__name__}({', '.join(words)}).to({dtype})"
            )
            call = Call("module", given.args, given.kwargs, before=before)
            yield from _ways(call, str(number), wanted.backend, family(dtype))


def _optimizers(wanted: Wanted) -> Iterator[Entry]:
    from torch.testing._internal.common_optimizers import optim_db

    for info in optim_db:
        if not info.only_supports_sparse_grads and not info.step_requires_closure:
            for dtype in wanted.dtypes:
                if dtype.is_floating_point and dtype.itemsize >= 4:
                    yield Entry(
                        "optim",
                        info.optim_cls.__name__,
                        dtype,
                        partial(_of_optimizer, info, dtype, wanted),
                    )


def _of_optimizer(info: Any, dtype: torch.dtype, wanted: Wanted) -> Iterator[tuple[str, Make]]:
    compiled = f'step, backend="{wanted.backend}"' if wanted.backend else "step"
    for number, sample in enumerate(itertools.islice(info.optim_inputs_func(device="cpu"), wanted.most * 4)):
        with contextlib.suppress(UnprintableError):
            words = ["model.parameters()", *(f"{key}={literal(value)}" for key, value in sample.kwargs.items())]
            text = OPTIMIZER.format(
                dtype=dtype, name=info.optim_cls.__name__, arguments=", ".join(words), compiled=compiled
            )
            yield str(number), lambda text=text: text
