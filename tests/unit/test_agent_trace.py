"""What a traced run keeps of the functions that fail. No torch here: values are written by a stub."""

import importlib
import json
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from triage.agent import boot

boot.load_agent()
lines = importlib.import_module(f"{boot.PACKAGE}.trace.lines")
recorder_module = importlib.import_module(f"{boot.PACKAGE}.hooks.recorder")
Channel = importlib.import_module(f"{boot.PACKAGE}.hooks.channel").Channel


def step(value: object) -> object:
    return value


@pytest.fixture
def tracer(tmp_path: Path) -> Any:
    recorder = recorder_module.Recorder(Channel(str(tmp_path)), {})
    wanted = [[Path(__file__).name, "step", step.__code__.co_firstlineno + 1]]
    made = lines.Tracer({"out": str(tmp_path), "roots": [], "wanted": wanted}, recorder)
    made.speller = types.SimpleNamespace(calls=lambda frame, entered: [{"args": frame.f_locals["value"]}])
    return made


def run(tracer: Any, value: object) -> None:
    """Call the wanted function and tell the tracer."""

    def on_call(frame: Any, event: str, arg: Any) -> None:
        if frame.f_code is step.__code__:
            tracer._frame(frame)

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        step(value)
    finally:
        sys.settrace(before)


def compiled(tracer: Any, *values: object) -> None:
    tracer.recorder.enter("calls")
    for value in values:
        run(tracer, value)
    tracer.recorder.leave("calls")


def kept(tracer: Any) -> list[object]:
    return [told["args"] for calls in tracer.calls.values() for told in calls]


def test_of_calls_around_a_compiled_one_the_last_counts(tracer: Any) -> None:
    run(tracer, "eager")
    run(tracer, "the one that calls what is compiled")
    compiled(tracer)
    assert kept(tracer) == ["the one that calls what is compiled"]


def test_within_a_compiled_call_the_first_counts_and_a_later_eager_one_is_another(tracer: Any) -> None:
    compiled(tracer, "first", "second")
    run(tracer, "eager")
    assert kept(tracer) == ["first", "eager"]


def test_where_no_frame_is_wanted_the_first_function_of_each_compiled_call_is_told(tracer: Any) -> None:
    tracer.wanted, tracer.roots = {}, [str(Path(__file__).parent) + os.sep]
    tracer.config["compiled"] = True

    def inner(value: object) -> object:
        return step(value)

    def call(value: object) -> None:
        tracer.recorder.enter("calls")
        inner(value)
        tracer.recorder.leave("calls")

    before = sys.gettrace()
    sys.settrace(tracer._on_call)
    try:
        call(1)
        step("eager")
        call(2)
    finally:
        sys.settrace(before)
    assert kept(tracer) == [1, 2]
    assert {key[2].co_name for key in tracer.calls} == {"inner"}


def test_a_compiled_function_is_told_as_that_where_its_own_check_is_what_fails(tracer: Any) -> None:
    """Not by its failing line, as the functions around a compiled one are."""
    tracer.config["compiled"], tracer.roots = True, [str(Path(__file__).parent) + os.sep]
    tracer.recorder.enter("calls")
    before = sys.gettrace()
    sys.settrace(tracer._on_call)
    try:
        step("checks itself")
    finally:
        sys.settrace(before)
    tracer.recorder.leave("calls")
    (told,) = [told for calls in tracer.calls.values() for told in calls]
    assert told["line"] == step.__code__.co_firstlineno


def test_whole_numbers_are_noughts_where_a_call_is_known_to_fail(tmp_path: Path) -> None:
    """Which are an index into anything; where calls are compared they show more by their range."""
    config = {"out": str(tmp_path), "roots": [], "compiled": True}
    assert not lines.Tracer(dict(config, calls=2), None).speller.ranges
    assert lines.Tracer(dict(config, calls=0), None).speller.ranges


