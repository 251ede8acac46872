"""A graph case prints as a person would write it; the same case always gives the same text."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from printed_cases import COMPILED, body, script
from printer_cases import case, grad_off, meta, node, ref, tensor

from triage.model.graphcase import Context, GraphCase, GraphInput
from triage.reduce.printing.printer import Form, Unprintable, code_lines, count_ops, print_case


def linear(**rest: object) -> GraphCase:
    with_grad = meta(5, 3, requires_grad=True)
    inputs = [
        tensor("l_self_weight", 3, 4, requires_grad=True, role="parameter", source="L['self'].lin.weight"),
        tensor("l_self_bias", 3, requires_grad=True, role="parameter", source="L['self'].lin.bias"),
        tensor("l_x_", 5, 4, source="L['x']"),
    ]
    nodes = [
        node("y", "torch._C._nn.linear", "%l_x_", "%l_self_weight", "%l_self_bias", out=with_grad),
        node("sin", ".sin", "%y", out=with_grad),
        node("unused", "torch.cos", "%y", out=with_grad),
        node("z", "operator.truediv", "%sin", 2, out=with_grad),
    ]
    return case(inputs, nodes, "%z", **rest)


def test_one_operation() -> None:
    one = case([tensor("l_x_", 5, 4, source="L['x']")], [node("relu", "torch.relu", "%l_x_", out=meta(5, 4))], "%relu")
    assert print_case(one, header="aten.relu fails in lowering\ntorch 2.13.0") == script(
        """
        # aten.relu fails in lowering
        # torch 2.13.0
        import os

        import torch


        def f(x):
            return torch.relu(x)


        torch.manual_seed(0)
        x = torch.randn(5, 4)
        f(x)  # eager works
        COMPILED(x)
        """
    )


def test_a_training_step_puts_data_first_and_leaves_out_what_nothing_uses() -> None:
    assert print_case(linear(backward=True)) == script(
        """
        import os

        import torch
        import torch.nn.functional as F


        def f(x, w, b):
            return F.linear(x, w, b).sin() / 2


        torch.manual_seed(0)
        x = torch.randn(5, 4)
        w = torch.randn(3, 4, requires_grad=True)
        b = torch.randn(3, requires_grad=True)
        f(x, w, b).sum().backward()  # eager works
        COMPILED(x, w, b).sum().backward()
        """
    )


def test_recorded_targets_where_the_nice_form_does_not_do() -> None:
    text = print_case(linear(), form=Form(nice=False))
    assert "torch._C._nn.linear(x, w, b)" in text and "operator.truediv(" in text and "import operator" in text
    assert "operator.truediv(F.linear(x, w, b).sin(), 2)" in print_case(linear(), form=Form(exact=frozenset({"z"})))


def test_several_outputs_of_one_operation() -> None:
    nodes = [
        node("m", "torch.max", "%a", 1, out=[meta(2), meta(2, dtype="int64")]),
        node("v", "operator.getitem", "%m", 0, out=meta(2)),
        node("i", "operator.getitem", "%m", 1, out=meta(2, dtype="int64")),
        node("s", "operator.add", "%v", "%i", out=meta(2)),
        node("t", "operator.mul", "%s", {"float": "inf"}, out=meta(2)),
    ]
    assert body(case([tensor("a", 2, 3)], nodes, "%v", "%t")) == [
        "def f(x):",
        "    a, b = torch.max(x, 1)",
        '    return a, (a + b) * float("inf")',
    ]


def test_modes_become_with_blocks() -> None:
    half = meta(4, 4, dtype="bfloat16")
    nodes = [
        node("a", "torch._C._set_grad_enabled", False),
        node("c", "torch.amp.autocast_mode._enter_autocast", "cpu", {"dtype": "bfloat16"}, True, None),
        node("m", "operator.matmul", "%x", "%x", out=half),
        node("e", "torch.amp.autocast_mode._exit_autocast", "%c"),
        node("n", "torch.neg", "%m", out=half),
        node("b", "torch._C._set_grad_enabled", True),
        node("z", ".float", "%n", out=meta(4, 4)),
    ]
    assert body(case([tensor("x", 4, 4)], nodes, "%z")) == [
        "def f(x):",
        '    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):',
        "        a = x @ x",
        "    with torch.no_grad():",
        "        b = torch.neg(a)",
        "    return b.float()",
    ]


def test_what_sets_a_state_of_torchs_stands_where_it_was_called() -> None:
    nodes = [
        node("s", "torch.set_default_dtype", {"dtype": "float64"}),
        node("a", "torch.arange", 4, out=meta(4, dtype="int64")),
        node("b", "operator.truediv", "%a", 4, out=meta(4, dtype="float64")),
        node("t", "torch.set_default_dtype", {"dtype": "float32"}),
        node("c", "operator.add", "%x", "%b", out=meta(4, dtype="float64")),
    ]
    assert body(case([tensor("x", 4)], nodes, "%c")) == [
        "def f(x):",
        "    torch.set_default_dtype(torch.float64)",
        "    a = torch.arange(4) / 4",
        "    torch.set_default_dtype(torch.float32)",
        "    return x + a",
    ]


def test_a_mode_that_is_never_left_holds_to_the_end_and_a_stray_exit_means_nothing() -> None:
    nodes = [
        node("e", "torch.amp.autocast_mode._exit_autocast", "%gone"),
        node("a", "torch._C._set_grad_enabled", False),
        node("m", "torch.sin", "%x", out=meta(4)),
    ]
    assert body(case([tensor("x", 4)], nodes, "%m")) == [
        "def f(x):",
        "    with torch.no_grad():",
        "        a = torch.sin(x)",
        "    return a",
    ]


def test_the_context_of_the_whole_graph() -> None:
    context = grad_off(
        autocast=("cpu", "bfloat16"), deterministic=True, fullgraph=True, mode="max-autotune", options={"b": 1, "a": True},
        config=("torch._dynamo.config.capture_scalar_outputs = True",),
    )  # fmt: skip
    one = case(
        [tensor("x", 4)], [node("m", "torch.sin", "%x", out=meta(4))], "%m", context=context, backend="aot_eager"
    )
    options = COMPILED.replace("inductor", "aot_eager")[:-1]
    options += """, fullgraph=True, mode="max-autotune", options={'a': True, 'b': 1})"""
    assert print_case(one) == script(
        """
        import os

        import torch
        import torch._dynamo.config

        torch._dynamo.config.capture_scalar_outputs = True
        torch.use_deterministic_algorithms(True)


        def f(x):
            return torch.sin(x)


        torch.manual_seed(0)
        x = torch.randn(4)
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            f(x)  # eager works
            compiled = OPTIONS
            compiled(x)
        """
    ).replace("OPTIONS", options)


def test_a_backward_pass_is_outside_of_autocast() -> None:
    half = Context(autocast=("cpu", "bfloat16"))
    assert print_case(linear(backward=True, context=half)).endswith(
        script(
            """
            with torch.autocast("cpu", dtype=torch.bfloat16):
                out = f(x, w, b)
            out.sum().backward()  # eager works
            with torch.autocast("cpu", dtype=torch.bfloat16):
                out = COMPILED(x, w, b)
            out.sum().backward()
            """
        )
    )
    twice = print_case(linear(backward=True, backward_order=2, context=half))
    assert '    with torch.autocast("cpu", dtype=torch.bfloat16):\n        out = fn(' in twice
    assert twice.count("autocast") == 1 and "\nstep(f)  # eager works\n" in twice


def test_inference_mode_also_makes_the_inputs() -> None:
    one = case(
        [tensor("x", 4)],
        [node("m", "torch.sin", "%x", out=meta(4))],
        "%m",
        context=Context(inference_mode=True, grad_enabled=False),
    )
    assert print_case(one).endswith(
        script(
            """
            with torch.inference_mode():
                torch.manual_seed(0)
                x = torch.randn(4)
                f(x)  # eager works
                COMPILED(x)
            """
        )
    )


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ([meta(requires_grad=True)], "{}.backward()"),
        ([meta(2, requires_grad=True, dtype="complex64")], "{}.abs().sum().backward()"),
        ([meta(2, requires_grad=True), meta(2, dtype="int64")], "{}[0].sum().backward()"),
        ([meta(2, requires_grad=True), meta(3, requires_grad=True)], "sum(out.sum() for out in {}).backward()"),
    ],
)
def test_backward_from_what_can_be_differentiated(outputs: list, expected: str) -> None:
    nodes = [node(f"n{index}", f"torch.op{index}", "%x", out=out) for index, out in enumerate(outputs)]
    one = case([tensor("x", 2, requires_grad=True)], nodes, *(f"%{item.name}" for item in nodes), backward=True)
    assert expected.format("f(x)") + "  # eager works" in print_case(one)


def test_a_backward_pass_that_is_not_possible_is_refused() -> None:
    detached = case([tensor("x", 2)], [node("m", "torch.sin", "%x", out=meta(2))], "%m", backward=True)
    with pytest.raises(Unprintable, match="no output requires grad"):
        print_case(detached)


def test_a_copy_to_the_cpu_from_another_device_says_so() -> None:
    to, like = {"device": {"device": "cpu"}}, "torch.ops.aten.ones_like.default"
    for device, told in (("cuda", 'torch.ones_like(x, device="cpu")'), ("cpu", "torch.ones_like(x)")):
        one = case([tensor("x", 2, device=device)], [node("a", like, "%x", **to, out=meta(2))], "%a", level="aten")
        assert body(one)[1] == f"    return {told}"
    copied = node("a", "torch.ops.aten._to_copy.default", "%x", dtype={"dtype": "float64"}, **to, out=meta(2))
    assert 'device="cpu"' in print_case(case([tensor("x", 2, device="cuda")], [copied], "%a", level="aten"))


def test_an_exponent_takes_its_sign_without_brackets() -> None:
    one = case([tensor("x", 2)], [node("a", "operator.pow", "%x", -1, out=meta(2))], "%a")
    assert body(one)[1] == "    return x ** -1"


def test_aten_graphs_in_ordinary_torch() -> None:
    nodes = [
        node("a", "torch.ops.aten.slice.Tensor", "%p", 1, 1, 9223372036854775807, out=meta(2, 2)),
        node("b", "torch.ops.aten._softmax.default", "%a", 1, False, out=meta(2, 2)),
        node(
            "c", "torch.ops.aten.full.default", [2, 2], {"float": "nan"}, layout={"layout": "strided"},
            device={"device": "cpu"}, pin_memory=False, dtype={"dtype": "float32"}, out=meta(2, 2),
        ),
        node("d", "torch.ops.aten.gt.Scalar", "%b", 0.5, out=meta(2, 2, dtype="bool")),
        node("e", "torch.ops.aten.where.self", "%d", "%c", "%b", out=meta(2, 2)),
        node("g", "torch.ops.aten.mul.Scalar", "%e", 2, out=meta(2, 2)),
    ]  # fmt: skip
    one = case([tensor("p", 2, 3, requires_grad=True)], nodes, "%g", level="aten")
    assert body(one) == [
        "def f(x):",
        "    a = torch.softmax(x[:, 1:], 1)",
        '    b = torch.full([2, 2], float("nan"), dtype=torch.float32)',
        "    return torch.ops.aten.mul.Scalar(torch.where(a > 0.5, b, a), 2)",
    ]
    assert "requires_grad" not in print_case(one)


def test_order_of_effects_is_kept() -> None:
    nodes = [
        node("s", ".sum", "%x", out=meta()),
        node("r", "torch.rand_like", "%x", out=meta(3)),
        node("a", "operator.setitem", "%x", 0, 1.0),
        node("b", "operator.add", "%r", "%s", out=meta(3)),
        node("c", "operator.iadd", "%b", "%x", out=meta(3)),
    ]
    assert body(case([tensor("x", 3)], nodes, "%c")) == [
        "def f(x):",
        "    a = x.sum()",
        "    b = torch.rand_like(x)",
        "    x[0] = 1.0",
        "    c = b + a",
        "    c += x",
        "    return c",
    ]


@pytest.mark.parametrize(
    ("quiet", "drawing"),
    [
        (("torch.nn.functional.dropout", ["%x", 0.5, False], {}), ("torch.nn.functional.dropout", ["%x", 0.5], {})),
        (("torch.nn.functional.dropout2d", ["%x"], {"training": False}), ("torch.nn.functional.dropout2d", ["%x"], {})),
        (
            ("torch.ops.aten.dropout.default", ["%x", 0.0, True], {}),
            ("torch.ops.aten.dropout.default", ["%x", 0.5, True], {}),
        ),
        (
            ("torch.nn.functional.alpha_dropout", ["%x"], {}),
            ("torch.nn.functional.alpha_dropout", ["%x", 0.5, True], {}),
        ),
        (
            ("torch.nn.functional.rrelu", ["%x", 0.1, 0.3], {}),
            ("torch.nn.functional.rrelu", ["%x", 0.1, 0.3, True], {}),
        ),
        (
            ("torch.nn.functional.scaled_dot_product_attention", ["%x", "%x", "%x"], {"is_causal": True}),
            ("torch.nn.functional.scaled_dot_product_attention", ["%x", "%x", "%x"], {"dropout_p": 0.5}),
        ),
    ],
)
def test_only_what_draws_random_numbers_is_given_eagers(
    quiet: tuple[str, list, dict], drawing: tuple[str, list, dict]
) -> None:
    for (target, args, kwargs), draws in ((quiet, False), (drawing, True)):
        one = case([tensor("x", 2, 3, 4, 4)], [node("y", target, *args, out=meta(2, 3, 4, 4), **kwargs)], "%y")
        text = print_case(one, form=Form(check="values"))
        assert ("fallback_random" in text) is draws
        assert ("double()" in text or "float64" in text) is not draws  # double precision would draw others


def test_a_change_that_nobody_sees_is_left_out() -> None:
    nodes = [
        node("t", "torch.zeros", [3], out=meta(3)),
        node("u", ".add_", "%t", 1, out=meta(3)),
        node("m", "torch.sin", "%x", out=meta(3)),
    ]
    assert body(case([tensor("x", 3)], nodes, "%m")) == ["def f(x):", "    return torch.sin(x)"]


def test_what_cannot_be_printed_says_why() -> None:
    for broken, reason in (
        (case([tensor("x", 2)], [], "%x", unprintable=("no source for ns::op",)), "no source for ns::op"),
        (case([], [node("m", "torch.sin", "%gone", out=meta(2))], "%m"), "gone is used but not made"),
        (case([], [node("m", "torch.sin", {"opaque": "a process group"}, out=meta(2))], "%m"), "a process group"),
        (
            case([GraphInput("g", "opaque", value="a generator")], [node("m", "torch.sin", "%g", out=meta(2))], "%m"),
            "a generator",
        ),
        (case([tensor("x", 2, layout="sparse_coo")], [node("m", "torch.sin", "%x", out=meta(2))], "%m"), "sparse_coo"),
    ):
        with pytest.raises(Unprintable, match=reason):
            print_case(broken)


def test_operations_are_counted_without_their_trimmings() -> None:
    nodes = [
        node("s", ".size", "%x", 0),
        node("h", "operator.floordiv", "%s", 2),
        node("g", "torch._C._set_grad_enabled", False),
        node("m", "torch.max", "%x", 1, out=[meta(2), meta(2)]),
        node("v", "operator.getitem", "%m", 0, out=meta(2)),
        node("z", "operator.getitem", "%v", {"slice": [None, ref("h"), None]}, out=meta(1)),
        node("dead", "torch.sin", "%v", out=meta(2)),
    ]
    assert count_ops(case([tensor("x", 2, 3)], nodes, "%z")) == 2


def test_code_lines_ignore_comments_blank_lines_and_docstrings() -> None:
    assert code_lines('"""Says\nwhat."""\n# a comment\nimport os\n\nx = [\n    1,  # one\n]\ny = """a\nb"""\n') == 6


def test_every_form_compiles_and_is_stable() -> None:
    choices = (("nice", (True, False)), ("check", ("exception", "values", "strides")))
    for combination in itertools.product(*(options for _, options in choices)):
        form = Form(**dict(zip((name for name, _ in choices), combination, strict=True)))
        text = print_case(linear(backward=form.check != "strides"), form=form)
        compile(text, "repro.py", "exec")
        assert text == print_case(linear(backward=form.check != "strides"), form=form)
        assert "/" not in text.replace(" / 2", "").replace("import ", "") and "triage" not in text


def test_a_script_whose_kernel_fails_waits_for_the_gpu_after_each_run():
    lies = {"device": "cuda:0"}
    one = case([tensor("x", 4, **lies)], [node("y", "torch.relu", "%x", out=meta(4, **lies))], "%y")
    text = print_case(one, form=Form(waits=True))
    assert text.endswith(
        f"f(x)  # eager works\ntorch.cuda.synchronize()\n{COMPILED[:-1]})(x)\ntorch.cuda.synchronize()\n"
    )
    half = replace(one, context=Context(autocast=("cuda", "float16")))
    assert print_case(half, form=Form(waits=True)).count("\n    torch.cuda.synchronize()\n") == 2
    assert "synchronize" not in print_case(one)
    made = case([tensor("x", 4)], [node("y", "torch.relu", "%x", out=meta(4))], "%y")
    assert "synchronize" not in print_case(made, form=Form(waits=True))


def test_what_cuda_graphs_fail_with_comes_in_a_later_call():
    on_gpu = {"device": "cuda:0"}
    one = case([tensor("x", 4, **on_gpu)], [node("y", "torch.relu", "%x", out=meta(4, **on_gpu))], "%y")
    text = print_case(one, form=Form(times=3))
    assert text.endswith(f"f(x)  # eager works\ncompiled = {COMPILED[:-1]})\nfor _ in range(3):\n    compiled(x)\n")
