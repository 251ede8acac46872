"""From what a process left behind (exit status, events, output) to an `Outcome`. Pure functions over text and events.

The agent's word is believed first, because it saw the exception object; where no agent could speak (killed, a child
without one, a launcher that re-prints its ranks' errors) the last traceback in the output is read instead.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from triage.model.codec import decode
from triage.model.outcome import AgentNotes, BoundaryPoint, CompileCall, Outcome, RaisedException
from triage.model.signature import short_type
from triage.model.stage import OutcomeKind
from triage.probe.launch import Exit
from triage.probe.traceback_text import last_traceback

Event = dict[str, Any]

_CRASH_LINES = re.compile(
    r"what\(\):|terminate called|Fatal Python error|Segmentation fault|stack smashing|double free|free\(\): |malloc\(|"
    r"corrupted |CUDA error: |illegal memory access|Aborted|Bus error"
)
_OOM = re.compile(
    r"OutOfMemoryError|CUDA out of memory|DefaultCPUAllocator: (?:not enough|can't allocate) memory|\bMemoryError\b"
)
_COMPARISON = re.compile(
    r"Tensor-likes are not (?:close|equal)|Scalars are not (?:close|equal)|Not equal to tolerance|Arrays are not (?:almost )?equal|"
    r"Mismatched elements"
)
_WONT_CONVERT = "WON'T CONVERT"


def read_events(channel: Path) -> list[Event]:
    """All events of all processes, in order of time. A torn last line is left out."""
    events: list[Event] = []
    for path in sorted(channel.glob("events-*.jsonl")):
        with contextlib.suppress(OSError):
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                with contextlib.suppress(ValueError):
                    events.append(json.loads(line))
    return sorted(events, key=lambda event: event.get("t", 0.0))


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
    raised: dict[tuple[int, int], tuple[RaisedException, Event]] = {}
    calls: list[CompileCall] = []
    facts: dict[str, Any] = {"graphs": 0, "graph_breaks": 0, "recompiles": 0}
    crumb, point, missing = "", BoundaryPoint(), []
    torch_version = python_version = None
    early = False
    for event in events:
        kind = event.get("e")
        if kind == "raised":
            with contextlib.suppress(TypeError, ValueError, KeyError):
                exception = decode(RaisedException, event["exception"])
                raised[(event.get("pid", 0), event["id"])] = (exception, event)
        elif kind == "compile_call":
            with contextlib.suppress(TypeError, ValueError):
                calls.append(decode(CompileCall, event))
        elif kind == "torch":
            torch_version, python_version = event.get("version"), event.get("python")
        elif kind == "breadcrumb":
            crumb = event.get("text", "")
        elif kind == "end":
            for name in facts:
                facts[name] += int(event.get(name) or 0)
        elif kind == "stopped_early":
            early = True
        elif kind == "graph_missing":
            missing.append(f"graph {event.get('graph')}: {event.get('reason')}")
    first = next((event for _, event in raised.values()), None)
    if first is not None:
        point = decode(BoundaryPoint, first.get("point") or {})
    return AgentNotes(
        started=any(event.get("e") == "start" for event in events),
        torch_version=torch_version,
        python_version=python_version,
        compile_calls=tuple(calls),
        raised=tuple(_with_later(events, raised)),
        last_breadcrumb=crumb,
        point=point,
        stopped_early=early,
        double_backward=any(event.get("double_backward") for event in events),
        missing=tuple(dict.fromkeys(missing)),
        **facts,
    )


def _with_later(
    events: list[Event], raised: dict[tuple[int, int], tuple[RaisedException, Event]]
) -> Iterable[RaisedException]:
    """The recorded exceptions, the one that ended the program (or that it was raised from) marked `uncaught`."""
    from dataclasses import replace

    ended: set[tuple[int, int]] = set()
    for (pid, number), (exception, event) in raised.items():
        if event.get("phase") in ("uncaught", "test"):
            # An exception of the program's own that was raised from a compiled one only passes it on.
            ended.update(
                [(pid, chained) for chained in event.get("chain", ()) if (pid, chained) in raised][:1]
                or [(pid, number)]
            )
        del exception
    pids = {event.get("id"): key for key, (_, event) in raised.items() for _ in [0]}
    for event in events:
        if event.get("e") == "raised_again" and event.get("phase") in ("uncaught", "test") and event.get("id") in pids:
            ended.add(pids[event["id"]])
    for key, (exception, event) in raised.items():
        if key in ended:
            yield replace(
                exception, phase=exception.phase if exception.phase != "uncaught" else "uncaught", swallowed=False
            )
        elif event.get("phase") not in ("uncaught", "test"):
            yield replace(exception, swallowed=True)


def graph_order(events: list[Event]) -> list[str]:
    """Names of captured graph files, those that failed first, then the newest first."""
    written = [str(event["file"]) for event in events if event.get("e") == "graph" and event.get("file")]
    failed = [str(event["file"]) for event in events if event.get("e") == "graph_failed" and event.get("file")]
    return list(dict.fromkeys([*failed, *reversed(written)]))


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
    if done.timed_out:
        return Outcome(
            OutcomeKind.HANG, detail=notes.last_breadcrumb or "no compilation had begun", **{**base, "signal": None}
        )
    ended = next((exception for exception in notes.raised if not exception.swallowed), None)
    swallowed = next((exception for exception in notes.raised if exception.swallowed), None)
    if done.signal_name is not None and not (ended is not None and done.code is not None and done.code > 0):
        return _crash(base, notes, stderr, ended or swallowed)
    if done.code == 0:
        if swallowed is not None and not uncompiled:
            return Outcome(_kind(swallowed), exception=swallowed, **base)
        return Outcome(OutcomeKind.OK, **base)
    exception = ended or (swallowed if not uncompiled else None) or last_traceback(stderr) or last_traceback(stdout)
    if exception is None:
        return Outcome(
            OutcomeKind.EXCEPTION,
            detail=_last_line(stderr) or _last_line(stdout),
            exception=_bare_exit(done, stderr),
            **base,
        )
    return Outcome(_kind(exception), exception=exception, **base)


def _crash(base: dict[str, Any], notes: AgentNotes, stderr: str, exception: RaisedException | None) -> Outcome:
    lines = [line.strip() for line in stderr.splitlines() if _CRASH_LINES.search(line)]
    telling = next((line for line in lines if "what():" in line), lines[0] if lines else "")
    if base["signal"] == "SIGKILL" and not telling:
        return Outcome(
            OutcomeKind.OOM, detail=f"killed by SIGKILL (out of memory?), last seen: {notes.last_breadcrumb}", **base
        )
    detail = telling or notes.last_breadcrumb or base["signal"]
    return Outcome(OutcomeKind.CRASH, detail=detail[:2000], exception=exception, **base)


def _kind(exception: RaisedException) -> OutcomeKind:
    inner = exception.innermost()
    if short_type(inner.type) in ("OutOfMemoryError", "MemoryError") or _OOM.search(inner.message[:2000]):
        return OutcomeKind.OOM
    if short_type(exception.type) == "AssertionError" and _COMPARISON.search(exception.message):
        return OutcomeKind.WRONG_RESULT
    return OutcomeKind.EXCEPTION


def _bare_exit(done: Exit, stderr: str) -> RaisedException:
    """A program that ended itself with a status and said no more."""
    return RaisedException("SystemExit", f"exit status {done.code}: {_last_line(stderr)[:300]}", phase="text")


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
