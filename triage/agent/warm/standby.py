"""A copy of the program that stands by at its first call of a compiled function. Other runs of the program begin there.

The script runs once as it is. Its imports, its data and its model are the same on every backend, and what differs begins with
that call: so the program is forked there, before anything was compiled, and the copy waits. For each run that it is asked for
(`probe/standby.py`) it forks once more; that child goes on as the program would have gone on uncompiled, or with another backend.

Such a run counts only where it passes, as everything says that it will: all others are made anew, from the beginning. It has one
thread for its kernels, since the threads of OpenMP do not outlive a fork. Of a program that a copy would share more with than its
memory nothing is copied: temporary files and files that it writes over, sockets and pipes, shared memory, threads, other
processes, a GPU.

`standby` of the config is the directory in which the pipes lie, links to where the program's output and errors are kept, and
where `ready.json` is put: `{"pid", "seconds", "printed"}`, how long the program had run when it was copied, and how many bytes it
had printed on each.
"""

import json
import os
import select
import shutil
import signal
import sys
import threading
import time
import warnings

from .. import compat
from ..capture import surroundings
from ..hooks import hook, imports, is_compiling, told_to_end
from ..hooks.boundary import UNCOMPILED
from ..hooks.running import Running

READY, REQUESTS, REPLIES, PRINTED = "ready.json", "requests", "replies", ("out", "err")
FAILED = 70
START_SECONDS = 2.0  # for a copy to be ready: what takes longer is not waited for
PIPE_SECONDS = 0.5  # for what was printed to be kept
# What a run from the beginning would have said until then.
KEPT_EVENTS = ("start", "torch", "compile_call", "operators", "asked_if_compiled")
_HANDLED = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGCHLD") if hasattr(signal, name))
ACCESS = os.O_WRONLY | os.O_RDWR  # of the flags of an open file
FIONREAD = 0x541B  # asm-generic/ioctls.h
MOST_PRINTED = 1024 * 1024  # of which all is kept (`probe/supervisor.py`)


class Standby(object):
    """Made before the program begins, and gone once a compiled function has been called."""

    def __init__(self, recorder, folder):
        self._recorder, self._folder = recorder, folder
        written = (recorder.channel.directory, os.environ.get("TORCH_LOGS_OUT"), os.environ.get("TORCH_TRACE"))
        self._own = tuple(os.path.abspath(path) for path in written if path)  # what we write into in this process
        self._temporary = os.environ.get("TMPDIR", "")  # of this run alone
        self._there = _files_in(self._temporary)
        self._began = time.monotonic()
        self._may_come = None
        # They would be threads and processes of which a copy has none.
        imports.after_import(compat.workers_when_asked(lambda: compat.may_use_accelerator(sys.modules["torch"])))

    def may_come(self):
        """Whether the program could be copied when it first used torch.compile: else nobody needs to wait for it."""
        if self._may_come is None:  # asked at each use, and read of the first alone (`locate/ahead.py`)
            self._may_come = not self._refused()
        return self._may_come

    def reached(self):
        """The first call of a compiled function begins. Returns in the program, and in each run that begins here."""
        why, ready = self._refused(), False
        try:
            ready = not why and self._copied()
        except Exception as error:  # the program goes on without a copy
            why = "%s: %s" % (type(error).__name__, error)
        self._recorder.channel.say("standby", ready=bool(ready), reason=why)

    # -- in the program ---------------------------------------------------------------------------------------------

    def _refused(self):
        """Why the program cannot be copied; empty where it can."""
        torch = sys.modules["torch"]
        if sys.platform != "linux":
            return "fork is not safe on %s" % sys.platform
        if not compat.stance_setter(torch):
            return "this torch cannot be told to run compiled functions as they are"
        if compat.may_use_accelerator(torch):
            return "it may use a GPU"
        if not self._recorder.alone():
            return "another process waits for it"
        if threading.active_count() > 1 or threading.current_thread() is not threading.main_thread():
            return "it has threads"
        if signal.getsignal(signal.SIGCHLD) is not signal.SIG_DFL:
            return "it waits for the end of processes"
        made = _files_in(self._temporary) - self._there
        if made - compat.temporary_files_of_torch():  # the first run that ends might remove them
            return "it has temporary files"
        try:
            return _shared(self._own)
        except (OSError, ValueError) as error:
            return str(error)

    def _copied(self):
        """Fork the copy, by way of a child that ends at once: the program has no child that it does not know of."""
        seconds = time.monotonic() - self._began
        printed = [_printed(number, os.path.join(self._folder, name)) for number, name in enumerate(PRINTED, 1)]
        told, tell = os.pipe()
        program, random = os.getpid(), sys.modules["random"]  # of torch
        drawn = random.getstate()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of threads that are not Python's, and wait
            child = os.fork()
        if child == 0:
            os.close(told)
            begun = self._in_the_copy(tell, {"seconds": seconds, "printed": printed})
            try:
                self._go_on(program, *begun)
                random.setstate(drawn)  # Python gives every child that is forked another one
            except BaseException:  # it is run from the beginning then
                os._exit(FAILED)
            return True
        os.close(tell)
        os.waitpid(child, 0)
        try:
            return bool(select.select([told], [], [], START_SECONDS)[0] and os.read(told, 1))
        finally:
            os.close(told)

    # -- in the copy ------------------------------------------------------------------------------------------------

    def _in_the_copy(self, tell, facts):
        """Serve until nobody asks any more, and end. Returns in a run that was asked for: its request, output and errors."""
        begun = None
        try:
            if os.fork():
                os._exit(0)
            os.setsid()
            _leave_streams()
            handlers = [(number, signal.getsignal(number)) for number in _HANDLED]
            from . import forkserver, proc

            proc.volunteer_for_oom_killer()
            requests = os.open(os.path.join(self._folder, REQUESTS), os.O_RDONLY | os.O_NONBLOCK)
            replies = os.open(os.path.join(self._folder, REPLIES), os.O_WRONLY | os.O_NONBLOCK)
            os.set_blocking(replies, True)
            _forget_stacks(self._recorder.channel.directory)
            path = os.path.join(self._folder, READY)
            with open(path + ".part", "w", encoding="ascii") as file:
                json.dump(dict(facts, pid=os.getpid()), file)
            os.replace(path + ".part", path)
            os.write(tell, b"1")
            os.close(tell)
            server = forkserver.Server(requests, forkserver.Replies(replies))
            signal.signal(signal.SIGTERM, lambda *_: setattr(server, "open", False))
            begun = server.serve()
            if begun is None and not server.dismissed and _has_ended(requests):
                # Triage was killed: nobody else is left to remove the directories of its runs.
                for root in server.roots:
                    shutil.rmtree(os.path.dirname(root), ignore_errors=True)
        finally:
            if begun is None:
                os._exit(0)
        return (handlers, *begun)

    # -- in a run -----------------------------------------------------------------------------------------------------

    def _go_on(self, program, handlers, request, out, err):
        """Become the run that was asked for: what follows is the program's."""
        from .candidate import become_a_process

        become_a_process(out, err)
        for number, handler in handlers:
            if handler is not None:  # not one of C's
                signal.signal(number, handler)
        compat.leave_log_files()
        before, recorder = self._recorder.channel.directory, self._recorder
        config = json.loads(request["env"]["TRIAGE_AGENT"])
        tempfile = sys.modules.get("tempfile")
        if tempfile is not None and tempfile.tempdir == os.environ.get("TMPDIR"):
            tempfile.tempdir = None  # it is asked for again
        surroundings.set_anew(request["env"])
        recorder.begin_again(config, Running(config["channel"]))
        _tell_anew(before, program, config["channel"])
        hook.note_stacks(config)
        told_to_end.install(recorder)
        torch = sys.modules["torch"]
        torch.set_num_threads(1)
        if config["rung"] == UNCOMPILED:
            compat.stance_setter(torch)("force_eager")
            for module in (torch.compiler, sys.modules.get("torch._dynamo")):
                if module is not None:
                    is_compiling.patch(module, recorder)


