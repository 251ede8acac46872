"""One call of a compiled graph, judged in this process: nothing of it reaches the program, and it is judged as it was made."""

import json
import math
import operator
import sys
import weakref
from types import SimpleNamespace
from typing import Any

import pytest
from compared import LOW, call, compat, copies, graphs, judged, kept, leaf, memory, repeats, run, torch


def test_weights_that_were_cast_are_not_kept() -> None:
    runner = run.Runner(torch, copies.Copier(torch, [leaf(4, 4)]), ["w"], True)
    seen = []

    def function(w: Any) -> Any:
        seen.append(weakref.ref(w))
        return w @ w

    with torch.autocast(**LOW):
        runner.run(function)
        assert seen[0]() is None


def test_a_graph_that_raises_leaves_nothing_switched() -> None:
    def state() -> tuple[Any, ...]:
        torch.autocast_increment_nesting()
        innermost = torch._C._functorch.peek_interpreter_stack()
        levels = innermost.level() if innermost is not None else 0
        casts = compat.autocast_of("cpu")[0]
        return torch.is_grad_enabled(), casts, torch.autocast_decrement_nesting(), levels

    def function() -> None:
        torch._C._set_grad_enabled(False)
        torch.amp.autocast_mode._enter_autocast("cpu", torch.bfloat16, True, None)
        torch._C._functorch._vmap_increment_nesting(2, "error")
        torch._C._functorch._grad_increment_nesting()
        torch._C._functorch._jvp_increment_nesting()
        torch._C._functorch._func_increment_nesting(True)
        raise RuntimeError("no such kernel")

    before = state()
    runner = run.Runner(torch, copies.Copier(torch, []), [], True)
    for double in (False, True):
        with pytest.raises(RuntimeError, match="no such kernel"):
            runner.run(function, double=double)
        assert state() == before


def fused_dropout_add(x: torch.Tensor, residual: torch.Tensor, p: float) -> torch.Tensor:
    return x * p + residual


def of(function: Any, *rest: Any) -> Any:
    """A graph that calls this function on its inputs."""
    graph = torch.fx.Graph()
    graph.output(graph.call_function(function, tuple(graph.placeholder(name) for name in "xy"[: 3 - len(rest)]) + rest))
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def test_a_dropout_that_is_off_is_left_as_it_is() -> None:
    for function in (torch.nn.functional.dropout, torch.dropout, torch.ops.aten.native_dropout.default):
        for rest in ((0.5, False), (0.0, True)):
            gm = of(function, *rest)
            assert kept.without_dropout(gm) == 0
            assert next(node.args[1:] for node in gm.graph.nodes if node.op == "call_function")[-2:] == rest
    graph = torch.fx.Graph()
    graph.output(graph.call_function(torch.nn.functional.dropout, (graph.placeholder("x"), 0.5), {"training": False}))
    assert kept.without_dropout(torch.fx.GraphModule(torch.nn.Module(), graph)) == 0


@pytest.mark.skipif(not hasattr(torch.library, "_scoped_library"), reason="torch before 2.3 has no such libraries")
def test_dropout_is_switched_off_and_functions_of_the_users_are_left_alone() -> None:
    for function in (torch.nn.functional.dropout, torch.dropout, torch.ops.aten.native_dropout.default):
        assert kept.without_dropout(of(function, 0.5, True)) == 1
    with torch.library._scoped_library(
        "triage_tests", "FRAGMENT"
    ) as library:  # gone afterwards: others look at what there is
        library.define("fused_dropout_add(Tensor x, Tensor y, float p) -> Tensor")
        library.impl("fused_dropout_add", fused_dropout_add, "CompositeExplicitAutograd")
        for function in (fused_dropout_add, torch.ops.triage_tests.fused_dropout_add.default):
            gm = of(function, 0.5)
            assert kept.without_dropout(gm) == 0
            assert gm(torch.ones(2), torch.ones(2)).tolist() == [1.5, 1.5]


def counting() -> Any:
    """A graph that holds a buffer and a parameter itself, as before torch 2.5, and counts its calls in the buffer."""
    module, graph = torch.nn.Module(), torch.fx.Graph()
    module.register_buffer("calls", torch.zeros(1))
    module.register_parameter("scale", torch.nn.Parameter(torch.ones(1)))
    x = graph.placeholder("x")
    calls = graph.call_method("add_", (graph.get_attr("calls"), 1))
    scaled = graph.call_function(torch.mul, (x, graph.get_attr("scale")))
    graph.output((graph.call_function(torch.mul, (scaled, graph.call_method("clone", (calls,)))),))
    return torch.fx.GraphModule(module, graph)


def test_what_a_graph_holds_is_as_it_was_before_the_programs_own_call() -> None:
    program, args = counting(), (torch.randn(3),)
    for number in (1, 2):
        made = call.Call(torch, program, kept.Kept(torch, program), args, True)
        result = program(*args)
        assert made.wrong(result, args) == []
        assert program.calls.item() == number
        result[0].sum().backward()


