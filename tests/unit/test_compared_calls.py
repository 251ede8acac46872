"""One call of a compiled graph, judged in this process: nothing of it reaches the program, and it is judged as it was made."""

import importlib
import math
import operator
import weakref
from types import SimpleNamespace
from typing import Any

import pytest

from triage.agent import boot

torch = pytest.importorskip("torch")
boot.load_agent()
compat = importlib.import_module(f"{boot.PACKAGE}.compat")
call, copies, graphs, incoming, kept, repeats, roundoff, run = (
    importlib.import_module(f"{boot.PACKAGE}.compare.{name}")
    for name in ("call", "copies", "graphs", "incoming", "kept", "repeats", "roundoff", "run")
)

LOW = {"device_type": "cpu", "dtype": torch.bfloat16}


def judged(compiled: Any, graph: Any, *args: Any, gradients: bool = True) -> Any:
    """The call, and what is found wrong with it, where `compiled` stands for the graph."""
    gm = graph if isinstance(graph, torch.fx.GraphModule) else torch.fx.symbolic_trace(graph)
    made = call.Call(torch, compiled, kept.Kept(torch, gm), args, gradients)
    with made.as_it_began():
        return made, made.wrong(compiled(*args), args)


def leaf(*shape: int) -> Any:
    return torch.randn(*shape).requires_grad_()


def test_gradients_that_come_outside_of_autocast_are_compared_under_it() -> None:
    def compiled(x: Any, w: Any) -> tuple[Any, ...]:
        with torch.autocast(**LOW):  # compiled code has its casts in it
            return (torch.sin(x @ w),)

    with torch.autocast(**LOW):
        made, wrong = judged(compiled, lambda x, w: (torch.sin(x @ w),), torch.randn(4, 8), leaf(8, 8))
    assert wrong == []
    made.under({"output 0": torch.ones(4, 8, dtype=torch.bfloat16)})
    assert made.wrong_again() == []


def full_precision(x: Any, w: Any) -> tuple[Any, ...]:
    with torch.autocast("cpu", enabled=False):
        return (x @ w,)


def graph_in_full_precision() -> Any:
    """`full_precision` as Dynamo writes it down."""
    casts, graph = torch.amp.autocast_mode, torch.fx.Graph()
    x, w = graph.placeholder("x"), graph.placeholder("w")
    entered = graph.call_function(casts._enter_autocast, ("cpu", torch.bfloat16, False, None))
    y = graph.call_function(torch.matmul, (x, w))
    graph.call_function(casts._exit_autocast, (entered,))
    graph.output((y,))
    return torch.fx.GraphModule(torch.nn.Module(), graph)


class CastsInBackward(torch.autograd.Function):
    """As AOTAutograd compiles it: the backward pass is under the autocast that was on around the call."""

    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        ctx.save_for_backward(x, w)
        return full_precision(x, w)[0]

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        x, w = ctx.saved_tensors
        with torch.autocast(**LOW):
            return (gradient @ w.t()).float(), (x.t() @ gradient).float()


def casts_in_backward(x: Any, w: Any) -> tuple[Any, ...]:
    return (CastsInBackward.apply(x, w),)


def under_autocast(compiled: Any, backward_inside: bool) -> list[list[str]]:
    """What is wrong before, and under, the program's own backward pass."""
    torch.manual_seed(0)
    with torch.autocast(**LOW):
        made, before = judged(compiled, graph_in_full_precision(), torch.randn(64, 32), leaf(32, 16))
        arriving = {"output 0": torch.randn(64, 16)}
        if backward_inside:
            made.under(arriving)
    if not backward_inside:
        made.under(arriving)
    return [[facts["item"] for facts in found] for found in (before, made.wrong_again())]


def test_a_backward_pass_that_has_the_casts_of_the_call_is_wrong_where_the_programs_own_is_outside_of_them() -> None:
    assert under_autocast(casts_in_backward, backward_inside=False) == [[], ["gradient of w"]]
    assert under_autocast(casts_in_backward, backward_inside=True) == [[], []]
    assert under_autocast(full_precision, backward_inside=False) == [[], []]


