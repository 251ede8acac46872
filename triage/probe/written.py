"""What a run wrote into text files where it runs: its results as lines, as it could have printed them.

Programs keep their results in a table or in JSON as often as they print them. A value is told with its column or key, so that a
time or a rate beside it is known as one.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_LINES, _TABLES, _TREES = (".txt", ".log", ".out", ".md", ".yaml", ".yml"), (".csv", ".tsv"), (".json", ".jsonl")
MOST_ENTRIES, MOST_FILES, DEPTH = 2_000, 20, 3
MOST_BYTES = 1 << 18  # of one file: it is read no further


def results_written(folder: Path, since: float, ours: Path | None = None) -> str:
    """The lines of text files below the folder that were written to since that time, each behind its file's name.

    Not of hidden folders, environments, and what holds `ours`. Of a folder with thousands of entries not all are seen.
    """
    found = sorted(_new_files(folder, since, ours))[:MOST_FILES]
    return "\n".join(f"{path.name}: {line}" for path in found for line in _lines(path))


def _new_files(folder: Path, since: float, ours: Path | None) -> Iterator[Path]:
    waiting, seen = [(folder, 1)], 0
    while waiting and seen < MOST_ENTRIES:
        place, depth = waiting.pop()
        with contextlib.suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                seen += 1
                path = Path(entry.path)
                if entry.name.startswith((".", "__pycache__")) or (ours is not None and path in (ours, *ours.parents)):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting += [(path, depth + 1)] if depth < DEPTH and not (path / "pyvenv.cfg").exists() else []
                elif path.suffix.lower() in (*_LINES, *_TABLES, *_TREES) and _is_new(entry, since):
                    yield path


def _is_new(entry: os.DirEntry[str], since: float) -> bool:
    facts = entry.stat(follow_symlinks=False)
    return stat.S_ISREG(facts.st_mode) and facts.st_mtime >= since and not is_our_output(facts)


def is_our_output(facts: os.stat_result) -> bool:
    """Whether it is what our own output goes to (`triage run train.py > triage.log`)."""
    for output in (1, 2):
        with contextlib.suppress(OSError):  # it may be closed
            if os.path.samestat(os.fstat(output), facts):
                return True
    return False


def _lines(path: Path) -> Iterator[str]:
    text = ""
    with contextlib.suppress(OSError), path.open("rb") as file:
        text = file.read(MOST_BYTES).decode("utf-8", "replace")
    kind = path.suffix.lower()
    if kind in _TABLES:
        yield from _cells(text, "\t" if kind == ".tsv" else ",")
    elif kind in _TREES:
        yield from _leaves_of(text)
    else:
        yield from filter(None, map(str.strip, text.splitlines()))


def _cells(text: str, separator: str) -> Iterator[str]:
    """`column: value` of each cell; rows as they are where the first one names no columns."""
    with contextlib.suppress(csv.Error):
        header, *rows = list(csv.reader(text.splitlines(), delimiter=separator)) or [[]]
        if any(map(_is_number, header)):
            header, rows = [], [header, *rows]
        for row in rows:
            named = len(row) == len(header)
            yield from (
                (f"{column}: {cell}" for column, cell in zip(header, row, strict=True)) if named else [", ".join(row)]
            )


def _is_number(text: str) -> bool:
    with contextlib.suppress(ValueError):
        float(text)
        return True
    return False


def _leaves_of(text: str) -> Iterator[str]:
    """`key.key: value` of JSON, of a whole file or of each of its lines; what is none is a line."""
    try:
        yield from _leaves(json.loads(text))
        return
    except ValueError:
        pass
    for line in filter(None, map(str.strip, text.splitlines())):
        try:
            yield from _leaves(json.loads(line))
        except ValueError:
            yield line


def _leaves(tree: Any, name: str = "") -> Iterator[str]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _leaves(value, f"{name}.{key}" if name else str(key))
    elif isinstance(tree, list) and any(isinstance(item, dict | list) for item in tree):
        for item in tree:
            yield from _leaves(item, name)
    else:
        told = json.dumps(tree) if isinstance(tree, str) and _reads_as_another(tree) else str(tree)
        yield f"{name}: {told}" if name else told


def _reads_as_another(text: str) -> bool:
    """Whether a string reads as a number or a constant does: it keeps its quotes, or one would be told for the other."""
    return _is_number(text) or text in ("True", "False", "None")
