"""The process between triage and a target: it alone starts, limits and ends one, and nothing of the target survives it.

Standard library only, started as `python -I -S supervisor.py` in a session of its own; the request is one line of JSON on
standard input, the answer one line of JSON on standard output. Why a process of its own: a target may kill its parent's
process group, and triage itself may be killed; the supervisor notices the end of its standard input (the lifeline) and
ends the target. On Linux it is a sub-reaper, so that whatever the target forks off stays below it.

The target's output goes through pipes into files with a bound: the first part and the last part are kept.
"""

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

HEAD_BYTES = 2 * 1024 * 1024
TAIL_BYTES = 2 * 1024 * 1024
MARKER = "TRIAGE_PROBE_ID"
STACKS_SIGNAL = getattr(signal, "SIGRTMAX", 0)  # no program is known to want it; 0 where a system has none
STACKS_SECONDS, MOST_STACKS_SECONDS = 0.5, 3.0  # the latter on a machine that is busy
KEEP_SECONDS = 0.05
LATE, MORE = b"\n", b"+"  # what triage says on the lifeline; the latter gives a second more


def become_subreaper() -> None:
    """Orphans of the target become our children (Linux, PR_SET_CHILD_SUBREAPER = 36 in linux/prctl.h)."""
    with contextlib.suppress(Exception):
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(36, 1, 0, 0, 0)


class BoundedFile:
    """Copies a stream into a file: its first HEAD_BYTES, then (at the end) its last TAIL_BYTES."""

    def __init__(self, stream: BinaryIO, path: str) -> None:
        self._stream = stream
        self._path = path
        self._thread = threading.Thread(target=self._copy, daemon=True)
        self._stop = threading.Event()
        self._thread.start()

    def _copy(self) -> None:
        try:
            with Path(self._path).open("wb") as file:
                self._copy_into(file)
        except OSError:  # a full disk must not stall the target
            for _ in self._chunks():
                pass

    def _chunks(self) -> Iterator[bytes]:
        """What comes in, until the stream ends, or is silent once we have been told to stop."""
        descriptor = self._stream.fileno()
        while True:
            ready, _, _ = select.select([descriptor], [], [], 0.2)
            if not ready:
                if self._stop.is_set():
                    return
                continue
            chunk = os.read(descriptor, 1 << 16)
            if not chunk:
                return
            yield chunk

    def _copy_into(self, file: BinaryIO) -> None:
        written, dropped, tail = 0, 0, bytearray()
        for chunk in self._chunks():
            head, rest = chunk[: HEAD_BYTES - written], chunk[HEAD_BYTES - written :]
            if head:
                file.write(head)
                file.flush()
                written += len(head)
            tail += rest
            if len(tail) > 2 * TAIL_BYTES:
                dropped += len(tail) - TAIL_BYTES
                del tail[:-TAIL_BYTES]
        if len(tail) > TAIL_BYTES:
            dropped += len(tail) - TAIL_BYTES
            del tail[:-TAIL_BYTES]
        if dropped:
            file.write(b"\n... %d bytes left out ...\n" % dropped)
        file.write(tail)

    def finish(self) -> None:
        """Read what is left and close; a process that still holds the other end does not keep us."""
        self._stop.set()
        self._thread.join(5)


def marked_processes(identity: str) -> list[int]:
    """Every process whose environment carries this probe's marker (Linux), except ourselves."""
    needle = f"{MARKER}={identity}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        pid = int(entry.name)
        if pid == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if needle in (entry / "environ").read_bytes().split(b"\0") and not _has_ended(pid):
                found.append(pid)
    return found


def stat_of(pid: "int | str") -> list[str]:
    """State, parent, and what else /proc/PID/stat tells behind the name; nothing of a process that is gone (Linux)."""
    with contextlib.suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return []


def _has_ended(pid: int) -> bool:
    """Whether it is gone, or nobody has taken in its end yet."""
    return stat_of(pid)[:1] in ([], ["Z"])


