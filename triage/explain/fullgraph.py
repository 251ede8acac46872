"""What `fullgraph=True` fails with first, from the exception of a run under it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from triage.explain.advice import advice
from triage.explain.breaks import words_of
from triage.explain.places import around, function_of, shown
from triage.model.explanation import GraphBreak
from triage.model.outcome import Frame, Outcome, RaisedException


def first_to_fail(outcome: Outcome, known: Sequence[GraphBreak], cwd: Path) -> GraphBreak | None:
    """The break in the way of one graph; None where the run passes, or fails of something that is no break."""
    error = outcome.exception
    if error is None:
        return None
    found = words_of(error.message)
    frame = _own_frame(error)
    if frame is None:
        return None
    file = shown(frame.file, cwd)
    same = next((each for each in known if (each.file, each.line) == (file, frame.line)), None)
    return GraphBreak(
        file=file,
        line=frame.line,
        code=frame.code,
        reason=found.reason,
        id=found.id or (same.id if same is not None else None),
        hints=found.hints,
        function=function_of(frame.function),
        explanation=found.explanation,
        link=found.link,
        cure=advice(frame.code, found.reason, found.explanation, found.hints),
        source=around(file, frame.line, cwd),
    )


def _own_frame(error: RaisedException) -> Frame | None:
    own = [frame for frame in error.user_code if "site-packages" not in frame.file]
    return next(iter([*reversed(own), *reversed(error.user_code)]), None)
