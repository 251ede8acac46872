"""Candidates in children forked from a warm interpreter, or in fresh processes where that is impossible.

`ForkServerRunner` is what the engines use. Its server is started at the first candidate and again when it has died; a
candidate that was running then is run once more, in a fresh process, because it may be what killed it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import replace
from pathlib import Path

from triage.judge.judgement import CandidateResult
from triage.model.accuracy import Comparison
from triage.model.rungs import backend_of
from triage.probe.forkclient import Branch, CannotForkError, ForkExit, ForkRequest, ForkServer, ServerGoneError
from triage.probe.launch import Cancel
from triage.probe.lending import ADDRESS, borrowed
from triage.probe.staging import shared_with_forks
from triage.probe.starvation import STILL_CANDIDATE_SECONDS, Standstill, Starved
from triage.trial.branches import Branches
from triage.trial.facts import ForkFacts, facts_of_fork, not_run
from triage.trial.fresh import FreshProcessRunner
from triage.trial.limits import default_memory_mb
from triage.trial.pool import PooledRunner, Query, RunnerView

SERVER_STARTS = 4  # after that many, candidates keep killing it
ANSWER_GRACE_SECONDS = 30.0
POLL_SECONDS = 0.05
LOOK_SECONDS = 60.0


class ForkServerRunner(PooledRunner):
    """A `CandidateRunner` over a fork server. `why_slow` says why there is none, where candidates run in fresh processes.

    Its arguments are those of `FreshProcessRunner`; the server keeps a `neutral` store of its own beside that of the probes.
    `memory_mb` is the limit of one candidate (default: its share of what is free).
    """

    def __init__(
        self,
        python: str,
        *,
        jobs: int | None = None,
        neutral: Path | None = None,
        kernels: Path | None = None,
        memory_mb: int | None = None,
    ) -> None:
        super().__init__(jobs)
        self.why_slow: str | None = None
        self._fresh = FreshProcessRunner(python, jobs=self.jobs, neutral=neutral, kernels=kernels)
        self._memory_mb = memory_mb or default_memory_mb(self.jobs)
        self._server: ForkServer | Branch | None = None
        self._starts, self._threads = 0, False
        self._closing = Cancel()
        self._branches = Branches(self._closing)
        self._warming: threading.Thread | None = None
        self._beginning = threading.Lock()

    def warm(self) -> None:
        """Start the server now, in the background, so that the first candidate need not wait for it. Once is enough."""
        with self._beginning:
            if self._warming is None and not self._closing.is_set():
                self._warming = threading.Thread(target=self._warm, name="warm", daemon=True)
                self._warming.start()

    def warmed(self) -> None:
        """The same, and wait until it is ready, or cannot be, or is not wanted any more."""
        self.warm()
        if self._warming is not None:
            self._warming.join()

    def with_threads(self, several: bool = True) -> None:
        """From now on a candidate has as many threads as the user's program would have, or again one. Nothing may be running."""
        home = self._home()
        with self._lock:
            server, self._server = self._server, None
            self._branches = Branches(self._closing)
            self._starts, self.why_slow = 0, None
            self._threads = self._fresh.threads = several
        if server is not None:
            server.close()
        (home / "forkserver.log").unlink(missing_ok=True)

    def is_ready(self) -> bool:
        """Whether it is warm, or cannot be."""
        return self._server is not None or self.why_slow is not None

    def _warm(self) -> None:
        with contextlib.suppress(OSError):  # the first candidate meets it again, and has somebody to tell
            self._running_server()

    def compare(self, accuracy: Comparison | None) -> None:
        """From now on the agent compares compiled with eager in every candidate; with None, in none."""
        self._fresh.accuracy = accuracy

    @contextlib.contextmanager
    def comparing(self, accuracy: Comparison | None) -> Iterator[None]:
        """Inside, the agent compares so; afterwards as before."""
        before = self._fresh.accuracy
        self.compare(accuracy)
        try:
            yield
        finally:
            self.compare(before)

    def comparing_finely(self, *, signs: bool) -> contextlib.AbstractContextManager[None]:
        """Inside, the agent compares what is small too, and the signs of zeros where they are wanted, if it compares at all."""
        now = self._fresh.accuracy
        return self.comparing(replace(now, fine=True, signs=now.signs or signs) if now is not None else None)

    def stands_still(self, still: bool) -> None:
        """From now on a candidate that does nothing any more is at its limit, or not: where the failure is a standstill."""
        self._fresh.still = still

    def close(self) -> None:
        self._closing.set()
        with self._beginning:
            warming = self._warming
        if warming is not None:
            warming.join()
        with self._lock:
            server, self._server = self._server, None
        if server is not None:
            server.close()
        self._fresh.close()
        super().close()

    def run_cut(self, query: Query, cancel: Cancel, cut_off: str | None, files: Sequence[str] = ()) -> ForkFacts:
        """Run a candidate whose compiles stop once they are past a phase (`agent/warm/phases.py`); None runs it in full.

        Of what it writes in its working directory, these `files` are read.
        """
        server = None if self._closing.is_set() else self._running_server()
        if self._closing.is_set():
            return ForkFacts(not_run("cancelled"), cut=False)
        if server is None:
            return ForkFacts(self._fresh._run_one(query, cancel), cut=False)
        directory = self._new_directory()
        request = ForkRequest(
            source=query.source,
            root=directory,
            timeout=query.timeout,
            rung=query.rung,
            env={"TORCH_COMPILE_BACKEND": backend_of(query.rung)},
            memory_mb=self._memory_mb,
            cut_off=cut_off,
            accuracy=self._fresh.accuracy,
            kernels=self._fresh.kernels,
        )
        try:
            forks = self._branches.best_for(server, query.source, self._home(), self._fresh.kernels)
            ended = _outcome(forks, forks.submit(request), query, cancel, still=self._fresh.still)
            facts = facts_of_fork(request, ended)
            return replace(facts, files=_texts(directory / "cwd", files)) if files else facts
        except ServerGoneError:
            if cancel.is_set() or self._closing.is_set():
                return ForkFacts(not_run("cancelled"), cut=False)
            if server.alive:  # it was a branch that has gone
                return self.run_cut(query, cancel, cut_off, files)
            return ForkFacts(self._fresh._run_one(query, cancel), cut=False)
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def run_telling(
        self, source: str, files: Sequence[str], *, rung: str | None = None, timeout: float = LOOK_SECONDS
    ) -> tuple[CandidateResult, Mapping[str, str]]:
        """Run one candidate, and read these files that it writes; without a warm interpreter there are none."""
        left = self._end - time.monotonic()
        facts = self.run_cut(Query(source, rung, max(0.1, min(timeout, left))), Cancel(), None, files)
        return facts.result, facts.files

    def look(self, source: str, file: str, *, timeout: float = LOOK_SECONDS) -> str | None:
        """What a script that uses no compiler leaves in a file of its working directory; None where it leaves nothing."""
        timeout = min(timeout, self._end - time.monotonic())
        server = self._running_server() if timeout > 0 else None
        if server is None:
            return None
        directory = self._new_directory()
        try:
            request = ForkRequest(
                source=source, root=directory, timeout=timeout, rung=None, env={}, memory_mb=self._memory_mb
            )
            _outcome(server, server.submit(request), Query(source, None, timeout), Cancel())
            return (directory / "cwd" / file).read_text(encoding="utf-8")
        except (ServerGoneError, OSError):
            return None
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def beside(self) -> RunnerBeside:
        """The same, for questions that shall not wait behind those that others ask of it."""
        return RunnerBeside(self)

    def _run_one(self, query: Query, cancel: Cancel) -> CandidateResult:
        return self.run_cut(query, cancel, None).result

    def _running_server(self) -> ForkServer | Branch | None:
        if self._closing.is_set():
            return None  # nobody would delete a directory that is made now
        home = self._home()
        with self._lock:
            if self._closing.is_set():
                return None
            if self._server is not None and not self._server.alive:
                self._server.close()
                self._server = None
            if self._server is None and self.why_slow is None:
                self._start_server(home)
            return self._server

    def _start_server(self, home: Path) -> None:
        self._starts += 1
        if self._starts > SERVER_STARTS:
            self.why_slow = f"the warm interpreter died {SERVER_STARTS} times"
            return
        if self._starts == 1 and self._borrow(home):
            return
        neutral = self._fresh.neutral
        shared = home / "shared" if neutral is None else shared_with_forks(neutral)
        try:
            self._server = ForkServer(self._fresh.python, home, shared, self._closing, as_it_is=self._threads)
        except CannotForkError as reason:
            self.why_slow = str(reason)

    def _borrow(self, home: Path) -> bool:
        """Whether somebody lends a warm interpreter that is as one's own would be."""
        address = os.environ.get(ADDRESS)
        if address is None or self._threads or self._fresh.neutral is None:
            return False
        with contextlib.suppress(CannotForkError):
            self._server = borrowed(address, home, self._fresh.kernels, self._closing)
        return self._server is not None


