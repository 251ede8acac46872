"""Whose code raised it: told by the part of torch that called the innermost line that is not torch's."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from triage.cli.result import _next
from triage.culprit.own_code import own_backend_of, own_code_of, own_code_that_died, own_code_that_hung, raised_in
from triage.locate.conclude import Conclusion
from triage.model.outcome import CompileCall, Frame, Outcome, RaisedException
from triage.model.own_code import OwnCode
from triage.model.report import ReportVerdict, TriageReport
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.stories.headline import with_headline
from triage.stories.known_cause import cause_of
from triage.stories.run import RunResult
from triage.stories.whose_code import own_code, what_to_mend

SITE = "/opt/venv/lib/python3.11/site-packages"


def frames(*told: str) -> tuple[Frame, ...]:
    """`file:function` or `file:function: code`, outermost first; files under torch/ are installed ones."""
    found = []
    for number, text in enumerate(told, 1):
        file, function, code = (*text.split(":", 2), "")[:3]
        place = f"{SITE}/{file}" if file.startswith(("torch/", "numpy/", "kernels/", "sympy/")) else f"/home/ann/{file}"
        found.append(Frame(place, number, function, code.strip()))
    return tuple(found)


ENTRY = ("train.py:main: step(x)", "torch/_dynamo/eval_frame.py:compile_wrapper", "torch/_dynamo/output_graph.py:call")
LOWERING = (*ENTRY, "torch/_inductor/graph.py:call_function", "torch/_inductor/lowering.py:wrapped")
PASS = (*ENTRY, "torch/_inductor/fx_passes/post_grad.py:post_grad_passes",
        "torch/fx/passes/graph_transform_observer.py:apply_graph_pass")  # fmt: skip


def found(*told: str, kind: str = "ValueError", stage: Stage = Stage.INDUCTOR, **more: object) -> OwnCode | None:
    return own_code_of(RaisedException(kind, "no", frames(*told), phase="compile", **more), stage)


@pytest.mark.parametrize(
    ("above", "role"),
    [
        (LOWERING, "lowering"),
        ((*ENTRY, "torch/_inductor/graph.py:register", "torch/_inductor/ir.py:inner_fn_opcount"), "lowering"),
        (PASS, "post-grad pass"),
        ((*ENTRY, "torch/_inductor/fx_passes/joint_graph.py:joint_graph_passes"), "joint-graph pass"),
        ((*PASS, "fuse.py:fuse", "torch/_inductor/pattern_matcher.py:apply"), "post-grad pass"),
        ((*ENTRY, "torch/fx/experimental/proxy_tensor.py:maybe_handle_decomp"), "decomposition"),
        ((*ENTRY, "torch/_dynamo/repro/after_dynamo.py:__call__", "torch/__init__.py:__call__"), "backend"),
        ((*ENTRY, "torch/_dynamo/backends/common.py:_wrapped_bw_compiler", "torch/_dynamo/eval_frame.py:_fn"), "backend"),
        ((*ENTRY, "torch/_functorch/_aot_autograd/graph_compile.py:aot_stage2"), "backend"),
        ((*ENTRY, "torch/_functorch/autograd_function.py:forward"), "autograd.Function"),
        ((*ENTRY, "torch/_library/utils.py:__call__", "torch/_library/custom_ops.py:fake_impl"), "fake kernel"),
        ((*ENTRY, "torch/_subclasses/fake_tensor.py:_dispatch_impl", "torch/_ops.py:__call__"), "fake kernel"),
        ((*ENTRY, "torch/_library/custom_ops.py:wrapped_fn"), "kernel"),
        ((*ENTRY, "torch/_inductor/output_code.py:__call__", "torch/_ops.py:__call__"), "kernel"),
        ((*ENTRY, "torch/autograd/function.py:apply", "torch/_library/autograd.py:backward"), "backward"),
    ],
)  # fmt: skip
def test_the_frame_of_torch_above_gives_the_role(above: tuple[str, ...], role: str) -> None:
    own = found(*above, "ops.py:mine: raise ValueError('no')")
    assert own.role == role and own.raised
    assert own.place == f"ops.py:{len(above) + 1}" and own.call_site == "train.py:1 in main: step(x)"


def test_the_helper_of_a_lowering_belongs_to_it() -> None:
    own = found(*LOWERING, "nms.py:lower", "torch/utils/_contextlib.py:decorate", "helpers.py:rows: assert n == 2")
    assert own.role == "lowering" and own.place == "helpers.py:8" and own.raised


def test_what_torch_raises_below_it_came_through_it() -> None:
    own = found(*LOWERING, "nms.py:lower: return ir.make(x)", "torch/_inductor/ir.py:make")
    assert not own.raised and own.headline == "Raised through your lowering, nms.py:6: ValueError: no"


def test_a_runtime_error_of_a_line_that_raises_none_is_torchs() -> None:
    own = found(*LOWERING, "nms.py:lower: x = x.view(3)", kind="RuntimeError")
    assert not own.raised
    own = found(*LOWERING, "nms.py:lower: raise RuntimeError('no')", kind="RuntimeError")
    assert own.raised


def test_what_numpy_raises_is_the_lines_own() -> None:
    own = found(*LOWERING, "nms.py:lower: np.zeros(-1)", "numpy/core.py:zeros")
    assert own.raised and own.library == "numpy"


def test_what_torchs_own_dependencies_raise_is_their_callers() -> None:
    below = ("sympy/core/relational.py:__bool__: raise TypeError", "sympy/core/expr.py:__gt__")
    assert found(*LOWERING, *below) is None
    error = RaisedException("TypeError", "no", frames(*LOWERING, *below))
    assert raised_in(error, None) == "torch"
    own = found(*LOWERING, "nms.py:lower: if rows > 2:", *below)
    assert own.raised and own.place == "nms.py:6" and own.library is None


def test_a_librarys_lowering_is_said_to_be_the_librarys() -> None:
    own = found(*LOWERING, "kernels/nms.py:lower: raise KeyError(k)")
    assert own.name == "kernels's lowering"


CACHED = (*ENTRY, "torch/_subclasses/fake_tensor.py:_get_output_tensor_from_cache_entry")


def signalled(*above: str) -> RaisedException:
    *before, handler = frames(*above, "sim.py:on_alarm: raise OutOfTime('late')")
    return RaisedException("OutOfTime", "late", (*before, replace(handler, handler=True)))


@pytest.mark.parametrize("above", [CACHED, LOWERING, (*ENTRY, "npu.py:backend"), ("sim.py:main",)])
def test_a_signal_handler_belongs_to_no_part_of_the_compiler(above: tuple[str, ...]) -> None:
    error = signalled(*above)
    own = own_code_of(error, Stage.DYNAMO)
    assert own.headline == f"Raised in your signal handler, sim.py:{len(above) + 1}: OutOfTime: late"
    assert raised_in(error, own) == "user"
    conclusion = Conclusion(Stage.DYNAMO, Symptom.EXCEPTION, outcome=Outcome(OutcomeKind.EXCEPTION, exception=error))
    assert what_to_mend(SimpleNamespace(operator_checks=(), reproduced=None), conclusion, own) == ()
    cause = cause_of(conclusion, None, (), own)
    assert cause.id == "own_signal_handler" and own.place in cause.explanation


def test_only_what_calls_decompositions_makes_one_of_a_line() -> None:
    assert found(*CACHED, "sim.py:late: raise OutOfTime") is None
    own = found(*ENTRY, "torch/_subclasses/fake_tensor.py:_dispatch_impl", "sim.py:gelu: raise ValueError")
    assert own.role == "decomposition"


def test_the_program_under_no_compiler_has_no_role() -> None:
    assert found("train.py:main", "model.py:forward: raise ValueError") is None
    assert (
        found("train.py:main", "torch/_dynamo/eval_frame.py:compile_wrapper", "model.py:forward: raise ValueError")
        is None
    )
    assert found(*ENTRY, "torch/_inductor/ir.py:realize") is None
    assert found(*LOWERING, "nms.py:lower: raise ValueError", stage=Stage.SCRIPT) is None


def test_what_vmap_and_func_call_is_the_programs_own() -> None:
    told = ("serve.py:main", "torch/_functorch/vmap.py:_flat_vmap", "serve.py:<lambda>", "torch/autograd/__init__.py:grad",
            "torch/_functorch/_aot_autograd/runtime_wrappers.py:backward")  # fmt: skip
    assert found(*told, kind="RuntimeError", stage=Stage.AOT_AUTOGRAD) is None


def test_a_line_is_not_said_to_be_called_from_itself() -> None:
    told = ("train.py:main", "torch/autograd/graph.py:run", "torch/_library/autograd.py:backward", "ops.py:back: raise")
    own = found(*told)
    assert own.call_site == "train.py:1 in main"
    own = found(*told[1:])
    assert own.call_site is None


def test_a_long_message_is_cut_between_words_and_quoted_once() -> None:
    said = (
        "it looks like a compiled backward function is called where none can be: " + "try another way, or skip it " * 9
    )
    own = own_code_of(RaisedException("ValueError", said, frames(*LOWERING, "nms.py:lower: raise")), Stage.INDUCTOR)
    assert own.error.endswith("or skip it try…")
    told = with_headline(own.headline, f"`eager` passes, `inductor` fails, with {own.error}")
    assert told == f"{own.headline} `eager` passes, `inductor` fails."


def test_what_a_backend_gave_back_is_the_backends_while_a_graph_runs() -> None:
    told = ("train.py:main", "torch/_dynamo/eval_frame.py:compile_wrapper", "train.py:step",
            "torch/_dynamo/eval_frame.py:_fn", "npu.py:run: raise MemoryError")  # fmt: skip
    own = found(*told, stage=Stage.BACKEND, in_graph=True)
    assert own.role == "backend"
    assert found(*told, stage=Stage.BACKEND) is None
    assert found(*told, in_graph=True) is None


def brought(*files: str) -> tuple[CompileCall, ...]:
    places = [frames(f"{file}:accel: def accel(gm, inputs):")[0] for file in files]
    return tuple(CompileCall("accel", custom_backend=True, backend_at=place) for place in places)


def test_a_wrong_result_of_a_backend_alone_is_the_backends() -> None:
    """No line was in it when the program's own check saw it."""
    outcome = Outcome(OutcomeKind.EXCEPTION, exception=RaisedException("SystemExit", "exit status 2"))
    start = SimpleNamespace(notes=SimpleNamespace(compile_calls=brought("accel/backend.py") * 2))
    run = SimpleNamespace(walk=SimpleNamespace(start=start), reproduced=None, operator_checks=())
    for stage, expected in ((Stage.BACKEND, "backend.py:1"), (Stage.INDUCTOR, None)):
        found_at = Conclusion(stage, Symptom.WRONG_RESULT, outcome=outcome, settled=True)
        own = own_code(run, found_at)
        assert (own.place if own else None) == expected
        assert what_to_mend(run, found_at, own) == ()
        assert raised_in(RaisedException("ValueError", "no", frames("serve.py:main")), own) == "user"
    hang = Outcome(OutcomeKind.HANG)
    assert own_code(run, Conclusion(Stage.BACKEND, Symptom.HANG, outcome=hang, settled=True)) is not None


