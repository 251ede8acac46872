"""The parts of benchmarks/drift.py by themselves: programs, planted faults, both judges, the tables."""

import ast
import importlib.util
import itertools
import json
import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import drift_table
import opdb_judge
import opdb_plant
import opdb_runs
import opdb_text
import pytest
from drift import parse_arguments, seeds_of
from drift_forks import Ended
from drift_judge import BROKEN, DRIFTED, MIXED, PASSES, TARGET, end_of, judge, raised
from drift_operations import OPERATIONS, PLANTABLE
from drift_programs import ENDS, HIDDEN_WHEN, KINDS, Fault, complaint, program

torch = pytest.importorskip("torch")

# Not by its folder: on the path, torch itself would load it.
_FILE = Path(__file__).parents[2] / "benchmarks" / "planted" / "planted_faults.py"
_spec = importlib.util.spec_from_file_location("planted_faults", _FILE)
planted_faults = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(planted_faults)

# -- programs -----------------------------------------------------------------------------------------------------------


def test_a_seed_makes_one_program():
    assert program(7) == program(7)
    assert program(7, 1).source != program(7).source != program(8).source


@pytest.mark.parametrize("seed", range(40))
def test_a_program_has_one_target_and_decoys_of_other_kinds(seed):
    made = program(seed)
    ast.parse(made.source)
    decoys = [fault for fault in made.faults if fault is not made.target]
    assert 1 <= len(decoys) <= 4
    assert all((decoy.kind, decoy.words) != (made.target.kind, made.target.words) for decoy in decoys)
    assert made.target.kind == "exception" or made.target.kind not in {decoy.kind for decoy in decoys}


def test_there_are_forty_operations_and_every_kind_of_target():
    assert len({operation.name for operation in OPERATIONS}) >= 40
    assert {program(seed).target.kind for seed in range(60)} == set(KINDS)


def test_only_a_wrong_result_is_silent():
    assert not any(program(seed).silent and program(seed).target.kind in ENDS for seed in range(60))


def test_two_complaints_differ_in_their_words_alone():
    one, other = complaint(0, random.Random(1)), complaint(1, random.Random(1))
    assert one != other
    assert one.split()[0] == other.split()[0] and len(one.split()) == len(other.split())


def test_parts_share_the_seeds():
    parts = [seeds_of(parse_arguments(["planted", "--count", "10", "--part", f"{k}/3"])) for k in (1, 2, 3)]
    assert sorted(itertools.chain(*parts)) == list(range(10))


# -- planted faults -----------------------------------------------------------------------------------------------------


def ran(kind, when="always", shape=(2, 3)):
    """What `sin(x).neg()` gives with this fault in sin, and how that differs from what it must give."""

    def f(x):
        return (torch.ops.aten.neg.default(torch.ops.aten.sin.default(torch.ops.aten.cos.default(x))),)

    graph = torch.fx.symbolic_trace(f)
    x = torch.ones(shape)
    fault = {"name": "target", "op": "sin", "kind": kind, "when": when, "words": "planted: left"}
    healthy, found = (planted_faults.outputs_of(graph, faults, [x])[0] for faults in ([], [fault]))
    return planted_faults.difference(healthy, found)


@pytest.mark.parametrize("kind", ["values", "nan", "dtype", "shape"])
def test_a_planted_fault_shows(kind):
    assert ran(kind) == kind


@pytest.mark.parametrize("kind", opdb_plant.KINDS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.complex64], ids=str)
def test_a_wrong_result_of_each_kind_in_each_dtype(kind, dtype):
    healthy = torch.ones(2, 3, dtype=dtype)
    assert opdb_judge.kind_of(healthy, planted_faults.CHANGES[kind](healthy), healthy) == kind


def test_a_planted_compiler_tells_its_operations(tmp_path, monkeypatch):
    trace = tmp_path / "trace.jsonl"
    monkeypatch.setenv(planted_faults.TRACE, str(trace))
    planted_faults.planted(torch.fx.symbolic_trace(lambda x: torch.ops.aten.sin.default(x) + 1), [])
    assert json.loads(trace.read_text()) == {"operations": ["sin", "add"]}


def test_a_layout_shows_where_nothing_comes_after_it():
    assert ran("strides") == ""
    result = planted_faults.CHANGES["strides"](torch.arange(6.0).reshape(2, 3))
    assert planted_faults.difference(torch.arange(6.0).reshape(2, 3), result) == "strides"


def test_a_planted_exception_has_its_words():
    with pytest.raises(RuntimeError, match="planted: left"):
        ran("exception")


@pytest.mark.parametrize(
    ("when", "shape", "fires"),
    [
        ("fed", (2, 3), False),
        ("last", (2, 3), False),
        ("alone", (2, 3), True),
        ("small", (2, 3), False),
        ("small", (1, 3), True),
        ("single", (2, 3), True),
    ],
)
def test_a_fault_under_a_condition_waits_for_it(when, shape, fires):
    assert ran("nan", when, shape) == ("nan" if fires else "")


