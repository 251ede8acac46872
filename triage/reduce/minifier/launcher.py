"""What is run to drive PyTorch's minifier: the program, its launcher, the scripts it leaves. Effects only, no judgement.

Everything happens in a temporary directory: the minifier stores the program's own inputs beside its scripts, and those must
not stay. What may be kept (the scripts and the launcher's output) is copied to the engine's part of the run directory.
Every process is started through `probe.launch`, so none outlives its time limit or an interrupt.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from triage.judge.judgement import CandidateResult
from triage.judge.signature import FailureSignature
from triage.model.graphcase import GraphCase
from triage.model.outcome import Outcome
from triage.probe.graphs import graph_of
from triage.probe.launch import Exit, Launch, launch, text_of
from triage.probe.run import ProbeRequest, run_probe
from triage.probe.staging import AGENT, environment, harvest_neutral, make_stage
from triage.probe.target import Target
from triage.reduce.minifier.checkpoints import OURS, Checkpoint, collect, is_launcher, without_settings
from triage.reduce.minifier.choice import Minifier

LAUNCHER = "minifier_launcher.py"


@dataclass(frozen=True)
class Dumped:
    """What a run of the program under the minifier's variables left. `launcher` is its text, None where there is none."""

    outcome: Outcome
    signature: FailureSignature | None
    launcher: str | None


@dataclass(frozen=True)
class Minified:
    """How a launcher ended. `output` is all that it printed, bounded; `checkpoints` the scripts, smallest first."""

    code: int | None
    timed_out: bool
    seconds: float
    output: str
    checkpoints: tuple[Checkpoint, ...]


class Workbench:
    """A temporary directory and the three things that are run in it. `directory` is the run directory (for logs)."""

    def __init__(self, target: Target, directory: Path, keep: Path, neutral: Path | None) -> None:
        self._target, self._directory, self._keep, self._neutral = target, directory, keep, neutral
        self._root = Path(tempfile.mkdtemp(prefix="triage-minify-"))
        self._runs = 0

    def __enter__(self) -> Workbench:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self._root, ignore_errors=True)

    def dump(self, minifier: Minifier, rung: str, timeout: float) -> Dumped:
        """Run the unmodified program once more, so that PyTorch writes its launcher."""
        place = self._folder("dump")
        probe = run_probe(
            ProbeRequest(
                name="repro_after-dump",
                target=self._target,
                rung=rung,
                timeout=timeout,
                directory=self._directory,
                extra_env={**minifier.environment, "TORCH_COMPILE_DEBUG_DIR": str(place)},
                neutral=self._neutral,
                verbose_logs=False,
            )
        )
        launcher = None
        # One per process of the program; the newest is that of the graph that failed last.
        for path in sorted(place.rglob(LAUNCHER), key=lambda path: path.stat().st_mtime, reverse=True):
            text = without_settings(path.read_text(encoding="utf-8", errors="replace"), OURS)
            if is_launcher(text):
                launcher = text
                self._store(LAUNCHER, text)
                break
        return Dumped(probe.outcome, probe.signature, launcher)

    def minify(self, launcher: str, arguments: tuple[str, ...], timeout: float) -> Minified:
        """Run the launcher until it ends or its time is over. What it had written by then counts."""
        self._runs += 1
        place = self._folder(f"minify-{self._runs}")
        (place / LAUNCHER).write_text(launcher, encoding="utf-8")
        out, err = self._root / "minify.out", self._root / "minify.err"
        done = self._start((self._target.python, LAUNCHER, *arguments), place, out, err, timeout)
        output = text_of(err) + "\n" + text_of(out)
        self._store("minify.log", output)
        found = tuple(collect([place]))
        for checkpoint in found:
            self._store(f"checkpoints/{checkpoint.path.name}", checkpoint.source)
        return Minified(done.code, done.timed_out, done.seconds, output, found)

    def run(self, checkpoint: Checkpoint, timeout: float) -> CandidateResult:
        """Run a checkpoint as PyTorch wrote it, by itself in a fresh process, with the agent watching."""
        self._runs += 1
        name = f"repro_after-{self._runs}"
        place = self._folder(name)
        (place / "checkpoint.py").write_text(checkpoint.source, encoding="utf-8")
        probe = run_probe(
            ProbeRequest(
                name=name,
                target=self._target.with_command(self._target.python, "checkpoint.py", cwd=place),
                rung=None,
                timeout=timeout,
                directory=self._directory,
                neutral=self._neutral,
                verbose_logs=False,
            )
        )
        # It calls the compiler itself, so torch.compile not having been used means nothing.
        return CandidateResult(
            probe.outcome, probe.notes, probe.signature, compiled=True, seconds=probe.outcome.seconds
        )

    def describe(self, checkpoint: Checkpoint, options: dict[str, Any], timeout: float) -> GraphCase | str:
        """The checkpoint's graph as data, or why it cannot be told."""
        self._runs += 1
        place = self._folder(f"describe-{self._runs}")
        script, answer = place / "checkpoint.py", place / "case.json"
        script.write_text(checkpoint.source, encoding="utf-8")
        command = (
            self._target.python, str(AGENT / "boot.py"), "programs.repro_module", str(script), str(answer), json.dumps(options),
        )  # fmt: skip
        done = self._start(command, place, place / "out", place / "err", timeout)
        try:
            data = json.loads(answer.read_text(encoding="utf-8"))
            if "case" in data:
                return graph_of(data["case"])
            return str(data["error"])
        except (OSError, ValueError, TypeError, KeyError) as error:
            return (
                f"reading its graph took longer than {timeout:.0f} s"
                if done.timed_out
                else f"its graph could not be read ({error})"
            )

    def _start(self, argv: tuple[str, ...], cwd: Path, out: Path, err: Path, timeout: float) -> Exit:
        """Run without the agent, with caches of its own."""
        stage = make_stage(self._neutral)
        try:
            env = environment(os.environ, stage, {}, trace=None, extra={"TORCH_COMPILE_DEBUG_DIR": str(cwd)})
            for name in ("TRIAGE_AGENT", "TORCH_LOGS"):
                env.pop(name, None)
            done = launch(Launch(argv, cwd, env, out, err, timeout))
            if done.code is not None and not done.timed_out:
                harvest_neutral(stage, self._neutral)
            return done
        finally:
            stage.remove()

    def _folder(self, name: str) -> Path:
        path = self._root / name
        path.mkdir(parents=True)
        return path

    def _store(self, name: str, text: str) -> None:
        with contextlib.suppress(OSError):
            path = self._keep / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
