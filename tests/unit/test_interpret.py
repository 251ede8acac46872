"""From what a process left behind to an outcome: exit status, events, output."""

from dataclasses import replace

import pytest
from agent_events import again, error, event, outcome, raised

from triage.judge.naming import headline
from triage.judge.signature import ENDED, signature_of
from triage.model.outcome import AgentNotes, Outcome, RaisedException
from triage.model.stage import OutcomeKind
from triage.probe.interpret import outcome_of
from triage.probe.launch import Exit
from triage.probe.notes import agent_notes

TRACEBACK = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    main()\n{}\n'


def test_a_program_that_ends_well() -> None:
    assert outcome(0) == Outcome(OutcomeKind.OK, 3.0, 0)


def test_an_uncaught_exception() -> None:
    found = outcome(1, raised(), again())
    assert found.kind is OutcomeKind.EXCEPTION
    assert (found.exception.phase, found.exception.swallowed, found.exception.ended) == ("call", False, "uncaught")


def test_a_caught_exception_counts_but_not_without_a_compiler() -> None:
    found = outcome(0, raised())
    assert found.kind is OutcomeKind.EXCEPTION and found.exception.swallowed
    assert outcome(0, raised(), uncompiled=True).kind is OutcomeKind.OK


def test_what_ends_the_program_goes_before_what_it_handles() -> None:
    found = outcome(1, raised(1, message="handled"), raised(2, message="fatal"), again(2))
    assert found.exception.message == "fatal"


def test_an_exception_of_the_programs_own_only_passes_the_compiled_one_on() -> None:
    found = outcome(1, raised(1, message="compiler"), raised(2, "uncaught", message="step failed", chain=(1,)))
    assert found.exception.message == "compiler" and not found.exception.swallowed


def test_numbers_of_two_processes_are_kept_apart() -> None:
    notes = agent_notes([raised(1, pid=10, message="first"), raised(1, pid=11, message="second"), again(1, pid=10)])
    assert [(found.message, found.swallowed) for found in notes.raised] == [("first", False), ("second", True)]


def test_a_status_that_a_pipe_has_lost() -> None:
    """`python train.py | tee log`: the shell ends with 0."""
    assert outcome(0, raised(), again()).kind is OutcomeKind.EXCEPTION
    assert outcome(0, raised(), again(), uncompiled=True).kind is OutcomeKind.EXCEPTION
    helper = raised(1, "uncaught", kind="ImportError")  # a process that the program tried something in
    assert outcome(0, helper).kind is OutcomeKind.OK


def test_an_expected_failure_of_a_test_is_none() -> None:
    assert outcome(0, raised(), again(1, "test")).kind is OutcomeKind.OK
    assert outcome(1, raised(), again(1, "test")).kind is OutcomeKind.EXCEPTION


@pytest.mark.parametrize(
    ("code", "name"), [(-11, "SIGSEGV"), (139, "SIGSEGV"), (-6, "SIGABRT"), (134, "SIGABRT"), (-8, "SIGFPE")]
)
def test_signals_also_through_a_shell(code: int, name: str) -> None:
    found = outcome(code, event("breadcrumb", text="run graph 0/0"))
    assert (found.kind, found.signal, found.detail) == (OutcomeKind.CRASH, name, "run graph 0/0")


def test_the_telling_line_of_an_abort() -> None:
    stderr = "warming up\nterminate called after throwing an instance of 'c10::Error'\n"
    stderr += "  what():  kernel, x.cpp:3, index out of bounds\n"
    assert outcome(-6, stderr=stderr).detail == "what():  kernel, x.cpp:3, index out of bounds"
    assert outcome(-6, stdout=stderr).detail == "what():  kernel, x.cpp:3, index out of bounds"
    torn = "terminate called after throwing an instance of 'terminate called recursively\n"
    assert outcome(-6, stderr=torn).detail == outcome(-6, stderr="terminate called recursively\n").detail
    assert outcome(134, stderr="run.sh: line 1: 77 Segmentation fault (core dumped)").detail == "SIGABRT"


def test_an_abort_after_an_uncaught_exception_is_its_aftermath() -> None:
    found = outcome(-6, raised(), again(), stderr="terminate called without an active exception\n")
    assert (found.kind, found.signal) == (OutcomeKind.EXCEPTION, "SIGABRT")


def test_a_crash_while_python_lets_go_is_not_laid_to_what_was_compiled_last() -> None:
    said = event("breadcrumb", text="inductor compiles backward graph 0/0")
    for events, told in (([said], "SIGBUS while compiling"), ([said, event("main_ended", pid=10)], f"SIGBUS {ENDED}")):
        signature = signature_of(outcome(-7, *events))
        assert headline(signature.exception_type, signature.message) == told


