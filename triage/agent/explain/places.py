"""Places in a program: the frames of a stack as data, and which of them are the person's own."""

import linecache
import os

from .. import whose

FRAMES = 30


def frames_of(stack):
    """[file, line, function, source line, whether it is the program's own], outermost first."""
    found = []
    for frame in list(stack or ())[-FRAMES:]:
        file, line = str(frame.filename), int(frame.lineno or 0)
        code = (getattr(frame, "line", None) or linecache.getline(file, line) or "").strip()
        own = whose.is_users(file)
        found.append([os.path.abspath(file) if own else file, line, str(frame.name), code[:300], own])
    return found
