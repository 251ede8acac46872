"""The smoke test: a fresh environment must compile a trivial function on every rung before it may judge anything.

Without it a missing setuptools looks like a bug of Inductor, and every version without it like a bad one. It runs in the
surroundings of a probe: private temporary files, an empty compiler cache.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from triage.model.rungs import BACKENDS
from triage.probe.launch import Cancel, Launch, launch, text_of
from triage.probe.staging import AGENT, environment, harvest_neutral, make_stage

TIMEOUT_SECONDS = 420.0


@dataclass(frozen=True)
class Smoke:
    """What the test found. `problem` says why the environment cannot judge; None where it can."""

    problem: str | None
    facts: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0


def smoke_test(python: Path, toolchain: Path, cancel: Cancel | None) -> Smoke:
    """Run it in this interpreter. `toolchain` keeps what is neutral of the compiler cache for the probes to come."""
    stage = make_stage(toolchain)
    try:
        env = environment(os.environ, stage, {}, trace=None, extra={"PYTHONNOUSERSITE": "1"})
        for name in ("TRIAGE_AGENT", "TORCH_LOGS", "PYTHONPATH"):  # nothing is hooked here
            env.pop(name, None)
        env.pop("PYTHONDONTWRITEBYTECODE")  # the environment is ours, and every probe starts quicker for it
        out, err = stage.root / "out.txt", stage.root / "err.txt"
        command = (str(python), str(AGENT / "boot.py"), "programs.smoke", *BACKENDS)
        done = launch(Launch(command, stage.root, env, out, err, TIMEOUT_SECONDS), cancel)
        lines = _lines(out)
        if done.code == 0:
            harvest_neutral(stage, toolchain)
        return Smoke(problem_of(lines, done.signal_name, done.timed_out, _tail(err)), _facts(lines), done.seconds)
    finally:
        stage.remove()


def problem_of(lines: list[dict[str, Any]], signal: str | None, timed_out: bool, stderr: str) -> str | None:
    """Why the environment cannot judge, from what the test printed until it ended."""
    facts = _facts(lines)
    if not lines:
        return f"its Python could not be started: {signal or stderr}"
    if facts.get("torch") is None:
        return f"torch cannot be imported: {facts.get('torch_error')}"
    if facts.get("dynamo_error"):
        return f"torch.compile refuses to work: {facts['dynamo_error']}"
    tried = {line["rung"]: line.get("error") for line in lines if "rung" in line}
    for rung, error in tried.items():
        if error:
            return f"the environment cannot compile a trivial function with {rung}: {error}"
    untried = next((rung for rung in BACKENDS if rung not in tried), None)
    if untried is not None:
        how = "did not end" if timed_out else f"died with {signal or 'no word'}"
        return f"a trivial function {how} with {untried}"
    return None


def _facts(lines: list[dict[str, Any]]) -> dict[str, Any]:
    return next((line for line in lines if "rung" not in line), {})


def _lines(path: Path) -> list[dict[str, Any]]:
    found = []
    for line in text_of(path).splitlines():
        try:
            value = json.loads(line) if line.startswith("{") else None
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def _tail(path: Path) -> str:
    lines = text_of(path).strip().splitlines()
    return lines[-1][:300] if lines else "no output"
