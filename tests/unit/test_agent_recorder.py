"""What the agent remembers and says: calls, backward passes, exceptions, and when it ends a program early. No torch here."""

import concurrent.futures
import functools
import importlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from triage.agent import boot

boot.load_agent()
recorder_module = importlib.import_module(f"{boot.PACKAGE}.hooks.recorder")
Channel = importlib.import_module(f"{boot.PACKAGE}.hooks.channel").Channel


class Ended(BaseException):
    """In the place of an end."""


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def leave(status: int) -> None:
        raise Ended(status)

    monkeypatch.setattr(recorder_module.leaving, "let_go", leave)
    return lambda **config: recorder_module.Recorder(Channel(str(tmp_path)), config)


def events(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in folder.glob("events-*.jsonl") for line in path.read_text().splitlines()]


def call(recorder: Any, backward: bool = False) -> None:
    recorder.enter("calls")
    if backward:  # AOTAutograd runs one while it traces
        recorder.enter("backwards")
        recorder.leave("backwards")
    recorder.leave("calls")


def test_nested_calls_and_backward_passes_inside_calls_do_not_count(make: Any) -> None:
    recorder = make()
    recorder.enter("calls")
    call(recorder, backward=True)
    recorder.leave("calls")
    recorder.enter("backwards")
    recorder.leave("backwards")
    assert (recorder.calls, recorder.backwards) == (1, 1)


def test_a_call_that_mostly_waits_is_no_measure_of_a_step(make: Any, monkeypatch: Any, tmp_path: Path) -> None:
    """Beside other programs the threads of a small operation wait a hundred milliseconds for each other."""
    wall, worked = [0.0], [0.0]
    clocks = types.SimpleNamespace(
        perf_counter=lambda: wall[0], process_time=lambda: worked[0], time=lambda: 0.0, monotonic=lambda: 0.0
    )
    monkeypatch.setattr(recorder_module, "time", clocks)
    recorder = make(timed=True)
    for seconds, work in [(9.0, 9.0), (0.1, 0.1), (200.0, 20.0), (0.3, 0.2), (300.0, 30.0), (0.2, 0.4), (400.0, 40.0)]:
        recorder.enter("calls")
        wall[0], worked[0] = wall[0] + seconds, worked[0] + work
        recorder.leave("calls")
    recorder.end()
    [steps] = [event for event in events(tmp_path) if event["e"] == "steps"]
    assert (steps["calls"], round(steps["call"], 3)) == (7, 0.2)


class Limit:
    def __call__(self, number: int, frame: Any) -> None:
        raise TimeoutError("late")

    def ends(self, hint: str, number: int, frame: Any) -> None:
        raise TimeoutError(hint)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGUSR1")
@pytest.mark.parametrize("handler", [Limit(), functools.partial(Limit().ends, "late"), lambda number, frame: 1 / 0])
def test_what_a_signal_calls_is_known_in_a_traceback(make: Any, tmp_path: Path, handler: Any) -> None:
    recorder, earlier = make(), signal.signal(signal.SIGUSR1, handler)
    try:
        signal.raise_signal(signal.SIGUSR1)
    except (TimeoutError, ZeroDivisionError) as error:
        recorder.raised(error, "call")
    finally:
        signal.signal(signal.SIGUSR1, earlier)
    handlers = [frame["handler"] for frame in events(tmp_path)[0]["exception"]["frames"]]
    assert handlers[-1] and not any(handlers[:-1])


def test_an_exception_is_told_once_and_then_by_its_number(make: Any, tmp_path: Path) -> None:
    recorder = make()
    error = ValueError("bad")
    recorder.mark(error, phase="compile", graph="graph-000.json")
    recorder.mark(error, phase="call")  # the first word stays
    recorder.raised(error, "call")
    recorder.raised(error, "backward")
    recorder.uncaught(error)
    said = events(tmp_path)
    assert [(event["e"], event["phase"], event["id"], event["pid"]) for event in said] == [
        ("raised", "call", 1, os.getpid()),
        ("raised_again", "backward", 1, os.getpid()),
        ("raised_again", "uncaught", 1, os.getpid()),
    ]
    assert said[0]["exception"]["phase"] == "compile" and said[0]["graph"] == "graph-000.json"


