"""Which compiled graph runs now, in a file that outlives the process.

Breadcrumbs are lines, and told of the first run of a graph alone: a program calls its graphs many times. Here a call costs a
write to shared memory, so that a crash in any call can be laid to its graph. The file is empty while none runs.
"""

import mmap
import os

SIZE = 256
NOTHING = bytes(SIZE)


def note_of(graph, file):
    """What is noted while this graph runs, but for the number of the call: made once, as a graph is run many times."""
    return ("%s %s " % (graph, file or "-")).encode("utf-8", "replace")[: SIZE - 20]


class Running:
    """The note of this process. A forked child has its own; where none can be made, nothing is noted."""

    def __init__(self, directory):
        self.directory = directory
        self._pid = None
        self._map = None

    def enter(self, note, call=1):
        """Note that a graph runs (`note_of` it) for this time; returns what ran until now, for `leave`."""
        try:
            if self._pid != os.getpid():
                self._open()
            if self._map is None:
                return NOTHING
            before = self._map[:SIZE]
            self._map[:SIZE] = (note + b"%d" % call).ljust(SIZE, b"\0")
            return before
        except Exception:
            return NOTHING

    def leave(self, before):
        """Note that it has ended, with a result or an exception."""
        try:
            if self._map is not None and self._pid == os.getpid():
                self._map[:SIZE] = before
        except Exception:
            return

    def keep(self):
        """What is noted now stays, whatever ends from here on."""
        self._map, self._pid = None, os.getpid()

    def _open(self):
        self._pid, self._map = os.getpid(), None
        with open(os.path.join(self.directory, "running-%d" % self._pid), "w+b") as file:
            file.write(NOTHING)
            file.flush()
            self._map = mmap.mmap(file.fileno(), SIZE)
