"""From what a process left behind (exit status, events, output) to an `Outcome`. Pure functions over text and events.

The agent's word is believed first, because it saw the exception object; where no agent could speak (killed, a child
without one, a launcher that re-prints its ranks' errors) the last traceback in the output is read instead.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from triage.judge.equivalences import TORN
from triage.judge.signature import ENDED, is_user_frame
from triage.judge.skeleton import short_type
from triage.model import accuracy
from triage.model.accuracy import Rounding, WrongResult
from triage.model.codec import decode
from triage.model.outcome import AgentNotes, BoundaryPoint, CompileCall, Outcome, RaisedException, Steps
from triage.model.stage import OutcomeKind
from triage.probe.launch import Exit
from triage.probe.opchecks import operator_checks
from triage.probe.traceback_text import last_traceback

Event = dict[str, Any]
T = TypeVar("T")

# Lines that say why a process was aborted; that it was (`Segmentation fault`, `Aborted`) the signal says already.
_CRASH_LINES = re.compile(
    r"what\(\):|terminate called|stack smashing|double free|free\(\): |malloc\(|corrupted |"
    r"CUDA error: |illegal memory access"
)
_OOM = re.compile(
    r"OutOfMemoryError|CUDA out of memory|DefaultCPUAllocator: (?:not enough|can't allocate) memory|\bMemoryError\b|"
    r"std::bad_alloc"
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
_IN_GRAPH = re.compile(r"\b(?:compile|run|compiles \w+|of the \w+) graph (\S+)$")
_EXIT = re.compile(r"exit status (\d+)(: )?")  # the message of a SystemExit, in the agent's words

# What an event says, by its kind: a fact that is true once there is one, texts, or numbers that are summed. A fact of another
# shape is read in `notes_of`.
_SEEN = {
    "start": "started",
    "stopped_early": "stopped_early",
    "distributed": "distributed",
    "dropout_off": "without_dropout",
}
_TEXTS: dict[str, tuple[str, Callable[[Event], Iterable[str]]]] = {
    "asked_if_compiled": ("asked_if_compiled", lambda event: [event.get("place", "")]),
    "unwritten": ("unwritten", lambda event: [str(event["place"])]),
    "orig_mod_keys": ("orig_mod_keys", lambda event: event.get("keys", ())),
    "operators": ("operators", lambda event: event.get("names", ())),
    "unsteady": ("unsteady", lambda event: [f"{event.get('item')} of graph {event.get('graph')}"]),
    "by_chance": ("by_chance", lambda e: [f"{e.get('item')} of graph {e.get('graph')} ({e.get('reason')})"]),
    "not_compared": ("not_compared", lambda event: [f"graph {event.get('graph')}: {event.get('reason')}"]),
    "graph_missing": ("missing", lambda event: [f"graph {event.get('graph')}: {event.get('reason')}"]),
}
_COUNTED = ("graphs", "graph_breaks", "recompiles", "backwards", "compared")  # in the event `end`

_ENDS = ("uncaught", "test")
_BOUNDARY = ("compile", "call", "backward")


def read_events(channel: Path, until: float | None = None) -> list[Event]:
    """All events of all processes (`until` a time), in order of time. A torn last line is left out.

    Last, which graph ran at its process's end.
    """
    events: list[Event] = []
    for path in sorted(channel.glob("events-*.jsonl")):
        events += [event for event in events_in(path) if until is None or event.get("t", 0.0) <= until]
    return [*sorted(events, key=lambda event: event.get("t", 0.0)), *_left_running(channel)]


def _left_running(channel: Path) -> Iterator[Event]:
    """What the agents' notes of running graphs still say (`agent/hooks/running.py`): a process died in a graph."""
    for path in sorted(channel.glob("running-*")):
        with contextlib.suppress(OSError):
            graph, _, rest = path.read_bytes().rstrip(b"\0").decode("utf-8", "replace").partition(" ")
            file, _, call = rest.partition(" ")
            if graph:
                yield {"e": "breadcrumb", "text": f"run graph {graph}"}
                place = {"graph": graph, "file": file if file != "-" else None, "when": "run"}
                yield {"e": "graph_failed", **place, "died_in_call": int(call or 1)}


def events_in(path: Path) -> list[Event]:
    """The events of one file, as they stand there."""
    events: list[Event] = []
    with contextlib.suppress(OSError):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            with contextlib.suppress(ValueError):
                event = _fact(line)
                if isinstance(event, dict):
                    events.append(event)
    return events