def test_what_a_comparison_runs_is_not_the_programs(make: Any, tmp_path: Path) -> None:
    boundary = importlib.import_module(f"{boot.PACKAGE}.hooks.boundary")
    recorder = make()
    error, comparing = RuntimeError("element 2 of tensors does not require grad"), [True]
    recorder.comparer = types.SimpleNamespace(compares=lambda: comparing[0], backward_ended=lambda: None)

    def backward(*args: Any, create_graph: bool = False) -> None:
        raise error

    watched = boundary._watched_backward(backward, recorder)
    for expected in (0, 1):
        with pytest.raises(RuntimeError):
            watched(create_graph=True)
        assert (recorder.backwards, recorder.double_backward, len(events(tmp_path))) == (
            expected,
            bool(expected),
            expected,
        )
        comparing[0] = False


def test_what_it_was_raised_from_is_told(make: Any, tmp_path: Path) -> None:
    recorder = make()
    try:
        try:
            raise KeyError("inner")
        except KeyError as inner:
            recorder.raised(inner, "call")
            raise RuntimeError("outer") from inner
    except RuntimeError as outer:
        recorder.uncaught(outer)
    assert events(tmp_path)[1]["chain"] == [[os.getpid(), 1]]


def test_what_a_pool_hands_over_is_known_by_the_process_that_recorded_it(make: Any, tmp_path: Path) -> None:
    worker, error = make(), ValueError("bad")
    worker.raised(error, "call")
    error.__dict__["_triage_facts"]["pid"] = 7  # as pickle brings it
    asked = make()
    asked.uncaught(error)
    asked.raised(KeyError("other"), "call")
    assert [(event["e"], event["id"], event["pid"]) for event in events(tmp_path)] == [
        ("raised", 1, os.getpid()),
        ("raised_again", 1, 7),
        ("raised", 1, os.getpid()),
    ]


@pytest.mark.parametrize("title", ["User stack:", "User Stack (most recent call last):", "Original traceback:"])
def test_the_lines_that_the_compiler_names_in_its_message_are_the_programs(
    make: Any, tmp_path: Path, title: str
) -> None:
    told = f'Constraints violated\n\n{title}\n  File "net.py", line 7, in forward\n    self.k.index_copy_(2, pos, k)\n'
    make().raised(ValueError(told), "call")
    (said,) = events(tmp_path)
    assert [(frame["file"], frame["line"]) for frame in said["exception"]["user_code"]] == [("net.py", 7)]


def _fails(text: str) -> None:
    raise ValueError(text)


def test_the_traceback_of_another_process_goes_on_where_this_ones_ends(make: Any, tmp_path: Path) -> None:
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        by_pool = pool.submit(_fails, "in a pool").exception()
    in_message = RuntimeError(
        "Caught KeyError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):\n"
        '  File "data.py", line 3, in __getitem__\n    return self.rows[i]\nKeyError: 7\n'
    )
    recorder = make()
    for error in (by_pool, in_message):
        recorder.raised(error, "uncaught")
    frames = [
        [tuple(frame[k] for k in ("file", "function")) for frame in event["exception"]["frames"]]
        for event in events(tmp_path)
    ]
    assert [path[-1] for path in frames] == [(__file__, "_fails"), ("data.py", "__getitem__")]


def test_what_ends_a_process_of_multiprocessing_is_told_by_that_process(make: Any, tmp_path: Path) -> None:
    class Process:
        """As `multiprocessing.process` has it: what leaves `run` is printed, and becomes a status."""

        def _bootstrap(self) -> int:
            try:
                self.run()
            except ValueError:
                return 1
            return 0

        def run(self) -> None:
            raise ValueError("no such row")

    class Fine(Process):
        def run(self) -> None:
            pass

    hook = importlib.import_module(f"{boot.PACKAGE}.hooks.processes")
    hook.patch(types.SimpleNamespace(BaseProcess=Process), make())
    assert (Fine()._bootstrap(), Process()._bootstrap()) == (0, 1)
    (told,) = events(tmp_path)
    assert (told["phase"], told["exception"]["message"]) == ("uncaught", "no such row")


