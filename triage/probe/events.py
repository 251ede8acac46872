"""What the agents wrote while a process ran: event lines, and Python stacks. The files lie in the probe's channel."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Event = dict[str, Any]


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
