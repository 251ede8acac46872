"""Names of folders that mean something: where runs lie, and where packages are installed."""

from __future__ import annotations

import re

RUNS = "triage-out"  # in the directory that triage is started from
LATEST = "latest"  # the name by which the newest run is asked for

PACKAGES = ("site-packages", "dist-packages")  # the second is Debian's
_TO_PACKAGES = re.compile(rf"^.*/(?:{'|'.join(PACKAGES)})/")


def in_packages(file: str) -> str | None:
    """The path of a file below the folder that packages are installed in, `torch/fx/graph.py`; None for one elsewhere."""
    below, found = _TO_PACKAGES.subn("", file.replace("\\", "/"))
    return below if found else None


def package_of(file: str) -> str | None:
    """The name of the installed package, or module, that a file is of; None for one elsewhere."""
    name = re.match(r"[A-Za-z_]\w*", in_packages(file) or "")
    return name[0] if name is not None else None
