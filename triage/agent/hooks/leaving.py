"""The end of a program that died of an exception, or was told to end: it is not taken to pieces, which costs torch a second.

All that the program asked for at its end has happened by then: its last thread has ended, its exit handlers have run, and what
it wrote is flushed. Left out is the work of the interpreter: it looks for garbage, and empties every module.
"""

import atexit
import gc
import io
import os
import signal
import sys
import threading

LAST_SECONDS = 5.0  # for exit handlers of a program that is ended early


class Leaving(object):
    """Whether this program may be left so. Made before the program starts, and told when its exit handlers have run."""

    def __init__(self):
        # Exit handlers run in reverse order. What was there before us (of a .pth file, a sitecustomize) comes after us.
        self._first = getattr(atexit, "_ncallbacks", lambda: 1)() == 0
        self._died = False

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


def let_go(status):
    """End with this status once all has run that the program asked for at its end: a lock that it leaves is met by its next run.

    A handler that waits for the rest of the program is not waited for.
    """

    def leave():
        _flush()
        os._exit(status)

    late = threading.Timer(LAST_SECONDS, leave)
    late.daemon = True
    late.start()
    atexit._run_exitfuncs()
    leave()


def _flush():
    for thing in gc.get_objects():
        try:
            if issubclass(type(thing), io.IOBase) and not thing.closed:
                thing.flush()
        except Exception:  # of a file of the program's own
            continue
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            continue