def _fact(line: str) -> Any:
    """What a line says. Half of a surrogate pair, as `os.fsdecode` makes of a byte that is not UTF-8, could not be written."""
    fact = json.loads(line)
    if "\\ud" in line:
        return json.loads(json.dumps(fact, ensure_ascii=False).encode("utf-8", "replace"))
    return fact


def read_stacks(channel: Path) -> str:
    """Python stacks that faulthandler wrote on a fatal signal or near the time limit."""
    parts = []
    for path in sorted(channel.glob("fatal-*.txt")) + sorted(channel.glob("stacks-*.txt")):
        with contextlib.suppress(OSError):
            text = path.read_text(errors="replace").strip()
            if text:
                parts.append(text[:20_000])
    return "\n\n".join(parts)


def notes_of(events: list[Event]) -> AgentNotes:
    """What the agents said, summed over processes."""
    of: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        of[str(event.get("e"))].append(event)
    raised: dict[tuple[int, int], tuple[RaisedException, Event]] = {}
    for event in of["raised"]:
        for exception in _decoded(RaisedException, [event], lambda event: event["exception"]):
            raised[(event.get("pid", 0), event["id"])] = (exception, event)
    told = list(_with_later(events, raised))
    crumb = of["breadcrumb"][-1].get("text", "") if of["breadcrumb"] else ""
    point = next((event.get("point") for _, event in raised.values()), None)
    root = of["start"][0].get("pid") if of["start"] else None
    torch: Event = of["torch"][-1] if of["torch"] else {}
    rounding = list(_decoded(Rounding, of["rounding"], lambda event: event["result"]))
    wrongs = _decoded(WrongResult, of["wrong"], lambda event: {**event["result"], "file": event.get("file") or ""})
    facts: dict[str, Any] = {name: bool(of[kind]) for kind, name in _SEEN.items()}
    for kind, (name, texts) in _TEXTS.items():
        facts[name] = tuple(dict.fromkeys(text for event in of[kind] for text in texts(event)))
    for name in _COUNTED:
        facts[name] = sum(int(event.get(name) or 0) for event in of["end"])
    return AgentNotes(
        graph=_failing_graph(told, events, crumb),
        died_in=next(
            ((each["graph"], each["died_in_call"]) for each in of["graph_failed"] if "died_in_call" in each), None
        ),
        torch_version=torch.get("version"),
        python_version=torch.get("python"),
        compile_calls=tuple(_decoded(CompileCall, of["compile_call"])),
        wraps_module=any(event.get("wraps") for event in of["compile_call"]),
        raised=tuple(exception for exception, _ in told),
        last_breadcrumb=crumb,
        point=decode(BoundaryPoint, point or {}),
        tests=max((int(event.get("tests") or 0) for event in of["collected"]), default=0),
        double_backward=any(event.get("double_backward") for event in events),
        main_ended=root is not None and any(event.get("pid") == root for event in of["main_ended"]),
        wrongs=tuple(wrongs),
        rounding=rounding[-1] if rounding else None,
        checked=operator_checks(events),
        steps=max(_decoded(Steps, of["steps"]), key=lambda steps: steps.calls, default=None),
        **facts,
    )


def _decoded(kind: type[T], events: Iterable[Event], part: Callable[[Event], Any] = lambda event: event) -> Iterator[T]:
    """What these events hold, but for those that hold something else."""
    for event in events:
        with contextlib.suppress(TypeError, ValueError, KeyError):
            yield decode(kind, part(event))


def with_comparison(outcome: Outcome, notes: AgentNotes) -> Outcome:
    """The outcome of a program that saw nothing amiss while a compiled graph gave a wrong value."""
    if outcome.kind is not OutcomeKind.OK or notes.wrong is None:
        return outcome
    return replace(outcome, kind=OutcomeKind.WRONG_RESULT, exception=wrong_result(notes.wrong))


def wrong_result(wrong: WrongResult) -> RaisedException:
    """What stands for a wrong value that nobody raised."""
    return RaisedException(accuracy.TYPE, wrong.headline(), phase=accuracy.PHASE, wrong=wrong.wrongness)


