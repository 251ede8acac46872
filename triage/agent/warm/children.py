"""The children of the fork server: started, limited, reaped, and everything they leave behind ended.

A child leads a session of its own and the server is a sub-reaper (Linux), so that whatever a candidate forks off becomes
a child of the server as soon as its parent is gone: a process that the server did not start itself is an orphan, and is
killed when the next candidate ends. Memory is watched rather than limited by rlimit: a limit would make allocations fail
with an exception, which looks like another failure.
"""

import os
import signal
import time

from . import candidate, proc
from .output import BoundedStream

TERM_GRACE = 1.0
STACKS_SECONDS = 2.0  # that a candidate has at its limit to say where it is, on a machine that is busy


class Child:
    """One running candidate."""

    def __init__(self, request, pid, streams, baseline):
        self.id = request["id"]
        self.pid = pid
        self.streams = streams
        self.baseline = baseline
        self.began = time.monotonic()
        self.deadline = self.began + float(request["timeout"])
        self.memory = int(request["memory_mb"]) << 20 if request.get("memory_mb") else None
        self.grace = TERM_GRACE if request.get("script") else 0.0  # a program may have locks to give back
        stacks = os.path.join(request["root"], "channel", "stacks-%d.txt" % pid)
        self.stacks = None if request.get("script") else stacks
        self.reason = None  # why we ended it: timed_out, oom, cancelled
        self.told_by = None  # until when it may say where it is
        self.kill_at = None

    def end(self, reason, grace):
        """Ask the whole group to end, then make it."""
        if self.kill_at is None:
            self.reason = self.reason or reason
            self.kill_at = time.monotonic() + grace
            self.signal(signal.SIGTERM if grace else signal.SIGKILL)

    def signal(self, number):
        """To the group, and to the child itself in case it has not become a leader yet."""
        for send in (os.killpg, os.kill):
            try:
                send(self.pid, number)
            except OSError:
                continue

    def watch(self, now):
        """Keep the limits of time and memory."""
        if self.kill_at is not None:
            if now >= self.kill_at:
                self.signal(signal.SIGKILL)
        elif now >= self.deadline:
            if self.has_told(now):
                self.end("timed_out", TERM_GRACE)
        elif self.memory is not None and proc.memory_of_tree(self.pid) - self.baseline > self.memory:
            self.end("oom", 0.0)

    def has_told(self, now):
        """Whether it has said where its threads are, which it is asked once; or has had time enough for that."""
        if self.told_by is None:
            self.told_by, self.reason = now, self.reason or "timed_out"
            if self.stacks is not None and os.path.exists(self.stacks):
                self.told_by = now + STACKS_SECONDS
                os.kill(self.pid, proc.STACKS_SIGNAL)
                return False
        return now >= self.told_by or os.path.getsize(self.stacks) > 0


class Children:
    """All running candidates. `private` are descriptors of the server that no child may keep."""

    def __init__(self, private):
        self.private = tuple(private)
        self.running = {}
        proc.become_subreaper()

    def streams(self):
        """Descriptor -> stream, of every output that is still open."""
        return {
            stream.descriptor: stream
            for child in self.running.values()
            for stream in child.streams
            if stream.descriptor is not None
        }

    def start(self, request):
        """Fork a child for the request; returns its pid and nothing. Raises OSError where that is impossible.

        A program of the user's is not run here: in its child (0, where its output and errors go) is returned.
        """
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        others = [stream.descriptor for stream in self.streams().values()]
        baseline = proc.private_bytes(os.getpid())
        try:
            pid = os.fork()
        except OSError:
            for descriptor in (out_read, out_write, err_read, err_write):
                os.close(descriptor)
            raise
        if pid == 0:
            try:
                for descriptor in (*self.private, *others, out_read, err_read):
                    os.close(descriptor)
                if not (request.get("script") or request.get("imports")):
                    candidate.run(request, out_write, err_write)  # never returns
            except BaseException:
                os._exit(70)
            return 0, (out_write, err_write)
        os.close(out_write)
        os.close(err_write)
        root = request["root"]
        streams = (
            BoundedStream(out_read, os.path.join(root, "stdout.txt")),
            BoundedStream(err_read, os.path.join(root, "stderr.txt")),
        )
        self.running[pid] = Child(request, pid, streams, baseline)
        return pid, ()

    def cancel(self, number):
        """End the candidate of this id, if it still runs."""
        for child in self.running.values():
            if child.id == number:
                child.end("cancelled", child.grace)

    def extend(self, number, seconds):
        """Give the candidate of this id so many seconds more, if it still runs."""
        for child in self.running.values():
            if child.id == number:
                child.deadline += seconds

    def look(self):
        """Reap what has ended, keep the limits of the rest. Returns the replies for those that ended."""
        finished = []
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            child = self.running.pop(pid, None)
            if child is not None:
                finished.append(self.finish(child, status))
        now = time.monotonic()
        for child in self.running.values():
            child.watch(now)
        return finished

    def finish(self, child, status):
        """End what the child left behind, close its output; the reply."""
        seconds = time.monotonic() - child.began
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except OSError:
            pass
        proc.end_orphans(self.running)
        for stream in child.streams:
            stream.finish()
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        # A SIGKILL that is not ours comes from the kernel's out-of-memory killer, which children volunteer for.
        oom = child.reason == "oom" or (number == signal.SIGKILL and child.reason is None)
        return {
            "id": child.id,
            "status": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
            "signal": number,
            "seconds": seconds,
            "timed_out": child.reason == "timed_out",
            "oom": oom,
            "cancelled": child.reason == "cancelled",
        }

    def end_all(self):
        """End every child and wait for all of them: the orchestrator has gone."""
        for child in self.running.values():
            child.end("cancelled", child.grace)
        limit = time.monotonic() + 5.0
        while self.running and time.monotonic() < limit:
            self.look()
            time.sleep(0.01)
        proc.end_orphans({})
