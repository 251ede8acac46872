"""One more run of the program, to see what it executes.

The program runs as it is, uncompiled (inside compiled code no line would be seen), with `agent/trace/lines.py` watching it
and the processes that it starts.
Where nothing came back, a crash for instance, there is no evidence, and the reducer starts from the bare text.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triage.model.outcome import Frame
from triage.model.rungs import UNCOMPILED
from triage.probe.launch import Cancel
from triage.probe.run import ProbeRequest, run_probe
from triage.probe.target import Target
from triage.reduce.text.watching.evidence import Trace, packages_of, read
from triage.reduce.text.watching.processes import united

VARIABLE = "TRIAGE_TRACE_LINES"


@dataclass(frozen=True)
class Wanted:
    """What is to be seen of the call that fails. `calls` is its number among the compiled calls, 0 if it comes later.

    `compiled`: what every compiled function is called on is told, as none is known to fail.
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
