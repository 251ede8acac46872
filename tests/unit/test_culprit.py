"""Which operation is named: of several in a reproducer the one that the error points at."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from reduce_cases import case, meta, op, r, tensor

from triage.culprit.given_wrong import GivenWrong
from triage.culprit.operation import Clues, culprit_of, operator_name, operators_in, with_part
from triage.judge.signature import signature_of
from triage.locate.conclude import Conclusion
from triage.model.accuracy import WrongResult
from triage.model.graphcase import SubGraph
from triage.model.outcome import Frame, Outcome, RaisedException
from triage.model.own_code import OwnCode
from triage.model.report import Culprit, SubsystemSearch
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.session.settings import Settings
from triage.stories.assemble import _signature
from triage.stories.headline import what_it_comes_of
from triage.stories.reproducer_facts import fails_by_itself
from triage.stories.ways_round import worth_trying

REFS = "/opt/torch/_refs/__init__.py"


def concluded(*functions: str, message: str = "bad operand") -> Conclusion:
    error = RaisedException("TypeError", message, tuple(Frame(REFS, 3, name) for name in functions), phase="compile")
    outcome = Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=error)
    return Conclusion(Stage.DECOMP_PARTITION, Symptom.EXCEPTION, signature_of(outcome), outcome)


def graph():
    """An operation that holds a graph, its pick, and what is inside."""
    body = SubGraph("body", ("t",), (op("i", "torch.lerp", "%t", out=meta(4)), op("j", "torch.real", "%i")), [r("j")])
    nodes = [
        op("s", "torch._C._set_grad_enabled", False),
        op("w", "torch.ops.higher_order.wrap", {"graph": "body"}, "%x", out=[meta(4)]),
        op("y", "operator.getitem", "%w", 0, kind="get_item", out=meta(4)),
    ]
    return case([tensor("x", 4)], nodes, "y", subgraphs=(body,))


def test_the_operation_in_whose_decomposition_it_was_raised():
    found = culprit_of(concluded("compile", "lerp", "lt"), graph(), None)
    assert found.op == "aten.lerp"
    assert found.detail == "the reproducer needs aten.lerp, aten.real"
    cut_short = culprit_of(concluded("compile", "lerp", "lt"), graph(), None, Clues(minimal=False))
    assert cut_short == replace(found, detail="the reproducer holds aten.lerp, aten.real")


def test_an_operation_in_whose_place_any_other_one_fails_is_not_named():
    left = case([tensor("x", 4)], [op("a", "torch.pow", "%x", 1, out=meta(4))], "a")
    found = culprit_of(concluded(), left, None, Clues(any_operation=True))
    assert found.op is None
    assert found.detail.startswith("none: with another one in the place of aten.pow")
    several = culprit_of(concluded("compile", "lerp", "lt"), graph(), None, Clues(any_operation=True))
    assert several.op is None
    assert several.detail == "none: with another one in the place of aten.lerp, aten.real it fails as well"


def test_of_what_was_cut_short_the_last_is_named_only_where_all_else_leads_to_it():
    first, last = op("a", "torch.remainder", "%x", 7.0, out=meta(4)), op("b", "torch.relu", "%x", out=meta(4))
    apart = case([tensor("x", 4)], [first, last], "a", "b")
    chain = case([tensor("x", 4)], [first, replace(last, args=(r("a"),))], "b")
    named = [culprit_of(concluded(), left, None, Clues(minimal=False)).op for left in (apart, chain)]
    assert named == [None, "aten.relu"]
    assert culprit_of(concluded(), apart, None).op == "aten.relu"  # nothing can go from it: both are needed


def test_no_operation_is_to_blame_for_a_compiler_that_is_not_there():
    missing = RaisedException(
        "torch._inductor.exc.InvalidCxxCompiler", "No working C++ compiler found in x: (None, 'g++-4.4')"
    )
    outcome = Outcome(OutcomeKind.EXCEPTION, exception=missing)
    found = Conclusion(Stage.INDUCTOR, Symptom.EXCEPTION, signature_of(outcome), outcome)
    assert culprit_of(found, graph(), "0/0") is None
    assert _signature(found, "serve.py:20 in forward: return y.sigmoid()", None).user_line is None
    assert not worth_trying(
        SimpleNamespace(
            session=SimpleNamespace(settings=Settings()),
            walk=SimpleNamespace(conclusion=lambda: replace(found, settled=True)),
        )
    )


def test_the_operation_that_the_message_names_comes_first():
    found = culprit_of(concluded("lerp", message="While executing aten.real.default"), graph(), None)
    assert found.op == "aten.real"


def test_what_the_error_names_is_told_where_it_is_none_of_many_calls():
    calls = ["torch.neg", "torch.real", "torch.lerp", "torch.sin", "torch.cos", "torch._C._nn.linear"]
    nodes = [op(f"y{place}", target, "%x", out=meta(4)) for place, target in enumerate(calls)]
    found = culprit_of(concluded(message="no handler for aten.addmm.out"), case([tensor("x", 4)], nodes, "y5"), None)
    assert found.op == "aten.addmm"
    assert found.detail.startswith("named by the error; the reproducer needs aten.neg")


@pytest.mark.parametrize(
    ("call", "named"),
    [
        ("call_function <built-in function mul>(*(0.5, FakeTensor(..., size=(3, 3))), **{})", "aten.mul"),
        ("call_function <built-in function iadd>(*(FakeTensor(..., size=(3, 3)), 1), **{})", "aten.add_"),
        ("call_function <built-in method eye of type object at 0x7f>(*(FakeTensor(..., size=()),), **{})", "aten.eye"),
        ("call_method float(*(FakeTensor(..., size=(3, 3)),), **{})", "aten.to"),
        ("call_function <built-in function mul>(*(s0, 2), **{})", None),  # of numbers
        ("call_function <function shift at 0x7f>(*(FakeTensor(..., size=(3, 3)),), **{})", None),
    ],
)
def test_the_call_that_was_tried_with_fake_tensors_is_named(call: str, named: str | None):
    found = concluded(message=f"Dynamo failed to run FX node with fake tensors: {call}: got RuntimeError('no')")
    told = culprit_of(replace(found, stage=Stage.DYNAMO), None, "0/0")
    assert told.op == named


def test_the_last_one_where_nothing_tells_them_apart():
    found = culprit_of(concluded("compile"), graph(), None)
    assert found.op == "aten.real"


def test_what_keeps_the_books_of_a_transform_is_not_named():
    """A function that `torch.func.vjp` is asked of: its levels come and go around what it computes."""
    books = [
        op("level", "torch._C._functorch._grad_increment_nesting"),
        op("hooks", "torch._C._autograd._saved_tensors_hooks_disable", "no"),
        op("w", "torch._C._functorch._wrap_for_grad", "%x", "%level", out=meta(4)),
    ]
    found = culprit_of(concluded("compile"), case([tensor("x", 4)], books, "w"), "0/0")
    assert (found.op, found.detail) == (None, None)
    found = culprit_of(concluded("compile"), case([tensor("x", 4)], [*books, op("y", "torch.neg", "%w")], "y"), "0/0")
    assert (found.op, found.detail) == ("aten.neg", "the only operation left in the reproducer")


def test_what_a_higher_order_operator_runs_is_not_named_for_it():
    body = SubGraph("body", ("t",), (op("i", "torch.lerp", "%t", out=meta(4)), op("j", "torch.real", "%i")), [r("j")])
    call = op("y", "torch.ops.higher_order.scan", {"graph": "body"}, "%x", out=meta(4))
    scanned = case([tensor("x", 4)], [op("n", "torch.neg", "%x", out=meta(4)), call], "y", subgraphs=(body,))
    found = culprit_of(concluded("compile"), scanned, None)
    assert found.op == "higher_order.scan"
    assert found.detail == "the reproducer needs aten.neg, aten.lerp, aten.real, higher_order.scan"
    found = culprit_of(concluded("lerp"), scanned, None)
    assert found.op == "aten.lerp"


def test_the_part_of_inductor_that_traced_something_is_named_and_not_what_it_traced_with():
    home = "/lib/python3.11/site-packages/torch/"
    files = ("_inductor/compile_fx.py", "_inductor/fx_passes/post_grad.py", "_subclasses/fake_tensor.py")
    frames = tuple(Frame(home + file, 3, "run") for file in files)
    error = RaisedException("DataDependentOutputException", "aten._local_scalar_dense.default", frames, phase="compile")
    outcome = Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=error)
    found = Conclusion(Stage.INDUCTOR, Symptom.EXCEPTION, signature_of(outcome), outcome)
    told = culprit_of(found, None, None)
    assert told.subsystem == "fx passes"
    told = culprit_of(replace(found, stage=Stage.AOT_AUTOGRAD), None, None)
    assert told.subsystem == "fake tensors"


def test_the_last_one_is_that_of_the_last_call_also_where_it_was_called_before():
    nodes = [
        op("a", "torch.real", "%x", out=meta(4)),
        op("b", "torch.lerp", "%a", out=meta(4)),
        op("y", "torch.real", "%b", out=meta(4)),
    ]
    found = culprit_of(concluded("compile"), case([tensor("x", 4)], nodes, "y"), None)
    assert found.op == "aten.real"
    assert found.detail == "the reproducer needs aten.real, aten.lerp"


def test_a_custom_operator_that_breaks_what_it_promises_comes_before_what_it_is_given_to():
    nodes = [op("a", "torch.ops.shop.price.default", "%x", out=meta(4)), op("y", "torch.real", "%a", out=meta(4))]
    needs = case([tensor("x", 4)], nodes, "y")
    found = culprit_of(concluded("compile"), needs, None, Clues(broken=["shop::price"]))
    assert found.op == "shop.price.default"
    assert found.detail == "it breaks what it promises; the reproducer needs aten.real as well"
    found = culprit_of(concluded("compile"), needs, None, Clues(broken=["shop::tax"]))
    assert found.op == "aten.real"


def test_a_custom_operator_is_named_and_not_what_its_fake_kernel_calls():
    error = concluded("compile", message="While executing aten.real.default")
    found = culprit_of(error, None, None, Clues(through="shop::price"))
    assert (found.op, found.detail) == ("shop.price", "the exception came through what is registered for it")
    nodes = [op("a", "torch.ops.shop.price.default", "%x", out=meta(4)), op("y", "torch.real", "%a", out=meta(4))]
    found = culprit_of(error, case([tensor("x", 4)], nodes, "y"), None, Clues(through="shop::price"))
    assert found.op == "shop.price.default"


def test_the_operation_that_gives_a_wrong_value_comes_before_the_one_that_fails_of_it():
    wrong = WrongResult("0/0", 1, "output 0", "forward")
    given = GivenWrong(graph().subgraphs[0].nodes[0], wrong)
    found = culprit_of(
        concluded("lerp", message="While executing aten.real.default"), graph(), None, Clues(given=given)
    )
    assert found.op == "aten.lerp"
    assert found.detail == "it gives the wrong value that the failure comes of; the reproducer needs aten.real as well"
    assert what_it_comes_of(given).startswith(" It comes of a wrong value, the result of aten.lerp: ")


def test_the_first_of_the_reproducer_whose_result_is_wrong_comes_before_the_last() -> None:
    first = graph().subgraphs[0].nodes[0]
    found = culprit_of(concluded("compile"), graph(), None, Clues(first_wrong=first))
    assert found is not None and found.op == operator_name(first) != culprit_of(concluded("compile"), graph(), None).op
    assert found.detail is not None and found.detail.startswith(
        "the first in the reproducer whose result is wrong; the"
    )
    elsewhere = replace(first, target="torch.fmin")  # first in the program's graph, and gone from the reproducer
    assert culprit_of(concluded("compile"), graph(), None, Clues(elsewhere, first)) == found


def test_no_operation_is_named_where_a_failure_comes_of_rounding():
    given = GivenWrong(graph().subgraphs[0].nodes[0], None)
    found = culprit_of(concluded("compile"), graph(), None, Clues(given=given))
    assert found.op is None
    assert "no operation is wrong, aten.lerp only rounds otherwise" in (found.detail or "")
    assert what_it_comes_of(given).startswith(" It comes of rounding: aten.lerp gives another value")
    assert what_it_comes_of(None) == ""


def test_none_of_several_where_only_the_check_of_a_text_fails():
    """No graph fails by itself, so no chain of operations ends in the guilty one; an error's own words still count."""
    found = culprit_of(concluded("compile"), graph(), None, Clues(by_itself=False))
    assert found == Culprit(None, None, found.subsystem, "the reproducer needs aten.lerp, aten.real")
    found = culprit_of(concluded("lerp"), graph(), None, Clues(by_itself=False))
    assert found.op == "aten.lerp"
    alone = case([tensor("x", 4)], [op("y", "torch.real", "%x", out=meta(4))], "y")
    found = culprit_of(concluded("compile"), alone, None, Clues(by_itself=False))
    assert found.op == "aten.real"


