"""Where the seconds of compiling go: Dynamo's own timers, read at the end, and the clock around outermost compiled calls."""

import threading
import time

from .. import compat

KEPT = 2000  # durations of calls


class CallClock(object):
    """Times the outermost compiled calls of each process."""

    def __init__(self, recorder):
        self.recorder = recorder
        self.calls = 0
        self.first = None
        self.later = []
        self._local = threading.local()
        # Calls and seconds without a compile, after which the program is ended.
        self._settle = recorder.config.get("settle")
        self._graphs, self._steady, self._since = -1, 0, time.monotonic()
        recorder.at_enter.append(self._entered)
        recorder.at_leave.append(self._left)

    def _entered(self, what, call):
        if what == "calls" and self.recorder.depth(what) == 1:
            self._local.began = time.perf_counter()

    def _left(self, what):
        if what != "calls" or self.recorder.depth(what):
            return
        seconds = time.perf_counter() - self._local.began
        self.calls += 1
        if self.first is None:
            self.first = seconds
        elif len(self.later) < KEPT:
            self.later.append(seconds)
        if self._settle and self._settled():
            self.recorder.leave_early()

    def _settled(self):
        """Whether nothing was compiled for so many calls and for so long that nothing more is to be expected."""
        if self.recorder.graphs != self._graphs:
            self._graphs, self._steady, self._since = self.recorder.graphs, 0, time.monotonic()
        self._steady += 1
        calls, seconds = self._settle
        return self._steady > calls and time.monotonic() - self._since > seconds

    def tell(self):
        """What is known at the end of the process."""
        later = sorted(self.later)
        self.recorder.channel.say(
            "compile_times",
            calls=self.calls,
            first_call=self.first,
            later_call=later[len(later) // 2] if later else None,
            phases=compat.compile_phases(),
            graphs=compat.compile_metrics(),
            limit=compat.recompile_limit(),
        )