@pytest.mark.parametrize("operation", [each for each in PLANTABLE if each.takes == "f"], ids=lambda each: each.name)
def test_an_operation_is_known_by_its_aten_name(operation):
    from torch.fx.experimental.proxy_tensor import make_fx

    graph = make_fx(eval("lambda x: " + operation.text.format("x"), {"torch": torch}))(torch.randn(4, 6))
    names = [planted_faults.operation(node.target) for node in graph.graph.nodes if node.op == "call_function"]
    assert names[0] == operation.name


# -- the judge of planted faults ----------------------------------------------------------------------------------------

OURS = Fault("target", "sin", "values")
OTHER = Fault("decoy0", "cos", "nan", "alone")
WELL = Ended(0)


def failed(text, *outputs):
    return Ended(1, f"Traceback (most recent call last):\n  File\n{text}\n", ({"graph": list(outputs)},))


def found(*, both, target=WELL, other=WELL, none=WELL, silent=False):
    answers = {("decoy0", "target"): both, ("target",): target, ("decoy0",): other, (): none}

    def run(source, faults):
        return answers[tuple(sorted(fault.name for fault in faults))]

    return judge("", (OURS, OTHER), run, silent=silent)


WRONG = failed("AssertionError: 3 of 24 differ", "values")
EMPTY = failed("AssertionError: 9 of 24 differ", "nan")
BOTH = failed("AssertionError: 3 of 24 differ", "values", "nan")


def test_the_target_is_shown_where_it_alone_does_the_same():
    assert found(both=WRONG, target=WRONG).verdict == TARGET
    assert found(both=WRONG, target=WRONG, other=EMPTY).verdict == TARGET


def test_drifted_where_the_target_alone_does_nothing():
    finding = found(both=EMPTY, other=EMPTY)
    assert (finding.verdict, finding.instead) == (DRIFTED, "nan of cos (alone)")


def test_drifted_where_the_others_alone_do_the_same():
    assert found(both=EMPTY, target=WRONG, other=EMPTY).verdict == DRIFTED


def test_mixed_where_it_takes_both():
    assert found(both=BOTH, target=WRONG, other=EMPTY).verdict == MIXED


def test_what_fails_without_a_fault_is_broken():
    assert found(both=WRONG, target=WRONG, other=WRONG, none=WRONG).verdict == BROKEN


def test_what_ends_well_passes_unless_its_outputs_are_asked():
    quiet = Ended(0, trace=({"graph": ["values"]},))
    assert found(both=quiet).verdict == PASSES
    assert found(both=quiet, target=quiet, silent=True).verdict == TARGET


def test_an_end_has_no_numbers():
    assert (
        raised("Traceback (most recent call last):\n  x\nValueError: 3 of 1e-5 is nan\n\nMore: 5\n")
        == "ValueError: N of N is N"
    )
    assert raised("Traceback (most recent call last):\n  assert x\nAssertionError\n") == "AssertionError"
    assert end_of(Ended(-6)).how == "signal 6"


# -- what is kept of it -------------------------------------------------------------------------------------------------

ROW = drift_table.Row(
    "native", "own", 3, 0, "nan of sin", ("dtype of cos (alone)",), TARGET, ops=1, queries=9, seconds=4.0
)


def test_rows_survive_an_interrupt(tmp_path):
    file = tmp_path / "rows.jsonl"
    drift_table.append(file, ROW)
    with file.open("a") as out:
        out.write('{"reducer": "nat')
    assert [row.key for row in drift_table.read(file)] == [ROW.key]


def test_all_that_is_not_the_target_is_told():
    stray = replace(ROW, seed=4, verdict=DRIFTED, instead="dtype of cos (alone)")
    text = drift_table.table([ROW, stray])
    assert "| native | own | 2 | 1 (50 %) | 1 (50 %) | 1 | 9 | 4 |" in text
    assert "seed 4: nan of sin ended in dtype of cos (alone): drifted" in text


# -- operator samples ---------------------------------------------------------------------------------------------------

ONES = torch.ones(2, 3)


@pytest.mark.parametrize(
    ("compiled", "exact", "kind"),
    [
        (ONES, None, ""),
        (ONES.double(), None, "dtype"),
        (ONES[:1], None, "shape"),
        (ONES * float("nan"), None, "nan"),
        (ONES * float("inf"), None, "inf"),
        (ONES * 1.1, ONES.double(), "values"),
        (ONES * (1 + 2e-6), ONES.double(), "rounding"),
        (ONES.t().contiguous().t(), None, "strides"),
        (1.0, None, "structure"),
    ],
)
def test_a_kind_for_each_difference(compiled, exact, kind):
    assert opdb_judge.kind_of(ONES, compiled, exact) == kind


def test_compiled_is_not_wrong_where_eager_is():
    eager, exact = torch.full((3,), float("inf")), torch.ones(3, dtype=torch.float64)
    assert opdb_judge.kind_of(eager, torch.ones(3), exact) == "rounding"
    assert opdb_judge.kind_of(torch.ones(3) * 1.5, torch.ones(3) * 1.1, exact) == "rounding"


