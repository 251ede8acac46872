"""Source text that registers again the custom operators a graph uses."""

from __future__ import annotations

from typing import Any, List, Tuple


def preamble(targets: List[Any]) -> Tuple[List[str], List[str]]:
    """(statements, reasons): what must come before the graph, and why some of it cannot be written."""
    return [], []
