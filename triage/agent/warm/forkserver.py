"""A warm interpreter that runs each candidate in a forked child:
`python boot.py warm.forkserver REQUEST_FD REPLY_FD SHARED_DIR [as-it-is]`.

Importing torch, Dynamo and Inductor costs seconds, a fork costs ten milliseconds. Requests and replies are JSON lines on
two inherited descriptors, never on the standard streams, which belong to the candidates.

    {"op": "run", "id": n, "source": text, "root": dir, "rung": name|null, "env": {name: text|null}, "timeout": s,
     "memory_mb": n|null, "cut_off": phase|null, "accuracy": settings|null, "kernels": dir|null}
    {"op": "cancel", "id": n}
    {"op": "extend", "id": n, "seconds": s}
    {"op": "end"}

With `as-it-is` it runs programs of the user's instead (`program.py`): "script": path, "args": words, "cwd": dir, a whole "env".
With "imports" a child begins with these statements, and is asked for candidates like this one (`branch.py`).

Replies: `{"ready": true, ...}` (or false, with the reason) once; then per candidate `{"id", "started": pid}` and
`{"id", "status", "signal", "seconds", "timed_out", "oom", "cancelled"}`.

Invariants: one thread (a fork copies only the calling one), CUDA not initialised in this process (a child could not use it,
which is tried before the first candidate), nothing of a candidate survives it, and nothing survives the end of the request
pipe: where no "end" came before it, not even the directory that this was started in.
"""

import json
import os
import select
import shutil
import signal
import time

from . import branch, program
from .children import Children

POLL_SECONDS = 0.1


def main(argv):
    """Serve until the request pipe ends, or, in a child, be a program. Returns the exit status."""
    requests, replies, shared = int(argv[0]), int(argv[1]), argv[2]
    home = os.getcwd()
    for descriptor in (requests, replies):
        os.set_inheritable(descriptor, False)
    say = Replies(replies)
    from . import warmup

    try:
        facts = warmup.warm_up(shared, as_it_is=argv[3:] == ["as-it-is"])
    except BaseException as error:
        say(ready=False, reason="%s: %s" % (type(error).__name__, str(error)[:500]))
        return 1
    if facts.get("refused"):
        say(ready=False, reason=facts["refused"])
        return 1
    say(ready=True, pid=os.getpid(), **facts)
    server = Server(requests, say)
    begun = server.serve()
    if begun is not None:
        return _serve_behind_imports(*begun) if begun[0].get("imports") else program.run(*begun)
    if not server.dismissed:  # the orchestrator was killed: nobody else is left to remove its directory
        shutil.rmtree(home, ignore_errors=True)
    return 0


def _serve_behind_imports(request, out, err):
    """In a child: the same for candidates that begin with these imports."""
    requests, replies = branch.begin(request, out, err)
    say = Replies(replies)
    why = branch.execute(request["imports"])
    say(ready=not why, reason=why)
    begun = None if why else Server(requests, say).serve()
    return 0 if begun is None else _serve_behind_imports(*begun)


class Replies:
    """Writes reply lines. Once nobody reads them, the end of the request pipe is near as well."""

    def __init__(self, descriptor):
        self.descriptor = descriptor

    def __call__(self, **facts):
        data = json.dumps(facts).encode("ascii") + b"\n"
        while data:
            try:
                data = data[os.write(self.descriptor, data) :]
            except OSError:
                return


class Server:
    """The loop: requests in, children watched, replies out."""

    def __init__(self, requests, say):
        self.requests = requests
        self.say = say
        self.buffer = bytearray()
        self.open = True
        self.dismissed = False
        self.roots = set()  # directories of what was asked for
        self.begun = None  # in a child: the program that it is to be
        self.wake_read, self.wake_write = os.pipe()
        for descriptor in (self.wake_read, self.wake_write):
            os.set_blocking(descriptor, False)
        self.children = Children((requests, say.descriptor, self.wake_read, self.wake_write))

    def serve(self):
        """Until the request pipe ends; then end every child. In a child that is to be a program: what that is."""
        signal.set_wakeup_fd(self.wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C is for the orchestrator, which then closes the pipe
        try:
            while self.open and self.begun is None:
                self.step()
        finally:
            if self.begun is None:
                self.children.end_all()
        return self.begun

    def step(self):
        """Wait for something to happen, and deal with it."""
        streams = self.children.streams()
        poll = select.poll()
        for descriptor in [self.requests, self.wake_read, *streams]:
            poll.register(descriptor, select.POLLIN)
        pause = POLL_SECONDS if self.children.running else 3600.0
        ready = [descriptor for descriptor, _ in poll.poll(pause * 1000)]
        if self.wake_read in ready:
            _drain(self.wake_read)
        for descriptor in ready:
            if descriptor in streams:
                streams[descriptor].read_some()
        for finished in self.children.look():
            self.say(**finished)
        if self.requests in ready:
            self.read_requests()

    def read_requests(self):
        """Take what the request pipe holds; start a child per complete line."""
        data = os.read(self.requests, 1 << 16)
        if not data:
            self.open = False
            return
        self.buffer += data
        *lines, rest = bytes(self.buffer).split(b"\n")
        self.buffer = bytearray(rest)
        for line in lines:
            if line.strip() and self.begun is None:
                self.obey(json.loads(line.decode("utf-8")))

    def obey(self, request):
        """Run or cancel a candidate, or give it more time."""
        if request["op"] == "cancel":
            self.children.cancel(request["id"])
            return
        if request["op"] == "extend":
            self.children.extend(request["id"], request["seconds"])
            return
        if request["op"] == "end":
            self.dismissed = True
            return
        began = time.monotonic()
        self.roots.add(request["root"])
        try:
            pid, streams = self.children.start(request)
        except OSError as error:
            seconds = time.monotonic() - began
            self.say(id=request["id"], error="%s: %s" % (type(error).__name__, error), seconds=seconds)
            return
        if pid == 0:
            self.begun = (request, *streams)
            return
        self.say(id=request["id"], started=pid)


def _drain(descriptor):
    try:
        while os.read(descriptor, 4096):
            pass
    except OSError:
        return
