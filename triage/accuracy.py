"""What the comparison of compiled graphs with eager showed, for the report."""

from __future__ import annotations

import math
from typing import Any

from triage.findings import Findings
from triage.locate.culprit import operator_name
from triage.model.codec import encode
from triage.model.graphcase import GraphNode
from triage.probe.run import Probe
from triage.session import describe_outcome


def accuracy_facts(found: Findings) -> dict[str, Any] | None:
    """The report's `accuracy`; None where nothing was compared. Numbers that JSON does not have are strings."""
    probe = found.walk.compared
    if probe is None:
        return None
    notes = probe.notes
    facts: dict[str, Any] = {"compared": notes.compared, "not_compared": list(notes.not_compared[:20])}
    if notes.wrong is None:
        return facts
    facts |= {name: _json(value) for name, value in encode(notes.wrong).items()}
    facts["details"] = notes.wrong.details()
    facts["first_wrong"] = first_wrong_words(found.first_wrong)
    return facts


def first_wrong_words(node: GraphNode | None) -> str | None:
    """`aten.relu (train.py:12 in forward: ...)`."""
    if node is None:
        return None
    return f"{operator_name(node)} ({node.where})" if node.where else operator_name(node)


def comparison_note(probe: Probe | None) -> str | None:
    """What a reader must know of a comparison that blamed nobody."""
    if probe is None or probe.notes.wrong is not None:
        return None
    notes, ended = probe.notes, ""
    if probe.outcome.failed:
        ended = f" The run that compares ended early: {describe_outcome(probe.outcome)}."
    if not notes.compared:
        why = f" ({notes.not_compared[0]})" if notes.not_compared else ""
        return f"No call of a compiled graph could be compared with eager{why}.{ended}"
    calls = (
        "One call of a compiled graph was" if notes.compared == 1 else f"{notes.compared} calls of compiled graphs were"
    )
    rest = f"; {len(notes.not_compared)} could not be ({notes.not_compared[0]})" if notes.not_compared else ""
    return (
        f"{calls} compared with eager on the script's own inputs, and nothing is further off than eager explains{rest}."
        f"{ended}"
    )


def _json(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
