"""One more run of the program, to see what it executes.

The program runs as it is, uncompiled (inside compiled code no line would be seen), with `agent/trace/lines.py` watching it
and the processes that it starts.
Where nothing came back, a crash for instance, there is no evidence, and the reducer starts from the bare text.

Of a program of several processes the failing functions were called in one of them. What they were called on comes from that
one; a line counts where any process executed it, since the whole program in one file needs them all (what starts the
processes runs in the first).
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triage.model.outcome import Frame
from triage.model.rungs import UNCOMPILED
from triage.probe.launch import Cancel
from triage.probe.run import ProbeRequest, run_probe
from triage.probe.target import Target
from triage.reduce.text.watching.evidence import Trace, packages_of, read

VARIABLE = "TRIAGE_TRACE_LINES"


@dataclass(frozen=True)
class Wanted:
    """What is to be seen of the call that fails. `calls` is its number among the compiled calls, 0 if it comes later.

    `compiled`: what every compiled function is called on is told, as the failure names none.
    """

    frames: Sequence[Frame]  # the compiled functions that fail
    outer: Sequence[Frame]  # those around them
    calls: int
    rank: int | None = None  # of the process that failed
    compiled: bool = False


def trace(
    target: Target, wanted: Wanted, directory: Path, timeout: float, neutral: Path | None, cancel: Cancel | None = None
) -> Trace | None:
    """Run the program once more, uncompiled, for `timeout` seconds at most; None where nothing came back."""
    roots = [target.cwd, *([target.script.parent] if target.script else [])]
    out = directory / "executed"
    shutil.rmtree(out, ignore_errors=True)  # of a run that was cut short
    out.mkdir(parents=True)
    config: dict[str, Any] = {
        "out": str(out.absolute()),
        "roots": sorted({str(root.resolve()) for root in roots}),
        "wanted": [[Path(frame.file).name, frame.function, frame.line] for frame in (*wanted.frames, *wanted.outer)],
        "calls": wanted.calls,
        "packages": packages_of(wanted.frames),
        "compiled": wanted.compiled,
    }
    request = ProbeRequest(
        name="executed",
        target=target,
        rung=UNCOMPILED.name,
        timeout=timeout,
        directory=directory,
        extra_env={VARIABLE: json.dumps(config)},
        neutral=neutral,
        verbose_logs=False,
    )
    run_probe(request, cancel)
    with contextlib.suppress(ValueError, KeyError, TypeError):
        facts = united(list(_written(out)), wanted.calls, wanted.rank)
        around = {(frame.function, frame.line) for frame in wanted.outer}
        return read(facts, [Path(root) for root in config["roots"]], around) if facts is not None else None
    return None


def _written(directory: Path) -> Iterator[dict[str, Any]]:
    """What each process of the program has written."""
    for path in sorted(directory.glob("executed-*.json")):
        with contextlib.suppress(OSError, ValueError):
            yield json.loads(path.read_text(encoding="utf-8"))


Facts = Mapping[str, Any]  # as the agent writes them (`agent/trace/lines.py`)


def united(facts: Sequence[Facts], calls: int, rank: int | None = None) -> Facts | None:
    """The facts of the process that failed, with the lines that others executed, and the modules of those of the same script.

    `calls` is the number of the compiled call that fails, `rank` that of its process in its group.
    """
    if not facts:
        return None
    in_order = sorted(facts, key=lambda item: item["began"])
    failed = max(in_order, key=lambda item: _likeness(item, calls, rank))
    found = {**failed, "lines": _lines(facts)}
    alike = [failed, *(item for item in in_order if item is not failed and item["main"][0] == failed["main"][0])]
    for key in ("modules", "origins"):
        found[key] = {name: told for item in reversed(alike) for name, told in item[key].items()}
    found["files"] = list(dict.fromkeys(file for item in alike for file in item["files"]))
    return found


def _likeness(item: Facts, calls: int, rank: int | None) -> tuple[bool, ...]:
    """How much a process looks like the one that failed; of equal ones the first to begin is taken."""
    told = [call for call in item["calls"] if "args" in call] + list(item["moments"])
    return (
        any(call["at"] == calls for call in told) and rank in (None, item["rank"]),
        any(call["at"] == calls for call in told),
        bool(told),
        bool(item["lines"]),
    )


def _lines(facts: Sequence[Facts]) -> dict[str, list[int]]:
    found: dict[str, set[int]] = {}
    for item in facts:
        for file, lines in item["lines"].items():
            found.setdefault(file, set()).update(lines)
    return {file: sorted(lines) for file, lines in found.items()}
