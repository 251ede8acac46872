"""Runs of triage as forks of one process (`cli/many.py`): starting one by itself costs half a second of reading modules."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYetError
from typing import Any

from triage.probe.launch import Cancel
from triage.sweep.engines.interface import Done, Work

RUN = (sys.executable, "-m", "triage")  # how a command begins that can be one of them
POLL_SECONDS = 0.1
ENDS_SECONDS = 20.0  # for the last runs, once nobody listens any more


class Forked:
    """The process, started when it is first needed. Used from many threads."""

    def __init__(self) -> None:
        self._starting, self._saying = threading.Lock(), threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._gone = not hasattr(os, "fork")
        self._waited: dict[str, Future[dict[str, Any]]] = {}
        self._groups: dict[str, int] = {}

    def run(self, work: Work, cancel: Cancel | None = None) -> Done | None:
        """Run it to its end or its limit; None where it is none of these commands, or the process has gone before."""
        if work.argv[: len(RUN)] != RUN:
            return None
        ended: Future[dict[str, Any]] = Future()
        with self._starting:
            if self._gone:
                return None
            process = self._process = self._process or self._started()
            self._waited[work.name] = ended
        output = [str(work.log), str(work.log.with_suffix(".err.log"))]
        asked = {"name": work.name, "words": work.argv[len(RUN) :], "cwd": str(work.cwd), "env": dict(work.env)}
        self._say(process, {**asked, "output": output, "timeout": work.timeout, "grace": work.grace})
        told, cancelled = None, False
        while told is None:
            with contextlib.suppress(NotYetError):
                told = ended.result(POLL_SECONDS)
            if told is None and cancel is not None and cancel.is_set() and not cancelled:
                cancelled = True
                self._say(process, {"ends": work.name})
        if not told:
            return Done(work.name, None, 0.0, lost=True, error="the process that runs are forked of has gone")
        return Done(work.name, told["code"], told["seconds"], told["timed_out"], lost=cancelled)

    def close(self) -> None:
        """End it, and what still runs in it."""
        with self._starting:
            if self._process is None:
                return
            assert self._process.stdin is not None
            with contextlib.suppress(OSError):
                self._process.stdin.close()
            try:
                self._process.wait(ENDS_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def _started(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "triage.cli.many"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        threading.Thread(target=self._listen, args=(process,), name="forked", daemon=True).start()
        return process

    def _say(self, process: subprocess.Popen[bytes], facts: dict[str, Any]) -> None:
        assert process.stdin is not None
        with self._saying, contextlib.suppress(OSError, ValueError):  # gone: whoever listens to it says so
            process.stdin.write(json.dumps(facts).encode() + b"\n")
            process.stdin.flush()

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        with process.stdout, contextlib.suppress(OSError, ValueError):
            for line in process.stdout:
                told = json.loads(line)
                if "pid" in told:
                    self._groups[told["name"]] = told["pid"]
                else:
                    del self._groups[told["name"]]
                    self._waited.pop(told["name"]).set_result(told)
        with self._starting:  # nobody else ends what it left
            self._gone = True
            for group in self._groups.values():
                with contextlib.suppress(OSError):
                    os.killpg(group, signal.SIGKILL)
            waited, self._waited = self._waited, {}
        for future in waited.values():
            future.set_result({})
