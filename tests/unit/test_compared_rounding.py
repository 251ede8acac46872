"""What one call rounds otherwise than eager, and where eager itself is no measure."""

from types import SimpleNamespace
from typing import Any

import pytest
from compared import call, checked, graphs, judged, kept, roundoff, run, torch

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


def test_eager_that_casts_where_the_graph_says_so_is_not_wrong_itself() -> None:
    def cast(x: Any) -> tuple[Any, ...]:
        return (torch.tanh(x).to(torch.bfloat16).float() * 3 + 1,)

    torch.manual_seed(0)
    x = torch.randn(64, 32)
    made, wrong = judged(lambda x: (torch.tanh(x) * 3 + 1,), cast, x)  # as a compiler that keeps the digits
    told = made.rounding()
    assert wrong == []
    assert (told["eager_wrong"], told["eager_error"] > 1e-3, told["compiled_error"] < 1e-5) == (0, True, True)

    # What is far off for another reason is so beside a cast as well.
    made, wrong = judged(norm_in_float, lambda x: (norm(x)[0].to(torch.bfloat16).half(),), (x * 1000).half())
    assert wrong == []
    assert made.rounding()["eager_wrong"] > 0


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


def test_what_is_sure_of_its_digits_is_no_remainder_however_small_it_is() -> None:
    """A variance that is nought compiled, of numbers of 1e-25; what is left where numbers cancel may be anything."""
    x = torch.linspace(3e-25, 6e-25, 8)

    def found(compiled: Any, graph: Any, x: Any, **how: bool) -> list[str]:
        made = call.Call(torch, None, kept.Kept(torch, torch.fx.symbolic_trace(graph)), (x,), False, **how)
        with made.as_it_began():
            return [facts["item"] for facts in made.wrong((compiled(x),), (x,))]

    def spread(x: Any) -> tuple[Any, ...]:
        return (x.std(),)

    assert found(lambda x: torch.zeros(()), spread, x, fine=True) == ["output 0"]
    assert found(lambda x: torch.zeros(()), spread, x) == []
    assert found(lambda x: x.std() * (1 + 1e-6), spread, x, fine=True) == []
    assert found(lambda x: torch.zeros(8), lambda x: ((x * 0.1 + 0.7) - (x * 0.1 + 0.7),), x, fine=True) == []
    y = torch.linspace(1e-6, 3e-6, 8)
    assert found(lambda x: torch.zeros(8), lambda x: (x.sin() - x.sinh() + x.tanh() * x * x / 3,), y, fine=True) == []


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


def test_the_number_next_to_a_half_is_that_of_eager() -> None:
    def graph(x: Any) -> tuple[Any, ...]:
        return (torch.nextafter(x, torch.zeros_like(x)),)

    def in_single(x: Any) -> tuple[Any, ...]:
        return (torch.nextafter(x.float(), torch.zeros_like(x.float())).half(),)

    x = torch.linspace(0.1, 4, 40).half()
    (facts,) = checked(in_single, graph, x)
    assert (facts["kind"], facts["reference"], facts["eager_error"]) == ("values", True, 0)
    assert checked(graph, graph, x) == []


def test_a_number_next_to_one_that_is_rounded_otherwise_is_rounding() -> None:
    def graph(x: Any) -> tuple[Any, ...]:
        return (torch.nextafter(x * 0.3 * x, torch.zeros_like(x)) - x,)

    def fused(x: Any) -> tuple[Any, ...]:
        return (torch.nextafter((x.float() * 0.3 * x.float()).half(), torch.zeros_like(x)) - x,)

    assert checked(fused, graph, torch.linspace(0.1, 4, 400).half()) == []


def test_what_is_wrong_by_far_is_so_where_few_runs_leave_other_elements_unmoved() -> None:
    def graph(x: Any, levels: Any) -> tuple[Any, ...]:
        return (torch.nextafter(levels, torch.zeros_like(levels)).roll(-1)[x] - levels[x],)

    def in_single(x: Any, levels: Any) -> tuple[Any, ...]:
        return (levels.roll(-1)[x] - levels[x],)

    torch.manual_seed(0)
    x, levels = torch.randint(39, (300,)), torch.linspace(0.1, 4, 40).half()
    (facts,) = checked(in_single, graph, x, levels)
    assert facts["kind"] == "values" and facts["spread"] > 0