def test_the_programs_own_alarm_that_comes_after_its_end_is_no_crash() -> None:
    """Its handler of the signal has gone by then, and what was compiled takes time to let go of."""
    assert outcome(-14, event("main_ended", pid=10)) == Outcome(OutcomeKind.OK, 3.0, -14)
    assert outcome(-14, raised(), event("main_ended", pid=10)).kind is OutcomeKind.EXCEPTION
    assert outcome(-14).kind is OutcomeKind.CRASH


def test_a_crash_after_a_handled_exception_is_a_crash() -> None:
    assert outcome(-11, raised()).kind is OutcomeKind.CRASH


def test_the_system_kills_for_memory() -> None:
    found = outcome(-9, event("breadcrumb", text="compile graph 0/0"))
    assert found.kind is OutcomeKind.OOM and "compile graph 0/0" in found.detail


def test_a_launcher_that_was_ended_at_its_limit_had_hung() -> None:
    kind = "torch.distributed.elastic.multiprocessing.api.SignalException"
    found = outcome(1, raised(1, "uncaught", kind=kind, message="Process 7 got signal: 15"), timed_out=True)
    assert found.kind is OutcomeKind.HANG


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("torch.OutOfMemoryError", "CUDA out of memory."),
        ("torch.cuda.OutOfMemoryError", "x"),
        ("MemoryError", ""),
        (
            "RuntimeError",
            "[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried",
        ),
    ],
)
def test_exceptions_for_want_of_memory(kind: str, message: str) -> None:
    assert outcome(1, raised(kind=kind, message=message), again()).kind is OutcomeKind.OOM


@pytest.mark.parametrize(
    "message",
    [
        "Tensor-likes are not close!\n\nMismatched elements: 3 / 12",
        "Scalars are not equal!\n\nExpected 1 but got 2.",
        "\nNot equal to tolerance rtol=1e-07, atol=0\n",
        "\nArrays are not almost equal to 6 decimals",
    ],
)
def test_a_failed_comparison_is_a_wrong_result(message: str) -> None:
    assert outcome(1, raised(1, "uncaught", kind="AssertionError", message=message)).kind is OutcomeKind.WRONG_RESULT
    assert outcome(1, raised(1, "uncaught", kind="ValueError", message=message)).kind is OutcomeKind.EXCEPTION


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ('assert torch.allclose(y, expected), f"stream leaked: {stats}"', OutcomeKind.WRONG_RESULT),
        ("assert torch.equal(fast(x), slow(x)), told", OutcomeKind.WRONG_RESULT),
        ("assert np.allclose(a, b), told", OutcomeKind.WRONG_RESULT),
        ("assert not torch.equal(a, b), told", OutcomeKind.EXCEPTION),
        ("assert calls == 2, told", OutcomeKind.EXCEPTION),
        ("raise AssertionError(told)", OutcomeKind.EXCEPTION),
        ("", OutcomeKind.EXCEPTION),
    ],
)
def test_an_assertion_with_words_of_its_own_is_known_by_its_line(code: str, kind: OutcomeKind) -> None:
    frames = ({"file": "/home/ann/train.py", "line": 7, "function": "main", "code": code},)
    told = {"kind": "AssertionError", "message": "stream leaked"}
    assert outcome(1, raised(1, "uncaught", frames=frames, **told)).kind is kind
    site = "/opt/venv/lib/python3.11/site-packages/torch"
    inside = {"file": f"{site}/_inductor/ir.py", "line": 9, "function": "realize", "code": code}
    assert outcome(1, raised(1, "uncaught", frames=(*frames, inside), **told)).kind is OutcomeKind.EXCEPTION
    close = {"file": f"{site}/testing/_comparison.py", "line": 9, "function": "assert_close", "code": "raise error"}
    assert outcome(1, raised(1, "uncaught", frames=(*frames, close), **told)).kind is OutcomeKind.WRONG_RESULT


def test_the_time_limit_tells_what_was_going_on() -> None:
    found = outcome(-15, event("breadcrumb", text="run graph 0/0"), timed_out=True)
    assert (found.kind, found.detail, found.signal) == (OutcomeKind.HANG, "run graph 0/0", None)
    assert outcome(-9, timed_out=True).detail == "no compilation had begun"


def test_a_backward_that_is_compiled_once_it_is_run_is_compiled() -> None:
    """No agent sees a backend of the program's own, on AOTAutograd, get its backward graph."""
    lazy = 'Current thread 0x1 (most recent call first):\n  File "/home/ann/net.py", line 14 in fold\n'
    lazy += '  File "/x/site-packages/torch/_dynamo/backends/common.py", line 83 in _wrapped_bw_compiler\n'
    ran = [event("breadcrumb", text="graph 0/1 ran")]
    for stacks, detail in ((lazy, "compile graph 0/1, backward"), ("", "graph 0/1 ran")):
        done = Exit(code=-15, seconds=9.0, timed_out=True)
        assert outcome_of(done, agent_notes([event("start"), *ran]), "", "", stacks).detail == detail


