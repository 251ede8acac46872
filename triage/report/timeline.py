"""What ran when, from a run's journal: a bar for every run of the program, every search, every look at the reproducer.

The journal says when a thing began and when it ended. A run that was gone on with has several parts; the hours between
them are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from triage.environments.files import read_journal
from triage.model.text import clip

MOST_ROWS = 40
SHORTEST = 0.05  # seconds: what is shorter is no bar
_LEFT, _RIGHT, _DOWN = 190.0, 520.0, 22
_WANTED = {
    *("run_started", "probe_started", "probe_facts", "probe_ended", "probe_cancelled", "engine_started", "query"),
    *("reproducer_found", "verify_started", "verify_ended", "step_started", "step_ended"),
}
_STEPS = {"ablate": "other settings", "blame": "which part of the compiler", "conditions": "what it needs"}
_GOOD, _NOTHING_SAID = "ok", ("cancelled", "not run", "invalid", "not ended")


@dataclass(frozen=True)
class Span:
    """`start` and `end` in seconds since the run began; `style` is ok, bad or nothing; `told` what came of it."""

    name: str
    start: float
    end: float
    style: str = ""
    told: str = ""


def spans_of(run: Path) -> tuple[Span, ...]:
    """In the order in which they began; of more than fit a picture the longest."""
    reader = _Reader()
    for entry in read_journal(run, *_WANTED):
        if isinstance(entry.get("t"), (int, float)):
            reader.take(entry)
    found = [span for span in reader.ended() if span.end - span.start >= SHORTEST]
    longest = sorted(found, key=lambda span: span.start - span.end)[:MOST_ROWS]
    return tuple(sorted(longest, key=lambda span: (span.start, span.end)))


class _Reader:
    """Follows a journal. `begun` are the spans that have not ended, by what ends them."""

    def __init__(self) -> None:
        self._begun: dict[str, Span] = {}
        self._ended: list[Span] = []
        self._rested: dict[str, float] = {}  # when runs ended of which nobody has been told
        self._zero: float | None = None
        self._now, self._candidates = 0.0, 0

    def take(self, entry: dict[str, Any]) -> None:
        time, kind = float(entry["t"]), entry["kind"]
        if self._zero is None or kind == "run_started":  # a run that goes on: its clock goes on where it stood
            self._end_all()
            self._zero = time - self._now
        self._now = max(self._now, time - self._zero)
        name, rung = str(entry.get("name", "")), str(entry.get("rung", ""))
        if kind == "probe_started":
            compared = ", compared with eager" if name.endswith("-compared") else ""
            self._begin(name, ("as it is" if rung == "as_is" else rung) + compared)
        elif kind == "probe_facts":  # it has ended; what that means is told later, of some much later
            self._rested[str((entry.get("probe") or {}).get("name", ""))] = self._now
        elif kind in ("probe_ended", "probe_cancelled"):
            self._probe_ended(name, rung, entry, cancelled=kind == "probe_cancelled")
        elif kind == "engine_started":
            self._search_ended()
            self._candidates = 0
            self._begin("search", "reducing")
        elif kind == "query":
            self._candidates += 1
        elif kind in ("reproducer_found", "verify_started"):
            self._search_ended()
            if kind == "verify_started":
                self._begin("verify", "fresh processes")
        elif kind == "verify_ended":
            told = f"{entry.get('same')} of {entry['runs']} the same failure" if entry.get("runs") else "not ended"
            self._end("verify", told=told)
        elif kind == "step_started" and entry.get("step") in _STEPS:
            self._begin(f"step {entry['step']}", _STEPS[entry["step"]])
        elif kind == "step_ended":
            if entry.get("step") == "reduce":
                self._search_ended()
            self._end(f"step {entry.get('step')}")

    def ended(self) -> list[Span]:
        self._end_all()
        return self._ended

    def _begin(self, key: str, name: str) -> None:
        self._begun[key] = Span(clip(name, 60), self._now, self._now)

    def _end(self, key: str, told: str = "", style: str = "") -> None:
        span = self._begun.pop(key, None)
        if span is not None:
            self._ended.append(replace(span, end=self._rested.pop(key, self._now), told=told, style=style))

    def _end_all(self) -> None:
        for key in list(self._begun):
            self._end(key, told="not ended")

    def _probe_ended(self, name: str, rung: str, entry: dict[str, Any], *, cancelled: bool) -> None:
        outcome = "cancelled" if cancelled else str(entry.get("outcome", "")).replace("_", " ")
        outcome = "not ended" if entry.get("cut") else outcome
        style = "" if outcome in _NOTHING_SAID else "ok" if outcome == _GOOD else "bad"
        seconds = entry.get("seconds")
        if name not in self._begun and isinstance(seconds, (int, float)):  # of the graph alone only the end is told
            start = max(0.0, self._now - float(seconds))
            self._begun[name] = Span(clip(f"{rung}, the graph alone", 60), start, self._now)
        self._end(name, told="passes" if outcome == _GOOD else outcome, style=style)

    def _search_ended(self) -> None:
        self._end("search", told=f"{self._candidates} candidate{'' if self._candidates == 1 else 's'}")


def timeline(spans: Sequence[Span]) -> dict[str, Any]:
    """The bars as the template draws them, and all of it in words."""
    last = max((span.end for span in spans), default=0.0)
    if len(spans) < 2 or last <= 0:
        return {}
    return {
        "rows": [_row(number, span, last) for number, span in enumerate(spans)],
        "told": "; ".join(_words(span) for span in spans),
        "last": f"{last:.0f} s",
    }


def _row(number: int, span: Span, last: float) -> dict[str, Any]:
    x, end = (round(_LEFT + time / last * (_RIGHT - _LEFT), 1) for time in (span.start, span.end))
    spent = f"{span.end - span.start:.1f} s"
    words = clip(f"{spent}, {span.told}" if span.told else spent, 34)
    place = {"x": x, "y": _DOWN * number, "width": max(2.0, round(end - x, 1))}
    return {"name": clip(span.name, 28), "style": span.style, **place, "words": words, "told": _words(span)}


def _words(span: Span) -> str:
    return f"{span.name}, {span.start:.1f} to {span.end:.1f} s" + (f": {span.told}" if span.told else "")
