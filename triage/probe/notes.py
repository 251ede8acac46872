"""From the agents' events to `AgentNotes`: tables for facts of a plain shape, `agent_notes` for the others. No file is read."""

from __future__ import annotations

import contextlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from triage.model.accuracy import Rounding, WrongResult
from triage.model.codec import decode
from triage.model.outcome import AgentNotes, BoundaryPoint, CompileCall, RaisedException, Steps
from triage.probe.events import Event
from triage.probe.opchecks import operator_checks

T = TypeVar("T")


# What an event says, by its kind: a fact that is true once there is one, texts, or numbers that are summed. A fact of another
# shape is read in `agent_notes`.
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
_COUNTED = ("graphs", "graph_breaks", "recompiles", "calls", "backwards", "compared")  # in the event `end`

_ENDS = ("uncaught", "test")
_IN_GRAPH = re.compile(r"\b(?:compile|run|compiles \w+|of the \w+) graph (\S+)$")


def agent_notes(events: list[Event]) -> AgentNotes:
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
    # Where memory decides of some, only those are told: what is said of memory is not true of the others.
    of["unsteady"] = [event for event in of["unsteady"] if not event.get("unordered")] or of["unsteady"]
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
        reached=_reached(of["compile_call"], of["breadcrumb"]),
        point=decode(BoundaryPoint, point or {}),
        device_share=sum(float(event.get("share") or 0.0) for event in of["device"]),
        tests=max((int(event.get("tests") or 0) for event in of["collected"]), default=0),
        double_backward=any(event.get("double_backward") for event in events),
        main_ended=root is not None and any(event.get("pid") == root for event in of["main_ended"]),
        wrongs=tuple(wrongs),
        rounding=rounding[-1] if rounding else None,
        unordered=_unordered(of["unsteady"]),
        checked=operator_checks(events),
        steps=max(_decoded(Steps, of["steps"]), key=lambda steps: steps.calls, default=None),
        **facts,
    )


def _reached(calls: list[Event], crumbs: list[Event]) -> float | None:
    """Seconds from the first call of torch.compile to the last breadcrumb."""
    began, ended = (calls[0].get("t"), crumbs[-1].get("t")) if calls and crumbs else (None, None)
    return max(0.0, ended - began) if isinstance(began, float) and isinstance(ended, float) else None


def _unordered(unsteady: list[Event]) -> tuple[str, ...]:
    """The operations in whose order of writes all lies for which eager is no measure; none where memory decides as well."""
    by = [str(event.get("unordered") or "") for event in unsteady]
    return tuple(dict.fromkeys(by)) if all(by) else ()


def _decoded(kind: type[T], events: Iterable[Event], part: Callable[[Event], Any] = lambda event: event) -> Iterator[T]:
    """What these events hold, but for those that hold something else."""
    for event in events:
        with contextlib.suppress(TypeError, ValueError, KeyError):
            yield decode(kind, part(event))


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