def test_cancelled_or_not_started_says_nothing() -> None:
    assert outcome(-15, cancelled=True).kind is OutcomeKind.INVALID
    done = Exit(None, 0.0, error="FileNotFoundError: nope")
    assert outcome_of(done, agent_notes([]), "", "").kind is OutcomeKind.INVALID
    assert outcome_of(done, agent_notes([event("start")]), "", "").kind is OutcomeKind.CRASH  # it killed its supervisor


def test_where_no_agent_spoke_the_traceback_is_read() -> None:
    found = outcome(1, stderr=TRACEBACK.format("ValueError: from stderr"))
    assert (found.exception.type, found.exception.phase) == ("ValueError", "text")
    merged = outcome(1, stdout=TRACEBACK.format("ValueError: from stdout"))  # 2>&1
    assert merged.exception.message == "from stdout"


def test_a_bare_exit() -> None:
    found = outcome(
        3, stderr="loading\nlosses differ\n\nI1121 17:59:35.726000 7590 torch/_dynamo/utils.py:925] gc, 0.0045\n"
    )
    assert (found.exception.type, found.exception.message) == ("SystemExit", "exit status 3: losses differ")


@pytest.mark.parametrize(
    ("stderr", "said"),
    [
        ("a.py:27: UserWarning: to a scalar.\nUse detach(). (Triggered\n  print(float(x))\n", "3 of 4 apart"),
        ("losses differ\na.py:27: UserWarning: to a scalar.\n  print(float(x))\n", "losses differ"),
        ("/a b.py:2: FutureWarning: soon\nlosses differ\n", "losses differ"),
        ("/a b.py:2: FutureWarning: soon\n  f(x)\nlosses differ:\n  0.5\n", "0.5"),
    ],
)
def test_what_python_warns_of_is_not_what_the_program_says_last(stderr: str, said: str) -> None:
    found = outcome(3, stderr=stderr, stdout="3 of 4 apart\n")
    assert found.exception.message == f"exit status 3: {said}"


@pytest.mark.parametrize(
    ("said", "told"),
    [("exit status 3", "exit status 3: no kernel for relu"), ("exit status 3: no kernel", "exit status 3: no kernel")],
)
def test_an_exit_inside_compiled_code_ended_the_program_whose_status_it_is(said: str, told: str) -> None:
    left = raised(kind="SystemExit", message=said)
    found = outcome(3, left, stderr="no kernel for relu\n").exception
    assert (found.message, found.phase, found.ended) == (told, "call", "uncaught")
    assert not found.swallowed
    other = outcome(1, left, stderr=TRACEBACK.format("ValueError: later")).exception
    assert other.swallowed and other.message == said
    last = outcome(3, left, raised(2, "uncaught", message="later")).exception
    assert last.message == "later"


def test_a_launcher_only_passes_its_childs_failure_on() -> None:
    launcher = raised(
        1,
        "uncaught",
        pid=1,
        kind="torch.distributed.elastic.multiprocessing.errors.ChildFailedError",
        message="train.py FAILED",
    )
    found = outcome(1, launcher, raised(1, pid=2, message="in rank 1"), again(1, pid=2))
    assert found.exception.message == "in rank 1"
    spoken = outcome(1, launcher, stderr=TRACEBACK.format("ValueError: in rank 0"))
    assert spoken.exception.message == "in rank 0"
    alone = outcome(1, launcher)
    assert alone.exception.message == "train.py FAILED"


def test_what_a_child_said_as_it_exited_is_more_than_its_launchers_word_on_it() -> None:
    failed = "subprocess.CalledProcessError: Command '['python', 'train.py']' returned non-zero exit status 1."
    launcher = raised(1, "uncaught", kind="subprocess.CalledProcessError", message=failed.partition(": ")[2])
    launching = "\n".join(
        ('  File "/venv/lib/python3.11/site-packages/launch.py", line 9, in launch\n    run(words)', failed)
    )
    said = outcome(1, launcher, stderr=f"step 1\nthe model answers otherwise\n{TRACEBACK.format(launching)}").exception
    assert (said.type, said.message) == ("SystemExit", "exit status 1: the model answers otherwise")
    silent = outcome(1, launcher, stderr=TRACEBACK.format(launching)).exception
    assert silent.type == "subprocess.CalledProcessError"
    own = outcome(1, launcher, stderr=f"no such step\n{TRACEBACK.format(failed)}").exception
    assert own.type == "subprocess.CalledProcessError"


