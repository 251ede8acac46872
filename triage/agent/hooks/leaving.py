"""The end of a program that died of an exception: what is left of it is not taken to pieces, which costs torch a second.

All that the program asked for at its end has happened by then: its last thread has ended, its exit handlers have run, and what
it wrote is flushed. Left out is the work of the interpreter: it looks for garbage, and empties every module.
"""

import atexit
import gc
import io
import os
import sys


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

    def leave(self):
        """End with the status of a program that died of an exception; returns where it did not."""
        if self._died and self._first:
            _flush()
            os._exit(1)


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
