"""From what a process left behind (exit status, events, output) to an `Outcome`. Pure functions over text and the agents' notes.

The agent's word is believed first, because it saw the exception object; where no agent could speak (killed, a child
without one, a launcher that re-prints its ranks' errors) the last traceback in the output is read instead.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from triage.judge.device import with_words_of_output
from triage.judge.equivalences import TORN
from triage.judge.signature import ENDED, TRACES, is_user_frame
from triage.judge.skeleton import short_type
from triage.model import accuracy
from triage.model.accuracy import WrongResult
from triage.model.outcome import AgentNotes, Outcome, RaisedException
from triage.model.stage import OutcomeKind
from triage.probe.launch import Exit
from triage.probe.traceback_text import last_traceback

# Lines that say why a process was aborted; that it was (`Segmentation fault`, `Aborted`) the signal says already.
_CRASH_LINES = re.compile(
    r"what\(\):|terminate called|stack smashing|double free|free\(\): |malloc\(|corrupted |"
    r"CUDA error: |illegal memory access|LLVM ERROR: |Assertion .* failed"
)
_OOM = re.compile(
    r"OutOfMemoryError(?!: out of resource)|(?:CUDA|HIP|XPU) out of memory|"
    r"DefaultCPUAllocator: (?:not enough|can't allocate) memory|\bMemoryError\b|"
    r"(?:CUDA(?: driver)? error|HIP error|Triton Error \[\w+\]): out of memory|std::bad_alloc"
)
_COMPARISON = re.compile(
    r"Tensor-likes are not (?:close|equal)|Scalars are not (?:close|equal)|Not equal to tolerance|"
    r"Arrays are not (?:almost )?equal|Mismatched elements"
)
_ASSERTS_VALUES = re.compile(r"assert\b(?!\s+not\b).*\b(?:allclose|torch\.equal|array_equal)\(")
_COMPARING = re.compile(
    r"/(?:torch|numpy)/testing/.*:assert_(?:close|equal|allclose|\w*almost_equal\w*|array_\w*equal\w*)$"
)
_LATE_DUMP = re.compile(r"^Timeout \(\d+:\d\d:\d\d", re.MULTILINE)  # as faulthandler heads it
# A backend of a program's own, on AOTAutograd, is called so where its forward graph has run (torch 2.1 and newer).
_COMPILES_BACKWARD = re.compile(r'/_dynamo/backends/common\.py", line \d+ in _wrapped_bw_compiler$', re.MULTILINE)
_RAN = re.compile(r"graph (\S+) (?:compiled|ran)")
_TRACES = re.compile(r'/torch/_dynamo/symbolic_convert\.py"')  # on the stack only while it follows the program
_LOG_LINE = re.compile(r"[VDIWE]\d{4} \d\d:\d\d:\d\d")
# Raised by a program because a process that it started failed: the failure is that process's.
_LAUNCHERS = (
    "ChildFailedError",
    "ProcessExitedException",
    "ProcessRaisedException",
    "CalledProcessError",
    "SignalException",
)
_CHILD_SIGNAL = re.compile(r"(?:\(|signal |Signals\.)(SIG[A-Z]+)\b")
_TIMERS = ("SIGALRM", "SIGVTALRM", "SIGPROF")  # a program sends them to itself
# As Python prints a warning: its text, in few lines, and the line of source that it came from.
_WARNING = re.compile(
    r"^\S.*:\d+: \w*Warning: .*\n(?:(?:(?![ \t]|[VDIWE]\d{4} ).*\n){0,3}[ \t]+\S.*(?:\n|\Z))?", re.MULTILINE
)
_EXIT = re.compile(r"exit status (\d+)(: )?")  # the message of a SystemExit, in the agent's words

_TRACEBACK = "Traceback (most recent call last):"


def with_comparison(outcome: Outcome, notes: AgentNotes) -> Outcome:
    """The outcome of a program that saw nothing amiss while a compiled graph gave a wrong value."""
    if outcome.kind is not OutcomeKind.OK or notes.wrong is None:
        return outcome
    return replace(outcome, kind=OutcomeKind.WRONG_RESULT, exception=wrong_result(notes.wrong))


def wrong_result(wrong: WrongResult) -> RaisedException:
    """What stands for a wrong value that nobody raised."""
    return RaisedException(accuracy.TYPE, wrong.headline(), phase=accuracy.PHASE, wrong=wrong.wrongness)


def outcome_of(
    done: Exit, notes: AgentNotes, stdout: str, stderr: str, stacks: str = "", *, uncompiled: bool = False
) -> Outcome:
    """The outcome of a process. Without a compiler, an exception that the program handles itself is no failure."""
    found = _ended(done, notes, stdout, stderr, stacks, uncompiled=uncompiled)
    if found.exception is None:
        return found
    return replace(found, exception=with_words_of_output(found.exception, f"{stderr}\n{stdout}"))


def _ended(done: Exit, notes: AgentNotes, stdout: str, stderr: str, stacks: str, *, uncompiled: bool) -> Outcome:
    base: dict[str, Any] = {
        "seconds": done.seconds,
        "exit_code": done.code,
        "signal": done.signal_name,
        "stacks": stacks,
        "starved": done.starved,
    }
    if done.error is not None and done.code is None:
        return Outcome(OutcomeKind.CRASH if notes.started else OutcomeKind.INVALID, detail=done.error, **base)
    if done.cancelled:
        return Outcome(OutcomeKind.INVALID, detail="cancelled", **base)
    failures = [exception for exception in notes.raised if not exception.swallowed]
    ended = next((exception for exception in failures if not _is_launchers(exception)), None)
    swallowed = None if uncompiled else next((exception for exception in notes.raised if exception.swallowed), None)
    if done.timed_out or _died_of_the_dump(done, stacks):
        base["signal"] = None  # it was ours
        exception = ended or swallowed
        if exception is not None:  # whatever went on after it was not waited for
            return Outcome(_kind(exception), exception=exception, **base)
        if notes.main_ended:
            return Outcome(OutcomeKind.OK, detail="its main thread had ended; other threads went on", **base)
        outside = not notes.last_breadcrumb or _RAN.fullmatch(notes.last_breadcrumb)
        heard = TRACES if outside and _TRACES.search(stacks) else _last_heard(notes, stacks)
        return Outcome(
            OutcomeKind.HANG, detail=heard or "no compilation had begun", late=done.late, still=done.still, **base
        )
    launchers = next(filter(_is_launchers, failures), None)
    if ended is None and launchers is not None:
        died = _CHILD_SIGNAL.search(launchers.message)
        if died is not None and died.group(1) not in ("SIGTERM", "SIGINT"):
            return _crash({**base, "signal": died.group(1)}, notes, stderr, stdout, swallowed)
    if notes.main_ended and ended is None and done.signal_name in _TIMERS:
        base["signal"], done = None, replace(done, code=0)  # Python takes its handlers down before it lets go of torch
    if done.signal_name is not None and ended is None:  # after an uncaught exception an abort is only its aftermath
        return _crash(base, notes, stderr, stdout, swallowed)
    if done.code == 0:
        # A pipe or a shell between us and the program may have lost its status.
        lost = next((found for found in failures if found.ended == "uncaught" and found.in_compiled_code), None)
        exception = swallowed or lost
        return (
            Outcome(OutcomeKind.OK, **base)
            if exception is None
            else Outcome(_kind(exception), exception=exception, **base)
        )
    detail = _last_line(stderr) or _last_line(stdout)
    ended = ended or _exited(done.code, notes, detail)
    printed = last_traceback(stderr) or last_traceback(stdout) or launchers
    exception = ended or swallowed or _childs_exit(printed, done.code, stderr) or printed
    if exception is None:
        return Outcome(OutcomeKind.EXCEPTION, detail=detail, exception=bare_exit(done.code, detail), **base)
    return Outcome(_kind(exception), exception=exception, **base)


def _last_heard(notes: AgentNotes, stacks: str) -> str:
    """The agent's last word, but for a backward pass that is compiled only once it is run: of that it says nothing."""
    ran = _RAN.fullmatch(notes.last_breadcrumb)
    return f"compile graph {ran[1]}, backward" if ran and _COMPILES_BACKWARD.search(stacks) else notes.last_breadcrumb


