"""The labels that a report suggests: those of PyTorch's rubric, and no more than was shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from triage.model.accuracy import Wrongness
from triage.model.own_code import Finding, OperatorCheck
from triage.model.report import (
    AblationRow,
    Condition,
    Culprit,
    KnownCause,
    ReportSignature,
    ReportVerdict,
    Reproducer,
    SubsystemSearch,
    TriageReport,
    WayRound,
)
from triage.model.stage import Stage, Symptom
from triage.report.labels import RULES, cpu_only, suggested_labels, telling_workarounds

BUG = TriageReport(
    tool={},
    command=("python", "train.py"),
    verdict=ReportVerdict(Symptom.EXCEPTION, Stage.INDUCTOR),
    signature=ReportSignature("TypeError", "cannot determine truth value", ("torch/_inductor/lowering.py:foo",)),
    environment={"torch": "2.13.0+cpu"},
)
PT2 = "oncall: pt2"
STATIC = (AblationRow("dynamic=False", "ok"),)


def labels(**changes: object) -> tuple[str, ...]:
    return suggested_labels(replace(BUG, **changes))


def failing(stage: Stage, symptom: Symptom = Symptom.EXCEPTION, door: str | None = None) -> ReportVerdict:
    return ReportVerdict(symptom, stage, door=door)


def raised(kind: str, *frames: str, message: str = "") -> ReportSignature:
    return ReportSignature(kind, message, frames)


def reduced(*features: str, minimal: bool = True) -> Reproducer:
    return Reproducer("repro.py", True, 3, True, "source", "native", None, 9, 1, 1.0, minimal, features=features)


def wrong(kind: str) -> dict[str, object]:
    return {
        "verdict": failing(Stage.DECOMP_PARTITION, Symptom.WRONG_RESULT),
        "signature": ReportSignature("AssertionError", "differs", wrong=Wrongness(kind, "output 0")),
    }


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        # One part, by the first backend that fails.
        ({}, (PT2, "module: inductor")),
        ({"verdict": failing(Stage.DYNAMO)}, (PT2, "module: dynamo")),
        ({"verdict": failing(Stage.AOT_AUTOGRAD)}, (PT2, "module: pt2-dispatcher", "module: aotdispatch")),
        ({"verdict": failing(Stage.DECOMP_PARTITION)}, (PT2, "module: decompositions")),
        # Dynamic shapes: in the place of Dynamo, beside what lowers (as pytorch#185575 has it).
        ({"verdict": failing(Stage.DYNAMO), "ablation": STATIC}, (PT2, "module: dynamic shapes")),
        ({"ablation": STATIC}, (PT2, "module: inductor", "module: dynamic shapes")),
        ({"ablation": (AblationRow("dynamic=False", "same_failure"),)}, (PT2, "module: inductor")),
        (
            {"verdict": failing(Stage.DYNAMO), "signature": raised("GuardOnDataDependentSymNode")},
            (PT2, "module: dynamic shapes"),
        ),
        ({"culprit": Culprit(None, None, "symbolic shapes")}, (PT2, "module: inductor", "module: dynamic shapes")),
        # The part that raised it, or that must be switched off.
        (
            {"verdict": failing(Stage.DYNAMO), "culprit": Culprit(None, None, "fake tensors")},
            (PT2, "module: pt2-dispatcher", "module: fakeTensor"),
        ),
        ({"culprit": Culprit(None, None, "cudagraphs")}, (PT2, "module: inductor", "module: cuda graphs")),
        (
            {"culprit": Culprit(None, None, "the program's Triton kernels")},
            (PT2, "module: inductor", "module: user triton"),
        ),
        (
            {"signature": raised("CompilationError", message="NameError('tmp3 is not defined')")},
            (PT2, "module: inductor"),
        ),
        (
            {"signature": raised("RuntimeError", message="PassManager::run failed\nerror: 'tt.dot' op")},
            (PT2, "module: inductor", "upstream triton"),
        ),
        ({"subsystem": SubsystemSearch(("decompositions",))}, (PT2, "module: decompositions", "module: inductor")),
        # The CPU's code alone is its people's.
        ({"signature": raised("CppCompileError")}, (PT2, "oncall: cpu inductor", "module: inductor")),
        (
            {"signature": raised("KeyError", "torch/_inductor/codegen/cpp.py:store")},
            (PT2, "oncall: cpu inductor", "module: inductor"),
        ),
        ({"signature": raised("CppCompileError"), "environment": {"cuda": "13.0"}}, (PT2, "module: inductor")),
        (
            {"verdict": failing(Stage.INDUCTOR, Symptom.CRASH)},
            ("high priority", PT2, "oncall: cpu inductor", "module: inductor", "module: crash"),
        ),
        # What is to be mended is the operator's fake kernel, which Inductor only believed.
        (
            {"verdict": failing(Stage.INDUCTOR, Symptom.CRASH), "fake_wrong": {"operation": "aten.x", "kind": "dtype"}},
            ("high priority", PT2, "module: pt2-dispatcher", "module: fakeTensor", "module: crash"),
        ),
        # Wrong results.
        (wrong("values"), ("high priority", PT2, "module: decompositions", "module: correctness (silent)")),
        (
            wrong("nan"),
            ("high priority", PT2, "module: decompositions", "module: correctness (silent)", "module: NaNs and Infs"),
        ),
        (wrong("strides"), (PT2, "module: decompositions")),  # as pytorch#198364 has it
        # Other things that an issue is found by.
        ({"regression": {"last_good": "2.8.0"}}, ("high priority", PT2, "module: inductor", "module: regression")),
        ({"regression": {"first_fixed": "2.9.0"}}, (PT2, "module: inductor")),
        (
            {"signature": raised("RuntimeError", message="x INTERNAL ASSERT FAILED at y")},
            ("high priority", PT2, "module: inductor", "module: assert failure"),
        ),
        (
            {
                "verdict": failing(Stage.INDUCTOR, Symptom.HANG),
                "signature": raised("hang", message="lowering of the forward graph"),
            },
            (PT2, "module: inductor", "module: compile-time"),
        ),
        (
            {"verdict": failing(Stage.INDUCTOR, Symptom.HANG), "signature": raised("hang", message="run graph 0/0")},
            (PT2, "module: inductor"),
        ),
        ({"culprit": Culprit("higher_order.flex_attention")}, (PT2, "module: inductor", "module: flex attention")),
        ({"culprit": Culprit("higher_order.cond")}, (PT2, "module: inductor", "module: higher order operators")),
        ({"culprit": Culprit("_c10d_functional.all_reduce.default")}, (PT2, "module: inductor", "module: c10d")),
        (
            {"verdict": failing(Stage.DYNAMO), "signature": raised("E", "torch/_functorch/vmap.py:_flat_vmap")},
            (PT2, "module: dynamo", "module: functorch", "dynamo-functorch"),
        ),
        (
            {"verdict": failing(Stage.DYNAMO), "reproducer": reduced("torch.func.jacfwd")},
            (PT2, "module: dynamo", "module: functorch", "dynamo-functorch"),
        ),
        ({"verdict": failing(Stage.DYNAMO), "reproducer": reduced("torch.autograd.grad")}, (PT2, "module: dynamo")),
        (
            {"verdict": failing(Stage.DYNAMO), "reproducer": reduced("torch.nested.nested_tensor")},
            (PT2, "module: dynamo", "module: nestedtensor"),
        ),
        (  # it may only be what was not taken away yet
            {"verdict": failing(Stage.DYNAMO), "reproducer": reduced("torch.nested.nested_tensor", minimal=False)},
            (PT2, "module: dynamo"),
        ),
        (
            {"culprit": Culprit("vis.pool.default"), "operator_checks": (OperatorCheck("vis::pool"),)},
            (PT2, "module: inductor", "module: custom-operators"),
        ),
        (
            {"culprit": Culprit("aten.relu"), "operator_checks": (OperatorCheck("vis::pool"),)},
            (PT2, "module: inductor"),
        ),
        (
            {"conditions": (Condition("the dtype is float8_e4m3fn", "with float64 it passes"),)},
            (PT2, "module: inductor", "module: floatx (formerly float8)"),
        ),
        (
            {"conditions": (Condition("the dtype is complex64", "with float64 it passes"),)},
            (PT2, "module: inductor", "module: complex"),
        ),
        ({"conditions": (Condition("the dtype is float32", "with float64 it passes"),)}, (PT2, "module: inductor")),
        # Other doors.
        ({"verdict": failing(Stage.NONE, door="torch.export")}, ("oncall: export",)),
        ({"verdict": failing(Stage.DYNAMO, door="torch.export")}, (PT2, "oncall: export", "module: dynamo")),
        (
            {"verdict": failing(Stage.INDUCTOR, door="AOTInductor")},
            (PT2, "oncall: export", "module: aotinductor", "module: inductor"),
        ),
        ({"verdict": failing(Stage.NONE, door="torch.onnx.export")}, ("module: onnx",)),
        ({"verdict": failing(Stage.NONE, door="torch.jit")}, ("oncall: jit",)),
        # No bug of PyTorch's compiler.
        ({"verdict": failing(Stage.BACKEND)}, ()),
        ({"verdict": failing(Stage.SCRIPT)}, ()),
        ({"verdict": ReportVerdict()}, ()),
        ({"verdict": failing(Stage.NONE, Symptom.NONDETERMINISTIC)}, ()),
        ({"verdict": failing(Stage.NONE, Symptom.ROUNDING)}, ()),
        ({"known_cause": KnownCause("x", "y", "z")}, ()),
        ({"findings": (Finding("a", "b", "c"),)}, ()),
    ],
)
def test_labels_follow_the_rubric(changes: dict[str, object], expected: tuple[str, ...]) -> None:
    assert labels(**changes) == expected


@pytest.mark.parametrize(
    ("changes", "has"),
    [
        ({"ways_round": (WayRound("Set torch._inductor.config.foo = False", "setting"),)}, True),
        ({"ways_round": (WayRound("torch.compile(f, dynamic=True)", "argument"),)}, True),
        ({"ways_round": (WayRound("x.contiguous() before it", "call"),)}, True),
        ({"ways_round": (WayRound("@torch.compiler.disable on Head.forward", "function"),)}, False),
        ({"ways_round": (WayRound('torch.compile(f, backend="eager")', "argument"),)}, False),
        ({"ways_round": (WayRound("Use aot_eager", "backend"),)}, False),
        ({"workarounds": ("torch.compile(..., dynamic=True)",)}, True),
        ({"workarounds": ('torch.compile(..., mode="max-autotune")',)}, True),
        ({"workarounds": ('torch.compile(..., backend="aot_eager")', "torch.compile(..., fullgraph=False)")}, False),
        ({"workarounds": ("`@torch.compiler.disable` on `f`",)}, False),
        ({}, False),
    ],
)
def test_what_everybody_knows_is_no_workaround(changes: dict[str, object], has: bool) -> None:
    assert ("has workaround" in labels(**changes)) is has


def test_no_label_stands_in_the_table_twice() -> None:
    names = [rule.label for rule in RULES]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("environment", "only"),
    [
        ({"device": "cpu", "torch": "2.13.0"}, True),
        ({"device": "cuda", "torch": "2.13.0+cpu"}, False),
        ({"torch": "2.13.0+cpu"}, True),
        ({"torch": "2.13.0", "cuda": "None"}, True),
        ({"torch": "2.13.0"}, False),
    ],
)
def test_where_nothing_but_the_cpu_was(environment: dict[str, str], only: bool) -> None:
    assert cpu_only(environment) is only


def test_a_setting_that_is_a_way_round_is_told_once() -> None:
    found = replace(
        BUG,
        ways_round=(WayRound("Put `torch._inductor.config.foo = False` after the imports of train.py", "setting"),),
        workarounds=("torch._inductor.config.foo = False", "torch.compile(..., dynamic=True)"),
    )
    assert telling_workarounds(found) == (found.ways_round[0].change, "torch.compile(..., dynamic=True)")
