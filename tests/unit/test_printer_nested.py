"""Higher-order operators print by the names people call them by, with their bodies as functions."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from printer_cases import case, meta, node, ref, tensor

from triage.model.graphcase import GraphCase, SubGraph
from triage.reduce.printing.printer import Unprintable, count_ops, print_case

HIGHER = "torch.ops.higher_order."


def graph(name: str) -> dict[str, str]:
    return {"graph": name}


def sub(name: str, inputs: str, nodes: list[Any], *outputs: Any) -> SubGraph:
    return SubGraph(
        name,
        tuple(inputs.split()),
        tuple(nodes),
        {"tuple": [ref(item) if isinstance(item, str) else item for item in outputs]},
    )


def definitions(one: GraphCase) -> str:
    """What stands between the imports and the inputs."""
    lines = print_case(one).splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith(("def ", "class ", "@")))
    return "\n".join(itertools.takewhile(lambda line: line != "torch.manual_seed(0)", lines[start:])).strip()


def test_cond_passes_only_what_a_branch_reads() -> None:
    nodes = [
        node("s", ".size", "%l_x_", 0),
        node("p", "operator.gt", "%l_x_", 0, out=meta(dtype="bool")),
        node("c", HIGHER + "cond", "%p", graph("true_0"), graph("false_0"), ("%l_x_", "%s", "%l_w_"), out=[meta(3)]),
        node("r", "operator.getitem", "%c", 0, out=meta(3)),
    ]
    branches = (
        sub("true_0", "l_x_ s77 l_w_", [node("m", "operator.mul", "%l_x_", "%l_w_", out=meta(3))], "m"),
        sub("false_0", "l_x_ s77 l_w_", [node("m", ".cos", "%l_x_", out=meta(3))], "m"),
    )
    inputs = [tensor("l_x_", 3, source="L['x']"), tensor("l_w_", 3, source="L['weight']")]
    one = case(inputs, nodes, "%r", subgraphs=branches)
    assert definitions(one) == (
        "def true_fn(x, w):\n    return x * w\n\n\n"
        "def false_fn(x, w):\n    return x.cos()\n\n\n"
        "def f(x, w):\n    return torch.cond(x > 0, true_fn, false_fn, (x, w))"
    )
    assert count_ops(one) == 4


@pytest.mark.parametrize("first", ["", "ctx "])
def test_an_autograd_function_is_a_class(first: str) -> None:
    """Up to torch 2.9 both graphs take the context first."""
    grad = meta(3, requires_grad=True)
    nodes = [
        node(
            "a",
            HIGHER + "autograd_function_apply",
            graph("fwd"),
            graph("bwd"),
            "%x",
            "%w",
            args_tensor_mask=[True, True],
            out=[grad],
        ),
        node("r", "operator.getitem", "%a", 0, out=grad),
    ]
    forward = [node("g", "torch._C._set_grad_enabled", False), node("o", "operator.mul", "%x", "%w", out=meta(3))]
    backward = [
        node("p", "operator.mul", "%grad_out", "%x", out=meta(3)),
        node("q", "operator.mul", "%grad_out", 3, out=meta(3)),
    ]
    graphs = (
        sub("fwd", first + "x w", forward, {"tuple": [ref("o")]}, {"tuple": [ref("x")]}),
        sub("bwd", first + "grad_out x", backward, "p", "q"),
    )
    inputs = [tensor("x", 3, requires_grad=True), tensor("w", 3, requires_grad=True)]
    assert definitions(case(inputs, nodes, "%r", subgraphs=graphs, backward=True)) == (
        "class Fn(torch.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, x, y):\n"
        "        ctx.save_for_backward(x)\n"
        "        return x * y\n"
        "\n"
        "    @staticmethod\n"
        "    def backward(ctx, g):\n"
        "        (x,) = ctx.saved_tensors\n"
        "        return g * x, g * 3\n\n\n"
        "def f(x, y):\n"
        "    return Fn.apply(x, y)"
    )


def test_checkpoint_and_regions() -> None:
    body = sub("body_0", "y", [node("s", ".sin", "%y", out=meta(3)), node("c", ".cos", "%s", out=meta(3))], "c")
    checkpoint = [
        node("t", HIGHER + "tag_activation_checkpoint", graph("body_0"), "%x", use_reentrant=False, out=[meta(3)]),
        node("r", "operator.getitem", "%t", 0, out=meta(3)),
    ]
    text = print_case(case([tensor("x", 3)], checkpoint, "%r", subgraphs=(body,)))
    assert (
        "def body(x):\n    return x.sin().cos()" in text and "return checkpoint(body, x, use_reentrant=False)" in text
    )
    assert "from torch.utils.checkpoint import checkpoint\n" in text
    region = [
        node("t", HIGHER + "invoke_subgraph", graph("body_0"), "subgraph_0", "%x", out=[meta(3)]),
        node("r", "operator.getitem", "%t", 0, out=meta(3)),
        node("u", HIGHER + "invoke_subgraph", graph("body_0"), "subgraph_0", "%r", out=[meta(3)]),
        node("q", "operator.getitem", "%u", 0, out=meta(3)),
    ]
    text = definitions(case([tensor("x", 3)], region, "%q", subgraphs=(body,)))
    assert (
        text.startswith("@torch.compiler.nested_compile_region\ndef region(x):\n")
        and "return region(region(x))" in text
    )


def test_a_loop_whose_body_captures_a_tensor() -> None:
    nodes = [
        node(
            "l", HIGHER + "while_loop", graph("cond_0"), graph("body_0"), ("%i", "%x"), ("%w",), out=[meta(), meta(3)]
        ),
        node("r", "operator.getitem", "%l", 1, out=meta(3)),
    ]
    graphs = (
        SubGraph("cond_0", ("i", "x", "w"), (node("lt", "operator.lt", "%i", 3, out=meta()),), ref("lt")),
        sub(
            "body_0",
            "i x w",
            [node("a", "operator.add", "%i", 1, out=meta()), node("m", "operator.mul", "%x", "%w", out=meta(3))],
            "a",
            "m",
        ),
    )
    inputs = [
        tensor("i", dtype="int64", fill="zeros", source="L['i']"),
        tensor("x", 3, source="L['x']"),
        tensor("w", 3, source="L['w']"),
    ]
    text = definitions(case(inputs, nodes, "%r", subgraphs=graphs))
    assert text == (
        "def f(i, x, w):\n"
        "    def cond_fn(i, x):\n        return i < 3\n\n"
        "    def body_fn(i, x):\n        return i + 1, x * w\n\n"
        "    return while_loop(cond_fn, body_fn, (i, x))[1]"
    )


def looping(*captured: str) -> str:
    """`while any(c): c = c * w`, which captures these values of `x` and its double, `k`."""
    names = ("w", "n")[: len(captured)]
    nodes = [
        node("k", "operator.mul", "%x", 2, out=meta(3)),
        node("l", HIGHER + "while_loop", graph("cond_0"), graph("body_0"), ("%x",), captured, out=[meta(3)]),
    ]
    graphs = (
        SubGraph("cond_0", ("c", *names), (node("any", "torch.any", "%c", out=meta()),), ref("any")),
        SubGraph("body_0", ("c", *names), (node("m", "operator.mul", "%c", "%w", out=meta(3)),), {"tuple": [ref("m")]}),
    )
    return definitions(case([tensor("x", 3, source="L['x']")], nodes, "%l", subgraphs=graphs))


def test_inside_of_a_loop_another_name_stands_for_what_is_captured_too() -> None:
    text = looping("%x")
    assert "    def body_fn(x1):\n        return (x1 * x,)\n\n    return while_loop(cond_fn, body_fn, (x,))" in text


def test_a_blank_line_stands_before_a_function_inside_of_another() -> None:
    double = node("k", "operator.mul", "%x", 2, out=meta(3))
    nodes = [
        double,
        node("l", HIGHER + "while_loop", graph("cond_0"), graph("body_0"), ("%k",), ("%k",), out=[meta(3)]),
    ]
    graphs = (sub("cond_0", "c w", [], "w"), sub("body_0", "c w", [], "w"))
    text = definitions(case([tensor("x", 3, source="L['x']")], nodes, "%l", subgraphs=graphs))
    assert text.startswith(
        "def f(x):\n    a = x * 2\n\n    def cond_fn(c):\n        return (a,)\n\n    def body_fn(c):"
    )


def test_a_lambda_adds_what_a_loop_captures_where_that_has_no_name() -> None:
    text = looping("%x", "%k")
    assert text.startswith("def cond_fn(x, x1, n):") and "lambda *args: body_fn(*args, x, x * 2), (x,))" in text


def test_a_missing_or_opaque_body_is_refused() -> None:
    nodes = [node("t", HIGHER + "wrap", graph("gone"), "%x", out=meta(3))]
    with pytest.raises(Unprintable, match="gone is missing"):
        print_case(case([tensor("x", 3)], nodes, "%t"))
    body = sub("gone", "y", [node("s", "user.function", {"opaque": "a user's function"}, out=meta(3))], "s")
    with pytest.raises(Unprintable, match="a user's function"):
        print_case(case([tensor("x", 3)], nodes, "%t", subgraphs=(body,)))


def test_an_attention_over_what_has_no_heads_is_not_printed() -> None:
    arguments = (graph("score_0"), {"tuple": []}, 1.0, {"tuple": []}, {"tuple": []}, {"tuple": []})
    attend = node("y", HIGHER + "flex_attention", "%q", "%q", "%q", *arguments, out=meta())
    body = sub("score_0", "s b h i j", [node("m", "operator.add", "%s", 1, out=meta())], "m")
    with pytest.raises(Unprintable, match="no heads"):
        print_case(case([tensor("q")], [attend], "%y", subgraphs=(body,)))


def test_the_body_of_a_scan_does_not_take_the_names_of_what_is_outside_of_it() -> None:
    pole, state, drive = (tensor(f"l_{name}_", *shape) for name, shape in (("x", (3,)), ("y", (3,)), ("z", (5, 3))))
    nodes = [
        node("s", HIGHER + "scan", graph("fn_0"), ["%l_y_"], ["%l_z_"], ["%l_x_"], out=[meta(3), meta(5, 3)]),
        node("r", "operator.getitem", "%s", 1, out=meta(5, 3)),
    ]
    inside = [
        node("m", "operator.mul", "%pole", "%child", out=meta(3)),
        node("a", "operator.add", "%m", "%child_1", out=meta(3)),
    ]
    text = definitions(
        case([pole, state, drive], nodes, "%r", subgraphs=(sub("fn_0", "child child_1 pole", inside, "a", "m"),))
    )
    assert "def combine_fn(carry, z_t):" in text and "scan(combine_fn, y, z)[1]" in text


@pytest.mark.parametrize(
    ("captures", "expected"),
    [
        ([], "lambda carry, x: combine_fn(carry, *x), x, (y, z))"),
        (["%l_x_"], "lambda carry, x_: combine_fn(carry, *x_, x), y, (z, w))"),
    ],
)
def test_the_body_of_a_scan_over_several_tensors_is_given_one_step_of_each(captures: list[str], expected: str) -> None:
    shapes = (("x", (3,)), ("y", (3,)), ("z", (5, 3)), ("k", (5, 3)))
    nodes = [
        node("s", HIGHER + "scan", graph("fn_0"), ["%l_y_"], ["%l_z_", "%l_k_"], captures, out=[meta(3), meta(5, 3)]),
        node("r", "operator.getitem", "%s", 1, out=meta(5, 3)),
    ]
    inside = [
        node("m", "operator.mul", "%child_2", "%child", out=meta(3)),
        node("a", "operator.add", "%m", "%child_1", out=meta(3)),
    ]
    taken = "child child_1 child_2" + " pole" * len(captures)
    whole = case(
        [tensor(f"l_{name}_", *shape) for name, shape in shapes],
        nodes,
        "%r",
        subgraphs=(sub("fn_0", taken, inside, "a", "m"),),
    )
    assert f"scan({expected}" in definitions(whole)
