"""Names of folders that mean something (of runs, of packages), and how a line of a program is told."""

from __future__ import annotations

import re
from typing import NamedTuple

RUNS = "triage-out"  # in the directory that triage is started from
LATEST = "latest"  # the name by which the newest run is asked for

PACKAGES = ("site-packages", "dist-packages")  # the second is Debian's
_TOLD = re.compile(r"(?P<file>.+?):(?P<line>\d+)(?: in (?P<function>[^:]+))?(?:: (?P<code>.*))?$", re.DOTALL)
_TO_PACKAGES = re.compile(rf"^.*/(?:{'|'.join(PACKAGES)})/")


def in_packages(file: str) -> str | None:
    """The path of a file below the folder that packages are installed in, `torch/fx/graph.py`; None for one elsewhere."""
    below, found = _TO_PACKAGES.subn("", file.replace("\\", "/"))
    return below if found else None


def package_of(file: str) -> str | None:
    """The name of the installed package, or module, that a file is of; None for one elsewhere."""
    name = re.match(r"[A-Za-z_]\w*", in_packages(file) or "")
    return name[0] if name is not None else None


class Line(NamedTuple):
    """A line of a program, by the name of its file; function and code are empty where they were not told."""

    file: str
    line: int
    function: str = ""
    code: str = ""


def line_told(text: str) -> Line | None:
    """The line that `train.py:31 in forward: y = self.lin(x)` tells (`Frame.told`), or `train.py:31`; None of another text."""
    told = _TOLD.match(text)
    return (
        Line(told["file"], int(told["line"]), told["function"] or "", told["code"] or "") if told is not None else None
    )
