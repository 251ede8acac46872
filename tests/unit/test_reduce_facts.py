"""What is read off a case: numbers, canonical form, weight, evidence; and the oracle, which reads results."""

from dataclasses import replace

import pytest
from reduce_cases import case, meta, op, r, tensor

from triage.judge.judgement import CandidateResult
from triage.judge.oracle import SignatureOracle
from triage.judge.signature import signature_of
from triage.model import trees
from triage.model.effects import mutated
from triage.model.graphcase import Context, GraphInput, SubGraph
from triage.model.outcome import AgentNotes, Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind, Verdict
from triage.reduce.graph.canonical import canonical, kind_of
from triage.reduce.graph.evidence import suspects
from triage.reduce.graph.weight import number_cost, weight
from triage.reduce.graph.wiring import Wiring, operations

M = meta(4)


def graph(*nodes, inputs=None, **rest):
    return case(inputs or [tensor("x", 4, 6)], list(nodes), nodes[-1].name, **rest)


@pytest.mark.parametrize(
    ("node", "value"),
    [
        (op("n", "size", "%x", 0, kind="call_method"), 4),
        (op("n", "size", "%x", kind="call_method"), (4, 6)),
        (op("n", "torch.ops.aten.sym_size.int", "%x", 1), 6),
        (op("n", "builtins.getattr", "%x", "shape"), (4, 6)),
        (op("n", "dim", "%x", kind="call_method"), 2),
        (op("n", "numel", "%x", kind="call_method"), 24),
        (op("n", "stride", "%x", 0, kind="call_method"), 6),
        (op("n", "operator.floordiv", "%k", 2), 3),
        (op("n", "operator.floordiv", "%k", 0), None),
        (op("n", "item", "%x", kind="call_method"), None),
        (op("n", "operator.mul", "%missing", 2), None),
    ],
)
def test_sizes_are_numbers(node, value):
    known = Wiring(graph(node, inputs=[tensor("x", 4, 6), GraphInput("k", kind="int", value=7)])).numbers
    assert known.get("n") == value


def test_an_element_of_a_shape_is_a_number():
    shape = op("s", "size", "%x", kind="call_method")
    assert Wiring(graph(shape, op("n", "operator.getitem", "%s", 1))).numbers["n"] == 6


@pytest.mark.parametrize(
    ("node", "changed"),
    [
        (op("n", "add_", "%x", 1, kind="call_method"), "x"),
        (op("n", "torch.ops.aten.copy_.default", "%x", "%y"), "x"),
        (op("n", "operator.setitem", "%x", 0, 1.0), "x"),
        (op("n", "operator.iadd", "%x", 1), "x"),
        (op("n", "torch.add", "%y", 1, kwargs={"out": r("x")}), "x"),
        (op("n", "torch.relu", "%x"), None),
        (op("n", "operator.and_", "%x", "%y"), None),
        (op("n", "operator.add", "%x", 1), None),
    ],
)
def test_who_changes_what_in_place(node, changed):
    assert mutated(node) == changed


def test_canonical_form_forgets_names_and_records():
    left = graph(op("a", "torch.relu", "%x", out=M), op("b", "torch.sin", "%a", out=M))
    right = case(
        [tensor("input_1", 4, 6, source="L['x']")],
        [op("relu", "torch.relu", "%input_1", where="train.py:3"), op("sin", "torch.sin", "%relu")],
        "sin",
    )
    assert canonical(left) == canonical(right)


@pytest.mark.parametrize(
    "change",
    [
        {"backward": True},
        {"context": Context(grad_enabled=False)},
        {"preamble": ("import something",)},
        {"backend": "aot_eager"},
        {"outputs": (r("a"),)},
        {"inputs": (tensor("x", 4, 7),)},
        {"inputs": (tensor("x", 4, 6, fill="ones"),)},
    ],
)
def test_canonical_form_sees_what_matters(change):
    whole = graph(op("a", "torch.relu", "%x", out=M), op("b", "torch.sin", "%a", out=M))
    assert canonical(whole) != canonical(replace(whole, **change))


def test_canonical_form_renames_nested_graphs():
    def nested(name, inner):
        body = SubGraph(name, ("t",), (op(inner, "torch.sin", "%t"),), [r(inner)])
        return graph(op("w", "torch.ops.higher_order.wrap", {"graph": name}, "%x"), subgraphs=(body,))

    assert canonical(nested("body", "i")) == canonical(nested("wrap_body_0", "sin"))


