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
        self._settle = recorder.config.get(
            "settle"
        )  # calls and seconds without a compile, after which the program is ended
        self._graphs, self._steady, self._since = -1, 0, time.monotonic()
        enter, leave = recorder.enter, recorder.leave

        def timed_enter(what, *call):
            enter(what, *call)
            if what == "calls":
                depth = getattr(self._local, "depth", 0)
                self._local.depth = depth + 1
                if depth == 0:
                    self._local.began = time.perf_counter()

        def timed_leave(what):
            if what == "calls":
                self._local.depth = getattr(self._local, "depth", 1) - 1
                if self._local.depth == 0:
                    self._ended(time.perf_counter() - self._local.began)
            leave(what)
            if what == "calls" and self._local.depth == 0 and self._settle and self._settled():
                recorder.leave_early()

        recorder.enter, recorder.leave = timed_enter, timed_leave

    def _ended(self, seconds):
        self.calls += 1
        if self.first is None:
            self.first = seconds
        elif len(self.later) < KEPT:
            self.later.append(seconds)

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