@pytest.mark.parametrize(
    ("code", "role"),
    [
        ((*ENTRY, "torch/_functorch/traced.py:inner", "pair.py:__torch_dispatch__: func(*args)"), "tensor subclass"),
        ((*LOWERING, "nms.py:lower: mul(x, y)"), "lowering"),
        ((*PASS, "fuse.py:fuse: graph.lint()"), "post-grad pass"),
        ((*ENTRY, "torch/_library/custom_ops.py:wrapped_fn", "ops.py:keep: x @ y"), "kernel"),
    ],
)
def test_code_that_torchs_exception_only_came_through_is_not_to_blame_where_a_graph_fails_without_it(
    code: tuple[str, ...], role: str
) -> None:
    """The kernel of a custom operator may stand in the graph, and what is `prepared` does what the program did to torch."""

    def told(prepared: bool, *below: str, verified: bool = True) -> str | None:
        raised = RaisedException("RuntimeError", "no", frames(*code, *below), phase="compile")
        outcome = Outcome(OutcomeKind.EXCEPTION, exception=raised)
        made = SimpleNamespace(
            verified=verified, engine="native", source="f(x)", graph=SimpleNamespace(prepared=prepared)
        )
        own = own_code(
            SimpleNamespace(reproduced=made, cases=()),
            Conclusion(Stage.INDUCTOR, Symptom.EXCEPTION, outcome=outcome, settled=True),
        )
        return own.role if own else None

    deeper = "torch/_refs/__init__.py:isneginf"
    assert told(False, deeper) == (role if role == "kernel" else None)
    assert told(True, deeper) == told(False, deeper, verified=False) == role
    assert told(False, "mine.py:helper: raise ValueError") == role