def test_kinds_differ_in_dtype_rank_and_constants_only():
    inputs = [tensor("x", 4), tensor("y", 8), tensor("z", 2, 2), tensor("k", 4, dtype="int64")]
    calls = [("x", 1), ("y", 1), ("z", 1), ("k", 1), ("x", 2)]
    whole = graph(*(op(f"n{i}", "torch.add", f"%{name}", by) for i, (name, by) in enumerate(calls)), inputs=inputs)
    kinds = [kind_of(Wiring(whole), unit) for unit in Wiring(whole).units]
    assert kinds[0] == kinds[1]
    assert len(set(kinds)) == 4


def test_operations_are_not_sizes_elements_or_mode_switches():
    whole = graph(
        op("off", "torch._C._set_grad_enabled", False),
        op("n", "size", "%x", 0, kind="call_method"),
        op("s", "torch.split", "%x", "%n", out=[M, M]),
        op("first", "operator.getitem", "%s", 0, out=M),
        op("on", "torch._C._set_grad_enabled", True),
    )
    assert len(operations(replace(whole, outputs=(r("first"),)))) == 1


@pytest.mark.parametrize(
    ("lighter", "heavier"),
    [
        (tensor("x", 2), tensor("x", 4)),
        (tensor("x", 4), tensor("x", 2, 2)),
        (tensor("x", 4, 4), tensor("x", 4, 4, stride=(1, 4))),
        (tensor("x", 4), tensor("x", 4, dtype="bfloat16")),
        (tensor("x", 4), tensor("x", 4, requires_grad=True)),
        (tensor("x", 4), tensor("x", 4, storage_offset=2)),
        (tensor("x", 4, fill="ones"), tensor("x", 4, fill="zeros")),
        (tensor("x", 4, fill="arange"), tensor("x", 4, fill="randn")),
        (tensor("x", 4, fill="randn"), tensor("x", 4, fill="values", data=[1, 2, 3, 4])),
    ],
)
def test_what_is_plainer_is_lighter(lighter, heavier):
    node = op("a", "torch.relu", "%x", out=M)
    assert weight(graph(node, inputs=[lighter])) < weight(graph(node, inputs=[heavier]))


def test_one_operation_less_outweighs_everything_else():
    heavy = graph(op("a", "torch.relu", "%x", out=M), inputs=[tensor("x", 1000, dtype="float64", requires_grad=True)])
    light = graph(op("a", "torch.relu", "%x", out=M), op("b", "torch.relu", "%a", out=M), inputs=[tensor("x", 1)])
    assert weight(heavy) < weight(light)


def test_small_whole_numbers_are_the_simplest():
    assert sorted([0.3, -1, 7, 2, 0, 1, 1.0], key=number_cost) == [1, 1.0, 0, 2, 7, -1, 0.3]


@pytest.mark.parametrize(
    ("target", "evidence"),
    [
        ("torch.ops.aten.lerp.Scalar", "aten.lerp.Scalar"),
        ("torch.lerp", "aten.lerp.Scalar"),
        ("lerp_", "aten.lerp.Scalar"),
        ("operator.add", "aten.add.Tensor"),
        ("torch.nn.functional.layer_norm", "aten.native_layer_norm.default"),
        ("torch.nn.functional.avg_pool3d", "aten.avg_pool3d_backward.default"),
        ("torch.nn.functional.linear", "aten.addmm.default"),
        ("torch.conv2d", "aten.convolution_backward.default"),
        ("torch.nn.functional.interpolate", "aten.upsample_bilinear2d.vec"),
        ("operator.getitem", "aten.index.Tensor"),
        ("torch.ops.corpus.rowsort", "corpus.rowsort.default"),
    ],
)
def test_evidence_finds_the_call_a_person_wrote(target, evidence):
    whole = graph(
        op("other", "torch.relu", "%x", out=M),
        op("guilty", target, "%other", out=M),
        op("last", "torch.sin", "%guilty"),
    )
    assert suspects(Wiring(whole), [evidence]) == ["guilty"]


def test_the_surest_evidence_comes_first():
    whole = graph(
        op("a", "torch.nn.functional.linear", "%x", out=M),
        op("b", "torch.ops.aten.addmm.out", "%a", out=M),
        op("c", "torch.ops.aten.addmm.default", "%b", out=M),
    )
    assert suspects(Wiring(whole), ["aten.addmm.default"]) == ["c", "b", "a"]


def test_the_users_line_is_evidence():
    whole = graph(op("a", "torch.relu", "%x", where="train.py:3"), op("b", "torch.sin", "%a", where="train.py:31"))
    assert suspects(Wiring(whole), ["train.py:31"]) == ["b"]


def judged(outcome, compiled=True):
    wanted = signature_of(failing("boom"))
    assert wanted is not None
    return SignatureOracle(wanted).judge(CandidateResult(outcome, AgentNotes(), signature_of(outcome), compiled))