def test_a_gradient_that_is_wrong_under_any_casts_is_found_at_once() -> None:
    def compiled(x: Any, w: Any) -> tuple[Any, ...]:
        return (full_precision(x, 2 * w - w.detach())[0],)

    assert under_autocast(compiled, backward_inside=False) == [["gradient of w"]] * 2


def test_an_output_that_no_backward_pass_goes_through_is_told_and_no_gradients() -> None:
    def two(x: Any) -> tuple[Any, ...]:
        a = torch.tanh(x)
        return a * 2, a.detach()

    def spoilt(place: int, change: Any) -> Any:
        return lambda x: tuple(change(out) if index == place else out for index, out in enumerate(two(x)))

    def found(place: int, change: Any) -> list[tuple[str, str, str]]:
        _, wrong = judged(spoilt(place, change), two, leaf(4))
        return [(facts["item"], facts["kind"], facts["compiled_is"]) for facts in wrong]

    kind = "requires_grad"
    assert found(0, lambda out: out.detach()) == [("output 0", kind, "False")]
    assert found(0, lambda out: out.detach().requires_grad_()) == [("output 0", kind, "True without a grad_fn")]
    assert found(1, lambda out: out.requires_grad_()) == [("output 1", kind, "True")]
    assert found(1, lambda out: out) == []


class WithoutGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        return x * w

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient, None


def test_a_gradient_that_is_none_is_told_as_that() -> None:
    def compiled(x: Any, w: Any) -> tuple[Any, ...]:
        return (WithoutGradient.apply(x, w),)

    (found,) = judged(compiled, lambda x, w: (x * w,), torch.ones(4), leaf(4))[1]
    assert (found["item"], found["kind"], found["words"]) == (
        "gradient of w",
        "values",
        "no gradient compiled, eager has one",
    )
    assert judged(compiled, lambda x, w: (x * w,), torch.zeros(4), leaf(4))[1] == []  # to a program it is one of zeros


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


def attend(q: Any, k: Any, v: Any) -> tuple[Any, ...]:
    return (q @ k.t()) @ v, v.view(2, 2, 8)


def rotate(q: Any, k: Any) -> tuple[Any, ...]:
    q.mul_(2)
    return (k.sin(),)


def test_parts_of_one_result_share_its_memory_in_eager_too() -> None:
    q, k, v = (leaf(3, 4, 8) * 2).unbind(0)
    _, wrong = judged(attend, attend, q, k, v)
    assert wrong == []
    whole = leaf(4, 8) * 2
    for gradients in (False, True):
        _, wrong = judged(rotate, rotate, whole[:2], whole, gradients=gradients)
        assert wrong == []


def test_a_wrong_gradient_of_such_a_part_is_found() -> None:
    def compiled(q: Any, k: Any, v: Any) -> tuple[Any, ...]:
        return attend(q, k.detach(), v)

    _, wrong = judged(compiled, attend, *(leaf(3, 4, 8) * 2).unbind(0))
    assert [facts["item"] for facts in wrong] == ["gradient of q"]


def fused_dropout_add(x: torch.Tensor, residual: torch.Tensor, p: float) -> torch.Tensor:
    return x * p + residual


def of(function: Any, *rest: Any) -> Any:
    """A graph that calls this function on its inputs."""
    graph = torch.fx.Graph()
    graph.output(graph.call_function(function, tuple(graph.placeholder(name) for name in "xy"[: 3 - len(rest)]) + rest))
    return torch.fx.GraphModule(torch.nn.Module(), graph)


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


