"""What the program's own files did to torch goes with a graph where the failure needs it, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from reduce_cases import case, meta, op, tensor

from triage.judge.judgement import RefusedError
from triage.judge.signature import FailureSignature
from triage.model.accuracy import Wrongness
from triage.model.graphcase import GraphCase
from triage.model.stage import OutcomeKind, Stage
from triage.reduce.graph.passes.preamble import DropPreamble
from triage.reduce.interface import Problem
from triage.reduce.printing.printer import print_case
from triage.reduce.text.code.script import Script
from triage.reduce.text.polish import keeps_its_sense
from triage.reduce.torch_setup import ask_then_with_setup, below_own_backend

SETUP = (
    "import torch",
    "import torch._inductor.ir as ir",
    "_original = ir.Reduction.create",
    "def create(*args, **kwargs):\n    return _original(*args, **kwargs)",
    "def unused():\n    return 1",
    "ir.Reduction.create = staticmethod(create)",
    "torch.set_default_dtype(torch.float64)",
)
GRAPH = case([tensor("x", 3)], [op("y", "torch.amax", "%x", out=meta())], "y", setup=SETUP)


def asked(needed: set[str], harmful: str = "") -> list[GraphCase]:
    """The cases that were asked; one answers where it carries what is needed, and nothing harmful."""
    seen: list[GraphCase] = []

    def ask(problem: Problem) -> GraphCase | None:
        (graph,) = problem.cases
        seen.append(graph)
        return graph if needed <= set(graph.preamble) and harmful not in graph.preamble else None

    signature = FailureSignature(OutcomeKind.EXCEPTION, "ValueError", "no", "no")
    problem = Problem(signature, Stage.INDUCTOR, "inductor", None, (GRAPH,), Path())
    found, answer = ask_then_with_setup(problem, ask)
    assert answer is not None and found.cases == (answer,)
    return seen


def test_a_graph_that_fails_alone_stays_alone() -> None:
    (graph,) = asked(set())
    assert not graph.prepared and graph.preamble == ()


def test_else_it_is_asked_below_all_that_the_files_did() -> None:
    alone, below = asked({SETUP[5]})
    assert alone.preamble == () and below.preamble == SETUP and below.prepared


def test_a_statement_that_cannot_run_here_does_not_hide_the_others() -> None:
    *_, last = asked({SETUP[5]}, harmful=SETUP[6])
    assert SETUP[5] in last.preamble and SETUP[6] not in last.preamble


def test_its_effects_are_printed_and_only_the_definitions_they_mention() -> None:
    text = print_case(replace(GRAPH, preamble=SETUP, prepared=True))
    assert "ir.Reduction.create = staticmethod(create)" in text and "torch.set_default_dtype(torch.float64)" in text
    assert "unused" not in text and text.index("_original = ") < text.index("def create")
    assert "Reduction" not in print_case(GRAPH)


def test_the_condition_of_a_raise_and_the_arithmetic_of_a_lowering_are_not_rewritten() -> None:
    below, signature = replace(GRAPH, prepared=True), FailureSignature(OutcomeKind.EXCEPTION, "ValueError", "no", "no")
    raising = Script("def f(x):\n    if x:\n        raise ValueError('no')\n")
    assert keeps_its_sense(below, raising, signature) and not keeps_its_sense(below, Script("x = 1\n"), signature)
    assert keeps_its_sense(below, Script("x = 1\n"), replace(signature, wrong=Wrongness("values")))
    assert not keeps_its_sense(GRAPH, raising, signature)  # the registration of a custom operator


def test_no_name_is_left_without_a_meaning() -> None:
    below = replace(GRAPH, preamble=SETUP, prepared=True)
    with pytest.raises(RefusedError):
        DropPreamble(SETUP[2]).apply(below)
    without = DropPreamble(SETUP[5]).apply(below)
    assert "create" not in print_case(without)


def test_nor_where_it_is_the_registration_of_an_operator() -> None:
    """What registers an operator that is not in use is not printed, so it may go."""
    blocks = (
        "from torch.library import custom_op",
        "def rounded(x):\n    return x.round()",
        "@custom_op('mine::f', mutates_args=())\ndef f(x: torch.Tensor) -> torch.Tensor:\n    return rounded(x)",
        "@custom_op('mine::g', mutates_args=())\ndef g(x: torch.Tensor) -> torch.Tensor:\n    return x",
        "g.register_fake(lambda x: x)",
    )
    graph = case([tensor("x", 3)], [op("y", "torch.ops.mine.f.default", "%x", out=meta())], "y", preamble=blocks)
    for needed in blocks[:2]:
        with pytest.raises(RefusedError):
            DropPreamble(needed).apply(graph)
    assert DropPreamble(blocks[4]).apply(graph).preamble == blocks[:4]


BACKEND = (
    "accel",
    "import torch",
    "RULES = []",
    "def unused():\n    return 1",
    "def accel(gm, inputs):\n    return [rule(gm) for rule in RULES]",
)


def test_the_backend_of_the_programs_own_stands_in_front_and_is_the_default() -> None:
    (below,) = below_own_backend([replace(GRAPH, own_backend=BACKEND, backend="accel"), GRAPH])
    text = print_case(below)
    assert 'os.environ.get("TORCH_COMPILE_BACKEND", accel)' in text and "unused" not in text
    assert "RULES = []" in text and "ir.Reduction" not in text
    assert set(SETUP + BACKEND[1:]) == set(below.setup)  # asked next, where the graph and its backend are not enough


def test_a_class_that_its_base_takes_note_of_is_printed_though_nothing_names_it() -> None:
    base = "class Rule:\n    known = []\n    def __init_subclass__(cls):\n        Rule.known.append(cls)"
    asks = "def accel(gm, inputs):\n    return [rule(gm) for rule in (*Rule.known, *Step.__subclasses__())]"
    rules = (
        "class A(Rule):\n    pass",
        "class B(A):\n    pass",
        "class C(Step):\n    pass",
        "class D(Plain):\n    pass",
    )
    backend = ("accel", base, "class Step:\n    pass", "class Plain:\n    pass", *rules, asks)
    (below,) = below_own_backend([replace(GRAPH, own_backend=backend)])
    text = print_case(below)
    assert all(rule in text for rule in rules[:3]) and "Plain" not in text


def test_what_the_backend_is_called_with_is_bound_to_it_and_told_to_no_other() -> None:
    told = replace(GRAPH.context, mode="max-autotune", options={"level": 2})
    (below,) = below_own_backend([replace(GRAPH, own_backend=BACKEND, context=told)])
    assert "options=" not in print_case(below) and "mode=" not in print_case(below)


def test_nothing_that_the_backend_needs_is_left_out() -> None:
    (below,) = below_own_backend([replace(GRAPH, own_backend=BACKEND)])
    for needed in (BACKEND[2], BACKEND[4]):
        with pytest.raises(RefusedError):
            DropPreamble(needed).apply(below)
