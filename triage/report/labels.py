"""The labels that PyTorch's triage rubric gives to a failure, as text: people outside the project cannot set labels.

Source: pt2-triage-rubric.md and labels.json of pytorch/pytorch, and the labels that its maintainers set on the issues behind the
bundled cases. What the rubric asks for: name the part whose code must change and not those that stand on the stack;
`dynamic=False` that helps means dynamic shapes, and not Dynamo; `oncall: cpu inductor` for what is wrong in the C++ code alone;
labels of a domain so that its people see the issue; high priority for crashes, silently wrong results, regressions and failed
internal asserts. Its labels of state (triaged, actionable, needs reproduction) are for people to decide.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from triage.judge.naming import headline
from triage.model.report import TriageReport
from triage.model.stage import COMPILER_STAGES, Stage, Symptom
from triage.report.kinds import is_wanted

_SHAPE_ERRORS = re.compile(
    r"DataDependentOutputException|DynamicOutputShapeException|GuardOnDataDependentSymNode|ConstraintViolationError|ValueRangeError"
)
_TRITONS_PASSES = re.compile(
    r"\APassManager::run failed|\APTXAS error: |LLVM ERROR: |/(?:llvm-project|triton)/\S+:\d+: "
)
# Turning compilation off, for all of the program or for the part that fails, is known to everybody.
_OBVIOUS = re.compile(r"backend\s*=|fullgraph\s*=\s*False|disable|without torch\.compile|uncompiled", re.IGNORECASE)
_TELLING_WAYS = ("setting", "argument", "spelling", "call")


def _stage(*stages: Stage) -> Callable[[TriageReport], bool]:
    return lambda report: report.verdict.stage in stages


def _door(*names: str) -> Callable[[TriageReport], bool]:
    return lambda report: report.verdict.door in names


def _part(*names: str) -> Callable[[TriageReport], bool]:
    """Whether this part of the stage raised it, or is what must be switched off."""
    return lambda report: bool(_parts(report) & set(names))


def _operator(pattern: str) -> Callable[[TriageReport], bool]:
    found = re.compile(pattern)
    return lambda report: found.search(_op(report)) is not None


def _frame(pattern: str) -> Callable[[TriageReport], bool]:
    found = re.compile(pattern)
    return lambda report: report.signature is not None and any(map(found.search, report.signature.frames))


def _wrong(*kinds: str) -> Callable[[TriageReport], bool]:
    return lambda report: _wrong_kind(report) in kinds


def _dtype(pattern: str) -> Callable[[TriageReport], bool]:
    """Whether the failure was shown to need tensors of such a dtype."""
    found = re.compile(rf"the dtype is (?:{pattern})")
    return lambda report: any(found.fullmatch(each.condition) for each in report.conditions)


def _of_shapes(report: TriageReport) -> bool:
    static = any(row.setting == "dynamic=False" and row.outcome == "ok" for row in report.ablation)
    raised = report.signature is not None and _SHAPE_ERRORS.search(report.signature.exception_type) is not None
    return static or raised or _part("symbolic shapes", "symbolic sizes")(report)


def _of_dispatcher(report: TriageReport) -> bool:
    """What PT2's dispatcher is: AOTAutograd, functionalization, fake tensors, custom operators."""
    parts = _part("fake tensors", "functionalization")(report)
    return report.verdict.stage is Stage.AOT_AUTOGRAD or parts or _by_fake(report)


def _by_fake(report: TriageReport) -> bool:
    """Whether an operator's fake (meta) kernel is what must change: the stage that fails only believed it."""
    return report.fake_wrong is not None


def _of_dynamo(report: TriageReport) -> bool:
    return report.verdict.stage is Stage.DYNAMO and not _of_shapes(report) and not _of_dispatcher(report)