class Unconjugated(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.conj().resolve_conj()

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient


def test_a_gradient_that_was_not_conjugated_is_found() -> None:
    x = torch.randn(5, dtype=torch.complex64, requires_grad=True)
    _, wrong = judged(lambda x: (Unconjugated.apply(x),), lambda x: (x.conj().resolve_conj(),), x)
    assert [facts["item"] for facts in wrong] == ["gradient of x"]


@pytest.mark.parametrize(
    ("gradient", "fill"),
    [
        (torch.ones(3), "ones"),
        (torch.full((3,), 2.5), "full:2.5"),
        (torch.ones(3, dtype=torch.complex64), "ones"),
        (torch.tensor(1 + 2j), "values"),
    ],
)
def test_a_gradient_that_arrived_is_told(gradient: Any, fill: str) -> None:
    (entry,) = incoming.described({"outputs": [{"ref": "y"}]}, {"output 0": gradient}) or [{"fill": "ones"}]
    assert entry["fill"] == fill


def test_gradients_are_compared_whatever_the_default_device_is() -> None:
    x = leaf(3)
    before = torch.zeros(()).device
    torch.set_default_device("meta")
    try:
        _, wrong = judged(lambda x: (x.sin(),), lambda x: (x.sin(),), x)
    finally:
        torch.set_default_device(before)
    assert wrong == []


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


EDGES = torch.linspace(-3, 3, 2001)


def buckets(x: Any) -> tuple[Any, ...]:
    return (torch.bucketize(torch.tanh(x) * torch.exp(x), EDGES),)


def rounds_otherwise(x: Any) -> tuple[Any, ...]:
    """The same, in double precision on the way."""
    return (torch.bucketize((torch.tanh(x.double()) * torch.exp(x.double())).float(), EDGES),)


def wrong_bucket(x: Any) -> tuple[Any, ...]:
    return (buckets(x)[0] + (x > 2),)


def test_integers_that_fall_on_the_other_side_of_a_step_are_rounding() -> None:
    torch.manual_seed(0)
    x = torch.randn(200_000)
    made, wrong = judged(rounds_otherwise, buckets, x)
    told = made.rounding()
    assert wrong == []
    assert (told["item"], told["dtype"], told["steps"], told["difference"]) == ("output 0", "int64", True, 1.0)
    _, wrong = judged(wrong_bucket, buckets, x)
    assert [facts["kind"] for facts in wrong] == ["values"]


def test_what_rounds_otherwise_beside_a_wrong_value_is_told_of() -> None:
    def compiled(x: Any) -> tuple[Any, ...]:
        return torch.bucketize(torch.tanh(x) * torch.exp(x) * (1 + 5e-7), EDGES), x * 2 + 1

    torch.manual_seed(0)
    made, wrong = judged(compiled, lambda x: (*buckets(x), x * 2), torch.randn(200_000), gradients=False)
    (item,) = (facts["item"] for facts in wrong)
    assert (item, made.rounding([item])["item"]) == ("output 1", "output 0")


def test_eager_alone_that_gives_nan_is_wrong_itself() -> None:
    def given(values: list[float], dtype: Any = torch.float32) -> Any:
        found = run.Given()
        found.tensors["output 0"] = torch.tensor(values, dtype=dtype)
        return found

    nan, inf = float("nan"), float("inf")
    eager, compiled = given([nan, inf, nan, inf, nan, 1.0]), given([0.5, 0.5, nan, inf, 0.5, 1.1])
    exact = given(
        [0.5, 0.5, nan, 1e300, 7.0, 1.0], torch.float64
    )  # 1e300 is infinity in float32; on 7.0 they do not agree
    facts = roundoff.rounding(torch, "output 0", eager, compiled, exact)
    assert (facts["eager_wrong"], facts["eager_gives"], facts["unbounded"]) == (2, "NaN and infinity", True)
    unknown = roundoff.rounding(torch, "output 0", eager, compiled, None)
    assert (unknown["eager_wrong"], unknown["eager_gives"]) == (0, "")
    assert roundoff.rank(facts) > roundoff.rank({**unknown, "tolerances": 1e9})


def norm(x: Any) -> tuple[Any, ...]:
    return (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6),)


