"""A program that waits at its first call of a compiled function until it is told to go on.

It was begun early, so that its imports and its data are ready by then; what it does from there on is measured, and is to have the
machine to itself. `held` of the config is the name of a file in the channel: it is told when that is there.
"""

import os
import time

POLL_SECONDS = 0.02


class Held(object):
    """Called at the first call of a compiled function in this process; the processes that it forks go on with it."""

    def __init__(self, channel, name):
        self._channel, self._name = channel, name
        self._going = False

    def reached(self):
        """Returns once it is told, with the seconds it has waited. Who does not tell it ends it."""
        began = time.monotonic()
        while not self._going:
            self._going = os.path.exists(os.path.join(self._channel.directory, self._name))
            if not self._going:
                time.sleep(POLL_SECONDS)
        return time.monotonic() - began
