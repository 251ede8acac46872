"""The scripts that PyTorch's minifier leaves behind: finding them, ordering them, and making them fit to be run by us."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

_FORWARD = re.compile(r"^    def forward\(.*?^        return ", re.DOTALL | re.MULTILINE)
_OPERATION = re.compile(r"^        (?!return\b)(?:\w+(?:, \w+)* = |\w+\[)", re.MULTILINE)
_ENVIRONMENT = re.compile(r"^os\.environ\['(\w+)'\] = .*\n", re.MULTILINE)
_QUERIES = re.compile(r"^Made (\d+) queries", re.MULTILINE)

# What a probe sets for its own sake. PyTorch copies it into every script; there it would bring back deleted directories.
OURS = frozenset({
    "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TORCH_COMPILE_DEBUG_DIR", "TORCH_LOGS", "TORCH_LOGS_OUT",
    "TORCH_TRACE", "TORCHDYNAMO_VERBOSE",
})  # fmt: skip


@dataclass(frozen=True)
class Checkpoint:
    """One script. `operations` counts the statements of its graph."""

    path: Path
    source: str
    operations: int


def collect(directories: Iterable[Path]) -> list[Checkpoint]:
    """The distinct scripts below these directories, smallest first; those written last first among equals.

    The minifier writes `checkpoints/<nodes>.py` or `checkpoints/minified_<nodes>_nodes.py`, and the last one again as
    `repro.py`. What it writes for its own queries (`isolate/`) is no checkpoint: it has not been found to fail.
    """
    found: dict[str, tuple[Checkpoint, float]] = {}
    for directory in directories:
        for path in directory.rglob("*.py"):
            if path.parent.name != "checkpoints" and path.name != "repro.py":
                continue
            try:
                source, written = path.read_text(encoding="utf-8"), path.stat().st_mtime
            except (OSError, UnicodeDecodeError):
                continue  # it is being written, or was not text
            source = without_settings(source, OURS)
            found.setdefault(source, (Checkpoint(path, source, operations_in(source)), written))
    ordered = sorted(found.values(), key=lambda item: (item[0].operations, -item[1], item[0].path.name))
    return [checkpoint for checkpoint, _ in ordered]


def operations_in(source: str) -> int:
    """Statements of the graph's `forward`, also where the script as a whole does not parse."""
    body = _FORWARD.search(source)
    return len(_OPERATION.findall(body.group())) if body else 0


def without_settings(source: str, names: Collection[str]) -> str:
    """The script without the lines that set these environment variables."""
    return _ENVIRONMENT.sub(lambda line: "" if line.group(1) in names else line.group(), source)


def is_launcher(source: str) -> bool:
    """Whether this is a script at all: for some graphs PyTorch only writes a sentence that says why there is none."""
    return "def load_args" in source and "run_repro(" in source


def queries_made(output: str) -> int:
    """How often the minifier says that it asked; 0 where it did not get so far."""
    return sum(int(number) for number in _QUERIES.findall(output))