def _of_cpp(report: TriageReport) -> bool:
    """Whether the C++ that Inductor writes for the CPU is wrong: it does not build, or its kernel crashes."""
    if report.verdict.stage is not Stage.INDUCTOR or _by_fake(report) or not cpu_only(report.environment):
        return False
    raised = report.signature is not None and report.signature.exception_type in (
        "CppCompileError",
        "CppWrapperCodegenError",
    )
    built = _frame(r"codegen/cpp|mkldnn|cpp_builder")(report)
    return raised or built or report.verdict.symptom is Symptom.CRASH


def _custom(report: TriageReport) -> bool:
    """Whether a custom operator is what is left; one that is broken itself is no bug of PyTorch's."""
    own = [check.operator.replace("::", ".") for check in report.operator_checks]
    return report.raised_in == "custom_op" or any(
        _op(report) == name or _op(report).startswith(f"{name}.") for name in own
    )


def _uses(*prefixes: str) -> Callable[[TriageReport], bool]:
    """Whether a text from which nothing more can be taken still uses something of torch so named."""

    def uses(report: TriageReport) -> bool:
        made = report.reproducer
        return made is not None and made.minimal and any(name.startswith(prefixes) for name in made.features)

    return uses


def _of_triton(report: TriageReport) -> bool:
    """Whether Triton's own compiler fails below the text of a kernel that it has accepted."""
    return report.signature is not None and _TRITONS_PASSES.search(report.signature.message) is not None


def _crash(report: TriageReport) -> bool:
    return report.verdict.symptom is Symptom.CRASH


def _silent(report: TriageReport) -> bool:
    """A result that is wrong; other strides than eager's are no other result."""
    return report.verdict.symptom is Symptom.WRONG_RESULT and _wrong_kind(report) != "strides"


def _asserts(report: TriageReport) -> bool:
    return report.signature is not None and "INTERNAL ASSERT FAILED" in report.signature.message


def _regressed(report: TriageReport) -> bool:
    return bool(report.regression and report.regression.get("last_good"))


def _hangs_in_compile(report: TriageReport) -> bool:
    found = report.signature
    if report.verdict.symptom is not Symptom.HANG or found is None:
        return False
    return headline(found.exception_type, found.message).endswith(("while compiling", "while tracing"))


def telling_workarounds(report: TriageReport) -> tuple[str, ...]:
    """What makes the failure go away and is not obvious, smallest first, each once."""
    ways = [way.change for way in report.ways_round if way.kind in _TELLING_WAYS]
    others = [text for text in report.workarounds if not any(text in way for way in ways)]
    return tuple(text for text in dict.fromkeys([*ways, *others]) if not _OBVIOUS.search(text))


@dataclass(frozen=True)
class Rule:
    label: str
    when: Callable[[TriageReport], bool]