@pytest.mark.parametrize(("phase", "by_itself"), [("uncaught", False), ("runtime", True)])
def test_none_of_several_where_a_plain_assert_of_a_text_fails(phase, by_itself):
    """It looks at results, as a comparison does; what compiled code raises when it runs is an error of its own."""
    told = concluded("compile")
    error = RaisedException("AssertionError", "(24,) instead of (6,)", (Frame("train.py", 30, "main"),), phase=phase)
    told = replace(told, outcome=Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=error))
    made = SimpleNamespace(case="source")
    found = SimpleNamespace(reproduced=made, walk=SimpleNamespace(conclusion=lambda: told))
    assert fails_by_itself(found, None) is by_itself


def test_none_of_several_where_a_pass_of_the_programs_own_fails():
    found = SimpleNamespace(reproduced=None)
    mine = OwnCode(
        "post-grad pass", "train.py:24", "train.py:24: config.post_grad_custom_pre_pass = mine", False, needed=True
    )
    assert not fails_by_itself(found, mine)
    assert fails_by_itself(found, replace(mine, role="lowering")) and fails_by_itself(found, None)


def test_none_of_several_where_a_backend_of_the_programs_own_hangs():
    mine = OwnCode("backend", "train.py:24", "train.py:24 in compiler: def compiler(gm, inputs)", False, needed=True)
    for symptom, by_itself in ((Symptom.HANG, False), (Symptom.EXCEPTION, True)):
        told = Conclusion(Stage.BACKEND, symptom)
        found = SimpleNamespace(reproduced=None, walk=SimpleNamespace(conclusion=lambda told=told: told))
        assert fails_by_itself(found, mine) is by_itself


