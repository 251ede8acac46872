"""The only place that starts a target. A `Launch` goes in, an `Exit` comes out; nothing of the target is left running.

The work is done by `supervisor.py` in a process and session of its own, so a target that kills its parent's process group
cannot reach us, and a killed triage leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from triage.probe import supervisor
from triage.probe.starvation import STILL, Starved

MARKER = supervisor.MARKER
LATE = "late"  # why a limit comes before its time; or `STILL`


@dataclass(frozen=True)
class Launch:
    """What to run. `timeout` is in seconds, and up to `spare` more in which it waited for a processor; output is kept in the
    files `stdout` and `stderr`, each bounded to 4 MiB.

    `stdin` is a file whose contents the target reads; without one its input is empty.
    """

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    stdout: Path
    stderr: Path
    timeout: float = 300.0
    spare: float = 0.0
    grace: float = 2.0
    stdin: Path | None = None
    channel: Path | None = None  # of agents that write down their stacks when they are asked to, at the time limit
    late: Callable[[int], str] | None = None  # why the limit comes before its time; told the process above the target
    private: tuple[Path, ...] = ()  # directories of ours that go with us where we are killed
    standby: Path | None = None  # the file that a copy of the program writes once it stands by
    keep: Callable[[Callable[[], None]], bool] | None = None  # who takes what ends such a copy, if there is one


@dataclass(frozen=True)
class Exit:
    """How it ended. `code` is negative for a signal, None where the process could not be started (`error` says why)."""

    code: int | None
    seconds: float
    timed_out: bool = False
    cancelled: bool = False
    error: str | None = None
    late: bool = False  # `timed_out`, before the limit
    still: bool = False  # it was late as it did nothing any more (`STILL`)
    told_at: float | None = None  # where `timed_out`: what it says later, it says because it is told to end
    starved: float = 0.0  # of its seconds, those in which it waited for a processor, where that was looked at

    @property
    def signal_name(self) -> str | None:
        """`SIGSEGV` for -11, also for the 128+n of a shell or launcher in between."""
        if self.code is None:
            return None
        number = -self.code if self.code < 0 else self.code - 128 if 128 < self.code < 160 else 0
        with contextlib.suppress(ValueError):
            return signal.Signals(number).name if number else None
        return None


class Cancel:
    """Ends running launches from another thread. A set one ends new launches at once; so does its parent."""

    def __init__(self, parent: Cancel | None = None) -> None:
        self._event = threading.Event()
        self._parent = parent

    def set(self) -> None:
        self._event.set()

    def is_set(self) -> bool:
        return self._event.is_set() or (self._parent is not None and self._parent.is_set())


def launch(request: Launch, cancel: Cancel | None = None) -> Exit:
    """Run to the end, to the time limit, or to cancellation. On KeyboardInterrupt the target is ended first."""
    identity = uuid.uuid4().hex
    body = {
        "argv": list(request.argv),
        "cwd": str(request.cwd),
        "env": {**request.env, MARKER: identity},
        "stdin": str(request.stdin or os.devnull),
        "stdout": str(request.stdout),
        "stderr": str(request.stderr),
        "timeout": request.timeout,
        "grace": request.grace,
        "identity": identity,
        "private": [str(path) for path in request.private],
        "standby": str(request.standby) if request.standby is not None else None,
        "channel": str(request.channel) if request.channel is not None and supervisor.STACKS_SIGNAL else None,
    }
    began = time.monotonic()
    keeper = subprocess.Popen(
        [sys.executable, "-I", "-S", str(Path(supervisor.__file__))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    kept = False
    try:
        done = _converse(keeper, body, began, cancel, request)
        kept = request.keep is not None and not done.cancelled and request.keep(partial(_let_go, keeper, identity))
        return done
    finally:
        if not kept:
            _let_go(keeper, identity)


def _converse(
    keeper: subprocess.Popen[bytes],
    body: dict[str, object],
    began: float,
    cancel: Cancel | None,
    request: Launch,
) -> Exit:
    assert keeper.stdin is not None and keeper.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        keeper.stdin.write(json.dumps(body).encode() + b"\n")
        keeper.stdin.flush()
    answer: list[bytes] = []
    reader = threading.Thread(target=lambda: answer.append(keeper.stdout.readline()), daemon=True)  # type: ignore[union-attr]
    reader.start()
    told, more, starved, why = False, 0, Starved(), ""
    while reader.is_alive():
        reader.join(0.05)
        if cancel is not None and cancel.is_set() and not told:
            told = True
            _cut(keeper)
        if request.late is not None and not told and (why := request.late(keeper.pid)):
            told = True
            _say(keeper, supervisor.LATE)
        if request.spare and more + 1 <= min(starved.look(keeper.pid), request.spare):
            more += 1
            _say(keeper, supervisor.MORE)
    if answer and answer[0].strip():
        facts = json.loads(answer[0])
        return Exit(
            code=facts.get("exit_code"),
            seconds=float(facts["seconds"]),
            timed_out=bool(facts.get("timed_out")),
            cancelled=bool(facts.get("cancelled")),
            error=facts.get("error"),
            late=bool(facts.get("late")),
            still=bool(facts.get("late")) and why == STILL,
            told_at=facts.get("told_at"),
            starved=starved.seconds,
        )
    return Exit(None, time.monotonic() - began, error="the target killed the process that was watching it")


def _say(keeper: subprocess.Popen[bytes], word: bytes) -> None:
    with contextlib.suppress(OSError, ValueError):
        keeper.stdin.write(word)  # type: ignore[union-attr]
        keeper.stdin.flush()  # type: ignore[union-attr]


def _cut(keeper: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError, ValueError):
        keeper.stdin.close()  # type: ignore[union-attr]


def _let_go(keeper: subprocess.Popen[bytes], identity: str) -> None:
    """The supervisor ends its target when its standard input ends; if it was killed itself, we do it."""
    _cut(keeper)
    try:
        keeper.wait(timeout=15)
    except subprocess.TimeoutExpired:
        keeper.kill()
        keeper.wait()
    if sys.platform == "linux":
        supervisor.kill_all(lambda: supervisor.marked_processes(identity), quiet=1 if keeper.returncode == 0 else 3)
    if keeper.stdout is not None:
        with contextlib.suppress(OSError, ValueError):
            keeper.stdout.close()


def text_of(path: Path) -> str:
    """What a log holds; nothing where it cannot be read."""
    with contextlib.suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace")
    return ""
