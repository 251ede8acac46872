"""Warm interpreters for many runs of triage: who has them lends them, by a socket; the others have programs run there, or fork
their candidates from a child of one.

A request is a line of JSON on a connection of its own, the reply another. Who asks and goes away ends its program. Nothing here
may make a run fail: what cannot be asked is not answered (None, CannotForkError), and who asked uses processes of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import socket
import tempfile
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYetError
from dataclasses import asdict, replace
from pathlib import Path

from triage.model.codec import decode, encode
from triage.probe.forkclient import (
    Branch,
    CannotForkError,
    ForkExit,
    ForkRequest,
    ForkServer,
    ServerGoneError,
    server_environment,
)
from triage.probe.launch import Cancel, Exit, Launch
from triage.probe.staging import KEPT_WHEN_SET, shared_with_forks

ADDRESS = "TRIAGE_WARM_INTERPRETER"
REFUSED = "refused"  # as the agent calls the file (agent/warm/program.py)
ENOUGH = b"\n"  # says who asked, and lives, of a child that it wants no more
POLL_SECONDS = 0.1
PATIENCE = 30.0  # seconds beyond a program's limit until its answer is given up


class Lender:
    """A warm interpreter for programs, and the socket at which it is asked; another for candidates, once somebody asks for that.

    Raises CannotForkError where there can be none.
    """

    def __init__(self, python: str, neutral: Path | None) -> None:
        if neutral is None or any(os.environ.get(name) not in (None, "", "0") for name in KEPT_WHEN_SET):
            raise CannotForkError("it would not be as the programs are")
        self._home = Path(tempfile.mkdtemp(prefix="triage-"))  # paths of sockets are short; nobody else may enter
        self._shared = shared_with_forks(neutral)
        try:
            self._server = ForkServer(python, self._home, self._shared, as_it_is=True)
        except BaseException:  # ctrl-C too: reading torch takes seconds
            shutil.rmtree(self._home, ignore_errors=True)
            raise
        self._for_candidates: ForkServer | None = None
        self._beginning, self._closing = threading.Lock(), Cancel()
        self.python, self.address = python, str(self._home / "ask")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(self.address)
        self._socket.listen()
        threading.Thread(target=self._listen, name="lender", daemon=True).start()

    def close(self) -> None:
        """End it, and what still runs in it."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # else the thread waits on
        self._socket.close()
        self._closing.set()
        self._server.close()
        with self._beginning:
            if self._for_candidates is not None:
                self._for_candidates.close()
        shutil.rmtree(self._home, ignore_errors=True)

    def _listen(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                asking, _ = self._socket.accept()
                threading.Thread(target=self._answer, args=(asking,), daemon=True).start()

    def _answer(self, asking: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError, ServerGoneError, CannotForkError), asking:
            with asking.makefile("rb") as lines:
                request = decode(ForkRequest, json.loads(lines.readline()))
            server = self._server if request.script else self._candidates(request)
            running = server.submit(request if request.script else replace(request, env={}))
            done = self._waited(server, running, asking, request)
            asking.sendall(json.dumps(asdict(done.exit)).encode() + b"\n")

    def _candidates(self, request: ForkRequest) -> ForkServer:
        """The interpreter of which candidates are forked. Raises CannotForkError where it is not what this one would start."""
        if request.env != server_environment(os.environ, as_it_is=False):
            raise CannotForkError("it has another environment")
        with self._beginning:
            if self._closing.is_set():
                raise CannotForkError("it ends")
            if self._for_candidates is None:
                folder = self._home / "candidates"
                folder.mkdir()  # where one could not be started before, there is one: then each starts its own
                self._for_candidates = ForkServer(self.python, folder, self._shared, self._closing)
            return self._for_candidates

    def _waited(
        self, server: ForkServer, running: Future[ForkExit], asking: socket.socket, request: ForkRequest
    ) -> ForkExit:
        said: bytes | None = None  # beyond the request: nothing is said by who has gone
        while True:
            with contextlib.suppress(NotYetError):
                done = running.result(POLL_SECONDS)
                if said == b"" and not request.script and request.cwd is not None:
                    shutil.rmtree(request.cwd, ignore_errors=True)  # nobody else is left to remove it
                return done
            if said is None and select.select([asking], [], [], 0)[0]:
                said = b""
                with contextlib.suppress(OSError):
                    said = asking.recv(len(ENOUGH))
                server.cancel(running)


class LentServer:
    """Who lends at an address, as that of which a child is forked that serves (`Branch`)."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._asking: dict[Future[ForkExit], socket.socket] = {}

    def submit(self, request: ForkRequest) -> Future[ForkExit]:
        """Ask for a child. The future fails with ServerGoneError where there is none (any more)."""
        future: Future[ForkExit] = Future()
        asking = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            asking.connect(self._address)
            asking.sendall(_as_line(request))
        except OSError as error:
            asking.close()
            raise ServerGoneError(str(error)) from error
        self._asking[future] = asking
        threading.Thread(target=self._wait, args=(future, asking), name="lent", daemon=True).start()
        return future

    def cancel(self, future: Future[ForkExit]) -> None:
        """End it: it is not asked for any more."""
        with contextlib.suppress(KeyError, OSError):
            self._asking[future].sendall(ENOUGH)

    def _wait(self, future: Future[ForkExit], asking: socket.socket) -> None:
        with asking, contextlib.suppress(OSError, ValueError, TypeError):
            with asking.makefile("rb") as lines:
                answer = lines.readline()
            future.set_result(ForkExit(decode(Exit, json.loads(answer))))
        del self._asking[future]
        if not future.done():
            future.set_exception(ServerGoneError("who lent it ended it"))


def borrowed(address: str, home: Path, kernels: Path | None, cancel: Cancel) -> Branch:
    """A child of the interpreter that is lent there, of which candidates are forked as of one's own.

    Raises CannotForkError where there is none, or where it has another environment than one's own would have. `home` is the
    directory of who asks, which is removed where that does not live to do it.
    """
    env = server_environment(os.environ, as_it_is=False)
    try:
        return Branch(LentServer(address), home / "lent", "import torch", kernels, cancel, env=env, home=home)
    except (ServerGoneError, OSError, ValueError) as error:
        raise CannotForkError(str(error)) from error


def run_borrowed(address: str, launch: Launch, cancel: Cancel | None = None) -> Exit | None:
    """Run `python SCRIPT ARGS...` in the interpreter that is lent there. None where it gives no answer."""
    with tempfile.TemporaryDirectory(prefix="triage-", ignore_cleanup_errors=True) as folder:
        root = Path(folder)
        with contextlib.suppress(OSError, ValueError, TypeError):
            done = _asked(address, _line(launch, root), launch.timeout + PATIENCE, cancel)
            if done is None or done.error is not None or (root / REFUSED).exists():
                return None
            shutil.move(root / "stdout.txt", launch.stdout)
            shutil.move(root / "stderr.txt", launch.stderr)
            return done
    return None


def _line(launch: Launch, root: Path) -> bytes:
    _, script, *args = launch.argv
    return _as_line(
        ForkRequest("", root, launch.timeout, env=launch.env, script=script, args=tuple(args), cwd=launch.cwd)
    )


def _as_line(request: ForkRequest) -> bytes:
    return json.dumps(encode(request)).encode() + b"\n"


def _asked(address: str, line: bytes, seconds: float, cancel: Cancel | None) -> Exit | None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.connect(address)
        asking.sendall(line)
        end = time.monotonic() + seconds
        while not select.select([asking], [], [], POLL_SECONDS)[0]:
            if (cancel is not None and cancel.is_set()) or time.monotonic() > end:
                return None
        with asking.makefile("rb") as lines:
            answer = lines.readline()
    return decode(Exit, json.loads(answer)) if answer else None