class RunnerBeside(RunnerView):
    """A `ForkServerRunner` with a queue of its own before the one warm interpreter. Close the runner alone."""

    def __init__(self, runner: ForkServerRunner) -> None:
        super().__init__(runner)
        self.look, self.run_telling = runner.look, runner.run_telling


def _texts(directory: Path, files: Sequence[str]) -> dict[str, str]:
    found = {}
    for name in files:
        with contextlib.suppress(OSError, UnicodeDecodeError):
            found[name] = (directory / name).read_text(encoding="utf-8")
    return found


def _outcome(
    server: ForkServer | Branch, future: Future[ForkExit], query: Query, cancel: Cancel, *, still: bool = False
) -> ForkExit:
    """Wait for a candidate; where the failure stands `still`, no longer than some seconds for one that does nothing any more.

    Raises ServerGoneError where the server died, or does not answer long after the time limit.
    """
    told = False
    waited = more = 0.0
    starved, standstill = Starved(), Standstill()
    try:
        while True:
            try:
                ended = future.result(POLL_SECONDS)
                return replace(ended, exit=replace(ended.exit, starved=starved.seconds))
            except FutureTimeout:
                waited += POLL_SECONDS
            if cancel.is_set() and not told:
                told = True
                server.cancel(future)
            if query.spare and min(starved.look(server.pid_of(future)), query.spare) > more:
                server.extend(future, min(starved.seconds, query.spare) - more)
                more = min(starved.seconds, query.spare)
            if still and standstill.look(server.pid_of(future)) > STILL_CANDIDATE_SECONDS:
                still = False
                server.extend(future, -query.timeout - more)
            if waited > query.timeout + more + ANSWER_GRACE_SECONDS:
                server.kill()
    except BaseException:
        server.cancel(future)
        raise
