"""A change of files as a patch that `git apply` and `patch -p1` take, to the byte: line ends and encodings stay."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from pathlib import Path

_LINES = re.compile(rb"[^\n]*\n|[^\n]+")
_PLAIN = re.compile(r'[^\x20-\x7e]|["\\]')


def patch_of(changes: Mapping[Path, tuple[bytes, bytes]], cwd: Path) -> bytes:
    """The unified diff of `{file: (before, after)}`, with paths from the root that `root_of` gives."""
    return b"".join(_of_file(_told(path, root_of(path, cwd)), *texts) for path, texts in changes.items())


def root_of(path: Path, cwd: Path) -> Path:
    """Where the patch is applied: the top of the file's git repository, else the current directory, else beside the file."""
    for folder in path.resolve().parents:
        if (folder / ".git").exists():
            return folder
    return cwd if path.resolve().is_relative_to(cwd.resolve()) else path.parent


def _told(path: Path, root: Path) -> str:
    return path.resolve().relative_to(root.resolve()).as_posix()


def _of_file(name: str, before: bytes, after: bytes) -> bytes:
    lines = difflib.diff_bytes(
        difflib.unified_diff,
        _LINES.findall(before),
        _LINES.findall(after),
        _quoted(f"a/{name}"),
        _quoted(f"b/{name}"),
        lineterm=b"\n",
    )
    return b"".join(line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in lines)


def _quoted(name: str) -> bytes:
    """A path as git writes it: in quotes where it holds what is not plain, with a tab behind it where it holds a space."""
    if not _PLAIN.search(name):
        return (name + ("\t" if " " in name else "")).encode()
    spelled = (chr(at) if 0x20 <= at <= 0x7E and at not in b'"\\' else f"\\{at:03o}" for at in os.fsencode(name))
    return f'"{"".join(spelled)}"'.encode()
