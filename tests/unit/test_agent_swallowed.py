"""What Dynamo swallows is recorded, in the shape `torch._dynamo.convert_frame` has now and in that before 2.3. No torch here."""

import importlib
import threading
import types
from typing import Any

import pytest

from triage.agent import boot

boot.load_agent()
frames = importlib.import_module(f"{boot.PACKAGE}.hooks.frames")
describe_exception = importlib.import_module(f"{boot.PACKAGE}.capture.exception")


class Unsupported(Exception):  # noqa: N818  it is known by this name
    """A graph break: not a failure."""


class Recorder:
    passed_over = ()

    def __init__(self) -> None:
        self.marked: list[str] = []
        self.said: list[tuple[str, str, bool]] = []

    def mark(self, error: Exception, **facts: str) -> None:
        self.marked.append(facts["phase"])

    def raised(self, error: Exception, phase: str, swallowed: bool = False) -> None:
        self.said.append((str(error), phase, swallowed))


def of_now(suppress: bool) -> types.ModuleType:
    module = types.ModuleType("convert_frame")

    class ConvertFrameAssert:
        def __call__(self, error: Exception | None) -> str:
            if error is not None:
                raise error
            return "code"

    class ConvertFrame:
        def __call__(self, error: Exception | None) -> str | None:
            try:
                return module.ConvertFrameAssert()(error)
            except Exception as caught:
                if suppress or isinstance(caught, Unsupported):
                    return None
                raise

    module.ConvertFrameAssert, module.ConvertFrame = ConvertFrameAssert, ConvertFrame
    module.run = lambda error: module.ConvertFrame()(error)  # noqa: PLW0108
    return module


def of_before(suppress: bool) -> types.ModuleType:
    now = of_now(suppress)
    module = types.ModuleType("convert_frame")
    module.convert_frame_assert = lambda: now.ConvertFrameAssert.__call__.__get__(now.ConvertFrameAssert())

    def convert_frame() -> Any:
        inner = module.convert_frame_assert()

        def call(error: Exception | None) -> str | None:
            try:
                return inner(error)
            except Exception as caught:
                if suppress or isinstance(caught, Unsupported):
                    return None
                raise

        return call

    module.convert_frame = convert_frame
    module.run = lambda error: module.convert_frame()(error)  # noqa: PLW0108
    return module


both = pytest.mark.parametrize("shape", [of_now, of_before])


@both
def test_what_is_suppressed_is_recorded(shape: Any) -> None:
    module, recorder = shape(suppress=True), Recorder()
    frames.patch_convert_frame(module, recorder)
    assert module.run(ValueError("lost")) is None
    assert recorder.said == [("lost", "compile", True)] and recorder.marked == ["compile"]
    assert module.run(None) == "code" and len(recorder.said) == 1


@both
def test_what_is_raised_on_is_left_to_its_boundary(shape: Any) -> None:
    module, recorder = shape(suppress=False), Recorder()
    frames.patch_convert_frame(module, recorder)
    with pytest.raises(ValueError):
        module.run(ValueError("told"))
    assert recorder.said == [] and recorder.marked == ["compile"]


@both
def test_a_graph_break_is_no_failure(shape: Any) -> None:
    module, recorder = shape(suppress=False), Recorder()
    frames.patch_convert_frame(module, recorder)
    assert module.run(Unsupported("print")) is None
    assert recorder.said == []


def test_threads_do_not_see_each_others_errors() -> None:
    module, recorder = of_now(suppress=True), Recorder()
    inside, go_on = threading.Event(), threading.Event()
    original = module.ConvertFrameAssert.__call__

    def slow(self: Any, error: Exception | None) -> str:
        if error is None:
            inside.set()
            go_on.wait(5)
        return original(self, error)

    module.ConvertFrameAssert.__call__ = slow
    frames.patch_convert_frame(module, recorder)
    other = threading.Thread(target=module.run, args=(None,))
    other.start()
    inside.wait(5)
    module.run(ValueError("mine"))
    go_on.set()
    other.join()
    assert recorder.said == [("mine", "compile", True)]


def test_a_long_message_keeps_both_ends_and_the_compilers_errors() -> None:
    note = "main.cpp:1:1: note: candidate\n"
    text = "begin\n" + note * 3000 + "main.cpp:21:58: error: no matching function\n" + note * 3000 + "end"
    found = describe_exception.describe(RuntimeError(text), "call")["message"]
    assert len(found) < 25_000
    assert found.startswith("begin") and found.endswith("end")
    assert "main.cpp:21:58: error: no matching function" in found and "characters left out" in found


class Recording:
    """As torch.cuda.graph: its end says that something was wrong before."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        raise RuntimeError("CUDA error: operation failed due to a previous error during capture\nSearch for ...")


def test_what_a_recording_was_spoiled_by_is_told_with_its_end() -> None:
    try:
        with Recording():
            raise ValueError("CUDA error: operation not permitted when stream is capturing")
    except RuntimeError as error:
        found = describe_exception.describe(error, "call")
    assert found["cause"]["type"] == "ValueError" and found["cause"]["frames"]


def test_what_follows_a_break_is_told_as_part_of_its_function():
    """Dynamo's name of it has a line in it, and no run without a compiler knows it."""
    text = (
        'failed\n\nfrom user code:\n   File "net.py", line 20, in torch_dynamo_resume_in_forward_at_18\n    y = x + 1\n'
    )
    (frame,) = describe_exception.describe(RuntimeError(text), "compile")["user_code"]
    assert (frame["function"], frame["line"]) == ("forward", 20)
    twice = "torch_dynamo_resume_in_torch_dynamo_resume_in_step_at_4_at_9"
    assert describe_exception.function_of(twice) == "step"