def children_of(parent: int) -> list[int]:
    """Processes whose parent is `parent`, but for those that have ended (Linux)."""
    told = ((int(entry.name), stat_of(entry.name)) for entry in Path("/proc").glob("[0-9]*"))
    return [pid for pid, stat in told if stat[1:2] == [str(parent)] and stat[0] != "Z"]


def tree_of(root: "int | None") -> set[int]:
    """A process and all below it (Linux)."""
    found: set[int] = set()
    waiting = [root] if root is not None else []
    while waiting:
        pid = waiting.pop()
        found.add(pid)
        waiting += [child for child in children_of(pid) if child not in found]
    return found


def standing_by(ready: "str | None") -> "int | None":
    """The copy of the program that other runs begin from (`agent/warm/standby.py`); None where there is none (any more)."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        pid = int(json.loads(Path(ready).read_text())["pid"])  # type: ignore[arg-type]
        return None if _has_ended(pid) else pid
    return None


def end_everything(process: "subprocess.Popen[bytes]", identity: str, grace: float, spared: "int | None") -> None:
    """SIGTERM to the target's group, after `grace` seconds SIGKILL to it and to every process that belongs to it.

    One may be `spared`, with all below it, which has left the group.
    """
    group = process.pid
    _signal_group(group, signal.SIGTERM)
    limit = time.monotonic() + grace
    while time.monotonic() < limit and (_group_alive(group) or set(marked_processes(identity)) - tree_of(spared)):
        _reap(process)
        time.sleep(0.05)
    _signal_group(group, signal.SIGKILL)
    kill_all(lambda: (set(marked_processes(identity)) | set(children_of(os.getpid()))) - tree_of(spared))
    _reap(process)


def kill_all(belonging: "Callable[[], Iterable[int]]", quiet: int = 1) -> None:
    """SIGKILL to every process that belongs to the target, until so many looks in a row find none.

    One may have begun another meanwhile; one that is being started shows no environment for a moment.
    """
    empty = 0
    for _ in range(20):
        left = [pid for pid in belonging() if not _has_ended(pid)]
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        empty = 0 if left else empty + 1
        if empty >= quiet:
            return
        time.sleep(0.05)


def _tell_to_end(copy: "int | None") -> None:
    """The copy of a program tells it to the runs that began in it, and waits a second for them."""
    if copy is not None:
        with contextlib.suppress(OSError):
            os.kill(copy, signal.SIGTERM)


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(group, number)


def _group_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except OSError:
        return False
    return True


def _reap(process: "subprocess.Popen[bytes]") -> None:
    """Take in whoever has ended. The target is left to its own object, which would lose its status otherwise."""
    with contextlib.suppress(OSError, AttributeError):  # macOS has no waitid before Python 3.13, and no sub-reapers
        while (found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            if found.si_pid == process.pid:
                process.poll()
            else:
                os.waitpid(found.si_pid, 0)


def lifeline() -> "str | None":
    """What the other end says: `cut` where triage has gone or wants no answer (end of file), `late`, `more`, or nothing."""
    ready, _, _ = select.select([0], [], [], 0)
    if not ready:
        return None
    return {b"": "cut", MORE: "more"}.get(os.read(0, 1), "late")


def ask_for_stacks(channel: Path, identity: str) -> None:
    """Have the agents below that channel write down where their threads are (`agent/hooks/hook.py`), and wait for that.

    The number of a process that has ended may be that of another one by now: only our own are asked, where that can be told.
    """
    own = marked_processes(identity) if Path("/proc/self/environ").exists() else None
    asked = []
    for path in channel.glob("stacks-*.txt"):
        with contextlib.suppress(OSError, ValueError):
            pid = int(path.stem.rpartition("-")[2])
            if own is None or pid in own:
                os.kill(pid, STACKS_SIGNAL)
                asked.append(path)
    limit = time.monotonic() + MOST_STACKS_SECONDS
    if asked:
        time.sleep(STACKS_SECONDS)
    while any(_is_empty(path) for path in asked) and time.monotonic() < limit:
        time.sleep(0.05)


def _is_empty(path: Path) -> bool:
    with contextlib.suppress(OSError):
        return path.stat().st_size == 0
    return False


def keep(request: dict[str, Any]) -> None:
    """As long as somebody may ask the copy of the program for runs of it; then end it and these."""
    pid = standing_by(request.get("standby"))
    if pid is None:
        return
    while lifeline() != "cut" and not _has_ended(pid):
        time.sleep(KEEP_SECONDS)
    _tell_to_end(pid)
    limit = time.monotonic() + request.get("grace", 2.0)
    while time.monotonic() < limit and not _has_ended(pid):
        time.sleep(KEEP_SECONDS)
    identity = request["identity"]
    kill_all(lambda: tree_of(pid) | set(marked_processes(identity)) | set(children_of(os.getpid())))


def supervise(request: dict[str, Any]) -> dict[str, Any]:
    """Run the request to its end. The answer has exit_code (negative for a signal), seconds, timed_out (late, where it was told
    so before the limit, with told_at, the time on the clock when that began), cancelled.
    """
    began, limit = time.monotonic(), request["timeout"]
    try:
        with Path(request.get("stdin") or os.devnull).open("rb") as stdin:
            process = subprocess.Popen(
                request["argv"],
                cwd=request["cwd"],
                env=request["env"],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
    except OSError as error:
        return {"error": f"{type(error).__name__}: {error}", "seconds": 0.0}
    assert process.stdout is not None and process.stderr is not None
    copies = [BoundedFile(process.stdout, request["stdout"]), BoundedFile(process.stderr, request["stderr"])]  # type: ignore[arg-type]
    timed_out = cancelled = False
    told = None
    pause = 0.002
    while process.poll() is None:
        if time.monotonic() - began > limit:
            timed_out = True
            break
        told = lifeline()
        if told == "more":
            limit += 1.0
        elif told is not None:
            timed_out, cancelled = told == "late", told == "cut"
            break
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)
    seconds, told_at = time.monotonic() - began, time.time() if timed_out else None
    code = process.poll()
    if timed_out and request.get("channel"):
        ask_for_stacks(Path(request["channel"]), request["identity"])
    grace = request.get("grace", 2.0) if (timed_out or cancelled) else 0.3
    spared = standing_by(request.get("standby"))
    if cancelled:
        _tell_to_end(spared)
        spared = None
    ended = process.poll() is not None and not timed_out and not cancelled
    end_everything(process, request["identity"], 0.0 if ended else grace, spared)
    with contextlib.suppress(subprocess.TimeoutExpired):
        final = process.wait(5)
        code = final if code is None else code
    for copy in copies:
        copy.finish()
    return {
        "exit_code": code,
        "seconds": seconds,
        "timed_out": timed_out,
        "late": told == "late",
        "told_at": told_at,
        "cancelled": cancelled,
    }


def main() -> None:
    """Read the request, run it, print the answer."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # A handler that does nothing, not SIG_IGN: that would be inherited, and the target's own SIGTERMs would be ignored.
        signal.signal(number, lambda *_: None)
    become_subreaper()
    parent = os.getppid()
    request = json.loads(_first_line())
    answer = supervise(request)
    with contextlib.suppress(OSError):
        os.write(1, json.dumps(answer).encode() + b"\n")
    keep(request)
    if os.getppid() != parent:  # triage was killed: nobody else is left to remove what was its own
        for directory in request["private"]:
            shutil.rmtree(directory, ignore_errors=True)


def _first_line() -> bytes:
    # Unbuffered: what follows the line must stay visible to select().
    line = bytearray()
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            break
        line += byte
    return bytes(line)


if __name__ == "__main__":
    main()
