"""Where in the user's program a graph node comes from."""

from __future__ import annotations

import os
import re
from typing import Any

_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>.+)$')


def where(node: Any) -> str:
    """`train.py:31 in forward: y = self.lin(x)`: the innermost line that is the user's; empty where unknown."""
    found = ""
    lines = str(node.meta.get("stack_trace") or "").splitlines()
    for index, line in enumerate(lines):
        frame = _FRAME.match(line)
        if frame is None or _in_torch(frame["file"]):
            continue
        code = lines[index + 1].strip() if index + 1 < len(lines) and not _FRAME.match(lines[index + 1]) else ""
        found = "%s:%s in %s: %s" % (os.path.basename(frame["file"]), frame["line"], frame["function"], code)
    return found.rstrip(": ")


def _in_torch(file: str) -> bool:
    return "/torch/" in file.replace(os.sep, "/") and "site-packages" in file
