"""What the target interpreter has: asked once, in a process of its own, in the target itself."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from triage.errors import TargetError
from triage.probe.launch import Cancel
from triage.probe.staging import AGENT
from triage.probe.target import run_python

TIMEOUT_SECONDS = 120
PAGE = "--collect-env"
WARM_FILE = "facts.json"


@dataclass(frozen=True)
class TargetEnvironment:
    """Facts about the target. `facts` holds all of them; `torch` is None where it cannot be imported."""

    python: str
    torch: str | None
    torch_error: str | None
    collect_env: str
    facts: dict[str, Any] = field(default_factory=dict)

    def summary(self) -> dict[str, str]:
        """The short table of a report: names and versions."""
        pip = {name: value for name, value in (self.facts.get("pip") or {}).items() if value}
        compiler = self.facts.get("compiler") or {}
        found = {
            "torch": self.torch,
            "git_version": self.facts.get("git_version"),
            "python": self.facts.get("python"),
            "platform": self.facts.get("platform"),
            "compiler": compiler.get("version"),
            "cuda": self.facts.get("cuda_built"),
            "hip": self.facts.get("hip_built"),
            "device": self.facts.get("cuda_device") or "cpu",
            "cuda_capability": self.facts.get("cuda_capability"),
            "driver": self.facts.get("driver"),
            "cudnn": self.facts.get("cudnn"),
            "cpu_capability": self.facts.get("cpu_capability"),
            **pip,
        }
        return {name: str(value) for name, value in found.items() if value}


def describe_target(python: str, *, collect_env: bool = True, cancel: Cancel | None = None) -> TargetEnvironment:
    """Ask the interpreter. Raises TargetError where it cannot be run at all."""
    arguments = [str(AGENT / "boot.py"), "programs.environment", *([PAGE] if collect_env else [])]
    done = run_python(python, arguments, timeout=TIMEOUT_SECONDS, cancel=cancel)
    told = told_of(python, done.stdout)
    if told is None:
        raise TargetError(
            what=f"{python} is not a Python interpreter that triage can use.",
            why=_own_words(done.stderr) or f"It ended with status {done.returncode}.",
            next="Name the interpreter of the failing script: --python ~/venv/bin/python",
        )
    return told


def _own_words(said: str) -> str:
    """The line that tells most: the last of a traceback, the first of any other program's complaint."""
    lines = said.strip().splitlines() or [""]
    return lines[-1] if any(line.startswith("Traceback ") for line in lines) else lines[0]


def warm_script(*, page: bool) -> str:
    """The same program in a child of a warm interpreter, which has imported torch already. What it says is in WARM_FILE.

    With the `page` of torch.utils.collect_env it takes some seconds.
    """
    arguments = [PAGE] if page else []
    return f"""
import contextlib
import importlib

with open({WARM_FILE!r}, "w") as file, contextlib.redirect_stdout(file):
    importlib.import_module("_triage_agent.programs.environment").main({arguments!r})
"""


def told_of(python: str, output: str) -> TargetEnvironment | None:
    """What the interpreter said; None where it said nothing."""
    line = next((line for line in reversed(output.splitlines()) if line.startswith("{")), None)
    if line is None:
        return None
    facts = json.loads(line)
    text = str(facts.pop("collect_env", "") or "")
    return TargetEnvironment(python, facts.get("torch"), facts.get("torch_error"), text, facts)


def require_findable_torch(python: str) -> None:
    """Raise TargetError where the interpreter would find no torch, or cannot be run at all; torch is not imported."""
    asked = run_python(
        python, ["-c", "import importlib.util as u; print(u.find_spec('torch'))"], timeout=TIMEOUT_SECONDS
    )
    if asked.stdout.strip() == "None":
        require_torch(TargetEnvironment(python, None, "ModuleNotFoundError: No module named 'torch'", ""))


def require_torch(environment: TargetEnvironment) -> None:
    """Raise TargetError where the target has no torch that can be imported."""
    if environment.torch is not None:
        return
    missing = "ModuleNotFoundError" in (environment.torch_error or "")
    raise TargetError(
        what=f"{'There is no torch' if missing else 'torch cannot be imported'} in {environment.python}.",
        why=environment.torch_error or "The import failed.",
        next="Activate the environment of the failing script, or name its interpreter: --python ~/venv/bin/python",
    )