def test_whose_a_backend_is_and_where() -> None:
    own = own_backend_of(brought("accel/backend.py"))
    assert own.headline == "Fails because of your backend, backend.py:1"
    assert own.line == "backend.py:1 in accel: def accel(gm, inputs)"
    librarys = own_backend_of(brought("kernels/accel.py"))
    assert librarys.library == "kernels" and librarys.name == "kernels's backend"
    several = own_backend_of(brought("one.py", "kernels/two.py"))
    assert several.place == "one.py:1 or two.py:1" and several.library is None
    assert own_backend_of((CompileCall("cudagraphs", custom_backend=True),)) is None


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("accel/backend.py", "look at backend.py:1 first; where that is right, read report.md"),
        ("kernels/accel.py", "tell the authors of kernels, whose backend it is (accel.py:1)"),
    ],
)
def test_the_next_step_is_not_an_issue_of_pytorchs(file: str, says: str) -> None:
    verdict = ReportVerdict(Symptom.WRONG_RESULT, Stage.BACKEND)
    report = TriageReport({}, (), verdict, own_code=own_backend_of(brought(file)))
    assert _next(RunResult(report, Path("out"), 0)).startswith(says)


def test_the_cause_is_looked_at_first() -> None:
    cause = RaisedException(
        "ValueError", "no", frames(*ENTRY, "torch/library.py:inner", "pool.py:fake: raise ValueError")
    )
    outer = RaisedException("torch._dynamo.exc.TorchRuntimeError", "Dynamo failed to run FX node with fake tensors: "
                            "call_function vis.pool(*(...", frames(*ENTRY, "torch/_dynamo/utils.py:f"), cause=cause)  # fmt: skip
    own = own_code_of(outer, Stage.DYNAMO)
    assert own.role == "fake kernel" and own.operator == "vis::pool"
    assert own.headline == "Raised in the fake kernel of your custom operator `vis::pool`, pool.py:5: ValueError: no"
    assert raised_in(outer, own) == "custom_op"


