"""Places in a program: the frames of a stack as data, and which of them are the person's own."""

import linecache
import os
import sys
import sysconfig

FRAMES = 30
_INSTALLED = ("site-packages", "dist-packages")


def frames_of(stack):
    """[file, line, function, source line, whether it is the program's own], outermost first."""
    found = []
    for frame in list(stack or ())[-FRAMES:]:
        file, line = str(frame.filename), int(frame.lineno or 0)
        code = (getattr(frame, "line", None) or linecache.getline(file, line) or "").strip()
        found.append([os.path.abspath(file) if is_own(file) else file, line, str(frame.name), code[:300], is_own(file)])
    return found


def is_own(file):
    """Whether a file is neither installed, nor of Python, nor made up."""
    if file.startswith("<") or any(part in file for part in _INSTALLED):
        return False
    path = os.path.abspath(file)
    torch = sys.modules.get("torch")
    homes = [os.path.dirname(os.path.abspath(torch.__file__))] if torch is not None else []
    homes += [sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib")]
    homes.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return not any(path.startswith(home + os.sep) for home in homes)
