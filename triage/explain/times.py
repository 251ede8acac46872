"""Compile times from the agent's events: in all, by phase, by graph. Dynamo's timers lie inside each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from triage.explain.places import shown
from triage.model.explanation import CompileTime, GraphTime

Event = dict[str, Any]

# Names of the timers from outside to inside, those of releases before 2.6 behind; 2.1 has none for the builds.
FRAME = ("entire_frame_compile", "_compile.compile_inner", "_compile.<locals>.compile_inner", "_compile")
BACKWARD = ("entire_backward_compile",)
BACKEND = ("backend_compile", "OutputGraph.call_user_compiler")
INDUCTOR = ("inductor_compile", "compile_fx_inner", "compile_fx.<locals>.fw_compiler_base")
CODE = ("code_gen", "GraphLowering.compile_to_module")
BUILD = ("async_compile.wait", "compile_file")
_UNKNOWN = "?"


def compile_time(events: Iterable[Event], cwd: Path) -> CompileTime:
    """Summed over the processes that compiled; calls are those of the first of them."""
    ends = [event for event in events if event.get("e") == "compile_times"]
    phases: dict[str, float] = {}
    for event in ends:
        for name, seconds in (event.get("phases") or {}).items():
            phases[name] = phases.get(name, 0.0) + float(seconds)
    graphs = [graph for event in ends for graph in _graphs(event.get("graphs") or (), cwd)]
    called = next((event for event in ends if event.get("calls")), {})
    frame, backward = _of(phases, FRAME), _of(phases, BACKWARD)
    return CompileTime(
        seconds=round(frame + backward, 3) or round(sum(each.seconds for each in graphs), 3),
        first_call=_rounded(called.get("first_call")),
        later_call=_rounded(called.get("later_call"), 6),
        calls=sum(int(event.get("calls") or 0) for event in ends),
        by_phase=by_phase(phases),
        by_graph=tuple(graphs),
    )


def by_phase(phases: Mapping[str, float]) -> dict[str, float]:
    """What each part of the stack took itself, in seconds."""
    frame, backward, backend = _of(phases, FRAME), _of(phases, BACKWARD), _of(phases, BACKEND)
    inductor, code = _of(phases, INDUCTOR), _of(phases, CODE)
    build = min(code, _of(phases, BUILD))  # before 2.6 each build is timed, and they may run side by side
    found = {
        "dynamo": frame - backend,
        "aot_autograd": backend + backward - inductor,
        "inductor": inductor - code,
        "code_generation": code - build,
        "kernel_build": build,
    }
    return {name: round(seconds, 3) for name, seconds in found.items() if seconds > 0.0005}


def _of(phases: Mapping[str, float], names: Iterable[str]) -> float:
    return next((phases[name] for name in names if name in phases), 0.0)


def _graphs(told: Iterable[Mapping[str, Any]], cwd: Path) -> list[GraphTime]:
    """Of one process. The backward pass of a graph is compiled when it is called, and knows the graph's name alone."""
    found = [_graph(each, cwd) for each in told]
    known = {each.graph: each for each in reversed(found) if each.function != _UNKNOWN}
    return [
        replace(each, function=f"{of.function}, backward", file=of.file, line=of.line)
        if each.function == _UNKNOWN and (of := known.get(each.graph)) is not None
        else each
        for each in found
    ]


def _graph(each: Mapping[str, Any], cwd: Path) -> GraphTime:
    seconds = each.get("seconds")
    return GraphTime(
        graph=str(each.get("graph") or "?"),
        function=str(each.get("function") or _UNKNOWN),
        file=shown(str(each.get("file") or ""), cwd),
        line=int(each.get("line") or 0),
        seconds=round(float(seconds if seconds is not None else (each.get("us") or 0) / 1e6), 3),
        ops=each.get("ops"),
        failed=each.get("failed"),
    )


def _rounded(value: Any, digits: int = 3) -> float | None:
    return None if value is None else round(float(value), digits)