def test_what_a_graph_changes_of_what_it_holds_is_compared() -> None:
    """As the parameters of an optimizer whose step is compiled."""
    program, args = counting(), (torch.zeros(3),)
    made = call.Call(torch, program, kept.Kept(torch, program), args, False)
    result = program(*args)
    program.calls.add_(1)
    assert [(facts["item"], facts["kind"]) for facts in made.wrong(result, args)] == [
        ("calls after the call", "values")
    ]


class Doubled(torch.autograd.Function):
    """Of its backward pass twice what it should be."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return 2 * gradient


def test_a_sparse_gradient_is_compared() -> None:
    """That of an embedding's weight may be all that a program's check looks at."""

    def rows(numbers: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.embedding(numbers, weight, sparse=True)

    program, args = of(rows), (torch.tensor([1, 2, 1]), leaf(4, 3))
    for compiled, wrong in ((rows, []), (lambda i, w: Doubled.apply(rows(i, w)), [("gradient of y", "values")])):
        made = call.Call(torch, compiled, kept.Kept(torch, program), args, True)
        assert [(facts["item"], facts["kind"]) for facts in made.wrong(compiled(*args), args)] == wrong


def test_a_wrong_graph_is_captured_with_what_it_held_before_the_call() -> None:
    program, args, texts = counting(), (torch.zeros(3),), []
    channel = SimpleNamespace(put=lambda name, text: texts.append(text))
    recorder = SimpleNamespace(config={"capture": True}, compile_settings=dict, channel=channel)
    made = call.Call(torch, program, kept.Kept(torch, program), args, False)
    program(*args)
    graph = {"id": "0/0", "inputs": list(args), "backend": {}}
    graphs.Comparer(torch, recorder, {})._written(made.kept, graph, made, "graph.json")
    (held,) = [each["data"] for each in json.loads(texts[0])["inputs"] if each["name"] == "calls"]
    assert held == [0.0]
    assert program.calls.item() == 1


def put(place: int) -> Any:
    """Writes where indices say, and the same with the write of this place as the last one."""
    index = torch.tensor([0, 3, 1, 3])

    def written(x: Any) -> tuple[Any, ...]:
        z = torch.zeros(4)
        z[index] = x * 2
        z[3] = x[place] * 2
        return (z,)

    return written


def graph_of_writes(repeated: int) -> Any:
    def graph(x: Any) -> tuple[Any, ...]:
        return (torch.zeros(4).index_put((torch.tensor([0, 3, 1, repeated]),), x * 2),)

    return torch.fx.symbolic_trace(graph)


def test_what_hangs_on_the_order_of_writes_to_one_place_is_no_measure() -> None:
    x = torch.tensor([1.0, 2.0, 3.0, 4.0])
    made, wrong = judged(put(1), graph_of_writes(3), x)
    assert (wrong, made.unsteady, made.unordered) == ([], ["output 0"], {"output 0": "index_put"})
    made, wrong = judged(put(1), graph_of_writes(2), x)
    assert [facts["item"] for facts in wrong] == ["output 0"] and not made.unordered


def index_tensors(*sizes: tuple[int, ...]) -> list[Any]:
    """None for a dimension that is taken whole; each place is written once."""
    return [None if size is None else torch.randperm(12)[: math.prod(size)].reshape(size) for size in sizes]


@pytest.mark.parametrize(
    ("sizes", "values"),
    [
        ([(3,)], (3, 12, 12)),
        ([(3,)], (12, 12)),  # broadcast
        ([(3,), (3,)], (3, 12)),
        ([None, (2, 3)], (12, 2, 3, 12)),
        ([None, (3,)], (3, 12)),
        ([(4, 1), None, (3,)], (4, 3, 12)),  # in front of the result, as the dimensions are apart
        ([(3,)], ()),
    ],
)
def test_the_other_order_writes_the_same_where_no_place_is_written_twice(sizes: Any, values: tuple[int, ...]) -> None:
    args = (torch.zeros(12, 12, 12), index_tensors(*sizes), torch.randn(values))
    other = repeats.turned("index_put", args)
    assert torch.equal(torch.ops.aten.index_put(*args), torch.ops.aten.index_put(*other))
    assert repeats.turned("index_put", (*args, True)) is None


def test_so_do_other_operations_that_write() -> None:
    where, source = torch.tensor([[2, 0, 1], [0, 1, 2]]), torch.randn(3, 5)
    for name, function, args in (
        ("scatter", torch.scatter, (torch.zeros(3, 4), 1, where, source)),
        ("index_copy", torch.index_copy, (torch.zeros(3, 5), 0, where[0], source)),
        ("put", torch.put, (torch.zeros(3, 4), where[0], source[0, :3])),
    ):
        other = repeats.turned(name, args)
        assert not torch.equal(other[-1], args[-1])
        assert torch.equal(function(*args), function(*other))


def test_an_input_that_eager_writes_its_old_values_to_is_changed_by_both() -> None:
    def graph(kept: Any, line: Any) -> tuple[Any, ...]:
        kept.copy_(line)
        return (line + 1,)

    def compiled(kept: Any, line: Any) -> tuple[Any, ...]:
        kept.copy_(line + 1)
        return (line + 1,)

    for before in (torch.zeros(3), torch.full((3,), 5.0)):
        _, wrong = judged(compiled, graph, before, torch.zeros(3))
        assert [(facts["item"], facts["kind"]) for facts in wrong] == [("kept after the call", "values")]


SEES_HIGHER_ORDER = pytest.mark.skipif(
    not hasattr(torch.utils._python_dispatch.TorchDispatchMode, "supports_higher_order_operators"), reason="torch < 2.7"
)


def graph_with_cond() -> Any:
    """`torch.cond(x.sum() > 0, lambda x: (x + 1e3) - 1e3, torch.cos, (x,)) * 2` as Dynamo writes it down."""
    module, graph = torch.nn.Module(), torch.fx.Graph()
    module.true = torch.fx.symbolic_trace(lambda x: ((x + 1e3) - 1e3,))
    module.false = torch.fx.symbolic_trace(lambda x: (torch.cos(x),))
    x = graph.placeholder("x")
    which = graph.call_function(operator.gt, (graph.call_method("sum", (x,)), 0))
    bodies = graph.get_attr("true"), graph.get_attr("false")
    chosen = graph.call_function(torch.ops.higher_order.cond, (which, *bodies, (x,)))
    graph.output((graph.call_function(operator.mul, (graph.call_function(operator.getitem, (chosen, 0)), 2)),))
    return torch.fx.GraphModule(module, graph)


@SEES_HIGHER_ORDER
@pytest.mark.parametrize("gradients", [False, True])
def test_a_higher_order_operator_is_one_operation_of_its_graph(gradients: bool) -> None:
    x = torch.rand(8) + 0.5
    x.requires_grad_(gradients)

    def found(off: float) -> list[tuple[str, str]]:
        def compiled(x: Any) -> tuple[Any, ...]:
            return (x * 2 + off * (torch.arange(8) % 4 == 0),)  # without the rounding of the body

        made, wrong = judged(compiled, graph_with_cond(), x, gradients=gradients)
        assert made.measured
        return [(facts["item"], facts["kind"]) for facts in wrong]

    assert found(0.0) == []
    assert found(0.3) == [("output 0", "values")]


@SEES_HIGHER_ORDER
def test_what_cannot_look_into_a_higher_order_operator_says_so_in_plain_words() -> None:
    mode = compat.dispatching(lambda func, args, kwargs: func(*args, **kwargs))
    with pytest.raises(NotImplementedError, match="in the body of `cond` cannot be looked at one by one"), mode:
        torch.ops.higher_order.cond(True, torch.sin, torch.cos, (torch.ones(3),))


@pytest.mark.parametrize(("known", "runs"), [((), 25), ({("output 0", "values")}, 3), ({("output 0", "nan")}, 25)])
def test_what_was_told_of_an_earlier_call_is_not_made_certain_again(known: Any, runs: int) -> None:
    gm = torch.fx.symbolic_trace(lambda x: (torch.sin(x),))
    made = call.Call(torch, None, kept.Kept(torch, gm), (torch.ones(8),), False, known=known)
    nudged = []
    others = made._others
    made._others = lambda numbers: nudged.extend(numbers) or others(numbers)
    (facts,) = made.wrong((torch.cos(torch.ones(8)),), (torch.ones(8),))
    assert (facts["item"], facts["kind"]) == ("output 0", "values") and len(nudged) + 1 == runs


def test_what_hangs_on_memory_that_nobody_wrote_is_not_taken_for_an_order_of_writes() -> None:
    def graph(x: Any) -> tuple[Any, ...]:
        ring = torch.cat([x, x.new_empty(24, 16)])
        return (ring.sum(0), torch.zeros(4, 16).index_put((torch.arange(40) % 4,), x))

    x = torch.rand(40, 16) + 1
    made, wrong = judged(lambda x: (x.sum(0) + 5, x[:4].clone()), graph, x, gradients=False)
    assert wrong == [] and sorted(made.unsteady) == ["output 0", "output 1"]
    assert made.unordered == {"output 1": "index_put"}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there is memory filled")
@pytest.mark.parametrize("by_luck", [False, True])
def test_a_value_that_hangs_on_memory_which_compiled_code_never_wrote_varies(by_luck: bool) -> None:
    def forgetful(x: Any) -> Any:
        result = torch.empty_like(x)
        result[:-1] = x[:-1] * 2
        return (result,)

    x = torch.linspace(1, 9, 1 << 16).view(64, -1)
    if by_luck:
        x[-1] = 0
    with memory.fresh_memory_filled(0x42):  # the program's own call finds numbers there
        _, (wrong,) = judged(forgetful, lambda x: (x * 2,), x, gradients=False)
    assert (wrong["kind"], wrong["varies"], wrong["by_luck"]) == ("values", True, by_luck)


def test_a_wrong_value_that_is_the_same_in_each_run_does_not_vary() -> None:
    _, (wrong,) = judged(lambda x: (x * 3,), lambda x: (x * 2,), torch.ones(8), gradients=False)
    assert "varies" not in wrong
