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

        recorder.enter, recorder.leave = timed_enter, timed_leave

    def _ended(self, seconds):
        self.calls += 1
        if self.first is None:
            self.first = seconds
        elif len(self.later) < KEPT:
            self.later.append(seconds)

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
