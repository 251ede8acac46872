"""One warm interpreter for many runs of triage: who has it lends it, by a socket; the others have programs run there.

A request is a line of JSON on a connection of its own, the reply another. Who asks and goes away ends its program. Nothing here
may make a run fail: what cannot be asked is not answered (None), and the program is then run in a process of its own.
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
from dataclasses import asdict
from pathlib import Path

from triage.model.codec import decode, encode
from triage.probe.forkclient import CannotForkError, ForkExit, ForkRequest, ForkServer, ServerGoneError
from triage.probe.launch import Cancel, Exit, Launch
from triage.probe.staging import KEPT_WHEN_SET, shared_with_forks

ADDRESS = "TRIAGE_WARM_INTERPRETER"
REFUSED = "refused"  # as the agent calls the file (agent/warm/program.py)
POLL_SECONDS = 0.1
PATIENCE = 30.0  # seconds beyond a program's limit until its answer is given up


class Lender:
    """A warm interpreter, and the socket at which it is asked. Raises CannotForkError where there can be none."""

    def __init__(self, python: str, neutral: Path | None) -> None:
        if neutral is None or any(os.environ.get(name) not in (None, "", "0") for name in KEPT_WHEN_SET):
            raise CannotForkError("it would not be as the programs are")
        self._home = Path(tempfile.mkdtemp(prefix="triage-"))  # paths of sockets are short; nobody else may enter
        try:
            self._server = ForkServer(python, self._home, shared_with_forks(neutral), as_it_is=True)
        except BaseException:  # ctrl-C too: reading torch takes seconds
            shutil.rmtree(self._home, ignore_errors=True)
            raise
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
        self._server.close()
        shutil.rmtree(self._home, ignore_errors=True)

    def _listen(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                asking, _ = self._socket.accept()
                threading.Thread(target=self._answer, args=(asking,), daemon=True).start()

    def _answer(self, asking: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError, ServerGoneError), asking:
            with asking.makefile("rb") as lines:
                request = decode(ForkRequest, json.loads(lines.readline()))
            running = self._server.submit(request)
            done = self._waited(running, asking)
            asking.sendall(json.dumps(asdict(done.exit)).encode() + b"\n")

    def _waited(self, running: Future[ForkExit], asking: socket.socket) -> ForkExit:
        while True:
            with contextlib.suppress(NotYetError):
                return running.result(POLL_SECONDS)
            if select.select([asking], [], [], 0)[0]:  # nothing more is said: it has gone
                self._server.cancel(running)


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
    request = ForkRequest("", root, launch.timeout, env=launch.env, script=script, args=tuple(args), cwd=launch.cwd)
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
