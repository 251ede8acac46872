"""What a torch of a given version needs beside itself, and which Pythons it works with: facts as data.

Measured on Linux with torch 2.1 to 2.15 (all of them compile on Python 3.11 with these pins); the Pythons are those of the
wheels on PyPI and of `check_if_dynamo_supported` (torch/_dynamo/eval_frame.py) of each release.
"""

from __future__ import annotations

from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

Python = tuple[int, int]

OLDEST = Version("2.1")  # the agent works from here on
FALLBACK_PYTHON: Python = (3, 11)  # has wheels of, and compiles with, every torch from 2.0 to 2.15

# What torch does not ask for by itself. Without setuptools Inductor fails on 2.1 to 2.9 (in 2.9.1 as an InductorError that
# looks like a bug of the compiler); 81 dropped the pkg_resources that 2.1 imports. numpy 2 breaks torch built for numpy 1.
# numpy 1 has no wheels from Python 3.13 on.
PINS: tuple[tuple[str, Python, Python], ...] = (  # (requirement, first Python, first Python it is not for)
    ("numpy<2", (3, 0), (3, 13)),
    ("numpy", (3, 13), (4, 0)),
    ("setuptools<81", (3, 0), (4, 0)),
    ("packaging", (3, 0), (4, 0)),
)

# These follow torch by themselves; a pin on one of them in the user's requirements would fix the torch as well.
FOLLOW_TORCH = frozenset({"torch", "torchvision", "torchaudio", "torchtext", "triton", "pytorch-triton"})

GIB = 1024**3
# A wheel up to this size is built without CUDA (measured: 190 to 240 MB, CUDA 520 and more).
CPU_WHEEL_BYTES = 320 * 1024**2
CPU_ROOM_BYTES = int(1.6 * GIB)  # measured: 1.0 GB on disk and the download
CUDA_ROOM_BYTES = 8 * GIB  # measured: up to 6.6 GB on disk and the download


@dataclass(frozen=True)
class PythonRange:
    """From `first` torch on: wheels exist from `oldest` on, and torch.compile refuses `refused` and newer."""

    first: Version
    oldest: Python
    refused: Python


PYTHONS: tuple[PythonRange, ...] = (
    PythonRange(Version("2.0"), (3, 8), (3, 11)),  # 2.0 has wheels for 3.11, but torch.compile came with 2.1 there
    PythonRange(Version("2.1"), (3, 8), (3, 12)),
    PythonRange(Version("2.4"), (3, 8), (3, 13)),
    PythonRange(Version("2.5"), (3, 9), (3, 13)),
    PythonRange(Version("2.6"), (3, 9), (3, 14)),
    PythonRange(Version("2.9"), (3, 10), (3, 14)),
    PythonRange(Version("2.10"), (3, 10), (3, 15)),
    PythonRange(Version("2.15"), (3, 11), (3, 16)),
)


def python_range(torch: Version) -> PythonRange:
    """The Pythons of this torch. A release newer than the table is taken to be like the newest in it."""
    released = Version(torch.base_version)
    return next((row for row in reversed(PYTHONS) if row.first <= released), PYTHONS[0])


def refusal(torch: Version, python: Python) -> str | None:
    """Why this torch cannot be tested on this Python, None where it can as far as is known."""
    row = python_range(torch)
    if python < row.oldest:
        return f"no wheel for Python {text(python)}: it needs {text(row.oldest)} or newer"
    if python >= row.refused:
        return f"its torch.compile refuses Python {text(python)}"
    return None


def requirements_for(python: Python, wanted: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The pins and what the person wants installed; the person's word on a package wins over a pin."""
    named = {name for name in map(_name, wanted) if name}
    pins = [pin for pin, first, beyond in PINS if first <= python < beyond and _name(pin) not in named]
    return (*pins, *wanted)


def without_torch(lines: list[str]) -> tuple[list[str], list[str]]:
    """(lines, dropped): the lines of a requirements file without pins of torch and what follows it.

    A package that follows torch is kept without its version, so that the one that fits is found; torch itself, Triton and
    the nvidia packages come with torch.
    """
    kept: list[str] = []
    dropped: list[str] = []
    for line in lines:
        name = _name(line.split(" #")[0].split(" --hash")[0].rstrip("\\ "))
        if name is None or not (name in FOLLOW_TORCH or name.startswith("nvidia-")):
            kept.append(line)
            continue
        dropped.append(line.strip())
        if name in ("torchvision", "torchaudio", "torchtext"):
            kept.append(name)
    return kept, dropped


def room_needed(wheel_bytes: int | None, cpu_only: bool) -> int:
    """Bytes that an environment with this torch takes, downloads included."""
    small = cpu_only if wheel_bytes is None else wheel_bytes <= CPU_WHEEL_BYTES
    return CPU_ROOM_BYTES if small else CUDA_ROOM_BYTES


def text(python: Python) -> str:
    return f"{python[0]}.{python[1]}"


def _name(line: str) -> str | None:
    try:
        return canonicalize_name(Requirement(line.strip()).name)
    except InvalidRequirement:
        return None