def test_whose_the_innermost_line_is() -> None:
    def whose(*told: str, stage: Stage = Stage.INDUCTOR) -> str | None:
        error = RaisedException("ValueError", "no", frames(*told))
        return raised_in(error, own_code_of(error, stage))

    assert whose(*LOWERING, "nms.py:lower: raise ValueError") == "user"
    assert whose(*LOWERING, "nms.py:lower", "torch/_inductor/ir.py:make") == "torch"
    assert whose(*ENTRY, "torch/_library/custom_ops.py:wrapped_fn", "ops.py:kernel: raise ValueError") == "custom_op"
    assert whose(*ENTRY, "torch/__init__.py:__call__", "npu.py:compile: raise ValueError") == "backend"
    assert raised_in(None, None) is None


def test_the_error_is_quoted_once() -> None:
    whose = "Raised in your backend, npu.py:3: MemoryError: full"
    assert with_headline(
        whose, "`inductor` passes, the script's own backend is the first that fails, with MemoryError: full."
    ) == (f"{whose}. `inductor` passes, the script's own backend is the first that fails.")
    assert with_headline(whose, "It fails, with TorchRuntimeError: no.").endswith("with TorchRuntimeError: no.")
    assert with_headline("", "The script passes.") == "The script passes."


def stacks(*told: str) -> str:
    """As faulthandler writes them: the innermost line first, other threads before the one that the signal came to."""
    lines = [f'  File "{each.file}", line {each.line} in {each.function}' for each in reversed(frames(*told))]
    waiting = 'Thread 0x01 (most recent call first):\n  File "/home/ann/feed.py", line 3 in wait\n'
    return "\n".join([waiting, "Current thread 0x02 (most recent call first):", *lines])


