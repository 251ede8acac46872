"""How a printed script makes its inputs: sizes, shared memory, copies, tables of values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from printed_cases import COMPILED, body, made, script
from printer_cases import case, meta, node, ref, tensor

from triage.model.graphcase import GraphInput
from triage.reduce.printing.fills import creation
from triage.reduce.printing.printer import Form, print_case


def test_dynamic_sizes_are_read_off_the_inputs() -> None:
    nodes = [
        node("s", ".size", "%x", 0),
        node("m", "operator.mul", "%s", 4),
        node("v", ".view", "%x", "%m", out=meta(24)),
        node("z", "operator.getitem", "%v", {"slice": [None, ref("n"), None]}, out=meta(3)),
    ]
    one = case([tensor("x", 6, 4, symbols={0: "s0"}), GraphInput("n", "int", value=3, source="L['n']")], nodes, "%z")
    assert body(one) == ["def f(x, n):", "    return x.view(x.shape[0] * 4)[:n]"]
    assert print_case(one).endswith(COMPILED[:-1] + ", dynamic=True)(x, 3)\n")


@pytest.mark.parametrize(("kind", "value"), [("int", 3), ("float", 2.5)])
def test_a_number_that_a_graph_is_given_is_a_dynamic_one(kind: str, value: float) -> None:
    """Dynamo writes a static number into the graph: what fails on the symbol passes on that."""
    nodes = [node("m", "operator.mod", -7.5, "%n"), node("a", "operator.add", "%x", "%m", out=meta(4))]
    one = case([tensor("x", 4), GraphInput("n", kind, value=value, source="L['n']")], nodes, "%a")
    assert print_case(one).endswith(f"{COMPILED[:-1]}, dynamic=True)(x, {value})\n")


def test_an_input_that_is_changed_is_copied_for_eager() -> None:
    one = case([tensor("x", 4)], [node("m", ".add_", "%x", 1, out=meta(4))], "%m")
    assert print_case(one).endswith(f"f(x.clone())  # eager works\n{COMPILED}(x)\n")


def test_where_nothing_is_returned_the_changed_inputs_alone_are_compared() -> None:
    one = case([tensor("x", 4)], [node("m", ".add_", "%x", 1, out=meta(4))])
    lines = print_case(one, form=Form(check="values")).splitlines()
    assert lines[lines.index("    x = torch.randn(4).to(dtype)") :][1:3] == ["    fn(x)", "    return x"]


def test_changed_inputs_that_share_their_storage_are_made_anew() -> None:
    grad = meta(4, 6, requires_grad=True)
    nodes = [node("m", ".mul_", "%x", 2, out=grad), node("z", "operator.add", "%m", "%y", out=grad)]
    inputs = [
        tensor("x", 4, 6, requires_grad=True),
        tensor("y", 6, base="x", storage_offset=6),
        GraphInput("n", "int", value=3),
    ]
    one = case(inputs, [*nodes, node("p", "operator.mul", "%z", "%n", out=grad)], "%p", backward=True)
    assert print_case(one).partition("return")[2].partition("\n")[2] == script(
        """


        def inputs():
            torch.manual_seed(0)
            x = torch.randn(4, 6, requires_grad=True).clone()
            y = x.detach()[1]
            return x, y, 3


        f(*inputs()).sum().backward()  # eager works
        compiled = DYNAMIC
        compiled(*inputs()).sum().backward()
        """
    ).replace("DYNAMIC", f"{COMPILED[:-1]}, dynamic=True)").join(["\n\n", ""])


def test_of_two_inputs_in_one_memory_each_requires_grad_as_it_did() -> None:
    def view(above: bool, below: bool, *, seen: bool = True, target: str = "torch.sin") -> str:
        y = tensor("y", 4, base="x", requires_grad=below, view_of=meta(4) if seen else None)
        inputs = [tensor("x", 4, requires_grad=above), y]
        nodes = [node("m", target, "%y", out=meta(4)), node("z", "operator.add", "%x", "%m", out=meta(4))]
        lines = print_case(case(inputs, nodes, "%z")).splitlines()
        return next(line.strip() for line in lines if line.strip().startswith("y = "))

    assert view(True, True) == view(False, False) == "y = x[:]"
    assert view(True, False) == view(True, False, target=".neg_") == "y = x.detach()"
    assert view(False, True) == "y = x[:].requires_grad_()"
    # What shares memory and is no view: a parameter made of another, `.data`.
    assert view(False, False, seen=False) == "y = x.detach()"
    assert view(False, True, seen=False) == view(True, True, seen=False) == "y = x.detach().requires_grad_()"


def test_a_view_of_a_tensor_that_is_no_input_is_made_as_one() -> None:
    arena, grad = meta(72), meta(72, requires_grad=True)
    assert made(tensor("x", 12, 6, fill="zeros", view_of=arena)) == "torch.zeros(72).view(12, 6)"
    assert made(tensor("x", 6, view_of=meta(12, 6), storage_offset=12)) == "torch.randn(12, 6)[2]"
    assert made(tensor("x", view_of=meta(1))) == "torch.randn(1).view(())"
    # No such view of the base, and a base far larger than what is seen of it: of as much as is seen.
    assert made(tensor("x", 5, 2, view_of=meta(3))) == "torch.randn(10).view(5, 2)"
    assert made(tensor("x", 5, 2, view_of=meta(1 << 30))) == "torch.randn(10).view(5, 2)"
    assert made(tensor("x", 2, fill="values", data=[1.0, 2.0], view_of=arena)) == "torch.tensor([1.0, 2.0])[:]"
    # A leaf cannot be changed in place, and the gradients of a backward pass are looked for at the inputs.
    x = tensor("x", 12, 6, requires_grad=True, view_of=grad)
    assert made(x) == "torch.randn(72, requires_grad=True).view(12, 6)"
    assert made(x, changed=True) == "torch.randn(72, requires_grad=True).clone().view(12, 6)"
    assert made(x, backward=True) == "torch.randn(72).view(12, 6).requires_grad_()"
    assert made(tensor("x", 12, 6, requires_grad=True, view_of=arena)).endswith(".view(12, 6).requires_grad_()")


def test_an_input_may_be_a_view_beyond_another_of_the_same_storage() -> None:
    inputs = [tensor("x", 16, view_of=meta(32)), tensor("y", 16, base="x", view_of=meta(32), storage_offset=11)]
    text = print_case(case(inputs, [node("z", "operator.add", "%x", "%y", out=meta(16))], "%z"))
    assert "x = torch.randn(32)[:16]\ny = x.as_strided((16,), (1,), 11)\n" in text


def test_gradients_of_gradients() -> None:
    grad = meta(2, 3, requires_grad=True)
    nodes = [
        node("p", "operator.pow", "%x", 2, out=grad),
        node("k", "torch.argmax", "%p", 1, out=meta(2, dtype="int64")),
    ]
    one = case([tensor("x", 2, 3, requires_grad=True)], nodes, "%p", "%k", backward=True, backward_order=2)
    assert print_case(one).partition("requires_grad=True)")[2] == script(
        """


        def step(fn):
            out = fn(x)
            (grad,) = torch.autograd.grad(out[0].sum(), x, create_graph=True)
            grad.sum().backward()


        step(f)  # eager works
        step(COMPILED)
        """
    ).join(["\n\n\n", ""])


def test_a_long_table_of_nearly_one_number_is_told_in_runs() -> None:
    def text(*shape: int, data: Any, dtype: str = "float32") -> str:
        return creation(tensor("x", *shape, dtype=dtype, fill="values", data=data), requires_grad=False)

    rows: list[list[Any]] = [[0.0] * 6 for _ in range(4)]
    rows[2][1], rows[2][2] = "nan", 0.3
    assert text(4, 6, data=rows) == 'torch.tensor([0.0] * 13 + [float("nan"), 0.3] + [0.0] * 9).reshape(4, 6)'
    assert text(21, data=[*[False] * 20, True], dtype="bool") == "torch.tensor([False] * 20 + [True])"
    # A short one, and one of many different numbers, are written as they are.
    assert text(3, data=[0.0, 0.0, 1.5]) == "torch.tensor([0.0, 0.0, 1.5])"
    mixed = [float(number % 2) for number in range(12)]
    assert text(12, data=mixed) == f"torch.tensor({mixed})"


@pytest.mark.parametrize(
    ("fill", "dtype", "text"),
    [
        ("linspace:-1.0:2.5", "float32", "torch.linspace(-1.0, 2.5, 6).reshape(2, 3)"),
        ("linspace:-1.0:2.5", "float64", "torch.linspace(-1.0, 2.5, 6, dtype=torch.float64).reshape(2, 3)"),
        ("uniform:-1.0:2.5", "float32", "torch.empty(2, 3).uniform_(-1.0, 2.5)"),
        ("uniform:-1.0:2.5", "bfloat16", "torch.empty(2, 3, dtype=torch.bfloat16).uniform_(-1.0, 2.5)"),
        ("uniform:-1.0:2.5", "int64", "torch.randint(0, 2, (2, 3))"),
        ("linspace:-1.0:2.5", "bool", "torch.randint(0, 2, (2, 3), dtype=torch.bool)"),
        ("uniform:-1.0:2.5", "complex64", "torch.randn(2, 3, dtype=torch.complex64)"),
    ],
)
def test_numbers_of_a_range_are_generated(fill: str, dtype: str, text: str) -> None:
    assert creation(tensor("x", 2, 3, dtype=dtype, fill=fill), requires_grad=False) == text
    if dtype == "float32":
        assert creation(tensor("x", 2, 3, fill=fill), requires_grad=True) == f"{text}.requires_grad_()"


def test_recorded_values_that_overlap_are_one_table_of_which_each_is_a_view() -> None:
    def made_of(*inputs: GraphInput) -> list[str]:
        text = print_case(case(list(inputs), [node("z", "operator.add", "%x", "%y", out=meta(3))], "%z"))
        return [line for line in text.splitlines() if line.startswith(("x = ", "y = "))]

    x = tensor("x", 3, fill="values", data=[1.5, 2.5, 3.5])
    y = tensor("y", 3, base="x", storage_offset=2, fill="values", data=[3.5, 4.5, 5.5])
    assert made_of(x, y) == [
        "x = torch.tensor([1.5, 2.5, 3.5, 4.5, 5.5])[:3]",
        "y = x.detach().as_strided((3,), (1,), 2)",
    ]
    # Elements that nobody recorded, and an owner that does not begin where its storage does.
    late, gone = replace_offset(x, 2), replace_offset(y, 5)
    assert made_of(late, gone)[0] == "x = torch.tensor([0.0, 0.0, 1.5, 2.5, 3.5, 3.5, 4.5, 5.5])[2:5]"
    # What is generated has no more elements than it takes, either.
    assert made_of(replace(x, fill="ones", data=None), y)[0] == "x = torch.ones(5)[:3]"
    turned = replace(tensor("x", 3, 2, stride=(1, 3)), fill="randn")
    assert made_of(turned, tensor("y", 3, base="x"))[0] == "x = torch.randn(2, 3).t()"
    # A view of a part of it needs no table.
    part = tensor("y", 2, base="x", storage_offset=1, fill="values", data=[2.5, 3.5])
    assert made_of(x, part) == ["x = torch.tensor([1.5, 2.5, 3.5])", "y = x.detach()[1:]"]
    # Of a storage far larger than what is seen of it none is made.
    assert made_of(x, replace_offset(y, 5000))[1] == "y = torch.tensor([3.5, 4.5, 5.5])"


def replace_offset(item: GraphInput, offset: int) -> GraphInput:
    return replace(item, meta=replace(item.meta, storage_offset=offset))
