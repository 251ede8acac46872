"""What fails behind another door of the compiler is not the script's fault."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from triage.agent.hooks import doors
from triage.judge.signature import signature_of
from triage.locate.conclude import conclude
from triage.model.outcome import AgentNotes, Frame, Outcome, RaisedException
from triage.model.rungs import LADDER, UNCOMPILED
from triage.model.stage import OutcomeKind, OwnFault, Stage
from triage.probe.run import Probe
from triage.stories.headline import summary_sentence

TORCH = "/v/lib/python3.11/site-packages/torch/"
USER = Frame("/home/me/serve.py", 9, "<module>", "export(model)")
LIBRARY = Frame("/v/lib/python3.11/site-packages/sympy/logic/boolalg.py", 266, "__lt__")
EXPORT = ("export/__init__.py", "export")
AOTI = ("_inductor/__init__.py", "aoti_compile_and_package")
ONNX = ("onnx/__init__.py", "export")
DYNAMO = ("_dynamo/symbolic_convert.py", "run")
FAKE = ("_subclasses/fake_tensor.py", "dispatch")
SYMPY = ("utils/_sympy/functions.py", "eval")


def seen(*frames: tuple[str, str], last: tuple[Frame, ...] = (), error: str = "RuntimeError") -> dict[str, list[Probe]]:
    found = [USER, *(Frame(TORCH + file, 1, function) for file, function in frames), *last]
    outcome = Outcome(OutcomeKind.EXCEPTION, exception=RaisedException(error, "no", tuple(found)))
    probe = Probe("uncompiled", "uncompiled", outcome, signature_of(outcome), AgentNotes(started=True), None, ())
    return {UNCOMPILED.name: [probe]}


@pytest.mark.parametrize(
    ("frames", "name", "stage"),
    [
        ([EXPORT, DYNAMO], "torch.export", Stage.DYNAMO),
        ([EXPORT, ("_decomp/decompositions.py", "addr")], "torch.export", Stage.DECOMP_PARTITION),
        ([EXPORT, ("fx/experimental/symbolic_shapes.py", "evaluate_expr")], "torch.export", Stage.NONE),
        ([AOTI, ("_inductor/ir.py", "realize")], "AOTInductor", Stage.INDUCTOR),
        ([AOTI, ("_inductor/codegen/cpp.py", "define"), *[SYMPY] * 3], "AOTInductor", Stage.INDUCTOR),
        ([EXPORT, DYNAMO, *[FAKE] * 3], "torch.export", Stage.DYNAMO),
        ([EXPORT, *[FAKE] * 3], "torch.export", Stage.NONE),
        ([ONNX, EXPORT, DYNAMO], "torch.onnx.export", Stage.DYNAMO),
        ([("jit/_script.py", "script"), ("jit/frontend.py", "build")], "torch.jit", Stage.NONE),
    ],
)
def test_the_door_and_the_stage_are_named(frames: list[tuple[str, str]], name: str, stage: Stage) -> None:
    probes = seen(*frames)
    found = conclude(LADDER, len(LADDER) - 1, probes)
    assert (found.door.name, found.stage) == (name, stage)
    assert found.fails_uncompiled
    said = summary_sentence(found, probes[UNCOMPILED.name][0], None)
    assert f"fails in {name}" in said
    assert "not to blame" not in said


def test_a_door_that_torch_goes_through_by_itself_is_none_of_the_programs() -> None:
    """The backward of `torch.cond` traces its branches, also where nothing is compiled."""
    probes = seen(
        ("_higher_order_ops/cond.py", "forward"), ("fx/experimental/proxy_tensor.py", "wrapped"), error="AssertionError"
    )
    found = conclude(LADDER, len(LADDER) - 1, probes)
    assert (found.door, found.stage, found.own_fault) == (None, Stage.SCRIPT, OwnFault.UNCOMPILED)


def test_what_the_programs_own_code_raises_behind_a_door_is_its_own() -> None:
    assert conclude(LADDER, 4, seen(EXPORT, last=(USER,))).stage is Stage.SCRIPT
    assert conclude(LADDER, 4, seen(EXPORT, last=(USER, LIBRARY))).stage is Stage.SCRIPT


def test_a_library_that_torch_calls_is_part_of_it() -> None:
    found = conclude(LADDER, 4, seen(AOTI, ("_inductor/loop_body.py", "run_node"), last=(LIBRARY,)))
    assert (found.door.name, found.stage) == ("AOTInductor", Stage.INDUCTOR)


def test_a_program_that_is_traced_is_not_failed_by_who_traces_it() -> None:
    traced = Frame("/home/me/net.py", 4, "forward")
    shapes = Frame(TORCH + "fx/experimental/symbolic_shapes.py", 1, "evaluate_expr")
    found = conclude(LADDER, 4, seen(EXPORT, ("_functorch/aot_autograd.py", "trace"), last=(traced, *[shapes] * 3)))
    assert (found.door.name, found.stage) == ("torch.export", Stage.NONE)


def test_a_missing_package_is_no_failure_of_the_compiler() -> None:
    assert conclude(LADDER, 4, seen(ONNX, error="ModuleNotFoundError")).door is None


def test_torch_without_a_door_is_the_scripts_fault() -> None:
    assert conclude(LADDER, 4, seen(("nn/functional.py", "linear"))).door is None


class Program:
    """What torch.export gives: not to be called itself."""

    example_inputs = ((2, 3), {"scale": 4})

    def __init__(self, model: Any) -> None:
        self.model = model

    def module(self) -> Any:
        return self.model


def model(*args: Any, **kwargs: Any) -> None:
    CALLED.append((args, kwargs))


CALLED: list[Any] = []


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((model, (2, 3), {"scale": 4}), {}),
        ((model, (2, 3), "model.onnx"), {"kwargs": {"scale": 4}}),
        ((model,), {"args": (2, 3), "kwargs": {"scale": 4}, "strict": True}),
        ((), {"model": model, "args": (2, 3), "kwargs": {"scale": 4}, "f": "model.onnx"}),
        ((Program(model),), {"f": "model.onnx"}),
        ((), {"model": Program(model), "f": "model.onnx"}),
    ],
)
def test_the_door_is_replaced_however_it_is_called(
    monkeypatch: pytest.MonkeyPatch, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    def export(model: Any, args: tuple[Any, ...] = (), f: str | None = None, *, kwargs: Any = None) -> None:
        raise AssertionError("the door itself")

    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(__file__="/v/torch/__init__.py"))
    CALLED.clear()
    module = SimpleNamespace(export=export)
    doors.patches("torch.onnx.export")["torch.onnx"](module)
    with pytest.raises(SystemExit) as ended:
        module.export(*args, **kwargs)
    assert ended.value.code == 0 and CALLED == [((2, 3), {"scale": 4})]