UNPICKLED = "cannot pickle 'module' object"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (
            "torch.multiprocessing.spawn.ProcessRaisedException",
            '\n\n-- Process 1 terminated with the following error:\nTraceback (most recent call last):\n  File "t.py", line 1\n'
            "torch.Broken: a kernel\nof two lines",
        ),
        ("torch.Broken", "a kernel\nof two lines"),  # of a pool: raised once more in the process that asked
        ("torch.Broken", "Caught Broken in DataLoader worker process 0.\nOriginal Traceback:\ntorch.Broken: a kernel"),
    ],
)
def test_what_a_worker_raised_is_passed_on_by_its_parent(kind: str, message: str) -> None:
    parent = [raised(1, "uncaught", pid=1, kind=kind, message=message), again(1, pid=1)]
    worker = raised(1, pid=2, kind="torch.Broken", message="a kernel\nof two lines")
    for events in ([*parent, worker], [worker, *parent]):
        found = outcome(1, *events).exception
        assert (found.phase, found.message) == ("call", "a kernel\nof two lines")
        assert not found.swallowed and found.ended == "uncaught"
    text = f"Traceback (most recent call last):\ntorch.Broken: a kernel\nof two lines\nTypeError: {UNPICKLED}"
    pickling = error("concurrent.futures.process._RemoteTraceback", text)
    unpickled = outcome(1, raised(1, "uncaught", pid=1, kind="TypeError", message=UNPICKLED, cause=pickling), worker)
    assert unpickled.exception.message == "a kernel\nof two lines"
    other = outcome(1, *parent, raised(1, pid=2, kind="torch.Broken", message="another")).exception
    assert other is not None and (other.message == message or kind.endswith("ProcessRaisedException"))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (
            "torch.distributed.elastic.multiprocessing.errors.ChildFailedError",
            "traceback : Signal 11 (SIGSEGV) received by PID 7",
        ),
        ("torch.multiprocessing.spawn.ProcessExitedException", "process 0 terminated with signal SIGSEGV"),
        ("subprocess.CalledProcessError", "Command '['python']' died with <Signals.SIGSEGV: 11>."),
    ],
)
def test_the_crash_of_a_launchers_child(kind: str, message: str) -> None:
    found = outcome(1, raised(1, "uncaught", kind=kind, message=message), event("breadcrumb", text="run graph 0/0"))
    assert (found.kind, found.signal, found.detail) == (OutcomeKind.CRASH, "SIGSEGV", "run graph 0/0")


@pytest.mark.parametrize(
    ("crumb", "told"),
    [
        ("", "Dynamo traces the program"),
        ("graph 0/0 ran", "Dynamo traces the program"),
        ("compile graph 0/0", "compile graph 0/0"),  # by a backend, which Dynamo calls
    ],
)
def test_a_hang_in_dynamos_own_tracing_is_told_by_its_stack(crumb: str, told: str) -> None:
    stacks = '  File "/v/site-packages/torch/_dynamo/symbolic_convert.py", line 1 in step\n'
    done = Exit(-15, 60.0, timed_out=True)
    assert outcome_of(done, replace(AgentNotes(True), last_breadcrumb=crumb), "", "", stacks).detail == told


def test_a_program_whose_main_thread_ended_passes_and_one_that_failed_before_failed() -> None:
    done = Exit(code=-9, seconds=25.0, timed_out=True)
    events = [{"e": "start", "pid": 7}, {"e": "main_ended", "pid": 7}]
    assert outcome_of(done, agent_notes(events), "", "").kind is OutcomeKind.OK
    assert (
        outcome_of(done, agent_notes([{"e": "start", "pid": 7}, {"e": "main_ended", "pid": 8}]), "", "").kind
        is OutcomeKind.HANG
    )
    handled = RaisedException("TypeError", "bad operand", phase="compile", swallowed=True)
    assert outcome_of(done, AgentNotes(True, raised=(handled,)), "", "").exception == handled
    assert outcome_of(done, AgentNotes(True, raised=(handled,)), "", "", uncompiled=True).kind is OutcomeKind.HANG


@pytest.mark.parametrize(
    ("stacks", "kind"), [("Timeout (0:01:29.500000)!\nThread 0x1", OutcomeKind.HANG), ("", OutcomeKind.CRASH)]
)
def test_a_process_that_dies_while_its_stacks_are_written_was_late(stacks: str, kind: OutcomeKind) -> None:
    notes = agent_notes([event("start"), event("breadcrumb", text="codegen of the forward graph 0/0")])
    found = outcome_of(
        Exit(code=-11, seconds=89.6), notes, "", "", f"Fatal Python error: Segmentation fault\n\n{stacks}"
    )
    assert found.kind is kind
    if kind is OutcomeKind.HANG:
        assert (found.signal, found.detail) == (None, "codegen of the forward graph 0/0")