def test_none_where_so_many_are_left_that_the_last_is_there_by_chance():
    names = ("sin", "cos", "tan", "exp", "log", "sqrt", "abs", "neg", "relu")
    long = case([tensor("x", 4)], [op(name, f"torch.{name}", "%x", out=meta(4)) for name in names], "relu")
    found = culprit_of(concluded("compile"), long, None)
    assert found.op is None and str(found.detail).endswith("aten.neg and 1 more")
    found = culprit_of(concluded("sqrt"), long, None)
    assert found.op == "aten.sqrt"


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("Operator does not support fake tensors\n  Context: unsupported operator: shop.price.default", "shop.price"),
        ("shop::price: could not find schema for it", "shop.price"),
        ("There was no fake impl registered for <CustomOpDef(shop::price)>", "shop.price"),
        ("Expected std::vector of at::Tensor from torch::autograd and c10::Error", None),
        ("You should NOT call this method directly as native::_fw_primal. Please use the dispatcher", None),
        ("call of foo::Bar::baz(int) failed", None),
        ("tests/test_step.py::test_step failed, core::run(2) too", None),
    ],
)
def test_a_custom_operator_in_the_words_of_an_error(message, name):
    found = culprit_of(concluded("compile", message=message), None, None)
    assert (found.op if found is not None else None) == name


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("torch.linalg.norm", "aten.linalg_norm"),
        ("torch.fft.fft", "aten.fft_fft"),
        ("torch.nn.functional.relu", "aten.relu"),
        ("operator.mod", "aten.remainder"),
        ("torch.masked.softmin", "torch.masked.softmin"),
    ],
)
def test_the_operator_behind_a_function(target, name):
    assert operator_name(op("a", target, "%x", out=meta(2))) == name


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (
            op("a", "torch.nn.functional.interpolate", "%x", kwargs={"mode": "bicubic"}, out=meta(1, 1, 4, 4)),
            "aten.upsample_bicubic2d",
        ),
        (op("a", "torch.nn.functional.interpolate", "%x", out=meta(1, 1, 4)), "aten.upsample_nearest1d"),
        (
            op("a", "torch.nn.functional.interpolate", "%x", kwargs={"mode": "area"}, out=meta(1, 1, 4, 4)),
            "aten.adaptive_avg_pool2d",
        ),
        (
            op(
                "a",
                "torch.nn.functional.interpolate",
                "%x",
                None,
                2,
                "bilinear",
                kwargs={"antialias": True},
                out=meta(1, 1, 4, 4),
            ),
            "aten._upsample_bilinear2d_aa",
        ),
        (op("a", "torch.nn.functional.grid_sample", "%x", "%g", out=meta(1, 1, 4, 4)), "aten.grid_sampler_2d"),
        (op("a", "torch.nn.functional.grid_sample", "%x", "%g"), "aten.grid_sampler"),
        (op("a", "torch.nn.functional.unfold", "%x", 2), "aten.im2col"),
        (op("a", "torch.nn.functional.normalize", "%x"), "torch.nn.functional.normalize"),
        (op("a", "float", "%x", kind="call_method"), "aten.to"),
        (op("a", "unfold", "%x", kind="call_method"), "aten.unfold"),
        (op("a", "operator.getitem", "%x", 0), "aten.select"),
        (op("a", "operator.getitem", "%x", {"slice": [1, None, None]}), "aten.slice"),
        (op("a", "operator.getitem", "%x", {"tuple": [{"ellipsis": True}, 1]}), "aten.select"),
        (op("a", "operator.getitem", "%x", "%i"), "aten.index"),
        (op("a", "operator.getitem", "%x", [0, 2]), "aten.index"),
        (op("a", "operator.getitem", "%x", {"tuple": [None, {"ellipsis": True}]}), "aten.unsqueeze"),
        (
            op("a", "operator.setitem", "%x", {"tuple": [{"slice": [None] * 3}, {"slice": [1, 2, None]}]}, 1),
            "aten.fill_",
        ),
        (op("a", "operator.setitem", "%x", 0, "%y"), "aten.copy_"),
        (op("a", "operator.setitem", "%x", {"tuple": [0, {"ref": "i"}]}, 1.0), "aten.index_put_"),
        (op("a", "operator.setitem", "%x", [0, 2], "%y"), "aten.index_put_"),
    ],
)
def test_the_operator_of_another_name(call, name):
    assert operator_name(call) == name


