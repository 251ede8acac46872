"""A program that is told to end (SIGTERM: it was cancelled, or is at its time limit) ends as if it had done so by itself.

Python does nothing about that signal: no `finally` and no exit handler is run, and a lock file stays for the next run to meet. So
SystemExit is raised where the program leaves the signal alone. Only in the first process of a probe: others are ended by the
program itself, which may wait for that, and C code that goes on would keep them. What the program does from then on is our doing,
so nothing of it is told; whether it ends is not waited for long (`probe/supervisor.py`).
"""

import os
import signal
import sys

FIRST = "first"


def install(recorder):
    """In the process that is the first one of its probe."""
    try:
        if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL or not _is_first(recorder.channel.directory):
            return

        def told(number, frame):
            recorder.hush()
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            sys.exit(128 + number)

        def forked():
            if signal.getsignal(signal.SIGTERM) is told:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)

        signal.signal(signal.SIGTERM, told)
        os.register_at_fork(after_in_child=forked)
    except (AttributeError, OSError, ValueError):  # no such signal, no fork, not the main thread
        return


def _is_first(directory):
    try:
        os.close(os.open(os.path.join(directory, FIRST), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError:
        return False
    return True