# In the order in which they are named. Each label exists in pytorch/pytorch.
RULES = (
    Rule("high priority", lambda report: _silent(report) or _crash(report) or _regressed(report) or _asserts(report)),
    Rule("oncall: pt2", lambda report: report.verdict.stage in COMPILER_STAGES or report.verdict.door == "AOTInductor"),
    Rule("oncall: cpu inductor", _of_cpp),
    Rule("oncall: export", _door("torch.export", "AOTInductor")),
    Rule("oncall: jit", _door("torch.jit")),
    Rule("module: onnx", _door("torch.onnx.export")),
    Rule("module: fx", _door("torch.fx.symbolic_trace")),
    Rule("module: ProxyTensor", _door("make_fx")),
    Rule("module: aotinductor", _door("AOTInductor")),
    Rule("module: dynamo", _of_dynamo),
    Rule("module: pt2-dispatcher", _of_dispatcher),
    Rule("module: aotdispatch", _stage(Stage.AOT_AUTOGRAD)),
    Rule(
        "module: decompositions",
        lambda report: (
            _stage(Stage.DECOMP_PARTITION)(report) or _part("decompositions", "py_impl decomposition")(report)
        ),
    ),
    Rule("module: inductor", lambda report: _stage(Stage.INDUCTOR)(report) and not _by_fake(report)),
    Rule("module: dynamic shapes", _of_shapes),
    Rule("module: fakeTensor", lambda report: _part("fake tensors")(report) or _by_fake(report)),
    Rule("module: functionalization", _part("functionalization")),
    Rule("module: guards", _part("guards")),
    Rule("module: cuda graphs", _part("cudagraphs")),
    Rule("module: custom-operators", _custom),
    Rule("module: flex attention", _operator(r"flex_attention")),
    Rule(
        "module: higher order operators",
        _operator(r"(?:^|\.)higher_order\.(?!flex_)|(?:^|\.)(?:cond|while_loop|associative_scan)$"),
    ),
    Rule(
        "module: user triton",
        lambda r: _operator(r"triton_kernel_wrapper")(r) or _part("the program's Triton kernels")(r),
    ),
    Rule("upstream triton", _of_triton),
    Rule(
        "module: functorch",
        lambda report: (
            _frame(r"torch/_functorch/(?:vmap|eager_transforms|apis|pyfunctorch|batch_norm|functional_call)")(report)
            or _uses("torch.func.")(report)
        ),
    ),
    Rule(
        "dynamo-functorch",
        lambda report: (
            _frame(r"torch/_functorch/(?:vmap|eager_transforms|apis|pyfunctorch)")(report)
            or _uses("torch.func.")(report)
        ),
    ),
    Rule("dynamo-autograd-function", _uses("torch.autograd.Function")),
    Rule("module: activation checkpointing", _uses("torch.utils.checkpoint.")),
    Rule("module: distributions", _uses("torch.distributions.")),
    Rule("module: nestedtensor", _uses("torch.nested.")),
    Rule("module: c10d", _operator(r"c10d")),
    Rule("module: dtensor", _frame(r"torch/distributed/(?:_?tensor)/")),
    Rule("module: fsdp", _frame(r"torch/distributed/.*fsdp")),
    Rule("module: complex", _dtype(r"complex\d+")),
    Rule("module: bfloat16", _dtype("bfloat16")),
    Rule("module: half", _dtype("float16")),
    Rule("module: floatx (formerly float8)", _dtype(r"float[48]_\w+")),
    Rule("module: correctness (silent)", _silent),
    Rule("module: NaNs and Infs", _wrong("nan", "inf")),
    Rule("module: crash", _crash),
    Rule("module: assert failure", _asserts),
    Rule("module: compile-time", _hangs_in_compile),
    Rule("module: regression", _regressed),
    Rule("has workaround", lambda report: bool(telling_workarounds(report))),
)


def suggested_labels(report: TriageReport) -> tuple[str, ...]:
    """Labels for an issue about this failure; none where PyTorch's compiler is not to blame."""
    blamed = report.verdict.stage in COMPILER_STAGES or report.verdict.door is not None
    if not blamed or not is_wanted(report):
        return ()
    return tuple(rule.label for rule in RULES if rule.when(report))


def cpu_only(environment: Mapping[str, str]) -> bool:
    """Whether nothing but the CPU was there: by the device that was named, by the wheel, or by CUDA's absence."""
    device = environment.get("device", "")
    if device:
        return device.lower() == "cpu"
    if environment.get("torch", "").endswith("+cpu"):
        return True
    return environment.get("cuda", "present").lower() in ("", "none", "no", "false", "not available", "n/a")


def _parts(report: TriageReport) -> set[str]:
    named = {report.culprit.subsystem} if report.culprit is not None and report.culprit.subsystem else set()
    return named | (set(report.subsystem.names) if report.subsystem is not None else set())


def _op(report: TriageReport) -> str:
    return (report.culprit.op or "").replace("::", ".") if report.culprit is not None else ""


def _wrong_kind(report: TriageReport) -> str:
    wrong = report.signature.wrong if report.signature is not None else None
    return wrong.kind if wrong is not None else ""