def failing(message, kind=OutcomeKind.EXCEPTION):
    return Outcome(kind, exception=RaisedException("RuntimeError", message))


def test_the_oracle_knows_three_values():
    assert judged(failing("boom")).verdict is Verdict.SAME_FAILURE
    assert judged(Outcome(OutcomeKind.OK)).verdict is Verdict.NO_FAILURE
    other = judged(failing("another"))
    assert other.verdict is Verdict.UNRESOLVED
    assert other.sibling is not None and "another" in other.reason


def test_what_fails_before_it_is_compiled_is_neither_the_failure_nor_a_sibling():
    early = judged(failing("boom"), compiled=False)
    assert early.verdict is Verdict.UNRESOLVED
    assert early.sibling is None
    invalid = judged(Outcome(OutcomeKind.INVALID, detail="no interpreter"))
    assert invalid.verdict is Verdict.UNRESOLVED and "no interpreter" in invalid.reason


def test_a_check_of_the_program_that_says_other_words_is_no_sibling():
    site = "/opt/venv/lib/python3.11/site-packages"
    own = Frame("/home/ann/train.py", 7, "main", "assert_close(a, b, msg=told)")
    checks = Frame(f"{site}/torch/testing/_comparison.py", 9, "assert_close", "raise error")
    inside = Frame(f"{site}/torch/_inductor/ir.py", 9, "realize", "assert n == 2")

    def met(message, *frames, wanted=("with adapters: not close", own, checks)):
        raised = [
            Outcome(OutcomeKind.EXCEPTION, exception=RaisedException("AssertionError", text, tuple(trace)))
            for text, *trace in ((message, *frames), wanted)
        ]
        result = CandidateResult(raised[0], AgentNotes(), signature_of(raised[0]), True)
        return SignatureOracle(signature_of(raised[1])).judge(result).sibling

    assert met("x: not close", own, checks) is None
    assert met("b is off", own, wanted=("a is off", own)) is None
    assert met("x", own, inside) is not None
    assert met("x", own, inside, wanted=("y", own, inside)) is not None
    assert met("x", own, wanted=("y", own, inside)) is not None


def test_an_exception_of_the_programs_own_that_says_other_words_is_no_sibling():
    own = Frame("/home/ann/train.py", 7, "main", "raise ValueError(told)")
    inside = Frame("/opt/venv/lib/python3.11/site-packages/torch/_inductor/ir.py", 9, "realize", "raise ValueError()")

    def met(kind, *frames, phase="uncaught", wanted="ValueError"):
        raised = [
            Outcome(OutcomeKind.EXCEPTION, exception=RaisedException(*given, frames, phase=phase))
            for given in ((kind, "drift is too large"), (wanted, "it drifts"))
        ]
        result = CandidateResult(raised[0], AgentNotes(), signature_of(raised[0]), True)
        return SignatureOracle(signature_of(raised[1])).judge(result).sibling

    assert met("ValueError", own) is None
    assert met("SystemExit", wanted="SystemExit", phase="text") is None
    assert met("ValueError", own, phase="compile") is not None  # a backend of the program's own
    assert met("ValueError", own, inside) is not None
    assert met("KeyError", own) is not None


def test_what_was_cut_before_anything_was_compiled_is_no_sibling():
    late = Outcome(OutcomeKind.HANG, detail="no compilation had begun")
    assert judged(late).verdict is Verdict.UNRESOLVED and judged(late).sibling is None
    wanted = signature_of(failing("boom"))
    compiling = CandidateResult(late, AgentNotes(last_breadcrumb="compile graph 0"), signature_of(late), True)
    assert SignatureOracle(wanted).judge(compiling).sibling is not None


def test_argument_trees_are_walked_and_changed_without_being_changed():
    tree = [r("x"), {"tuple": [1, {"slice": [0, r("n"), 2]}]}, {"dict": [["k", True]]}, {"graph": "body"}]
    before = repr(tree)
    assert list(trees.refs(tree)) == ["x", "n"]
    assert list(trees.graphs(tree)) == ["body"]
    assert [value for _, value in trees.numbers(tree)] == [1, 0, 2]
    assert all(trees.at(tree, path) == value for path, value in trees.numbers(tree))
    assert trees.put(tree, (1, "tuple", 0), 5)[1] == {"tuple": [5, {"slice": [0, r("n"), 2]}]}
    assert trees.map_integers(tree, lambda number: number + 1)[1] == {"tuple": [2, {"slice": [1, r("n"), 3]}]}
    assert trees.rewrite(tree, lambda name: name.upper())[0] == "X"
    assert repr(tree) == before
