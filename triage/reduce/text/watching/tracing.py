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


def trace(
    target: Target,
    frames: Sequence[Frame],
    outer: Sequence[Frame],
    calls: int,
    directory: Path,
    timeout: float,
    neutral: Path | None,
    cancel: Cancel | None = None,
    *,
    rank: int | None = None,
    compiled: bool = False,
) -> Trace | None:
    """Run the program once more, uncompiled. `calls` is the number of the compiled call that fails, 0 if it comes later.

    `frames` are the compiled functions that fail, `outer` those around them. `rank` is that of the process that failed;
    `compiled`: what every compiled function is called on is told, as none is known to fail.
    """
    roots = [target.cwd, *([target.script.parent] if target.script else [])]
    out = directory / "executed"
    shutil.rmtree(out, ignore_errors=True)  # of a run that was cut short
    out.mkdir(parents=True)
    config: dict[str, Any] = {
        "out": str(out.absolute()),
        "roots": sorted({str(root.resolve()) for root in roots}),
        "wanted": [[Path(frame.file).name, frame.function, frame.line] for frame in (*frames, *outer)],
        "calls": calls,
        "packages": packages_of(frames),
        "compiled": compiled,
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
        facts = united(list(_written(out)), calls, rank)
        around = {(frame.function, frame.line) for frame in outer}
        return read(facts, [Path(root) for root in config["roots"]], around) if facts is not None else None
    return None


def _written(directory: Path) -> Iterator[dict[str, Any]]:
    """What each process of the program has written."""
    for path in sorted(directory.glob("executed-*.json")):
        with contextlib.suppress(OSError, ValueError):
            yield json.loads(path.read_text(encoding="utf-8"))
