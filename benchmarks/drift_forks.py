"""Runs scripts under planted faults, in children of a warm interpreter: as probes of the ladder, or as nothing but a process.

A process started anew costs seconds on a small machine, a fork a tenth of one; five hundred programs want thousands of
runs. Which faults there are stands in a file whose name every process below this one inherits.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from drift_programs import Fault

from triage.judge.signature import signature_of
from triage.probe import interpret
from triage.probe.events import read_events
from triage.probe.forkclient import ForkRequest, ForkServer
from triage.probe.launch import Cancel
from triage.probe.notes import graph_order
from triage.probe.run import Probe, ProbeRequest
from triage.trial.facts import facts_of_fork

PLANTED = Path(__file__).parent / "planted"
FAULTS, TRACE = "PLANTED_FAULTS", "PLANTED_TRACE"
TRACE_FILE = "planted-trace.jsonl"
SECONDS = 60.0


@dataclass(frozen=True)
class Ended:
    """How a process ended (negative: by a signal), what it wrote to stderr, what the planted compiler told."""

    status: int | None
    stderr: str = ""
    trace: tuple[dict[str, object], ...] = ()


class Plot:
    """Where the faults stand that hold now. From its making on, processes started by this one have them."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "faults.json"
        self.plant(())
        os.environ[FAULTS] = str(self._file)
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(PLANTED), os.environ.get("PYTHONPATH")]))

    def plant(self, faults: Sequence[Fault]) -> None:
        part = self._file.with_suffix(".part")
        part.write_text(json.dumps([asdict(fault) for fault in faults]), encoding="utf-8")
        part.replace(self._file)


class Forks:
    """A warm interpreter of its own. `probe` stands in for `run_probe`; `ended` runs a script with the compiler's trace."""

    def __init__(self, python: str, folder: Path, plot: Plot) -> None:
        self._folder, self._plot = folder, plot
        folder.mkdir(parents=True, exist_ok=True)
        self._server = ForkServer(python, folder, folder / "shared")

    def close(self) -> None:
        self._server.close()

    def ended(self, source: str, faults: Sequence[Fault]) -> Ended:
        """The script as it is, under these faults."""
        self._plot.plant(faults)
        root = Path(tempfile.mkdtemp(dir=self._folder))
        try:
            request = ForkRequest(source, root, SECONDS, env={TRACE: TRACE_FILE, "TORCH_COMPILE_BACKEND": None})
            done = self._server.submit(request).result()
            status = None if done.exit.timed_out or done.oom else done.exit.code
            return Ended(status, text_of(root / "stderr.txt"), trace_of(root / "cwd" / TRACE_FILE))
        finally:
            shutil.rmtree(root, ignore_errors=True)

    def probe(self, request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        """One probe of the ladder; its graphs are kept where `run_probe` keeps them."""
        assert request.target.script is not None
        root = Path(tempfile.mkdtemp(dir=self._folder))
        try:
            asked = ForkRequest(
                request.target.script.read_text(encoding="utf-8"),
                root,
                min(request.timeout, SECONDS),
                request.rung,
                capture=request.capture,
                record_values=request.record_values,
                accuracy=request.accuracy,
            )
            facts = facts_of_fork(asked, self._server.submit(asked).result()).result
            outcome = interpret.with_comparison(facts.outcome, facts.notes)
            log = request.directory / "logs" / f"{request.name}.err.log"
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text(text_of(root / "stderr.txt"), encoding="utf-8")
            graphs = kept_graphs(root / "channel", request.directory / "graph" / request.name)
            return Probe(request.name, request.rung, outcome, signature_of(outcome), facts.notes, log, graphs)
        finally:
            shutil.rmtree(root, ignore_errors=True)


def fresh(python: str, source: str, faults: Sequence[Fault], plot: Plot) -> Ended:
    """The same as `Forks.ended` in a new process and an empty directory."""
    plot.plant(faults)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "repro.py").write_text(source, encoding="utf-8")
        env = {**os.environ, TRACE: TRACE_FILE}
        words = [python, "repro.py"]
        try:
            done = subprocess.run(
                words, cwd=place, env=env, capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return Ended(None)
        return Ended(done.returncode, done.stderr, trace_of(place / TRACE_FILE))


def kept_graphs(channel: Path, goal: Path) -> tuple[Path, ...]:
    """Copy the captured graphs out of a channel, the failing ones first."""
    names = graph_order(read_events(channel))
    goal.mkdir(parents=True, exist_ok=True)
    return tuple(Path(shutil.copy2(channel / name, goal / name)) for name in names if (channel / name).is_file())


def trace_of(file: Path) -> tuple[dict[str, object], ...]:
    return tuple(json.loads(line) for line in text_of(file).splitlines())


def text_of(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