def test_the_end_of_a_program_by_its_own_will_is_no_exception(make: Any, tmp_path: Path) -> None:
    recorder = make()
    recorder.uncaught(SystemExit(3))
    recorder.uncaught(KeyboardInterrupt())
    assert events(tmp_path) == []


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (17, "exit status 17"),
        (-1, "exit status 255"),
        ("no kernel", "exit status 1: no kernel"),
        (0, None),
        (None, None),
    ],
)
@pytest.mark.parametrize("backward", [False, True])
def test_an_exit_that_leaves_compiled_code_is_recorded_and_raised_on(
    make: Any, tmp_path: Path, code: Any, told: str | None, backward: bool
) -> None:
    boundary = importlib.import_module(f"{boot.PACKAGE}.hooks.boundary")
    recorder = make()

    def function() -> None:
        sys.exit(code)

    watched = (
        boundary._watched_backward(function, recorder) if backward else boundary._watched(function, recorder, None, {})
    )
    with pytest.raises(SystemExit) as ended:
        watched()
    assert ended.value.code == code
    said = [each["exception"] for each in events(tmp_path)]
    assert [(each["type"], each["message"]) for each in said] == ([("SystemExit", told)] if told else [])
    assert all(each["frames"][-1]["code"] == "sys.exit(code)" for each in said)


def test_a_flood_of_exceptions_is_bounded(make: Any, tmp_path: Path) -> None:
    recorder = make()
    for number in range(1000):
        recorder.raised(ValueError(number), "call")
    assert len(events(tmp_path)) == recorder_module.EVENT_LIMIT


def test_an_exception_that_cannot_be_described_ends_nothing(make: Any, tmp_path: Path) -> None:
    class OddError(Exception):
        def __str__(self) -> str:
            raise TypeError("no text")

    make().raised(OddError(), "call")
    assert "could not be read" in events(tmp_path)[0]["exception"]["message"]


def test_a_directory_that_went_away_ends_nothing(tmp_path: Path) -> None:
    channel = Channel(str(tmp_path / "gone"))
    channel.say("breadcrumb", text="x")
    assert channel.put("graph.json", "{}") is None


STOP = {"stop_after": {"calls": 3, "backwards": 1}}


def test_a_program_that_is_past_the_failure_is_ended(make: Any, tmp_path: Path) -> None:
    recorder = make(**STOP)
    for _ in range(8):
        call(recorder)  # no backward pass has begun yet
    recorder.enter("backwards")
    recorder.leave("backwards")
    with pytest.raises(Ended) as ended:
        call(recorder)
    assert ended.value.args == (0,)
    assert [event["e"] for event in events(tmp_path)] == ["stopped_early", "end"]


def test_the_call_that_failed_and_the_one_after_it_have_returned(make: Any) -> None:
    recorder = make(stop_after={"calls": 3, "backwards": 0})
    for _ in range(4):
        call(recorder)
    with pytest.raises(Ended):
        call(recorder)


