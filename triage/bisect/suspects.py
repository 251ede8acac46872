"""Which commits of a window may have done it: ranked by how well their paths fit what failed. A hint, never a verdict.

Pure: the commits come from `clone`. The file of the innermost frame weighs most, then its neighbours, then the part of torch
that the frames speak for, then the operator's name. A commit that touches everything says little, so size counts against it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from triage.model.bisection import Commit

# Directories of pytorch/pytorch by the part of the stack that a frame inside them speaks for.
PARTS: dict[str, tuple[str, ...]] = {
    "dynamo": ("torch/_dynamo/", "torch/csrc/dynamo/", "torch/_guards.py", "torch/fx/experimental/symbolic_shapes.py"),
    "aot_autograd": (
        "torch/_functorch/",
        "torch/_subclasses/",
        "torch/fx/experimental/proxy_tensor.py",
        "torch/_ops.py",
    ),
    "decomp_partition": (
        "torch/_decomp/",
        "torch/_refs/",
        "torch/_inductor/decomposition.py",
        "torch/_functorch/partitioners.py",
    ),
    "inductor": ("torch/_inductor/", "torch/csrc/inductor/", "torch/_prims/", "torch/utils/_sympy/"),
}
MOST = 10


@dataclass(frozen=True)
class Touched:
    """A commit and the files that it changed."""

    sha: str
    subject: str
    files: tuple[str, ...]


def ranked(commits: Iterable[Touched], frames: Sequence[str], stage: str | None, operator: str | None) -> list[Commit]:
    """The most suspect commits, at most MOST. `frames` are innermost first, `torch/_inductor/ir.py:realize`."""
    files = list(dict.fromkeys(frame.rsplit(":", 1)[0] for frame in frames))
    part = stage if stage in PARTS else _part_of(files)
    scored = [_scored(commit, files, part, _bare_name(operator)) for commit in commits]
    return sorted((commit for commit in scored if commit.score > 0), key=lambda commit: -commit.score)[:MOST]


def _scored(commit: Touched, files: Sequence[str], part: str | None, operator: str | None) -> Commit:
    reasons: list[str] = []
    score = 0.0
    for depth, file in enumerate(files[:3]):
        if file in commit.files:
            score += 6.0 / (depth + 1)
            reasons.append(f"changes {file}")
        elif any(_directory(file) == _directory(other) for other in commit.files):
            score += 1.5 / (depth + 1)
            reasons.append(f"changes {_directory(file)}/")
    near = [path for path in commit.files if part is not None and path.startswith(PARTS[part])]
    if near:
        score += 1.0
        reasons.append(f"changes {len(near)} file{'s' if len(near) > 1 else ''} of {part}")
    if operator and re.search(rf"\b{re.escape(operator)}\b", commit.subject):
        score += 2.0
        reasons.append(f"names {operator}")
    if not score:
        return Commit(commit.sha, commit.subject)
    sources = [path for path in commit.files if not path.startswith(("test/", "benchmarks/", "docs/"))]
    score /= 1.0 + math.log1p(len(sources)) / 4.0
    return Commit(commit.sha, commit.subject, round(score, 2), "; ".join(dict.fromkeys(reasons)))


def _part_of(files: Sequence[str]) -> str | None:
    for file in files:
        for part in ("decomp_partition", "dynamo", "aot_autograd", "inductor"):
            if file.startswith(PARTS[part]):
                return part
    return None


def _directory(path: str) -> str:
    return path.rpartition("/")[0]


def _bare_name(operator: str | None) -> str | None:
    """`aten.relu.default` -> relu; a name of one or two letters matches too much."""
    parts = (operator or "").split(".")
    name = parts[1] if len(parts) > 2 else parts[-1]
    return name if len(name) > 2 else None