def test_integers_do_not_round():
    assert opdb_judge.kind_of(torch.tensor([1, 2]), torch.tensor([1, 3])) == "values"


def test_the_worst_kind_speaks_for_a_call():
    assert opdb_judge.worst(["", "rounding", "strides", "nan"]) == "nan"
    assert opdb_judge.worst(["strides", "rounding"]) == "rounding"
    assert opdb_judge.worst(["", ""]) == ""


def test_a_sample_becomes_a_script():
    text = opdb_text.script(opdb_text.Call("torch.add", (ONES.bfloat16(), 2), {"alpha": 0.5}), "aot_eager")
    ast.parse(text)
    assert "return torch.add(a0, a1, alpha=k_alpha)" in text
    assert "dtype=torch.bfloat16), 2, 0.5]" in text
    assert ast.parse(opdb_text.script(opdb_text.Call("torch.exp", (ONES,), {}), "eager", backward="floating_point"))


@pytest.mark.parametrize("value", [(1, 2), [ONES], slice(1, None), torch.float16, None, torch.zeros(0, 3), 1 + 2j])
def test_a_literal_makes_the_same_again(value):
    made = eval(opdb_text.literal(value), {"torch": torch})
    assert repr(made) == repr(value)


def test_what_has_no_literal_is_refused():
    with pytest.raises(opdb_text.UnprintableError):
        opdb_text.literal(torch.ones(100_000))
    with pytest.raises(opdb_text.UnprintableError):
        opdb_text.literal(object())


@pytest.mark.parametrize(
    ("kind", "blamed", "ends_in", "verified", "verdict"),
    [
        ("nan", True, "nan", True, opdb_runs.SAME),
        ("nan", True, "values", True, opdb_runs.CHANGED),
        ("nan", True, "", True, opdb_runs.CHANGED),
        ("nan", True, "nan", False, opdb_runs.LOST),
        ("nan", True, None, False, opdb_runs.LOST),
        (opdb_runs.CRASH, True, opdb_runs.CRASH, True, opdb_runs.LOST),
        ("nan", False, None, False, opdb_runs.MISSED),
        ("rounding", True, "values", True, opdb_runs.BLAMED),
        ("rounding", False, None, False, opdb_runs.LEFT),
    ],
)
def test_what_became_of_a_sample(kind, blamed, ends_in, verified, verdict):
    assert opdb_runs.Row("x", "bfloat16", kind, blamed, ends_in, verified=verified).verdict == verdict


def test_the_judge_speaks_by_the_trace():
    class Forks:
        def ended(self, source, faults):
            self.source, self.faults = source, faults
            return Ended(0, trace=({"fired": "target"}, {"kind": "nan", "kinds": ["nan"]}))

    bench = SimpleNamespace(forks=Forks())
    assert opdb_runs.judged_warm("", bench, (OURS,), strides=True) == "nan"
    assert "'planted-trace.jsonl', 'strides'" in bench.forks.source and bench.forks.faults == (OURS,)
    bench.forks.ended = lambda source, faults: Ended(-6, trace=({"fired": "target"},))
    assert opdb_runs.judged_warm("", bench, (OURS,), strides=False) == opdb_runs.CRASH


# -- faults under operator samples --------------------------------------------------------------------------------------


def plans(seed):
    return list(opdb_plant.plans(["sin", "cos", "add", "mul", "sin"], random.Random(seed)))


def test_plans_are_made_from_a_seed():
    assert plans(1) == plans(1) != plans(2)


def test_each_kind_is_planned_in_several_places():
    found = plans(1)
    assert {fault.kind for fault in found} == set(opdb_plant.KINDS) == set(planted_faults.CHANGES)
    assert len(set(found)) == len(found) == opdb_plant.PLACES * len(opdb_plant.KINDS)
    assert list(opdb_plant.plans([], random.Random(1))) == []


def test_gross_values_are_planned_first_more_often_than_a_shape():
    first = [plans(seed)[0].kind for seed in range(200)]
    assert first.count("values") > first.count("shape") > 0


def test_a_decoy_is_of_another_kind_on_the_same_operation():
    target = Fault("target", "sin", "inf")
    found = [fault for seed in range(20) for fault in opdb_plant.decoys(target, "nan", random.Random(seed))]
    assert {fault.when for fault in found} == set(HIDDEN_WHEN)
    assert all(fault.op == "sin" and fault.name != "target" for fault in found)
    assert {fault.kind for fault in found} == set(opdb_plant.KINDS) - {"nan", "inf"}


def test_a_spared_sample_keeps_its_rounding_and_the_decoy():
    faults = [{"name": "decoy", "kind": "nan"}, {"name": "target", "kind": "values"}]
    made = opdb_runs.spared({"name": "sin-0", "source": "", "kind": "values", "healthy": "rounding", "faults": faults})
    assert (made["name"], made["kind"], made["faults"]) == ("sin-0-spared", "rounding", faults[:1])