RUNNING = (
    "train.py:main",
    "torch/_dynamo/eval_frame.py:compile_wrapper",
    "train.py:step",
    "torch/_dynamo/eval_frame.py:_fn",
)
CALLED = (*ENTRY, "torch/_inductor/output_code.py:__call__", "torch/_ops.py:__call__")


@pytest.mark.parametrize(
    ("told", "stage", "headline"),
    [
        ((*RUNNING, "npu.py:run"), Stage.BACKEND, "Crashes in your backend, npu.py:5: SIGSEGV"),
        ((*RUNNING, "npu.py:run"), Stage.INDUCTOR, None),
        ((*RUNNING, "npu.py:run", "torch/fx/graph_module.py:call"), Stage.BACKEND, None),
        ((*CALLED, "ops.py:kernel"), Stage.INDUCTOR, "Crashes in the kernel of your custom operator, ops.py:6: SIGSEGV"),
        ((*LOWERING, "nms.py:lower"), Stage.INDUCTOR, "Crashes in your lowering, nms.py:6: SIGSEGV"),
        (("train.py:main", "torch/autograd/function.py:apply", "ops.py:forward"), Stage.INDUCTOR, None),
        ((*RUNNING, "npu.py:run"), Stage.SCRIPT, None),
        (("train.py:main",), Stage.INDUCTOR, None),
        ((), Stage.INDUCTOR, None),
    ],
)  # fmt: skip
def test_a_process_that_died_was_in_a_line_of_somebodys(
    told: tuple[str, ...], stage: Stage, headline: str | None
) -> None:
    died = Outcome(OutcomeKind.CRASH, signal="SIGSEGV", stacks=stacks(*told))
    own = own_code_that_died(died, stage, lambda frame: f"line {frame.line}")
    assert (own.headline if own is not None else None) == headline
    assert own is None or own.line.endswith(f": line {own.place.partition(':')[2]}")


@pytest.mark.parametrize(
    ("told", "stage", "headline"),
    [
        ((*PASS, "fuse.py:settle"), Stage.INDUCTOR, "Hangs in your post-grad pass, fuse.py:6"),
        ((*LOWERING, "nms.py:lower"), Stage.INDUCTOR, "Hangs in your lowering, nms.py:6"),
        ((*PASS, "fuse.py:settle", "torch/fx/graph.py:lint"), Stage.INDUCTOR, None),  # torch's may be what does not end
        ((*CALLED, "ops.py:kernel"), Stage.INDUCTOR, None),  # a kernel may only be slow
        ((*ENTRY, "npu.py:compile"), Stage.BACKEND, None),
        ((), Stage.INDUCTOR, None),
    ],
)  # fmt: skip
def test_a_process_that_hung_was_in_a_line_of_somebodys(
    told: tuple[str, ...], stage: Stage, headline: str | None
) -> None:
    hung = Outcome(OutcomeKind.HANG, stacks=stacks(*told))
    own = own_code_that_hung(hung, stage)
    assert (own.headline if own is not None else None) == headline
    run = SimpleNamespace(operator_checks=(), reproduced=None)
    explained = [each.explains for each in what_to_mend(run, Conclusion(stage, Symptom.HANG, outcome=hung), own)]
    assert explained == ([] if own is None else [False])


def test_what_triage_put_on_the_stack_is_not_the_programs() -> None:
    step = '  File "/home/ann/train.py", line 3'
    between = f'  File "/opt/triage/agent/hooks/frames.py", line 9 in run\n{step}'
    told = stacks(*RUNNING, "npu.py:run").replace(step, between)
    own = own_code_that_died(Outcome(OutcomeKind.CRASH, signal="SIGSEGV", stacks=told), Stage.BACKEND)
    assert own.place == "npu.py:5"
    told = stacks(*PASS, "fuse.py:settle").replace(
        entry := '  File "/home/ann/train.py", line 1', f"{between[: -len(step)]}{entry}"
    )
    own = own_code_that_hung(Outcome(OutcomeKind.HANG, stacks=told), Stage.INDUCTOR)
    assert "frames.py" in told and own.call_site == "train.py:1 in main"
