"""The profile of `triage explain --profile` in words, for the terminal and for the page."""

from __future__ import annotations

from collections.abc import Sequence

from triage.model.explanation import FusedTime, Profile, ProfiledOperation, ProfiledStep
from triage.model.text import clip, milliseconds

MOST_ROWS = 12
HEAD = ("operation", "times", "its own time", "of the step")
FUSED_HEAD = ("kernel", "operations in it", "compiled", "uncompiled")


def headline(profile: Profile) -> str:
    """How long a step takes in both."""
    before, after = profile.uncompiled, profile.compiled
    return (
        f"A step takes {milliseconds(before.seconds)} uncompiled and {milliseconds(after.seconds)} compiled, "
        f"under the profiler (the quickest of {after.steps}; --modes measures without it)."
    )


def rows(step: ProfiledStep) -> list[tuple[str, ...]]:
    """The dearest operations of a step, under `HEAD`."""
    return [_row(each, step.seconds) for each in step.operations[:MOST_ROWS]]


def fused_rows(fused: Sequence[FusedTime]) -> list[tuple[str, ...]]:
    """What was fused into what, under `FUSED_HEAD`."""
    return [
        (
            clip(", ".join(each.kernels), 120),
            clip(", ".join(each.operations), 160),
            milliseconds(each.seconds),
            milliseconds(each.uncompiled_seconds),
        )
        for each in fused[:MOST_ROWS]
    ]


def _row(each: ProfiledOperation, step: float) -> tuple[str, ...]:
    seconds = each.device_seconds or each.seconds
    share = f"{100 * seconds / step:.0f} %" if step else ""
    return clip(each.name, 80), str(each.count), milliseconds(seconds), share
