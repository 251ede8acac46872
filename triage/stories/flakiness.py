"""What is said of a failure that does not come every time: how sure its rate is, and whether random numbers decide."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from triage.locate.conclude import Conclusion, Seen
from triage.model.rungs import UNCOMPILED
from triage.model.stage import OutcomeKind, Symptom
from triage.model.text import some
from triage.probe.run import Probe
from triage.probe.written import is_our_output

MOST_FILES = 5


def passes_at_first(seen: Seen, seeded: Mapping[int, tuple[int, int]], idle: Seen) -> bool:
    """Whether the first runs pass, uncompiled too, and each one after them fails: what those left behind decides.

    Runs with fixed seeds, and those that compiled nothing (`idle`), came after them: where one of these passes, it is chance.
    """
    every = [[probe.outcome.failed for probe in probes] for probes in seen.values()]
    turned = [failed for failed in every if not failed[0] and len(failed) > 1]
    later = any(failures < runs for runs, failures in seeded.values()) or any(idle.values())
    return bool(turned) and all(all(failed[1:]) and (failed[0] or len(failed) > 1) for failed in every) and not later


def order_notes(folder: Path, since: float) -> list[str]:
    """Why there is no rate, and which files of the folder the runs made or changed since that time."""
    files = changed([folder], since)
    made = [f"Made or changed beside the script meanwhile: {some(files, MOST_FILES)}."] if files else []
    return [
        "It passes at first and fails in each later run, without torch.compile as well: that looks like something that the "
        "earlier runs left behind, not like chance. Let it start anew each time (another folder for what it writes), then run "
        "triage again.",
        *made,
    ]


def written_note(folders: Iterable[Path], since: float, ours: Path) -> str | None:
    """Which files and folders there the runs of the script seem to have written. `ours` is what triage itself writes to."""
    files = changed(folders, since, ours)
    if not files:
        return None
    return (
        f"Made or changed where the script runs meanwhile: {some(files, MOST_FILES)}. What the script writes there, it wrote "
        "once in each of its runs, and triage makes several."
    )


def changed(folders: Iterable[Path], since: float, ours: Path | None = None) -> list[str]:
    """What is new or was written to, by name; neither hidden files nor Python's caches, nor what holds `ours` or our output."""
    kept = {ours, *ours.parents} if ours is not None else set()
    names = set()
    for folder in set(folders):
        with contextlib.suppress(OSError):  # it may be gone, or what it holds
            names |= {
                path.name
                for path in folder.iterdir()
                if not path.name.startswith((".", "__pycache__")) and path not in kept and _is_new(path.lstat(), since)
            }
    return [f"`{name}`" for name in sorted(names)]


def _is_new(facts: os.stat_result, since: float) -> bool:
    return facts.st_mtime >= since and not is_our_output(facts)


def flaky_notes(conclusion: Conclusion, seeded: Mapping[int, tuple[int, int]]) -> list[str]:
    """How sure the rate of a flaky failure is, and whether random numbers decide: `seeded` is (runs, failures) by seed."""
    if not conclusion.has_rate:
        return []
    low, high = wilson(conclusion.failures, conclusion.runs)
    notes = [
        f"It failed in {conclusion.failures} of {conclusion.runs} runs: a rate between {100 * low:.0f} % and {100 * high:.0f} % "
        "(95 % confidence)."
    ]
    always = [str(seed) for seed, (runs, failures) in seeded.items() if failures == runs]
    never = [str(seed) for seed, (_, failures) in seeded.items() if failures == 0]
    if always and never and len(always) + len(never) == len(seeded):
        notes.append(
            "Random numbers or the order of sets decide: with PYTHONHASHSEED and the seeds of random, NumPy and torch set to "
            f"{' or '.join(always)} it fails every time, with {' or '.join(never)} never ({_runs_of(seeded)} runs)."
        )
    elif len(seeded) > len(always) + len(never):
        notes.append(f"Fixed random seeds and a fixed PYTHONHASHSEED do not decide it ({_runs_of(seeded)} runs).")
    elif seeded:
        every = "fails every time" if always else "never fails"
        notes.append(f"With the seeds {' and '.join([*always, *never])} of all random generators it {every}.")
    return notes


def other_way_notes(conclusion: Conclusion, seen: Seen, idle: Seen) -> list[str]:
    """Where whatever passes on the rungs that compile had compiled nothing, and what fails had: those runs took another way."""
    if conclusion.symptom is not Symptom.NONDETERMINISTIC or conclusion.compiled_nothing:
        return []
    told = [
        probe
        for probes in (*seen.items(), *idle.items())
        if probes[0] != UNCOMPILED.name
        for probe in probes[1]
        if probe.outcome.failed or probe.outcome.kind is OutcomeKind.OK
    ]
    compiled = {failed: [_compiled(each) for each in told if each.outcome.failed == failed] for failed in (True, False)}
    if not compiled[False] or any(compiled[False]) or not all(compiled[True]):
        return []
    count = len(compiled[False])
    which = (
        f"Each of the {count} runs with a compiler that pass"
        if count > 1
        else "The one run with a compiler that passes"
    )
    return [
        f"{which} had compiled nothing, and each that fails had: the program takes another way at times, and passes then."
    ]


def _compiled(probe: Probe) -> bool:
    return bool(probe.notes.graphs or probe.notes.last_breadcrumb)


def _runs_of(seeded: Mapping[int, tuple[int, int]]) -> int:
    return sum(runs for runs, _ in seeded.values())


def wilson(failures: int, runs: int) -> tuple[float, float]:
    """The score interval of a rate with 95 % (Wilson, 1927)."""
    z = 1.96  # the normal quantile
    rate, square = failures / runs, z * z / runs
    middle = (rate + square / 2) / (1 + square)
    half = z * math.sqrt(rate * (1 - rate) / runs + square / (4 * runs)) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)
