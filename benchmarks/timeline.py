"""What ran when in one run of triage, read from its journal, and a picture of it. Pure: events in, numbers and SVG out.

Times are in seconds since the process of triage started; processor time comes as samples (seconds, processor seconds).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from xml.sax.saxutils import escape

from bars import text_at

START, BETWEEN, END = "start", "rest", "end"
WIDTH, LEFT, RIGHT, TOP, BOTTOM, BAR, GAP, CURVE = 1100, 200, 40, 72, 44, 13, 3, 60
COLOURS = {
    "alone": "#777777",
    "step": "#b9c3cc",
    "probe": "#1f6fb2",
    "candidates": "#d9822b",
    "verify": "#2e8b57",
    "ablation": "#8250a8",
}
Samples = Sequence[tuple[float, float]]
Events = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Span:
    """One thing that ran. Those of one `row` are drawn in one line, or in more where they overlap."""

    row: str
    kind: str
    begin: float
    end: float
    label: str = ""


def milestones(events: Events, began: float) -> dict[str, float | None]:
    """When the stage was known, when a reproducer had failed the same way each time it was to, when the report was there."""
    return {
        "located": _first(events, began, lambda event: event["kind"] == "located" and event["settled"]),
        "verified": _first(events, began, _holds(events)),
        "reported": _first(events, began, lambda event: event["kind"] in ("report_written", "run_ended")),
    }


def _holds(events: Events) -> Any:
    """`same` of a `verify_ended` counts against what was asked for, not against what came to run."""
    wanted = max((event["runs"] for event in events if event["kind"] == "verify_started"), default=1)
    return lambda event: event["kind"] == "verify_ended" and event["same"] >= wanted


def _first(events: Events, began: float, wanted: Any) -> float | None:
    return next((event["t"] - began for event in events if wanted(event)), None)


def steps(events: Events, began: float, samples: Samples) -> dict[str, tuple[float, float]]:
    """(wall, processor) seconds of each step, which add up to the whole; verifying counts by itself, not to its step."""
    total: dict[str, tuple[float, float]] = {}
    open_steps: list[str] = []
    before, outside = 0.0, START
    for event in [*events, {"kind": "process_ended", "t": began + samples[-1][0]}]:
        now, step = event["t"] - began, open_steps[-1] if open_steps else outside
        wall, cpu = total.get(step, (0.0, 0.0))
        total[step] = (wall + now - before, cpu + cpu_at(now, samples) - cpu_at(before, samples))
        before = now
        if event["kind"] in ("step_started", "verify_started"):
            open_steps.append(event.get("step", "verify"))
            outside = BETWEEN
        elif event["kind"] in ("step_ended", "verify_ended") and open_steps:
            open_steps.pop()
        elif event["kind"] == "run_ended":
            open_steps, outside = [], END
    return total


def cpu_at(now: float, samples: Samples) -> float:
    """Processor seconds used until then, between two samples in proportion."""
    earlier, used = 0.0, 0.0
    for time, cpu in samples:
        cpu = max(cpu, used)  # a sample that missed a process as it ended is too small
        if time >= now:
            return used + (cpu - used) * (now - earlier) / (time - earlier) if time > earlier else cpu
        earlier, used = time, cpu
    return used


def spans(events: Events, began: float, ended: float) -> list[Span]:
    """What ran, from the journal. What never ended lasts until the end of the process."""
    found, running = [], {}
    for event in events:
        kind, now = event["kind"], event["t"] - began
        if kind == "step_started":
            running["steps", event["step"]] = Span("steps", "step", now, ended, event["step"])
        elif kind == "probe_started":
            running["probe", event["name"]] = Span(event["name"], "probe", now, ended)
        elif kind == "verify_started":
            running["verify", ""] = Span("verify", "verify", now, ended)
        elif kind in ("query", "ablated"):
            row = "candidates" if kind == "query" else "ablation"
            found.append(Span(row, row, now - (event.get("seconds") or 0.0), now))
        else:
            begun = running.pop(_ended(event), None)
            found += [Span(begun.row, begun.kind, begun.begin, now, begun.label)] if begun else []
    found += running.values()
    order = list(COLOURS)
    return sorted(found, key=lambda span: (order.index(span.kind), span.begin))


def _ended(event: Mapping[str, Any]) -> tuple[str, str]:
    """Which running thing this event ends."""
    kind = event["kind"]
    if kind == "step_ended":
        return "steps", event["step"]
    if kind in ("probe_ended", "probe_cancelled", "probe_facts"):
        return "probe", event["name"] if "name" in event else event["probe"]["name"]
    return kind.removesuffix("_ended"), ""


def lanes(found: Iterable[Span]) -> list[tuple[str, list[Span]]]:
    """Lines to draw, each with its name or, where it is a further one of the same row, without."""
    rows: dict[str, list[list[Span]]] = {}
    for span in found:
        lines = rows.setdefault(span.row, [])
        free = next((line for line in lines if line[-1].end <= span.begin + 0.01), None)
        if free is None:
            lines.append(free := [])
        free.append(span)
    return [(name if not number else "", line) for name, lines in rows.items() for number, line in enumerate(lines)]


def svg(
    title: str, found: Sequence[Span], marks: Mapping[str, float | None], alone: float, samples: Samples, cores: int
) -> str:
    """The picture: the script `alone` first, then a line per thing that ran, at the bottom how many cores were busy."""
    last = max(alone, samples[-1][0], 1.0)
    lines = lanes([Span("script by itself", "alone", 0.0, alone), *found])
    bottom = TOP + len(lines) * (BAR + GAP) + 10 + CURVE
    place = partial(position, last=last)
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {bottom + BOTTOM}' "
        f"width='{WIDTH}' height='{bottom + BOTTOM}' role='img'>",
        f"<title>{escape(title)}</title>",
        f"<rect width='{WIDTH}' height='{bottom + BOTTOM}' fill='#ffffff'/>",
        text_at(16, 24, title, size=16, weight="600"),
    ]
    for tick in ticks(last):
        parts.append(_line(place(tick), bottom, "#dddddd"))
        parts.append(text_at(place(tick), bottom + 16, f"{tick:g}", size=11, anchor="middle"))
    for number, (name, line) in enumerate(lines):
        y = TOP + number * (BAR + GAP)
        parts.append(text_at(LEFT - 8, y + BAR - 3, name, size=11, anchor="end"))
        for span in line:
            parts += _drawn(span, place(span.begin), place(span.end), y)
    parts += _curve(samples, cores, last, bottom)
    for number, (name, when) in enumerate(marks.items()):
        if when is not None:
            parts.append(_line(place(when), bottom, "#c0392b", "stroke-dasharray='4 3'"))
            parts.append(
                text_at(place(when), 42 + 10 * number, f"{name} {when:.0f} s", size=11, anchor="end", colour="#c0392b")
            )
    parts.append(
        text_at((LEFT + WIDTH - RIGHT) / 2, bottom + 34, "seconds since it was started", size=11, anchor="middle")
    )
    return "\n".join([*parts, "</svg>", ""])


def position(seconds: float, last: float) -> float:
    """Where a moment lies, in pixels from the left edge; `last` lies at the right end."""
    return LEFT + seconds / last * (WIDTH - LEFT - RIGHT)


def _drawn(span: Span, begin: float, end: float, y: float) -> list[str]:
    width = max(end - begin - 0.5, 0.5)
    told = escape(f"{span.label or span.row} {span.begin:.1f} to {span.end:.1f} s")
    bar = f"<rect x='{begin:.1f}' y='{y}' width='{width:.1f}' height='{BAR}' fill='{COLOURS[span.kind]}'>"
    label = [text_at(begin + 3, y + BAR - 3, span.label, size=10)] if width > 7 * len(span.label) > 0 else []
    return [f"{bar}<title>{told}</title></rect>", *label]


def _curve(samples: Samples, cores: int, last: float, bottom: float) -> list[str]:
    """How many of the cores were busy, in 200 bars; a little more than all of them may show, as samples are not exact."""
    parts, apart, tall = [], last / 200, CURVE - 8
    for number in range(200):
        busy = (cpu_at((number + 1) * apart, samples) - cpu_at(number * apart, samples)) / apart
        high, begin = min(busy / cores, 1.1) * tall, position(number * apart, last)
        parts.append(
            f"<rect x='{begin:.1f}' y='{bottom - high:.1f}' height='{high:.1f}' "
            f"width='{(WIDTH - LEFT - RIGHT) / 200:.1f}' fill='#9aa5b1'/>"
        )
    return [*parts, text_at(LEFT - 8, bottom - tall / 2, f"cores busy, of {cores}", size=11, anchor="end")]


def ticks(last: float) -> list[float]:
    """Round numbers from 0 on, twelve at most."""
    apart = next(each for each in (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, last) if last / each <= 11)
    return [number * float(apart) for number in range(int(last / apart) + 1)]


def _line(x: float, bottom: float, colour: str, more: str = "") -> str:
    return f"<line x1='{x:.1f}' y1='{TOP - 6}' x2='{x:.1f}' y2='{bottom}' stroke='{colour}' {more}/>"