def test_an_operation_of_the_backward_pass_has_its_own_name():
    reduced = Culprit("aten.avg_pool3d", "0/0", None, "the only operation left in the reproducer")
    found = with_part(reduced, SubsystemSearch(("lowerings",), 2, "avg_pool3d_backward_1"))
    assert (found.op, found.subsystem) == ("aten.avg_pool3d_backward", "lowerings")
    assert with_part(reduced, SubsystemSearch(("lowerings",), 1, "avg_pool3d")).op == "aten.avg_pool3d"
    assert with_part(reduced, SubsystemSearch(("fusion",), 1, "avg_pool3d_backward")).op == "aten.avg_pool3d"


def test_where_nothing_tells_an_operation_the_guilty_decomposition_does():
    several = Culprit(None, None, None, "the reproducer needs aten.to, aten.normal")
    search = SubsystemSearch(("decomposition",), 2, "aten.normal.Tensor_Tensor")
    found = with_part(several, search)
    assert (found.op, found.subsystem) == ("aten.normal", "decomposition")
    assert found.detail == "the decomposition to blame is its own; the reproducer needs aten.to, aten.normal"
    assert with_part(None, search).op == "aten.normal"
    assert with_part(several, search, any_operation=True).op is None
    assert with_part(replace(several, op="aten.to"), search).op == "aten.to"
    assert with_part(several, SubsystemSearch(("lowerings",), 2, "normal_1")).op is None


