"""What a custom operator's source tells: whether it may write into its arguments, and whether a fake takes them."""

from __future__ import annotations

import ast

import pytest
from printer_cases import case, meta, node, tensor

from triage.reduce.printing.kernels import may_write, misfit
from triage.reduce.printing.preamble import changes_arguments
from triage.reduce.printing.printer import Form, print_case


def writes(body: str) -> bool:
    text = f"import numpy as np\nimport torch\nimport fastlib\nfrom fastlib import launch\ndef kernel(x, out):\n    {body}\n"
    return may_write(ast.parse(text).body)


@pytest.mark.parametrize(
    "body",
    [
        "x.div_(2)",
        "torch.relu_(x)",
        "x += 1",
        "x[0] = 1",
        "x.data = out",
        "y = x.view(-1)\n    y.mul_(2)",
        "y, z = x.unbind()\n    y.add_(z)",
        "for row in x:\n        row.zero_()",
        "torch.sin(x, out=out)",
        "a = x.numpy()\n    a[0] = 1",
        "np.copyto(x.numpy(), 1)",
        "fastlib.run(x)",
        "launch(x)",
        "launch[(1,)](x)",
        "y = x.mul_(2)",
        "return (x if out else out).neg_()",
    ],
)
def test_a_function_that_may_write_into_an_argument(body: str) -> None:
    assert writes(body)


@pytest.mark.parametrize(
    "body",
    [
        "return x * 2",
        "return torch.sin(x).mul_(2)",
        "y = torch.empty_like(x)\n    y.copy_(x)\n    return y",
        "y = x.clone()\n    y[0] = 1\n    return y",
        "y = x + 1\n    y += 1\n    return y",
        "return torch.from_numpy(np.sin(x.numpy()))",
        "n = 0\n    n += x.shape[0]\n    return x.sum()",
        "x.requires_grad_()",
        "return torch.empty(len(x), max(x.shape))",
        "x.saved = out",
        "n = x.shape[0]\n    n *= 2\n    m = len(x)\n    m -= 1",
        "y = torch.empty_like(x)\n    torch.sin(x, out=y)\n    return y",
    ],
)
def test_a_function_that_writes_to_nothing_it_was_given(body: str) -> None:
    assert not writes(body)


NORMALIZE = (
    "import torch",
    '@torch.library.custom_op("mylib::normalize", mutates_args=())\ndef normalize(x: torch.Tensor) -> torch.Tensor:\n'
    "    x.div_(x.norm())\n    return x * 2",
    "@normalize.register_fake\ndef _(x):\n    return torch.empty_like(x)",
)


@pytest.mark.parametrize(
    ("check", "says"),
    [("exception", "f(x.clone())  # eager works"), ("strides", "expected = f(x.clone())"), ("values", "def run(fn")],
)
def test_an_operator_that_writes_without_saying_so_gets_other_inputs_in_each_call(check: str, says: str) -> None:
    assert changes_arguments(NORMALIZE, "mylib", "normalize")
    graph = case(
        [tensor("x", 3)], [node("s", "torch.ops.mylib.normalize.default", "%x", out=meta(3))], "%s", preamble=NORMALIZE
    )
    assert says in print_case(graph, form=Form(check=check))


REGISTERED = (
    '@torch.library.custom_op("ns::op", mutates_args=())\ndef op(x: Tensor, n: int = 1) -> Tensor:\n    return x\n'
)


@pytest.mark.parametrize(
    "head", ["op.register_fake", 'torch.library.register_fake("ns::op")', 'op.register_kernel("cpu")']
)
@pytest.mark.parametrize(
    ("parameters", "fits"),
    [
        ("x, n", True),
        ("x, n=1", True),
        ("*args", True),
        ("x, *rest", True),
        ("", False),
        ("x", False),
        ("x, n, m", False),
    ],
)
def test_a_kernel_or_fake_must_take_the_arguments_of_its_operator(head: str, parameters: str, fits: bool) -> None:
    found = misfit(f"{REGISTERED}@{head}\ndef _({parameters}):\n    return 1\n")
    assert bool(found) is not fits
