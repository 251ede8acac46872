"""The graphs that a probe captured, read back strictly: a field that we do not know is told, and never dropped in silence.

The agent writes them in another process, and its side of the schema is written by hand (`agent/capture/describe.py`); what
is lost between the two would be searched and printed as if it had never been there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from triage.model.codec import decode, unknown_fields
from triage.model.graphcase import GraphCase


class Captured(NamedTuple):
    """What could be read, in the order of the files, and why the rest could not: a sentence part for each."""

    cases: tuple[GraphCase, ...]
    problems: tuple[str, ...]


def graph_of(data: Any) -> GraphCase:
    """The graph that an agent described. Raises ValueError where a field is unknown, or missing, or of another shape."""
    unknown = unknown_fields(GraphCase, data)
    if unknown:
        raise ValueError(f"a graph has no field {', '.join(unknown[:3])}")
    try:
        return decode(GraphCase, data)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"it is not a graph: {error}") from error


def read_graphs(paths: Sequence[Path]) -> Captured:
    """Every graph of these files. Raises nothing: what cannot be read is among the problems, named by its file."""
    cases, problems = [], []
    for path in paths:
        try:
            cases.append(graph_of(json.loads(path.read_text(encoding="utf-8"))))
        except (OSError, ValueError) as error:
            problems.append(f"{path.name}: {error}")
    return Captured(tuple(cases), tuple(problems))