def norm_in_float(x: Any) -> tuple[Any, ...]:
    return (norm(x.float())[0].half(),)


def test_eager_alone_that_overflows_on_the_way_is_wrong_itself() -> None:
    torch.manual_seed(0)
    made, wrong = judged(norm_in_float, norm, torch.randn(4, 32).half() * 1000)
    told = made.rounding()
    assert wrong == []
    assert (told["eager_wrong"] > 0, told["eager_gives"]) == (True, "numbers that are far off")
    assert made.first_overflow() == "aten.pow"


def test_eager_that_rounds_often_is_not_wrong_itself() -> None:
    def often(x: Any) -> tuple[Any, ...]:
        for _ in range(12):
            x = torch.sin(x * 1.9) * 1.5
        return (x,)

    torch.manual_seed(0)
    made, wrong = judged(lambda x: (often(x.float())[0].half(),), often, torch.randn(4, 32).half())
    told = made.rounding()
    assert wrong == []
    assert (told["eager_wrong"], told["spread"] > told["difference"] / 10) == (0, True)


def test_eager_that_seldom_comes_over_a_step_is_not_wrong_itself() -> None:
    def stepped(x: Any) -> tuple[Any, ...]:
        return (torch.where(x + 1000 - 1000 > 0.55, 3.0, 1.0).to(x.dtype),)

    x = torch.full((400,), -10.0)
    x[::100] = 0.6  # 0.5 in half precision, whose neighbours are on both sides
    made, wrong = judged(lambda x: (stepped(x.float())[0].half(),), stepped, x.half())
    told = made.rounding()
    assert wrong == []
    assert (told["eager_wrong"], told["difference"], told["spread"]) == (0, 2.0, 2.0)


def test_what_is_zero_but_for_rounding_is_told_where_all_else_is_close() -> None:
    def given(zero: float, other: float, dtype: Any = torch.float32) -> Any:
        found = run.Given()
        found.tensors.update(a=torch.tensor([zero], dtype=dtype), b=torch.tensor([other], dtype=dtype))
        return found

    def ranked(off: float) -> list[str]:
        eager, compiled, exact = given(1e-9, 1.0), given(-2e-9, 1.0 + off), given(1e-18, 1.0, torch.float64)
        told = [roundoff.rounding(torch, name, eager, compiled, exact) for name in ("a", "b")]
        assert [facts["of_zero"] for facts in told] == [True, False]
        return [facts["item"] for facts in sorted(told, key=roundoff.rank, reverse=True)]

    assert ranked(1e-6) == ["a", "b"]
    assert ranked(1e-3) == ["b", "a"]


def test_integers_that_no_rounding_moves_are_none() -> None:
    x = torch.arange(10)
    made, wrong = judged(lambda x: (x * 2 + (x == 3),), lambda x: (x * 2,), x)
    assert [facts["item"] for facts in wrong] == ["output 0"]
    assert made.rounding() is None


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


def test_what_is_small_is_compared_as_that_where_it_is_asked_where_a_wrong_value_begins() -> None:
    x = torch.full((64,), 1e-6)

    def found(off: float, **how: bool) -> list[bool]:
        """Of each that is wrong, whether that is told as small."""
        gm = torch.fx.symbolic_trace(lambda x: (torch.atanh(x),))
        made = call.Call(torch, None, kept.Kept(torch, gm), (x,), False, **how)
        with made.as_it_began():
            return [facts.get("small", False) for facts in made.wrong((torch.atanh(x) * (1 + off),), (x,))]

    assert found(0.013) == []
    assert found(0.013, fine=True) == [False]
    assert found(1e-6, fine=True) == []
    assert found(0.013, checked=True) == [True]  # a check of the program's own fails, maybe by this
    assert found(1e3, checked=True) == [False]
    assert found(1e-6, checked=True) == []