def test_an_operator_that_is_named_by_its_schema_is_named():
    said = "Found a custom operator whose output has alias annotations: shop::store(Tensor(a0!) cache, SymInt at) -> (). We"
    assert operators_in(RaisedException("RuntimeError", said)) == ("shop.store",)
    assert operators_in(RaisedException("RuntimeError", "in c10::Error(std::string m) -> void")) == ()


@pytest.mark.parametrize(
    ("lowered", "direction", "named"),
    [
        (("primals_1", "convolution_backward", "getitem_1"), "backward", "aten.convolution_backward"),
        (("convolution_backward", "convolution_backward_1"), "backward", "aten.convolution_backward"),
        (("convolution_backward", "max_pool2d_with_indices_backward"), "backward", "aten.conv2d"),
        (("convolution", "mul"), "backward", "aten.conv2d"),
        (("convolution_backward",), "forward", "aten.conv2d"),
    ],
)
def test_the_one_operation_of_a_backward_pass_is_named_where_it_fails(
    lowered: tuple[str, ...], direction: str, named: str
):
    reduced = Culprit("aten.conv2d", detail="the only operation left in the reproducer")
    found = with_part(reduced, SubsystemSearch(("layout optimization",)), lowered, direction)
    assert found.op == named
    several = with_part(
        replace(reduced, detail="the reproducer needs others"), SubsystemSearch(("x",)), lowered, direction
    )
    assert several.op == "aten.conv2d"
