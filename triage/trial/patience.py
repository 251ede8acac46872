"""How long to wait for a candidate: learned from the candidates that ended.

Where the failure is a hang, every candidate that hangs costs the whole limit, so the limit decides how long such a reduction
takes. A candidate is a small part of a program: what passes does so in a second or two. What takes several times as long as
the slowest of those hangs, or its compile time explodes; until one has passed, the limit is that of the program. Once a
candidate has exceeded a learned limit, it stays: a later one that is just within it must not turn what was found into slowness.
It is never less than what the program needs until it comes to where it hangs: the candidates that hold all of it need that too.

Where compile time grows with the program, what exceeds a learned limit may only be larger than what passed. So what a search
ends in is asked once more, with a limit that leaves little doubt (`sure`); where that ends, all had too little patience. A minute
is enough for that: a few operations that do not compile within it are what the person calls a hang, whatever comes later.

Of any other failure a candidate can hang as well, where a loop of the program has lost its end. Those that fail end too then,
and tell how long one takes; the limit is wider, as it only has to end what would never end, and less wide once many have told.
"""

from __future__ import annotations

import threading

from triage.model.stage import Verdict

FACTOR = 2.5
LEAST_SECONDS = 10.0
SURE_SECONDS = 60.0  # as a fresh process has to show it
# Times what passes, beyond that: nothing is waited for longer than is needed to tell one from the other.
CLOSE_FACTOR = 1.25
FACTOR_OF_OTHERS, LEAST_OF_OTHERS = 5.0, 20.0  # where the failure is no hang
MANY, LEAST_AFTER_MANY = 12, 6.0  # candidates that ended: then one that took long by chance is among them


class Patience:
    """The limit in seconds, never more than `most`, and no less than `least` where that is more than a candidate needs.

    Threads may share one.

    `hangs`: whether the failure is one. Where it is not, a candidate that failed the same way has ended as well. `script` are
    the seconds after which the script was said to hang: no candidate is asked for more than that, unless `most` is.
    """

    def __init__(self, most: float, *, hangs: bool = True, least: float = 0.0, script: float = 0.0) -> None:
        self._most, self.hangs, self._script = most, hangs, max(script, most)
        self._least = min(max(least, LEAST_SECONDS if hangs else LEAST_OF_OTHERS), most)
        self._factor = FACTOR if hangs else FACTOR_OF_OTHERS
        self._slowest: float | None = None
        self._settled = False
        self._ended = 0
        self._lock = threading.Lock()

    def saw(self, verdict: Verdict, seconds: float) -> None:
        """A candidate took so long."""
        failed = verdict is Verdict.SAME_FAILURE
        with self._lock:
            if failed and self.hangs:
                self._settled = self._slowest is not None
            elif (failed or verdict is Verdict.NO_FAILURE) and not self._settled:
                self._slowest = max(self._slowest or 0.0, seconds)
                self._ended += 1

    @property
    def learned(self) -> bool:
        """Whether some candidate has told how long one takes."""
        return self._slowest is not None

    def sure(self) -> float:
        """The limit in seconds at which a hang is believed that was found within the other."""
        now = self.seconds()
        return now if self._slowest is None else max(now, min(self._script, SURE_SECONDS))

    def was_short(self, seconds: float) -> None:
        """What was said to hang has ended, after so many seconds."""
        with self._lock:
            self._slowest = max(self._slowest or 0.0, seconds)
            self._most = max(self._most, min(self._script, self._wide(seconds)))
            self._settled = False

    def seconds(self) -> float:
        """The limit of a candidate that begins now."""
        if self._slowest is None:
            return self._most
        least = LEAST_AFTER_MANY if self._ended >= MANY and not self.hangs else self._least
        return min(self._most, max(least, self._wide(self._slowest)))

    def _wide(self, slowest: float) -> float:
        """So far above what passes that what takes longer does not."""
        if not self.hangs:
            return self._factor * slowest
        return min(self._factor * slowest, max(SURE_SECONDS, CLOSE_FACTOR * slowest))