def _files_in(folder):
    try:
        return set(os.listdir(folder))
    except OSError:
        return set()


def _shared(own):
    """What a copy would share with the program besides its memory, files that begin with `own` aside; empty if nothing."""
    for name in os.listdir("/proc/self/task"):
        with open("/proc/self/task/%s/children" % name) as file:
            if file.read().strip():
                return "it has begun other processes"
    if os.readlink("/proc/self/fd/0") != os.devnull:
        return "it has an input"
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            path = _written_to(name)
            if path and not path.startswith(own):
                return "it has %s open" % os.path.basename(path)
    with open("/proc/self/maps") as file:
        for line in file:
            words = line.split(None, 5)
            path = words[5].strip() if len(words) > 5 else ""
            if words[1][1] == "w" and words[1][3] == "s" and not path.startswith(own):
                return "it has shared memory"
    return ""


def _written_to(name):
    """What an open file is called where two processes would be in each other's way; empty where it is only read."""
    try:
        path = os.readlink("/proc/self/fd/" + name)
        with open("/proc/self/fdinfo/" + name) as file:
            flags = next(int(line.split()[1], 8) for line in file if line.startswith("flags:"))
    except (OSError, StopIteration):  # closed by now
        return ""
    if not path.startswith("/"):
        return path  # a pipe, a socket, an event queue
    if path.startswith("/dev/") and not path.startswith("/dev/shm/"):
        return ""
    if flags & os.O_APPEND:  # what a run adds there it would add in any case
        return ""
    return path if flags & ACCESS else ""


def _printed(number, path):
    """How many bytes of what was written to this stream lie in the file that it is kept in, once all of it does."""
    import fcntl

    (sys.stdout if number == 1 else sys.stderr).flush()
    end = time.monotonic() + PIPE_SECONDS
    while time.monotonic() < end and any(fcntl.ioctl(number, FIONREAD, bytes(4))):
        time.sleep(0.001)
    time.sleep(0.005)  # read, and not yet written
    size = os.stat(path).st_size
    if size > MOST_PRINTED:
        raise OSError("it has printed too much")
    return size


def _has_ended(pipe):
    try:
        return not os.read(pipe, 1)
    except OSError:  # somebody may write to it yet
        return False


def _leave_streams():
    """Standard streams are those of the program; the copy says nothing."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for place in (0, 1, 2):
        os.dup2(nothing, place)
    os.close(nothing)


def _forget_stacks(channel):
    """The copy waits; where it stands is not where the program hangs."""
    for kind in ("stacks", "fatal"):
        try:
            os.remove(os.path.join(channel, "%s-%d.txt" % (kind, os.getpid())))
        except OSError:
            continue


def _tell_anew(before, program, channel):
    """What the program had said until it was copied is said by the run as well, under its own number."""
    with open(os.path.join(before, "events-%d.jsonl" % program), encoding="utf-8") as file:
        events = [json.loads(line) for line in file]
    with open(os.path.join(channel, "events-%d.jsonl" % os.getpid()), "w", encoding="utf-8") as file:
        for event in events:
            if event["e"] in KEPT_EVENTS:
                if "pid" in event:
                    event["pid"] = os.getpid()
                file.write(json.dumps(event) + "\n")
