"""Steps of a program, measured in turns with the same program in other modes: what makes the machine slow meets all of them.

`turns` of the config is `{"file": a path, "slot": a number, "block": seconds, "named": whether a function of the program's is
the step, "profile": the path of the trace, where steps are to be profiled}`. The file has one byte for each process. The program
runs on until nothing was compiled for some steps; then it writes `r` and waits at the beginning of its next step until it reads
`g`, runs steps for the seconds of a block, and is ready again. At `p` its next step is profiled, at `s` it ends. A program that
ends earlier makes its last call again and again, with the inputs that it had.

A step is what the outermost calls of compiled functions take, and the backward passes after them, from one call to the
next call of the same function: that which is called twice first. With `named` it is a call of that function, all of it.
"""

import functools
import mmap
import os
import sys
import time

from ..compat import gpu
from . import again, profiling

WAITING, READY, GO, STOP, ENDED, PROFILE = b"-", b"r", b"g", b"s", b"x", b"p"
WARM = 3  # steps in which nothing was compiled, before the first that counts
POLL_SECONDS = 0.0005
PATIENCE_SECONDS = 3600.0  # for a turn: whoever gives them may be gone
SIZE = 64

installed = None  # of this process, for `step`


def step(function):
    """What is written before a function of the program's that was named as its step."""
    turns = installed

    @functools.wraps(function)
    def measured(*args, **kwargs):
        if turns is None or turns.inside:
            return function(*args, **kwargs)
        turns.begins((function, args, kwargs))
        turns.inside, began = True, turns.recorder.now()
        try:
            return function(*args, **kwargs)
        finally:
            turns.inside = False
            turns.took("step", turns.recorder.now() - began)

    return measured


class Turns(object):
    """One per process; the first process of the program that calls a compiled function takes part, its children do not."""

    def __init__(self, recorder, config):
        self.recorder, self.slot = recorder, int(config["slot"])
        self.block_seconds = float(config["block"])
        self.named, self.inside = bool(config.get("named")), False
        self.active, self._map = None, None
        self.counted = 0  # steps without a compile, so far in a row
        # Seconds of the steps in which something was compiled, and of the first step.
        self.compiling, self.first = 0.0, None
        self.steps, self.repeated = 0, False
        self._key, self._seen, self._last = None, set(), None
        self._now, self._graphs = 0.0, recorder.graphs  # of the step that runs
        self._block, self._block_began = [], None
        self._path = config["file"]
        self._trace, self._profiling = config.get("profile"), None
        self.profiled, self._quickest = 0, float("inf")

    # -- what the recorder tells ----------------------------------------------------------------------------------

    def begins(self, call):
        """An outermost call of a compiled function, or of the named one, begins: `call` is (function, args, kwargs)."""
        if not self._takes_part():
            return
        key = id(call[0])
        if self._key is None and key in self._seen:
            self._key = key
        self._seen.add(key)
        if self._key is None or key == self._key:
            self._step_ended()
            self._last = again.Call(sys.modules.get("torch"), *call)

    def took(self, what, seconds):
        """An outermost call or backward pass has ended."""
        if self.active:
            self._now += seconds
            if what == "backwards" and self._last is not None:
                self._last.backward = True

    def program_ended(self):
        """Go on with the last call where more steps are wanted. Called while torch still works."""
        if not self.active or self._last is None:
            return
        self._step_ended()
        self.repeated = True
        try:
            self._again()
        except Exception as error:
            self.recorder.channel.say("not_repeated", reason=("%s: %s" % (type(error).__name__, error))[:300])
        self.tell()
        self._put(ENDED)

    def tell(self):
        """What was measured, once the program ends."""
        if not self.active:
            return
        self._end_block()
        self.recorder.channel.say(
            "measured", compiling=self.compiling, first=self.first, steps=self.steps, memory=_peak_bytes(),
            device_memory=gpu.peak_bytes(), repeated=self.repeated,
        )  # fmt: skip
        self.active = False

    # -- steps ----------------------------------------------------------------------------------------------------

    def _step_ended(self):
        """What was added up since the last beginning was a step."""
        seconds, self._now = self._now, 0.0
        compiled, self._graphs = self.recorder.graphs != self._graphs, self.recorder.graphs
        if not seconds:
            return
        if self._profiling is not None:
            self._tell_profile(compiled)
            self._wait()
            return
        self.steps += 1
        if self.first is None:
            self.first = seconds
        if compiled or self.steps == 1:
            self.counted = 0
            self.compiling += seconds
            return
        self.counted += 1
        if self.counted <= WARM:
            if self.counted == WARM:
                self._wait()
            return
        self._block.append(seconds)
        if time.perf_counter() - self._block_began >= self.block_seconds:
            self._end_block()
            self._wait()

    def _again(self):
        """The last call, as long as somebody wants to know."""
        while self.active:
            began = self.recorder.now()
            self._last.make()
            self._now = self.recorder.now() - began
            self._step_ended()

    def _end_block(self):
        if self._block:
            seconds = sorted(self._block)
            self.recorder.channel.say("block", seconds=seconds[len(seconds) // 2], steps=len(seconds))
            self._block = []

    def _tell_profile(self, compiled):
        """One in which something was compiled tells nothing."""
        profiling, self._profiling = self._profiling, None
        told = profiling.end()
        if compiled:
            return
        self.profiled += 1
        if self.profiled > 1 and told["step"] < self._quickest:  # in the first one the profiler itself warms up
            self._quickest = told["step"]
            profiling.export(self._trace)
        self.recorder.channel.say("profiled", repeated=self.repeated, **told)

    # -- turns ----------------------------------------------------------------------------------------------------

    def _takes_part(self):
        if self.active is None:
            try:
                os.close(os.open(self._path + ".%d" % self.slot, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
                with open(self._path, "r+b") as file:
                    self._map = mmap.mmap(file.fileno(), SIZE)
                self.active = True
            except OSError:  # another process of this program does
                self.active = False
        return self.active

    def _put(self, state):
        if self._map is not None:
            self._map[self.slot : self.slot + 1] = state

    def _wait(self):
        """Until it is this program's turn. Where nobody wants any more, the program ends here."""
        self._put(READY)
        limit = time.monotonic() + PATIENCE_SECONDS
        while True:
            state = self._map[self.slot : self.slot + 1]
            if state == GO:
                break
            if state == PROFILE:
                self._profiling = profiling.Profiling(sys.modules["torch"])
                break
            if state == STOP or time.monotonic() > limit:
                self.tell()
                self._put(ENDED)
                self.recorder.leave_early()
                return  # others wait for this program: it goes on unmeasured
            time.sleep(POLL_SECONDS)
        self._block_began = time.perf_counter()


def _peak_bytes():
    """The most memory that this process had; None where the system does not say."""
    try:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    except Exception:
        return None
