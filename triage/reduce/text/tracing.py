"""One more run of the program, to see what it executes.

The program runs as it is, uncompiled (inside compiled code no line would be seen), with `agent/trace/lines.py` watching.
Where nothing came back, a crash for instance, there is no evidence, and the reducer starts from the bare text.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from triage.model.outcome import Frame
from triage.model.rungs import UNCOMPILED
from triage.probe.launch import Cancel
from triage.probe.run import ProbeRequest, run_probe
from triage.probe.target import Target
from triage.reduce.text.evidence import Trace, packages_of, read

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
    compiled: bool = False,
) -> Trace | None:
    """Run the program once more, uncompiled. `calls` is the number of the compiled call that fails, 0 if it comes later.

    `frames` are the compiled functions that fail, `outer` those around them; `compiled`: what every compiled function is called
    on is told, as none is known to fail.
    """
    roots = [target.cwd, *([target.script.parent] if target.script else [])]
    out = directory / "executed.json"
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
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        around = {(frame.function, frame.line) for frame in outer}
        return read(json.loads(out.read_text(encoding="utf-8")), [Path(root) for root in config["roots"]], around)
    return None
