"""Horizontal bars on a logarithmic axis, as SVG text: groups of bars, each filled or hollow, with a label at its end.

Written by hand, so that a benchmark needs no plotting library. Pure: numbers in, text out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 920, 270, 190, 72, 44
BAR, GAP, GROUP_GAP = 14, 3, 16
FONT = "font-family='system-ui, sans-serif'"


@dataclass(frozen=True)
class Bar:
    """`value` None draws no bar, only the label. A hollow bar stands for a result that does not count."""

    series: int
    value: float | None
    label: str = ""
    filled: bool = True


@dataclass(frozen=True)
class Group:
    name: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Chart:
    """`series` are (name, colour). `mark` draws a line across, with its words; the axis always reaches it."""

    title: str
    axis: str
    series: tuple[tuple[str, str], ...]
    groups: tuple[Group, ...]
    mark: tuple[float, str] | None = None


def svg(chart: Chart) -> str:
    """The chart as one SVG document."""
    values = [bar.value for group in chart.groups for bar in group.bars if bar.value]
    ticks = decades(values + ([chart.mark[0]] if chart.mark else []))
    heights = [len(group.bars) * (BAR + GAP) + GROUP_GAP for group in chart.groups]
    bottom = TOP + sum(heights)
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {bottom + BOTTOM}' "
        f"width='{WIDTH}' height='{bottom + BOTTOM}' role='img'>",
        f"<title>{escape(chart.title)}</title>",
        f"<rect width='{WIDTH}' height='{bottom + BOTTOM}' fill='#ffffff'/>",
        text_at(16, 24, chart.title, size=16, weight="600"),
        *_keys(chart.series),
        *_axis(chart.axis, ticks, bottom),
    ]
    place = TOP
    for group, height in zip(chart.groups, heights, strict=True):
        parts.append(text_at(LEFT - 10, place + (height - GROUP_GAP) / 2 + 4, group.name, anchor="end"))
        for number, bar in enumerate(group.bars):
            parts += _bar(bar, place + number * (BAR + GAP), ticks, chart.series[bar.series][1])
        place += height
    if chart.mark is not None:
        x = position(chart.mark[0], ticks)
        parts.append(
            f"<line x1='{x:.1f}' y1='{TOP - 6}' x2='{x:.1f}' y2='{bottom}' stroke='#888888' stroke-dasharray='4 3'/>"
        )
        parts.append(text_at(x, TOP - 10, chart.mark[1], size=11, anchor="middle", colour="#666666"))
    return "\n".join([*parts, "</svg>", ""])


def decades(values: Sequence[float]) -> list[float]:
    """Powers of ten that span the values: at least two."""
    positive = [value for value in values if value > 0] or [1.0]
    low, high = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
    return [10.0**power for power in range(low, max(high, low + 1) + 1)]


def position(value: float, ticks: Sequence[float]) -> float:
    """Where a value lies on the axis, in pixels from the left edge; values below the axis lie at its start."""
    low, high = math.log10(ticks[0]), math.log10(ticks[-1])
    share = (math.log10(max(value, ticks[0])) - low) / (high - low)
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _bar(bar: Bar, y: float, ticks: Sequence[float], colour: str) -> list[str]:
    end = LEFT if bar.value is None else position(bar.value, ticks)
    drawn = []
    if bar.value is not None:
        look = f"fill='{colour}'" if bar.filled else f"fill='#ffffff' stroke='{colour}' stroke-width='1.5'"
        drawn.append(f"<rect x='{LEFT}' y='{y:.1f}' width='{max(end - LEFT, 2):.1f}' height='{BAR}' {look}/>")
    return [*drawn, text_at(end + 6, y + BAR - 3, bar.label, size=11)]


def _axis(name: str, ticks: Sequence[float], bottom: float) -> list[str]:
    parts = []
    for tick in ticks:
        x = position(tick, ticks)
        parts.append(f"<line x1='{x:.1f}' y1='{TOP - 6}' x2='{x:.1f}' y2='{bottom}' stroke='#dddddd'/>")
        parts.append(text_at(x, bottom + 16, f"{tick:g}", size=11, anchor="middle"))
    return [*parts, text_at((LEFT + WIDTH - RIGHT) / 2, bottom + 34, name, size=11, anchor="middle")]


def _keys(series: Sequence[tuple[str, str]]) -> list[str]:
    parts, x = [], 16
    for name, colour in series:
        parts.append(f"<rect x='{x}' y='36' width='12' height='12' fill='{colour}'/>")
        parts.append(text_at(x + 18, 46, name, size=12))
        x += 40 + 7 * len(name)
    return parts


def text_at(
    x: float,
    y: float,
    text: str,
    *,
    size: int = 12,
    anchor: str = "start",
    weight: str = "400",
    colour: str = "#222222",
) -> str:
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' {FONT} font-size='{size}' font-weight='{weight}' text-anchor='{anchor}' "
        f"fill='{colour}'>{escape(text)}</text>"
    )
