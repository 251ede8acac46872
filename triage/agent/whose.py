"""Whose a source file is, as its path tells: the person's, an installed package's, Python's, torch's, or our own."""

from __future__ import annotations

import functools
import os
import re
from importlib import machinery

_TO_PACKAGES = re.compile(r"^.*/(?:site|dist)-packages/")  # the second is Debian's
_NO_SOURCE = (*machinery.EXTENSION_SUFFIXES, *machinery.BYTECODE_SUFFIXES)


def in_packages(path: str) -> str:
    """The path below the folder that packages are installed in, `torch/fx/graph.py`; empty for a file elsewhere."""
    below, found = _TO_PACKAGES.subn("", path.replace(os.sep, "/"))
    return below if found else ""


def is_installed(path: str) -> bool:
    """Whether it lies where packages are installed."""
    return bool(in_packages(path))


def is_pythons(path: str) -> bool:
    """Whether it is of the standard library (below which packages may be installed)."""
    return path.startswith(_standard_library()) and not is_installed(path)


def is_supplied(path: str) -> bool:
    """Whether Python brings it, or a package."""
    return is_installed(path) or is_pythons(path)


@functools.lru_cache(maxsize=None)  # one answer per loaded file
def is_users(file: str) -> bool:
    """Whether a source file is the user's: neither of the standard library, nor installed, nor ours, nor written by Inductor."""
    if file.startswith("<") or file.endswith(_NO_SOURCE):
        return False
    path = _real_file(file)
    return not is_installed(path) and not path.startswith((_agents(), *_standard_library(), _torchs(), *_caches()))


def _real_file(file: str) -> str:
    """`os.path.realpath`, for thousands of files in some hundred directories, each of which is asked once."""
    if os.path.islink(file) or not os.path.isabs(file):
        return os.path.realpath(file)
    return os.path.join(_real_directory(os.path.dirname(file)), os.path.basename(file))


_real_directory = functools.lru_cache(maxsize=None)(os.path.realpath)


@functools.lru_cache(maxsize=None)
def _agents() -> str:
    return os.path.realpath(os.path.dirname(os.path.abspath(__file__))) + os.sep


@functools.lru_cache(maxsize=None)
def _standard_library() -> tuple[str, ...]:
    import sysconfig  # it is asked of few processes, and read in all

    found = [sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib")]
    return tuple(path + os.sep for path in (*found, *map(os.path.realpath, found)))


@functools.lru_cache(maxsize=None)
def _torchs() -> str:
    """Of a torch that was built in place, which is not installed."""
    import torch

    return os.path.realpath(os.path.dirname(torch.__file__)) + os.sep


def _caches() -> tuple[str, ...]:
    """Where Inductor writes the modules that it makes of graphs (torch/_inductor/runtime/cache_dir_utils.py)."""
    import tempfile

    named = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    default = os.path.join(_real_directory(tempfile.gettempdir()), "torchinductor_")
    return (default, _real_directory(named) + os.sep) if named else (default,)