def test_a_gradient_is_not_compared_so_finely_where_a_check_fails() -> None:
    gm = torch.fx.symbolic_trace(lambda x: (x * 1e-7,))
    x = leaf(8)

    def compiled(x: Any) -> tuple[Any, ...]:
        y = x * 1.1e-7
        return (y + (x.detach() * 1e-7 - y.detach()),)

    made = call.Call(torch, compiled, kept.Kept(torch, gm), (x,), True, checked=True)
    with made.as_it_began():
        assert made.wrong(compiled(x), (x,)) == []


@pytest.mark.parametrize(
    ("own_check", "found", "asked"),
    [
        (True, [], [[]]),
        (True, [{"item": "output 1", "compiled_error": 1.0}], [["output 1"]]),
        (True, [{"item": "output 1", "kind": "strides"}], []),  # the check may fail by no value of this graph
        (False, [{"item": "output 1", "compiled_error": 1.0}], []),
    ],
)
def test_what_rounds_is_told_beside_a_wrong_value_that_a_check_need_not_look_at(
    own_check: bool, found: Any, asked: Any
) -> None:
    seen: list[list[str]] = []
    made = SimpleNamespace(unsteady=[], by_chance=[], doubted=True, rounding=seen.append)
    comparer = graphs.Comparer(torch, SimpleNamespace(), {"own_check": own_check})
    comparer._note(made, found, None, {"id": "0/0"}, 1)
    assert seen == asked


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


def checked(compiled: Any, graph: Any, *args: Any) -> Any:
    """What is found wrong where a check of the program's own fails."""
    made = call.Call(torch, compiled, kept.Kept(torch, torch.fx.symbolic_trace(graph)), args, False, checked=True)
    with made.as_it_began():
        return made.wrong(compiled(*args), args)


def test_a_quotient_rounded_down_is_wrong_by_one_in_thousands() -> None:
    def graph(x: Any) -> tuple[Any, ...]:
        return (torch.where(x > 50000, x // 0.1, x),)

    def multiplied(x: Any) -> tuple[Any, ...]:
        return (torch.where(x > 50000, torch.floor(x / 0.1), x),)

    x = torch.arange(1.0, 100001.0, 7)
    assert not torch.equal(graph(x)[0], multiplied(x)[0])
    assert judged(multiplied, graph, x)[1] == []  # where nothing fails, closeness is enough
    (facts,) = checked(multiplied, graph, x)
    assert (facts["kind"], facts["small"], facts["eager"] != facts["compiled"]) == ("values", True, True)
    (facts,) = checked(lambda x: x.div_(0.1).floor_(), lambda x: x.floor_divide_(0.1), x)[:1]
    assert (facts["item"], facts["kind"]) == ("output 0", "values")


def test_a_shape_that_hangs_on_a_rounding_is_compared_as_far_as_it_can_be() -> None:
    def graph(x: Any) -> tuple[Any, ...]:
        return (torch.floor(torch.sin(x) * 1e5).unique(),)

    x = torch.linspace(0, 3, 3000)
    assert checked(lambda x: (graph(x)[0] * (1 + 1e-7),), graph, x) == []


@pytest.mark.parametrize(
    ("graph", "compiled"),
    [
        (lambda x: (torch.floor(torch.sin(x) * 1e5),), lambda x: (torch.floor(torch.sin(x.double()) * 1e5).float(),)),
        (lambda x: (x.to(torch.float16).float(),), lambda x: (x * 1,)),  # Inductor leaves such a pair out
        (lambda x: (torch.round(x, decimals=2),), lambda x: (torch.round(x * 100) * 0.01,)),
        (lambda x: (torch.abs(torch.complex(x, x)),), lambda x: ((x * x + x * x).sqrt(),)),
    ],
)
def test_what_is_rounded_somewhere_is_not_taken_for_exact(graph: Any, compiled: Any) -> None:
    torch.manual_seed(0)
    x = torch.rand(5000) * 1000
    assert not torch.equal(graph(x)[0], compiled(x)[0])
    assert checked(compiled, graph, x) == []


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
