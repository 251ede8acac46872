"""The rows of `triage explain --modes` in words, for the terminal and for the page."""

from __future__ import annotations

from collections.abc import Sequence

from triage.model.explanation import Interval, ModeRow
from triage.model.text import clip

HEAD = ("mode", "a step", "times faster", "compiling", "pays after", "memory")


def cells(row: ModeRow) -> tuple[str, ...]:
    """One row of the table, under `HEAD`; what was not measured is empty, and a remark says why."""
    if row.outcome != "measured" or row.step is None:
        return (row.name, "not run" if row.outcome == "not_run" else "fails", "", "", "", "")
    return (
        row.name,
        seconds(row.step),
        _times(row.speedup),
        "" if not row.compile_seconds else f"{row.compile_seconds:.1f} s",
        _pays(row),
        _memory(row),
    )


def all_remarks(rows: Sequence[ModeRow]) -> list[str]:
    """What else a reader must know of the rows, one sentence for all to which it applies."""
    by_remark: dict[str, list[str]] = {}
    for row in rows:
        for remark in remarks(row):
            by_remark.setdefault(remark, []).append(row.name)
    return [f"{', '.join(names)}: {remark}" for remark, names in by_remark.items()]


def remarks(row: ModeRow) -> list[str]:
    """What else a reader of the row must know."""
    if row.outcome != "measured":
        return [clip(row.reason or "no reason was told", 160)]
    found = [f"WRONG RESULTS: {clip(row.wrong, 160)}"] if row.wrong else []
    if row.speedup is not None and row.speedup.low <= 1 <= row.speedup.high and row.speedup.value != 1:
        found.append("not told apart from uncompiled")
    if not row.compared and row.compile_seconds:
        found.append("results not compared with eager")
    return found


def verdict(rows: Sequence[ModeRow]) -> str:
    """Which mode is best, in one sentence; of those that nobody can tell apart the one named first."""
    measured = [row for row in rows if row.outcome == "measured" and row.speedup is not None and row.step is not None]
    compiled = [row for row in measured if row.compile_seconds]
    right = [row for row in compiled if row.wrong is None]
    if not right:
        return (
            "No compiled mode could be measured." if not compiled else "No mode that was measured gives right results."
        )
    fastest = min(right, key=_step)
    alike = [row for row in right if row.step is not None and fastest.step and row.step.low <= fastest.step.high]
    best = alike[0] if alike else fastest
    assert best.speedup is not None
    if best.speedup.low <= 1:
        return "No mode is faster than the uncompiled program by more than what was measured varies."
    paid = f", and pays for compiling after {best.pays_after} steps" if best.pays_after else ""
    others = [row.name for row in alike if row is not best]
    same = f" ({', '.join(others)} cannot be told apart from it)" if others else ""
    return f"{best.name}{same}: {_times(best.speedup)} times as fast as uncompiled{paid}."


def notes(rows: Sequence[ModeRow], step_function: str | None) -> list[str]:
    """How it was measured."""
    measured = [row for row in rows if row.outcome == "measured"]
    if not measured:
        return []
    step = f"a call of `{step_function}`" if step_function else (
        "what compiled functions take from one call to the next one of the same function, with their backward pass"
    )  # fmt: skip
    least, most = min(row.rounds for row in measured), max(row.rounds for row in measured)
    rounds = str(most) if least == most else f"{least} to {most}"
    several = max(row.processes for row in measured)
    drawn = f"in {several} processes each, one after the other" if several > 1 else (
        "in one process each: the next run may differ by more than the intervals"
    )  # fmt: skip
    told = [
        f"A step is {step}. All modes were measured in turns, {rounds} rounds {drawn}; intervals are of 95 %.",
        "What a step takes holds for this run: a machine that is slower in the next one is so in every mode. "
        "Compare the times faster.",
    ]
    if any(row.repeated for row in measured):
        told.append("The program made too few calls: its last one was made again, with the same inputs.")
    return told


def _step(row: ModeRow) -> float:
    return row.step.value if row.step is not None else float("inf")


def seconds(step: Interval) -> str:
    """The median, and below it the interval."""
    unit, name = next(
        ((unit, name) for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")) if step.value >= unit), (1e-6, "us")
    )
    return f"{_digits(step.value / unit)} {name}\n{_digits(step.low / unit)}..{_digits(step.high / unit)}"


def _times(speedup: Interval | None) -> str:
    if speedup is None:
        return ""
    if speedup.low == speedup.high:
        return _digits(speedup.value)
    return f"{_digits(speedup.value)} ({_digits(speedup.low)}..{_digits(speedup.high)})"


def _digits(value: float) -> str:
    """Three that count, without an exponent."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _pays(row: ModeRow) -> str:
    if not row.compile_seconds:
        return ""
    return f"{row.pays_after:,} steps" if row.pays_after is not None else "never"


def _memory(row: ModeRow) -> str:
    parts = [f"{row.peak_bytes / 2**20:.0f} MiB" if row.peak_bytes else ""]
    parts += [f"{row.device_peak_bytes / 2**20:.0f} MiB on the GPU" if row.device_peak_bytes else ""]
    return ", ".join(filter(None, parts))