def _died_of_the_dump(done: Exit, stacks: str) -> bool:
    """Whether a process that was about to reach its limit died while its stacks were written.

    `faulthandler.dump_traceback_later` reads the frames of threads that go on running, without the interpreter's lock: in a
    deep and busy stack it now and then reads one that has just gone. That is our doing, and the process was late.
    """
    return done.signal_name in ("SIGSEGV", "SIGBUS") and _LATE_DUMP.search(stacks) is not None


def _is_launchers(exception: RaisedException) -> bool:
    return exception.type.endswith(_LAUNCHERS)


def _crash(
    base: dict[str, Any], notes: AgentNotes, stderr: str, stdout: str, exception: RaisedException | None
) -> Outcome:
    lines = [line.strip() for text in (stderr, stdout) for line in text.splitlines() if _CRASH_LINES.search(line)]
    telling = next((line for line in lines if "what():" in line), lines[0] if lines else "")
    if TORN in telling:  # behind as much of the first thread's message as it came to print
        telling = TORN
    if base["signal"] == "SIGKILL" and not telling:
        return Outcome(
            OutcomeKind.OOM, detail=f"killed by SIGKILL (out of memory?), last seen: {notes.last_breadcrumb}", **base
        )
    detail = telling or (ENDED if notes.main_ended else _last_heard(notes, base["stacks"])) or base["signal"]
    return Outcome(OutcomeKind.CRASH, detail=detail[:2000], exception=exception, **base)


