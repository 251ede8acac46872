"""The end of a program that died of an exception, or was told to end: it is not taken to pieces, which costs torch a second.

All that the program asked for at its end has happened by then: its last thread has ended, its exit handlers have run, and what
it wrote is flushed. Left out is the work of the interpreter: it looks for garbage, and empties every module. Where a program
ends well, only the interpreter knows its status: in a run that is ours alone it has nothing to look through then.
"""

import atexit
import contextlib
import os
import signal
import sys
import threading

from . import settled

LAST_SECONDS = 5.0  # for exit handlers of a program that is ended early


class Leaving(object):
    """Whether this program may be left so. Made before the program starts, and told when its exit handlers have run."""

    def __init__(self, ours=False):
        # Exit handlers run in reverse order. What was there before us (of a .pth file, a sitecustomize) comes after us.
        self._first = getattr(atexit, "_ncallbacks", lambda: 1)() == 0
        self._died = False
        self._ours = ours

    def printing(self):
        """Called by the excepthook itself: that of a dying program is called by the interpreter, alone on the stack."""
        try:
            sys._getframe(2)
        except ValueError:
            self._died = True

    def leave(self, by_signal=False):
        """End with the status of a program that died of an exception, or was ended `by_signal`; returns where it was neither."""
        if self._first and (self._died or by_signal):
            _flush()
            if by_signal:
                os.kill(os.getpid(), signal.SIGTERM)
            os._exit(1)
        if self._first and self._ours and settled.can_be_set_aside():
            settled.flush()
            settled.set_aside()
        else:
            settled.give_back()


def let_go(status):
    """End with this status once all has run that the program asked for at its end: a lock that it leaves is met by its next run.

    A handler that waits for the rest of the program is not waited for.
    """

    def leave():
        _flush()
        os._exit(status)

    later(LAST_SECONDS, leave)
    atexit._run_exitfuncs()
    leave()


def later(seconds, act):
    """Have it called in so many seconds: from a thread or, where none can be begun, by a signal in this one.

    From Python 3.12 on no thread can be begun once the main one has ended.
    """
    timer = threading.Timer(seconds, act)
    timer.daemon = True
    try:
        timer.start()
    except RuntimeError:
        with contextlib.suppress(ValueError):  # in a thread of the program's
            signal.signal(signal.SIGALRM, lambda *_: act())
            signal.setitimer(signal.ITIMER_REAL, seconds)


def _flush():
    settled.flush()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            continue
