"""Which candidates are forked from an interpreter that has imported what they begin with.

Importing transformers takes three seconds of each candidate that itself takes one. The texts of a search mostly begin with the
same imports, so where several had the same an interpreter is made that has executed them (`agent/warm/branch.py`).
"""

from __future__ import annotations

import ast
import sys
import threading
from collections import Counter
from pathlib import Path

from triage.model.syntax import parse
from triage.probe.forkclient import Branch, CannotForkError, ForkServer, ServerGoneError
from triage.probe.launch import Cancel

OFTEN = 3  # texts with the same imports: before that a candidate may be the only one
MOST = 4  # each holds what it imported
THERE = {*sys.stdlib_module_names, "torch", "torchgen", "functorch", "numpy"}  # in any warm interpreter


def imports_of(source: str) -> str:
    r"""The import statements on top of a text that bring more than is there, as a text; empty where there are none.

    >>> imports_of("import os\nimport torch, einops\nfrom transformers import BertModel\n")
    'import einops\nfrom transformers import BertModel'
    """
    try:
        tree = parse(source)
    except (SyntaxError, ValueError):
        return ""
    found: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.Import):
            found += [f"import {alias.name}" for alias in node.names if _is_more(alias.name)]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level and _is_more(node.module):
            found += [f"from {node.module} import {alias.name}" for alias in node.names]
    return "\n".join(sorted(set(found)))


def _is_more(module: str) -> bool:
    return module.partition(".")[0] not in THERE


class Branches:
    """Those of one runner. Every method may be called by any thread; none waits for one to be made."""

    def __init__(self, closing: Cancel) -> None:
        self._closing = closing
        self._lock = threading.Lock()
        self._seen: Counter[str] = Counter()
        self._made: dict[str, Branch | None] = {}  # by imports; None while it is made, and where it cannot be

    def best_for(
        self, server: ForkServer | Branch, source: str, root: Path, kernels: Path | None
    ) -> ForkServer | Branch:
        """What forks this candidate. `root` is where one may be made."""
        imports = imports_of(source)
        if not imports:
            return server
        with self._lock:
            branch = self._made.get(imports)
            if branch is not None and branch.alive:
                return branch
            self._seen[imports] += 1
            if self._seen[imports] == OFTEN and len(self._made) < MOST:
                self._made[imports] = None
                place = root / f"imports-{len(self._made)}"
                make = threading.Thread(target=self._make, args=(server, place, imports, kernels), daemon=True)
                make.start()
        return server

    def _make(self, server: ForkServer | Branch, place: Path, imports: str, kernels: Path | None) -> None:
        try:
            branch = Branch(server, place, imports, kernels, self._closing)
        except (CannotForkError, ServerGoneError, OSError, ValueError):
            return
        with self._lock:
            self._made[imports] = branch