def _with_later(
    events: list[Event], raised: dict[tuple[int, int], tuple[RaisedException, Event]]
) -> Iterator[tuple[RaisedException, Event]]:
    """The recorded exceptions, each with what it ended (a process, a test, or, swallowed, nothing), and its event."""
    ended: dict[tuple[int, int], str] = {}
    tests: dict[tuple[int, int], str] = {}
    passed_on: dict[tuple[int, int], tuple[int, int]] = {}
    for (pid, number), (_, event) in raised.items():
        if event.get("phase") in _ENDS:
            # An exception of the program's own that was raised from a compiled one only passes it on.
            chained = next((tuple(link) for link in event.get("chain", ()) if tuple(link) in raised), None)
            first = chained or _of_a_worker((pid, number), raised) or (pid, number)
            passed_on[pid, number] = first
            ended.setdefault(first, event["phase"])
            tests.setdefault(first, event.get("test") or "")
    for event in events:
        key = (event.get("pid", 0), event.get("id", 0))
        key = passed_on.get(key, key)
        if event.get("e") == "raised_again" and event.get("phase") in _ENDS and key in raised:
            ended.setdefault(key, event["phase"])
            tests.setdefault(key, event.get("test") or "")
    for key, (exception, event) in raised.items():
        if key in ended:
            yield replace(exception, swallowed=False, ended=ended[key], test=tests[key]), event
        elif event.get("phase") not in _ENDS:
            yield replace(exception, swallowed=True), event


def _of_a_worker(
    key: tuple[int, int], raised: dict[tuple[int, int], tuple[RaisedException, Event]]
) -> tuple[int, int] | None:
    """The exception of another process that this one is a copy of, or that its message tells; None where there is none.

    A pool raises what its worker raised once more in the process that asked, or, where that cannot be pickled, the error of
    pickling, from the worker's traceback; `torch.multiprocessing.spawn` and a DataLoader write that into a message.
    """
    exception = raised[key][0]
    text = exception.message + (f"\n{exception.cause.message}" if exception.cause is not None else "")
    for other, (first, event) in raised.items():
        if other[0] == key[0] or event.get("phase") in _ENDS:
            continue
        told = f"{first.type}: {first.message.strip().splitlines()[0]}" if first.message.strip() else first.type
        if told in text or (first.type, first.message) == (exception.type, exception.message):
            return other
    return None


def _failing_graph(told: list[tuple[RaisedException, Event]], events: list[Event], crumb: str) -> str | None:
    """The graph of the exception that ended the program; else that which a hook saw fail, or in which the process died.

    Where the program's own check ended it, none that was not compiled: the program went on without that.
    """
    names = {event.get("file"): event.get("graph") for event in events if event.get("e") == "graph"}
    ended = [event for exception, event in told if not exception.swallowed] or [event for _, event in told]
    marked = ended[0].get("graph") if ended else None
    own = bool(ended) and ended[0].get("phase") in _ENDS
    failures = [event for event in events if event.get("e") == "graph_failed"]
    failed = [event.get("graph") for event in failures if not own or event.get("when") != "compile"]
    found = None if ended else _IN_GRAPH.search(crumb)
    named = names.get(marked, marked) or (failed[-1] if failed else found and found.group(1))
    return str(named) if named else None


def graph_order(events: list[Event]) -> list[str]:
    """Names of captured graph files, those that failed first, then the newest first; last what only rounds otherwise."""
    written = [str(event["file"]) for event in events if event.get("e") == "graph" and event.get("file")]
    failed = [str(event["file"]) for event in events if event.get("e") == "graph_failed" and event.get("file")]
    rounded = [str(event["result"]["file"]) for event in events if event.get("e") == "rounding" and _file_of(event)]
    return list(dict.fromkeys([*failed, *reversed(written), *rounded]))


def _file_of(event: Event) -> Any:
    result = event.get("result")
    return isinstance(result, dict) and result.get("file")


def outcome_of(
    done: Exit, notes: AgentNotes, stdout: str, stderr: str, stacks: str = "", *, uncompiled: bool = False
) -> Outcome:
    """The outcome of a process. Without a compiler, an exception that the program handles itself is no failure."""
    base: dict[str, Any] = {
        "seconds": done.seconds,
        "exit_code": done.code,
        "signal": done.signal_name,
        "stacks": stacks,
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
        return Outcome(
            OutcomeKind.HANG, detail=notes.last_breadcrumb or "no compilation had begun", late=done.late, **base
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
        lost = next((found for found in failures if found.ended == "uncaught" and found.phase in _BOUNDARY), None)
        exception = swallowed or lost
        return (
            Outcome(OutcomeKind.OK, **base)
            if exception is None
            else Outcome(_kind(exception), exception=exception, **base)
        )
    detail = _last_line(stderr) or _last_line(stdout)
    ended = ended or _exited(done.code, notes, detail)
    exception = ended or swallowed or last_traceback(stderr) or last_traceback(stdout) or launchers
    if exception is None:
        return Outcome(OutcomeKind.EXCEPTION, detail=detail, exception=bare_exit(done.code, detail), **base)
    return Outcome(_kind(exception), exception=exception, **base)


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
    detail = telling or (ENDED if notes.main_ended else notes.last_breadcrumb) or base["signal"]
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