def test_writing_what_is_called_again_and_again_has_a_limit(tracer: Any) -> None:
    run(tracer, "first")
    tracer.again = lines.AGAIN_SECONDS + 1
    run(tracer, "second")
    assert kept(tracer) == ["first"]


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The states in which the process would have ended by `os._exit`."""
    found: list[int] = []
    monkeypatch.setattr(os, "_exit", found.append)
    return found


def test_a_program_that_ends_without_exit_handlers_tells_what_was_seen(tracer: Any, left: list[int]) -> None:
    tracer._write_before_leaving()
    run(tracer, "seen")
    os._exit(3)
    facts = json.loads((Path(tracer.config["out"]) / f"executed-{os.getpid()}.json").read_text())
    assert left == [3] and [call["args"] for call in facts["calls"]] == ["seen"]


PROGRAM = """\
import multiprocessing, os, sys, types
none = {"Tensor": (), "dtype": (), "layout": (), "memory_format": (), "device": ()}
sys.modules["torch"] = types.SimpleNamespace(is_grad_enabled=lambda: True, **none)
class Size:
    pass
def step(kind, number):
    return kind
def work():
    step(Size, 3)
if __name__ == "__main__":
    for way in "spawn", "fork":
        process = multiprocessing.get_context(way).Process(target=work)
        process.start()
        process.join()
    os.system(sys.executable + " -c pass")
"""


def traced(folder: Path, text: str, **wanted: Any) -> list[dict[str, Any]]:
    """What the processes of a program wrote, the first one's first."""
    program, out = folder / "program.py", folder / "executed"
    program.write_text(text)
    out.mkdir()
    env = {
        **os.environ,
        "PYTHONPATH": str(Path(boot.__file__).parent / "site"),
        "TRIAGE_AGENT": json.dumps({"channel": str(folder)}),
        "TRIAGE_TRACE_LINES": json.dumps({"out": str(out), "roots": [str(folder)], **wanted}),
    }
    subprocess.run([sys.executable, str(program)], env=env, cwd=folder, check=True, timeout=60)
    found = [json.loads(path.read_text()) for path in out.glob("executed-*.json")]
    return sorted(found, key=lambda facts: (len(facts["calls"]), facts["began"]))


@pytest.fixture
def processes(tmp_path: Path) -> list[dict[str, Any]]:
    return traced(tmp_path, PROGRAM, wanted=[["program.py", "step", 7]], calls=1)


def test_each_process_that_executed_something_of_the_program_tells_of_it(processes: list[dict[str, Any]]) -> None:
    first, *others = processes
    assert 12 in first["lines"][first["main"][0]] and not first["calls"]
    assert len(others) == 2 and all(7 in facts["lines"][first["main"][0]] for facts in others)


def test_a_spawned_process_calls_the_main_script_as_the_first_one_does(processes: list[dict[str, Any]]) -> None:
    first = processes[0]
    for facts in processes[1:]:
        call = facts["calls"][0]
        assert (call["call"], call["module"]) == ("<<__main__:step>>", "__main__")
        assert call["args"] == "<<__main__:Size>>, 3"
        assert facts["main"] == first["main"] and facts["modules"]["__main__"] == first["modules"]["__main__"]


def test_the_agent_is_no_part_of_the_program(tmp_path: Path) -> None:
    made = lines.Tracer({"out": str(tmp_path), "roots": [str(Path(__file__).parents[2])]}, None)
    assert made._kind(__file__) == lines.MINE and made._kind(lines.__file__) == lines.OTHER


def test_a_child_tells_what_is_settled_before_it_can_be_killed(tracer: Any) -> None:
    tracer.config.update(child=True, calls=1)
    tracer.recorder.at_leave.append(tracer._left)
    compiled(tracer, "seen")
    assert [path.name for path in Path(tracer.config["out"]).glob("executed-*")] == [f"executed-{os.getpid()}.json"]


def test_what_is_executed_in_a_namespace_of_its_own_is_a_program(tmp_path: Path) -> None:
    """Not what runs among the names of the program, nor what is no text of the program's: the methods of a dataclass."""
    text = (
        "from __future__ import annotations\nimport dataclasses\nspace = {}\n"
        "for n, cell in enumerate(['x = 1', 'def f(y):\\n    return y + x\\n', 'f(2)']):\n"
        "    exec(compile(cell, f'<cell {n}>', 'exec'), space)\n"
        "exec('z = f(3)', space)\neval('z + 1', space)\nexec('here = 1')\n"
        "@dataclasses.dataclass\nclass Point:\n    a: int\n"
    )
    (facts,) = traced(tmp_path, text)
    assert facts["texts"] == ["x = 1\ndef f(y):\n    return y + x\nf(2)\nz = f(3)\n"]