def test_a_rank_is_not_ended_alone(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    group = types.SimpleNamespace(is_available=lambda: True, is_initialized=lambda: True, get_rank=lambda: 1)
    monkeypatch.setitem(sys.modules, "torch.distributed", group)
    recorder = make(stop_after={"calls": 0, "backwards": 0})
    for _ in range(5):
        call(recorder)
    assert recorder.calls == 5


def test_a_worker_is_not_ended_alone(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing.process, "parent_process", object)
    recorder = make(stop_after={"calls": 0, "backwards": 0})
    for _ in range(5):
        call(recorder)
    monkeypatch.undo()
    forked = make(stop_after={"calls": 0, "backwards": 0})
    forked._pid = 1
    call(forked)
    call(forked)
    assert (recorder.calls, forked.calls) == (5, 2)


LEAVES = """
import atexit, importlib, sys, threading
from triage.agent import boot

boot.load_agent()
hooks = (importlib.import_module(f"{boot.PACKAGE}.hooks.{name}") for name in ("recorder", "leaving", "channel"))
recorder, leaving, channel = hooks
recorder.THREADS_SECONDS, leaving.LAST_SECONDS = 0.1, 0.5
watched = recorder.Recorder(channel.Channel(sys.argv[1]), {})
atexit.register(print, "unlocked")
"""


@pytest.mark.parametrize(
    ("ends", "status"),
    [
        ("watched.leave_early()", 0),
        ("atexit.register(threading.Event().wait)\natexit.register(print, 'unlocked')\nwatched.leave_early()", 0),
        # the main thread has died, and another one never ends: so it would go on without us
        (
            "threading.Thread(target=threading.Event().wait).start()\n"
            "watched.uncaught(ValueError('late'))\nwatched.main_thread_ended()",
            1,
        ),
        # the same as Python 3.12 has it, which begins no thread any more
        (
            "threading.Thread(target=threading.Event().wait).start()\n"
            'def start(self): raise RuntimeError("can\'t create new thread at interpreter shutdown")\n'
            "threading.Timer.start = start\natexit.register(threading.Event().wait)\natexit.register(print, 'unlocked')\n"
            "watched.uncaught(ValueError('late'))\nwatched.main_thread_ended()",
            1,
        ),
    ],
)
def test_what_the_program_asked_for_at_its_end_is_done_where_it_is_ended_early(
    tmp_path: Path, ends: str, status: int
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEAVES + ends, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (status, "unlocked\n"), done.stderr
    assert ("stopped_early" in [event["e"] for event in events(tmp_path)]) == (status == 0)


FORKS = """
hook = importlib.import_module(f"{boot.PACKAGE}.hooks.hook")
import multiprocessing, os
hook._before_leaving(watched)
def work():
    watched.calls += 2
watched.calls = 3
workers = [multiprocessing.get_context("fork").Process(target=work), multiprocessing.get_context("fork").Process(target=print)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
watched.calls += 1
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
@pytest.mark.parametrize("ends", ["os._exit(0)", "watched.end()\nos._exit(0)"])
def test_what_forked_workers_counted_is_known_and_counts_once(tmp_path: Path, ends: str) -> None:
    """They end by `os._exit`, as programs may, too: where only workers compiled, nothing was said to be."""
    subprocess.run(
        [sys.executable, "-c", LEAVES + FORKS + ends, str(tmp_path)], capture_output=True, timeout=60, check=True
    )
    assert sorted(event["calls"] for event in events(tmp_path) if event["e"] == "end") == [2, 4]


@pytest.mark.filterwarnings("ignore")
def test_what_watches_a_backward_pass_is_not_compiled(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a graph break Dynamo looks at each frame that is called: ours were compiled, and their breaks told."""
    torch = pytest.importorskip("torch")
    counters = importlib.import_module("torch._dynamo.utils").counters
    boundary = importlib.import_module(f"{boot.PACKAGE}.hooks.boundary")
    frames = importlib.import_module(f"{boot.PACKAGE}.hooks.frames")

    def looked_at() -> int:
        def hook(gradient: Any) -> Any:
            raise ValueError("bad")

        def step(x: Any) -> Any:
            h = x * x
            torch._dynamo.graph_break()
            h.register_hook(hook)
            return torch.autograd.grad(h.sum(), x)

        torch._dynamo.reset()
        counters.clear()
        with pytest.raises(ValueError, match="bad"):
            torch.compile(step, backend="eager")(torch.ones(2, requires_grad=True))
        return int(counters["frames"]["total"])

    alone, recorder = looked_at(), make()
    watched = boundary._watched_backward(torch.autograd.graph._engine_run_backward, recorder)
    for function in recorder.passed_over:
        frames.compat.pass_over(function)
    monkeypatch.setattr(torch.autograd, "_engine_run_backward", watched)
    monkeypatch.setattr(torch.autograd.graph, "_engine_run_backward", watched)
    assert looked_at() == alone and recorder.backwards == 1