def _kind(exception: RaisedException) -> OutcomeKind:
    inner = exception.innermost()
    if short_type(inner.type) in ("OutOfMemoryError", "MemoryError") or _OOM.search(inner.message[:2000]):
        return OutcomeKind.OOM
    if short_type(exception.type) == "AssertionError" and _compares(exception):
        return OutcomeKind.WRONG_RESULT
    return OutcomeKind.EXCEPTION


def _compares(exception: RaisedException) -> bool:
    """Whether an assertion compared values: by its message, or, where the program gave it one of its own, by its line."""
    if _COMPARISON.search(exception.message):
        return True
    last = exception.frames[-1] if exception.frames else None
    if last is not None and is_user_frame(last):
        return _ASSERTS_VALUES.match(last.code) is not None
    return last is not None and any(_COMPARING.search(f"{frame.file}:{frame.function}") for frame in exception.frames)


def bare_exit(code: int | None, last_line: str) -> RaisedException:
    """A program that ended itself with a status and said no more than its last line."""
    return RaisedException("SystemExit", f"exit status {code}: {last_line[:300]}".rstrip(": "), phase="text")


def _childs_exit(printed: RaisedException | None, code: int | None, stderr: str) -> RaisedException | None:
    """What a process said last that ended itself with a status, where all that was raised is its launcher's word on that.

    A line of the program that runs another is the program's failure: it says which, and why.
    """
    if printed is None or not _is_launchers(printed):
        return None
    raising = next((frame for frame in reversed(printed.frames) if not frame.file.endswith("subprocess.py")), None)
    if raising is not None and is_user_frame(raising):
        return None
    said = _last_line(stderr.partition(_TRACEBACK)[0])
    return bare_exit(code, said) if said else None


def _exited(code: int | None, notes: AgentNotes, last_line: str) -> RaisedException | None:
    """The SystemExit that left compiled code and ended the program: the agent is not told of that, but its status came out."""
    for exception in notes.raised:
        told = _EXIT.match(exception.message) if exception.type == "SystemExit" and exception.swallowed else None
        if told is not None and int(told.group(1)) == code:
            message = exception.message if told.group(2) else bare_exit(code, last_line).message
            return replace(exception, message=message, swallowed=False, ended="uncaught")
    return None


def _last_line(text: str) -> str:
    """The last line that is not torch's own log, which goes on after the program has said its last, nor a warning."""
    lines = (line.strip() for line in reversed(_WARNING.sub("", text).splitlines()))
    return next((line for line in lines if line and not _LOG_LINE.match(line)), "")
