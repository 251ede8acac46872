"""What differs between two sweeps over the same scripts: under another torch, another interpreter, or on another day."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from triage.errors import TriageError
from triage.model.sweep import Against, Fate, ScriptResult, SweepReport
from triage.report.redact import redactor_here
from triage.report.store import load_report
from triage.report.writing import load_sweep
from triage.stories.compare_runs import Likeness, compare
from triage.sweep.same_bug import plain

_FINE = (Fate.PASSES, Fate.ROUNDING)


def failing_in(base: Path | None) -> Callable[[str], bool]:
    """Whether a script failed in that sweep, if there is one. Raises UsageError where it is none."""
    if base is None:
        return lambda script: False
    written = _written()
    failing = {written(result.script) for result in load_sweep(base).results if result.fate.ended_badly}
    return lambda script: written(script) in failing


def against(found: SweepReport, folder: Path, base: Path) -> Against:
    """How the scripts of both fare, the earlier sweep being that of the directory `base`. Raises UsageError where it is none."""
    written = _written()
    earlier = load_sweep(base)
    root = base if base.is_dir() else base.parent
    before = {written(result.script): result for result in earlier.results if _told(result)}
    now = {written(result.script): result for result in found.results if _told(result)}
    kinds: dict[str, list[str]] = {"new": [], "fixed": [], "changed": [], "still": [], "flaky": []}
    for script, result in now.items():
        if script in before:
            kind = _kind(before[script], result, root, folder)
            if kind is not None:
                kinds[kind].append(script)
    return Against(
        base=str(base),
        **{name: tuple(scripts) for name, scripts in kinds.items()},
        only_here=tuple(script for script in now if script not in before),
        only_there=tuple(script for script in before if script not in now),
    )


def _written() -> Callable[[str], str]:
    """From the name of a script to the one under which a sweep on disk has it: what is private in its path is taken out."""
    return redactor_here(Path.cwd()).text


def _told(result: ScriptResult) -> bool:
    return result.fate.ended_badly or result.fate in _FINE


def _kind(before: ScriptResult, now: ScriptResult, root: Path, folder: Path) -> str | None:
    failed = before.fate.ended_badly, now.fate.ended_badly
    if failed == (False, False):
        return None
    if Fate.FLAKY in (before.fate, now.fate):
        return "flaky"
    if failed == (False, True):
        return "new"
    if failed == (True, False):
        return "fixed"
    return "still" if _alike(before, now, root, folder) else "changed"


def _alike(before: ScriptResult, now: ScriptResult, root: Path, folder: Path) -> bool:
    """Whether it is the same failure, as far as two releases of torch agree in it."""
    if before.fingerprint == now.fingerprint and before.stage == now.stage:
        return True
    if (before.fate is Fate.SCRIPT) != (now.fate is Fate.SCRIPT):
        return False
    if before.op and now.op and plain(before.op) == plain(now.op) and before.symptom == now.symptom:
        return True
    return _compared(root, before, folder, now) is Likeness.SAME


def _compared(root: Path, before: ScriptResult, folder: Path, now: ScriptResult) -> Likeness:
    try:
        left, right = load_report(root / str(before.directory)), load_report(folder / str(now.directory))
    except TriageError:  # the runs of the other sweep are gone
        return Likeness.UNKNOWN
    return compare(left, right).likeness
