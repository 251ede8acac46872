"""Runs of triage for a sweep, each a fork of this process, which has read our modules once for all of them.

A line of JSON on standard input asks for one, or for its end; a line on standard output tells how one ended. When standard input
ends, so do the runs. `sweep/engines/forked.py` starts it and speaks with it.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import signal
import sys
import time
from dataclasses import dataclass
from typing import Any

from triage.cli.app import ending
from triage.cli.app import main as triage

# What a run reads at once, and what it reads where it comes to need it: read here it is there for all.
OURS = ("triage.cli.view", "triage.cli.result", "triage.stories.run", "triage.stories.graph_ladder")
OTHERS = ("pydantic", "platformdirs", "git")  # the last raises where there is no such program
POLL_SECONDS = 0.02


@dataclass
class _Run:
    """A fork that is going on. It is asked to end at `end`, and killed at `dies`."""

    name: str
    began: float
    end: float
    grace: float
    dies: float = float("inf")
    timed_out: bool = False


class Many:
    """The runs of one sweep."""

    def __init__(self) -> None:
        self._running: dict[int, _Run] = {}
        self._heard = b""

    def serve(self) -> list[str] | None:
        """Until standard input ends, and no run goes on: None. In a fork it returns at once, with the words of its command."""
        listening = True
        while listening or self._running:
            wait = POLL_SECONDS if self._running else None
            if listening and select.select([0], [], [], wait)[0]:
                heard = os.read(0, 1 << 16)
                listening = bool(heard)
                *lines, self._heard = (self._heard + heard).split(b"\n")
                for line in lines:
                    words = self._told(json.loads(line))
                    if words is not None:
                        return words
            elif not listening:
                time.sleep(POLL_SECONDS)
            if not listening:
                self._end(list(self._running))
            self._look()
        return None

    def _told(self, request: dict[str, Any]) -> list[str] | None:
        if "ends" in request:
            self._end([pid for pid, run in self._running.items() if run.name == request["ends"]])
            return None
        now = time.monotonic()
        pid = os.fork()
        if pid == 0:
            return _become(request)
        self._running[pid] = _Run(request["name"], now, now + request["timeout"], request["grace"])
        _say({"name": request["name"], "pid": pid})
        return None

    def _end(self, pids: list[int]) -> None:
        """Ask them to end, who were not asked yet."""
        for pid in pids:
            run = self._running[pid]
            if run.dies == float("inf"):
                run.dies = time.monotonic() + run.grace
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGTERM)

    def _look(self) -> None:
        now = time.monotonic()
        for pid, run in list(self._running.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del self._running[pid]
                code, seconds = os.waitstatus_to_exitcode(status), now - run.began
                _kill(pid)  # what it started and did not end is in its group
                _say({"name": run.name, "code": code, "seconds": seconds, "timed_out": run.timed_out})
            elif now > run.dies:
                _kill(pid)
            elif now > run.end and not run.timed_out:
                run.timed_out = True
                self._end([pid])


def _kill(group: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(group, signal.SIGKILL)


def _say(facts: dict[str, Any]) -> None:
    os.write(1, json.dumps(facts).encode() + b"\n")


def _become(request: dict[str, Any]) -> list[str]:
    """The process of a run: its session, directory, variables and output. Its words."""
    os.setsid()
    for number in ending(signal):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    taken = [(os.devnull, os.O_RDONLY), *((file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) for file in request["output"])]
    for number, (file, how) in enumerate(taken):
        opened = os.open(file, how, 0o666)
        os.dup2(opened, number)
        os.close(opened)
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    return [str(word) for word in request["words"]]


def main() -> None:
    """Read the modules, and serve."""
    for name in OURS:
        importlib.import_module(name)
    for name in OTHERS:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for number in ending(signal):  # a terminal's are for the sweep, which ends its runs
        signal.signal(number, signal.SIG_IGN)
    words = Many().serve()
    if words is not None:
        sys.argv[1:] = words
        triage()


if __name__ == "__main__":
    main()
