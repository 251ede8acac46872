"""Candidates in fresh processes: one after another where nothing is warm, and to verify what a reduction ends in.

`verify` judges a finished reproducer under the user's own settings, each run in an empty directory.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from triage.environments.machine import usable_cores
from triage.judge.judgement import CandidateResult
from triage.model.accuracy import Comparison
from triage.model.rungs import backend_of
from triage.model.stage import OutcomeKind
from triage.probe.launch import Cancel
from triage.probe.run import Late, ProbeRequest, run_probe
from triage.probe.starvation import STILL_CANDIDATE_SECONDS, StandsStill
from triage.probe.target import Target
from triage.trial.facts import left_in, result_of_probe, with_streams
from triage.trial.limits import meets_others
from triage.trial.pool import PooledRunner, Query

SCRIPT = "repro.py"
VERIFY_JOBS = 3  # more side by side would share too little of the machine to be the user's own settings
ONE_THREAD = {"OMP_NUM_THREADS": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1"}


class FreshProcessRunner(PooledRunner):
    """A `CandidateRunner` that starts a process of the target interpreter per candidate. Slower, and works everywhere.

    `neutral` is the store of compiler facts that probes share, `kernels` where those that one candidate built are kept for the
    others, `accuracy` what the agent compares with eager in each candidate. `still`: the failure is a standstill.
    """

    def __init__(
        self, python: str, *, jobs: int | None = None, neutral: Path | None = None, kernels: Path | None = None
    ) -> None:
        super().__init__(jobs)
        self.python, self.neutral, self.kernels = python, neutral, kernels
        self.accuracy: Comparison | None = None
        self.still = False
        self.threads = False  # as many as the user's program would have, and not one

    def _run_one(self, query: Query, cancel: Cancel) -> CandidateResult:
        directory = self._new_directory()
        try:
            kept: dict[str, Any] = {"neutral": self.neutral, "kernels": self.kernels, "extensions": self.kernels}
            kept["late"] = self.late()
            env = {} if self.threads else ONE_THREAD
            return run_fresh(query, self.python, directory, cancel, extra_env=env, accuracy=self.accuracy, **kept)
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def late(self) -> Late | None:
        """What ends a run before its limit."""
        return StandsStill(STILL_CANDIDATE_SECONDS) if self.still else None


def run_fresh(
    query: Query, python: str, directory: Path, cancel: Cancel, *, extra_env: Mapping[str, str], **asked: Any
) -> CandidateResult:
    """Run `python repro.py` in an empty directory below `directory`, one of a runner's own, with the agent watching.

    `asked` are further fields of the `ProbeRequest`.
    """
    place = directory / "cwd"
    place.mkdir(parents=True)
    (place / SCRIPT).write_text(query.source, encoding="utf-8")
    backend = backend_of(query.rung)
    extensions = {"TORCH_EXTENSIONS_DIR": str(directory / "extensions")}
    env = {**extensions, **extra_env, **({"TORCH_COMPILE_BACKEND": backend} if backend is not None else {})}
    request = ProbeRequest(
        name="candidate",
        target=Target(python, (python, SCRIPT), place),
        rung=query.rung,
        timeout=query.timeout,
        spare=query.spare,
        directory=directory,
        extra_env=env,
        verbose_logs=False,
        private=(directory.parent,),
        **asked,
    )
    result = result_of_probe(run_probe(request, cancel))
    return with_streams(replace(result, left=left_in(place)), directory)


@dataclass(frozen=True)
class Fresh:
    """How a finished reproducer is run: fresh process, fresh caches, empty directory, the user's own settings.

    `timeout` is that of one run; none is run past `end` (of `time.monotonic`). C++ extensions of the program are not built again
    where they lie in `extensions`: they are not what is asked about, and may take longer than all else. `still`: the failure is
    a standstill, so a run that does nothing any more is not waited for to its limit.
    """

    timeout: float = 120.0
    neutral: Path | None = None
    extensions: Path | None = None
    end: float = math.inf
    still: bool = False


def verify(
    source: str, python: str, fresh: Fresh = Fresh(), *, rung: str | None = None, runs: int = 3
) -> list[CandidateResult]:
    """Run a finished reproducer `runs` times. The results hold the graph that failed."""
    return _answers([Query(source, rung, fresh.timeout)] * runs, python, fresh)


def verify_with_control(
    source: str, python: str, passing: str, fresh: Fresh, *, runs: int, warm: PooledRunner | None
) -> tuple[list[CandidateResult], CandidateResult]:
    """What `verify` gives, and beside it one run with the backend `passing`, which ought to end well.

    That one is asked of the `warm` runner first; only where it does not end well there, a fresh process decides.
    """
    if warm is not None:
        control = warm.run(source, rung=passing, timeout=fresh.timeout)
        if control.outcome.kind is OutcomeKind.OK:
            return verify(source, python, fresh, runs=runs), control
    queries = [*[Query(source, None, fresh.timeout)] * runs, Query(source, passing, fresh.timeout)]
    *results, control = _answers(queries, python, fresh)
    return results, control


def _answers(queries: Sequence[Query], python: str, fresh: Fresh) -> list[CandidateResult]:
    alone = any(meets_others(query.source) for query in queries)
    # One more than there are cores: the last of three does not leave one idle.
    jobs = 1 if alone else min(len(queries), usable_cores() + 1, VERIFY_JOBS)
    runner = _Verifier(python, jobs=jobs, neutral=fresh.neutral, kernels=fresh.extensions)
    runner.still = fresh.still
    runner.until(fresh.end)
    try:
        answers = dict(runner.run_queries(queries))
        return [answers[number] for number in sorted(answers)]
    finally:
        runner.close()


class _Verifier(FreshProcessRunner):
    """Under the user's own settings; of a graph that fails it tells which it is."""

    def _run_one(self, query: Query, cancel: Cancel) -> CandidateResult:
        directory = self._new_directory()
        asked: dict[str, Any] = {
            "neutral": self.neutral,
            "extensions": self.kernels,
            "capture": True,
            "late": self.late(),
        }
        return run_fresh(query, self.python, directory, cancel, extra_env={}, **asked)
