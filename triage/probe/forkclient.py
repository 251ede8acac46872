"""The orchestrator's end of the fork server: starts it in the target interpreter, sends candidates, hands out exits.

One reader thread completes a future per candidate. When the server dies every future fails with `ServerGoneError`, and what its
candidates left behind is killed; the caller decides what to do instead.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from triage.model.accuracy import Comparison
from triage.model.codec import encode
from triage.probe.launch import Cancel, Exit, text_of
from triage.probe.staging import AGENT, POISONOUS

START_SECONDS = 120.0
STOP_SECONDS = 10.0
POLL_SECONDS = 0.05
NO_LIMIT = 1e9
REQUESTS, REPLIES = "requests", "replies"  # as the agent calls them


class CannotForkError(Exception):
    """There is no fork server for this interpreter, for the reason given."""


class ServerGoneError(Exception):
    """The server ended, or stopped answering, before it told how the candidate ended."""


@dataclass(frozen=True)
class ForkRequest:
    """One candidate, as the server reads it (`agent/warm/candidate.py`). `root` is a directory of its own, which must exist.

    With a `script` it is a program of the user's (`agent/warm/program.py`): then `env` is its whole environment. With
    `imports` it forks candidates itself, that begin with these statements (`Branch`).
    """

    source: str
    root: Path
    timeout: float
    rung: str | None = None
    env: Mapping[str, str | None] = field(default_factory=dict)
    memory_mb: int | None = None
    cut_off: str | None = None
    accuracy: Comparison | None = None
    kernels: Path | None = None
    script: str | None = None
    args: tuple[str, ...] = ()
    cwd: Path | None = None
    imports: str = ""


@dataclass(frozen=True)
class ForkExit:
    """How a candidate ended. `oom` means that it was ended for the memory it used."""

    exit: Exit
    oom: bool = False


class Forks:
    """What is asked of a process that forks (`agent/warm/forkserver.py`), by two pipes: a descriptor to write requests to, and
    a stream of replies, which are read once it is known to live (`listen`).
    """

    def __init__(self, requests: int, replies: BinaryIO) -> None:
        self._requests, self._replies = requests, replies
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[ForkExit]] = {}
        self._pids: dict[int, int] = {}
        self._numbers = 0
        self._gone = False
        self._reader = threading.Thread(target=self._read, name="forkserver", daemon=True)

    def listen(self) -> None:
        """Begin to read replies."""
        self._reader.start()

    def submit(self, request: ForkRequest) -> Future[ForkExit]:
        """Start a candidate. The future fails with ServerGoneError where the server does. Raises it where it has already."""
        future: Future[ForkExit] = Future()
        with self._lock:
            if self._gone:
                raise ServerGoneError("it had ended before")
            self._numbers += 1
            number = self._numbers
            self._waiting[number] = future
        self._send({"op": "run", "id": number, **encode(request)})
        return future

    def pid_of(self, future: Future[ForkExit]) -> int | None:
        """The process of the candidate of this future, while it runs."""
        number = self._number_of(future)
        return None if number is None else self._pids.get(number)

    def _number_of(self, future: Future[ForkExit]) -> int | None:
        return next((number for number, known in list(self._waiting.items()) if known is future), None)

    def cancel(self, future: Future[ForkExit]) -> None:
        """End the candidate of this future, if it still runs; its future then completes as cancelled."""
        number = self._number_of(future)
        if number is not None:
            self._send({"op": "cancel", "id": number})

    def extend(self, future: Future[ForkExit], seconds: float) -> None:
        """Wait so much longer for the candidate of this future, if it still runs."""
        number = self._number_of(future)
        if number is not None:
            self._send({"op": "extend", "id": number, "seconds": seconds})

    def ask_to_end(self) -> None:
        """End it, and all that runs in it: it is not waited for."""
        self._send({"op": "end"})  # where its requests end without that we were killed, and it clears up after us
        with self._lock, contextlib.suppress(OSError):
            os.close(self._requests)
            self._requests = -1

    def _send(self, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode() + b"\n"
        # A server that has gone is noticed by the reader, which fails the futures.
        with self._lock, contextlib.suppress(OSError):
            while data and self._requests >= 0:
                data = data[os.write(self._requests, data) :]

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            for line in self._replies:
                self._reply(json.loads(line))
        with contextlib.suppress(OSError):
            self._replies.close()
        self._abandon()

    def _reply(self, message: dict[str, Any]) -> None:
        number = message["id"]
        if "started" in message:
            self._pids[number] = message["started"]
            return
        self._pids.pop(number, None)
        future = self._waiting.pop(number, None)
        if future is not None:
            future.set_result(_exit_of(message))

    def _abandon(self) -> None:
        """The server has gone: its candidates die with it (PR_SET_PDEATHSIG), their groups are ended here."""
        for pid in self._pids.values():
            with contextlib.suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
        how = self._how_it_ended()
        with self._lock:
            self._gone = True
        for number in list(self._waiting):
            future = self._waiting.pop(number, None)
            if future is not None:
                future.set_exception(ServerGoneError(how))

    def _how_it_ended(self) -> str:
        return "it closed its pipe"


class ForkServer(Forks):
    """A running server. Raises CannotForkError where it cannot be started; `facts` is what it said when it was ready.

    A `cancel` that is set ends the wait for it. What it forks has one thread, but for programs that run `as_it_is`.
    """

    def __init__(
        self, python: str, directory: Path, shared: Path, cancel: Cancel | None = None, *, as_it_is: bool = False
    ) -> None:
        if sys.platform != "linux":
            raise CannotForkError(f"fork is not safe on {sys.platform}")
        self._log = directory / "forkserver.log"
        self._process, requests, replies = _start(python, directory, shared, self._log, as_it_is=as_it_is)
        super().__init__(requests, replies)
        try:
            self.facts = self._await_ready(cancel or Cancel())
        except BaseException:
            self.kill()
            os.close(self._requests)
            raise
        self.listen()

    @property
    def alive(self) -> bool:
        return not self._gone and self._process.poll() is None

    def close(self) -> None:
        """End the server and all that runs in it."""
        self.ask_to_end()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        self._reader.join(STOP_SECONDS)

    def kill(self) -> None:
        """End a server that does not answer."""
        self._process.kill()
        self._process.wait()

    def _await_ready(self, cancel: Cancel) -> dict[str, Any]:
        said: list[bytes] = []
        waiter = threading.Thread(target=lambda: said.append(self._replies.readline()), daemon=True)
        waiter.start()
        limit = time.monotonic() + START_SECONDS
        while waiter.is_alive() and not cancel.is_set() and time.monotonic() < limit:
            waiter.join(POLL_SECONDS)
        facts: dict[str, Any] = {}
        with contextlib.suppress(ValueError, IndexError):
            facts = json.loads(said[0])
        if facts.get("ready"):
            return facts
        raise CannotForkError(
            facts.get("reason") or self._last_words() or f"it was not ready within {START_SECONDS:.0f} s"
        )

    def _last_words(self) -> str:
        lines = text_of(self._log).strip().splitlines()
        return lines[-1][:300] if lines else ""

    def _how_it_ended(self) -> str:
        limit = time.monotonic() + 1.0
        while self._process.poll() is None and time.monotonic() < limit:
            time.sleep(0.01)
        status = self._process.poll()
        how = "it closed its pipe" if status is None else f"it ended with status {status}"
        return self._last_words() or how


def named_pipes(folder: Path) -> tuple[int, int]:
    """Lay the pipes for who is not started by us, and say how each is written to, and read: requests, replies."""
    for name in (REQUESTS, REPLIES):
        os.mkfifo(folder / name, 0o600)
    # Both ends of the first one: it must be there before who reads it. The second one is read once it is written to.
    return os.open(folder / REQUESTS, os.O_RDWR), os.open(folder / REPLIES, os.O_RDONLY | os.O_NONBLOCK)


class Parent(Protocol):
    """Of whom a child can be asked for: a server here, or one that another process lends (`lending.py`)."""

    def submit(self, request: ForkRequest) -> Future[ForkExit]:
        """Start it; the future completes with its end."""

    def cancel(self, future: Future[ForkExit]) -> None:
        """End it."""


class Branch(Forks):
    """A child of a server that has executed import statements, for candidates that begin with the same ones.

    Raises CannotForkError where it cannot be: they fail, begin threads, or compile. A `cancel` that is set ends the wait for it.
    Of one that is lent `env` is the environment it must have, and `home` the directory of who asks.
    """

    def __init__(
        self,
        server: Parent,
        root: Path,
        imports: str,
        kernels: Path | None,
        cancel: Cancel,
        *,
        env: Mapping[str, str | None] | None = None,
        home: Path | None = None,
    ) -> None:
        root.mkdir()
        requests, replies = named_pipes(root)
        super().__init__(requests, os.fdopen(replies, "rb"))
        self._server, self._process = server, Future[ForkExit]()
        try:
            self._process = server.submit(
                ForkRequest("", root, NO_LIMIT, kernels=kernels, imports=imports, env=env or {}, cwd=home)
            )
            self._await_ready(cancel)
        except BaseException:
            self.kill()
            os.close(requests)
            raise
        os.set_blocking(replies, True)
        self.listen()

    @property
    def alive(self) -> bool:
        return not self._gone and not self._process.done()

    def close(self) -> None:
        """End it, and all that runs in it, and wait for that."""
        self.ask_to_end()
        if not wait([self._process], STOP_SECONDS).done:
            self.kill()
        self._reader.join(STOP_SECONDS)

    def kill(self) -> None:
        """End it, and all that runs in it."""
        self._server.cancel(self._process)

    def _await_ready(self, cancel: Cancel) -> None:
        limit = time.monotonic() + START_SECONDS
        while not select.select([self._replies], [], [], POLL_SECONDS)[0]:
            if cancel.is_set() or self._process.done() or time.monotonic() > limit:
                raise CannotForkError("it did not come so far")
        facts = json.loads(self._replies.readline() or b"{}")
        if not facts.get("ready"):
            raise CannotForkError(facts.get("reason") or "it ended")


def server_environment(base: Mapping[str, str], *, as_it_is: bool) -> dict[str, str]:
    """What the warm interpreter runs in: the user's own, less what changes compiles, one thread per candidate.

    A program that runs `as_it_is` has as many as it would have.
    TORCHDYNAMO_VERBOSE keeps torch's inner frames in tracebacks, as the probes do: signatures are compared with theirs.
    """
    env = {name: value for name, value in base.items() if name not in POISONOUS and not name.startswith("TRIAGE_")}
    if not as_it_is:
        env["OMP_NUM_THREADS"] = "1"
    env.update(
        TORCHINDUCTOR_COMPILE_THREADS="1",
        TORCHDYNAMO_VERBOSE="1",
        PYTHONDONTWRITEBYTECODE="1",
        # Counting GPUs must not initialise CUDA in a process that forks.
        PYTORCH_NVML_BASED_CUDA_CHECK="1",
    )
    return env


def _start(
    python: str, directory: Path, shared: Path, log: Path, *, as_it_is: bool
) -> tuple[subprocess.Popen[bytes], int, BinaryIO]:
    shared.mkdir(parents=True, exist_ok=True)
    request_read, request_write = os.pipe()
    reply_read, reply_write = os.pipe()
    try:
        with log.open("wb") as output:
            process = subprocess.Popen(
                [
                    *(python, str(AGENT / "boot.py"), "warm.forkserver"),
                    *(str(request_read), str(reply_write), str(shared)),
                    *(["as-it-is"] if as_it_is else []),
                ],
                pass_fds=(request_read, reply_write),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=directory,
                env=server_environment(os.environ, as_it_is=as_it_is),
                start_new_session=True,
            )
    except OSError as error:
        os.close(request_write)
        os.close(reply_read)
        raise CannotForkError(f"{type(error).__name__}: {error}") from error
    finally:
        os.close(request_read)
        os.close(reply_write)
    return process, request_write, os.fdopen(reply_read, "rb")


def _exit_of(message: dict[str, Any]) -> ForkExit:
    if "error" in message:
        return ForkExit(Exit(None, float(message.get("seconds", 0.0)), error=str(message["error"])))
    code = message["status"] if message["signal"] is None else -int(message["signal"])
    done = Exit(
        code, float(message["seconds"]), timed_out=bool(message["timed_out"]), cancelled=bool(message["cancelled"])
    )
    return ForkExit(done, oom=bool(message["oom"]))
