"""The gradients of one call: under which casts they are compared, which none is asked of, how a wrong one is told."""

import types
from typing import Any

import pytest
from compared import LOW, call, dice, incoming, judged, kept, leaf, torch


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


def test_a_gradient_is_not_compared_so_finely_where_a_check_fails() -> None:
    gm = torch.fx.symbolic_trace(lambda x: (x * 1e-7,))
    x = leaf(8)

    def compiled(x: Any) -> tuple[Any, ...]:
        y = x * 1.1e-7
        return (y + (x.detach() * 1e-7 - y.detach()),)

    made = call.Call(torch, compiled, kept.Kept(torch, gm), (x,), True, checked=True)
    with made.as_it_began():
        assert made.wrong(compiled(x), (x,)) == []


class DrawsAgain(torch.autograd.Function):
    """A dropout whose backward pass draws the mask once more, in the place of the one that the forward pass drew."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return torch.nn.functional.dropout(x)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return torch.nn.functional.dropout(gradient)


def test_a_backward_pass_that_draws_other_masks_than_the_forward_pass_is_wrong() -> None:
    def eager(x: Any) -> tuple[Any, ...]:
        return (torch.nn.functional.dropout(x) * 2,)

    def wrong(compiled: Any) -> list[str]:
        torch.manual_seed(0)
        x = leaf(8, 8)
        made = call.Call(torch, compiled, kept.Kept(torch, torch.fx.symbolic_trace(eager)), (x,), True)
        result = compiled(x)
        with made.as_it_began():
            return [facts["item"] for facts in made.wrong(result, (x,))]

    def own_stream(x: Any) -> tuple[Any, ...]:
        torch.rand(1)
        return eager(x)

    assert wrong(lambda x: (DrawsAgain.apply(x) * 2,)) == ["gradient of x"]
    assert wrong(eager) == []
    assert wrong(own_stream) == []  # its masks are others from the start, as those of compiled code may be


def test_who_draws_in_another_order_draws_no_more() -> None:
    first, second = (types.SimpleNamespace(kind=kind) for kind in ("uniform of 8", "uniform of 4"))
    assert not dice.drawn_more([first, second], [second, first]) and not dice.drawn_more([first, first], [first])
    assert dice.drawn_more([first, second], [second, first, second])
