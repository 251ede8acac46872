"""How scripts of PyTorch's minifier end."""

from __future__ import annotations

from triage.model.outcome import Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind

TORCH = "/venv/lib/python3.11/site-packages/torch/"


def trace(error: str) -> str:
    return f'Traceback (most recent call last):\n  File "launcher.py", line 9, in <module>\n    main()\n{error}\n'


def failed(message: str, frame: str = "_inductor/ir.py", kind: str = "RuntimeError") -> Outcome:
    error = RaisedException(kind, message, (Frame(TORCH + frame, 1, "realize"),))
    return Outcome(OutcomeKind.EXCEPTION, seconds=1.0, exit_code=1, exception=error)


OK = Outcome(OutcomeKind.OK)
SAME = failed("the planted failure")
OTHER = failed("quite another failure")
