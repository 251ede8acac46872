"""The one way the agent speaks: JSON lines, appended to a file per process in the probe's channel directory.

Every line is written with a single `os.write` on a descriptor opened for appending, at the moment the fact is known, so a
target that is killed, calls `os._exit` or closes its files loses nothing that was said before.
"""

import json
import os
import threading
import time

LINE_LIMIT = 256 * 1024
FILE_LIMIT = 16 * 1024 * 1024


class Channel:
    """Writes events. Forked children open their own file; a write that fails is dropped."""

    def __init__(self, directory):
        self.directory = directory
        self._pid = None
        self._written = 0
        self.hushed = False  # nothing is said any more
        self.forked()

    def forked(self):
        """The lock may be another thread's, which the child has not. In a handler of a signal it may be this thread's own."""
        self._lock = threading.RLock()

    def say(self, kind, **facts):
        """Append one event of this kind."""
        if self.hushed:
            return
        try:
            line = json.dumps(dict(facts, e=kind, t=time.time()), default=str)
            if len(line) > LINE_LIMIT:
                return
            with self._lock:
                if self._pid != os.getpid():
                    self._pid, self._written = os.getpid(), 0
                if self._written > FILE_LIMIT:
                    return
                self._append(line.encode("utf-8", "replace") + b"\n")
        except Exception:
            return

    def _append(self, data):
        # Opened for each line: the target may close any descriptor it likes.
        path = os.path.join(self.directory, "events-%d.jsonl" % os.getpid())
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            self._written += os.write(descriptor, data)
        finally:
            os.close(descriptor)

    def put(self, name, text):
        """Write a file beside the events, whole or not at all; returns its name, or None."""
        try:
            path = os.path.join(self.directory, name)
            with open(path + ".part", "w", encoding="utf-8", errors="replace") as file:
                file.write(text)
            os.replace(path + ".part", path)
        except Exception:
            return None
        return name
