"""What every candidate runner does alike: one at a time or several, bounded, in the order they finish, and cancelled early.

A runner derives from `PooledRunner` and says how one candidate is run. What ran out of a memory that it shared is asked again
with nobody beside it.
"""

from __future__ import annotations

import math
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from triage.judge.judgement import CandidateResult
from triage.model.stage import OutcomeKind
from triage.probe.launch import Cancel
from triage.probe.starvation import to_spare
from triage.trial.facts import not_run
from triage.trial.interface import CandidateRunner
from triage.trial.limits import default_jobs

DEFAULT_TIMEOUT_SECONDS = 120.0
TOO_LATE = "the budget ended"


@dataclass(frozen=True)
class Query:
    """One candidate to run. An empty `rung` is none: the script's own default.

    It is given its `timeout`, and up to `spare` seconds besides in which it waited for a processor.
    """

    source: str
    rung: str | None
    timeout: float
    spare: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rung", self.rung or None)


class PooledRunner:
    """A `CandidateRunner`; subclasses implement `_run_one`, which never raises for what a candidate does."""

    def __init__(self, jobs: int | None, view_of: object = None) -> None:
        self.jobs = jobs or default_jobs()
        self._lock = threading.Lock()
        self._root: Path | None = None
        self._made = 0
        self._executor: ThreadPoolExecutor | None = None
        self._memory: SharedOrAlone = view_of._memory if isinstance(view_of, PooledRunner) else SharedOrAlone()
        self._end: float = view_of._end if isinstance(view_of, PooledRunner) else math.inf

    def until(self, end: float) -> None:
        """No candidate runs past this time (of `time.monotonic`). One that it cuts short was not run, which is no hang."""
        self._end = end

    def run(self, source: str, *, rung: str | None = None, timeout: float | None = None) -> CandidateResult:
        """Run one candidate here and now."""
        return self._in_time(Query(source, rung, timeout or DEFAULT_TIMEOUT_SECONDS), Cancel())

    def run_many(
        self, sources: Sequence[str], *, rung: str | None = None, timeout: float | None = None
    ) -> Iterator[tuple[int, CandidateResult]]:
        """Yield (index, result) as they finish; closing the iterator ends what still runs."""
        yield from self.run_queries([Query(source, rung, timeout or DEFAULT_TIMEOUT_SECONDS) for source in sources])

    def run_queries(self, queries: Sequence[Query]) -> Iterator[tuple[int, CandidateResult]]:
        """The same for candidates that each have a rung and a limit of their own."""
        cancel = Cancel()
        running: dict[Future[CandidateResult], int] = {}
        try:
            for index, query in enumerate(queries):
                running[self._pool().submit(self._unless_cancelled, query, cancel)] = index
            while running:
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=running.__getitem__):
                    yield running.pop(future), future.result()
        finally:
            cancel.set()
            for future in running:
                future.cancel()
            wait(running)

    def close(self) -> None:
        """End everything and delete what the candidates left."""
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
            self._executor = None
        if self._root is not None:
            shutil.rmtree(self._root, ignore_errors=True)
            self._root = None

    def _run_one(self, query: Query, cancel: Cancel) -> CandidateResult:
        raise NotImplementedError

    def _unless_cancelled(self, query: Query, cancel: Cancel) -> CandidateResult:
        return not_run("cancelled") if cancel.is_set() else self._in_time(query, cancel)

    def _in_time(self, query: Query, cancel: Cancel) -> CandidateResult:
        """What ran out of memory beside others is run again alone: a GPU, too, has but so much for all of them."""
        with self._memory.together() as run:
            result = self._before_end(query, cancel)
        if result.outcome.kind is OutcomeKind.OOM and run.had_company and not cancel.is_set():
            with self._memory.alone():
                return self._before_end(query, cancel)
        return result

    def _before_end(self, query: Query, cancel: Cancel) -> CandidateResult:
        left = self._end - time.monotonic()
        if left <= 0:
            return not_run(TOO_LATE)
        timeout = min(query.timeout, left)
        result = self._run_one(replace(query, timeout=timeout, spare=to_spare(timeout, left)), cancel)
        cut = left < max(query.timeout, result.outcome.seconds) and result.outcome.kind is OutcomeKind.HANG
        return not_run(TOO_LATE) if cut else result

    def _pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(self.jobs, thread_name_prefix="candidate")
            return self._executor

    def _home(self) -> Path:
        """The private directory of this runner, under the system's temporary directory: paths there are short."""
        with self._lock:
            if self._root is None:
                self._root = Path(tempfile.mkdtemp(prefix="triage-"))
            return self._root

    def _new_directory(self) -> Path:
        home = self._home()
        with self._lock:
            self._made += 1
            path = home / str(self._made)
        path.mkdir()
        return path


class RunnerView(PooledRunner):
    """A runner that has another one run its candidates, and may check or change what that answers (`PairedRunner` also runs each
    uncompiled). Only the runner below it is closed.
    """

    def __init__(self, runner: CandidateRunner) -> None:
        super().__init__(runner.jobs, runner)
        self._runner = runner

    def _ask(self, query: Query, cancel: Cancel) -> CandidateResult:
        """What the runner below answers."""
        return ask(self._runner, query, cancel)

    _run_one = _ask


def ask(runner: CandidateRunner, query: Query, cancel: Cancel) -> CandidateResult:
    """One query, cancelled early where the runner can."""
    if isinstance(runner, PooledRunner):
        return runner._run_one(query, cancel)
    return runner.run(query.source, rung=query.rung, timeout=query.timeout)


@dataclass(eq=False)
class SharedRun:
    """A candidate's run; `had_company` once another ran at the same time."""

    had_company: bool = False


class SharedOrAlone:
    """A lock that many runs share, or one has alone; who waits to be alone goes before those who come later."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._sharing: set[SharedRun] = set()
        self._one_alone = False

    @contextmanager
    def together(self) -> Iterator[SharedRun]:
        run = SharedRun()
        with self._changed:
            self._changed.wait_for(lambda: not self._one_alone)
            self._sharing.add(run)
            if len(self._sharing) > 1:
                for each in self._sharing:
                    each.had_company = True
        try:
            yield run
        finally:
            with self._changed:
                self._sharing.discard(run)
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._one_alone)
            self._one_alone = True
        try:
            with self._changed:
                self._changed.wait_for(lambda: not self._sharing)
            yield
        finally:
            with self._changed:
                self._one_alone = False
                self._changed.notify_all()
