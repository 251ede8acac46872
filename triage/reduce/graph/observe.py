"""The elements that the inner values of a case have, seen in one eager run of it.

A failure that hangs on values (a NaN, a tie, a quotient that rounds) is lost when an operation before it is replaced by
random numbers. Once a case knows what its operations returned, a value cut off from its producer keeps those elements.
They are what it returned, not what was made of it in place later on, and a shape changed since crops or repeats them.
"""

from __future__ import annotations

import json
import math
import struct
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

from triage.model import trees
from triage.model.graphcase import GraphNode
from triage.reduce.graph.candidate import Candidate
from triage.reduce.graph.wiring import Wiring
from triage.reduce.printing.calls import VALUES
from triage.reduce.printing.printer import Unprintable, print_case

SINGLE = ("float32", "float16", "bfloat16", "complex64", "complex32")


@runtime_checkable
class Looker(Protocol):
    """What can run a script and hand over a file that it left."""

    def look(self, source: str, file: str) -> str | None: ...


def hangs_on_values(candidate: Candidate) -> bool:
    """Whether made-up values are likely to lose the failure."""
    return candidate.form.compares_values or candidate.case.holds_values


def observed(candidate: Candidate, runner: object) -> Candidate:
    """The same candidate, its nodes with the elements they return; unchanged where they cannot be had."""
    if not isinstance(runner, Looker):
        return candidate
    case = candidate.case
    wiring = Wiring(case)
    names = [node.name for node in case.nodes if node.name in wiring.metas and not node.opaque]
    training = case.backward and any(item.gradient_of in names for item in case.inputs)
    asking = replace(case, outputs=tuple(trees.ref(name) for name in names), backward=training)
    try:
        text = runner.look(print_case(asking, form=replace(candidate.form, check="observe")), VALUES) if names else None
        values, gradients = json.loads(text) if text is not None else ([], [])
    except (Unprintable, ValueError, TypeError):
        return candidate
    if not isinstance(values, list) or len(values) != len(names):
        return candidate
    seen = replace(case, nodes=_with("data", case.nodes, wiring, dict(zip(names, values, strict=True))))
    if len(gradients) == len(names):
        seen = replace(seen, nodes=_with("gradient", seen.nodes, wiring, dict(zip(names, gradients, strict=True))))
    return replace(candidate, case=seen)


def _with(field: str, nodes: tuple[GraphNode, ...], wiring: Wiring, found: dict[str, Any]) -> tuple[GraphNode, ...]:
    """The nodes with the elements that were seen of each."""
    return tuple(
        replace(node, **{field: _elements(found[node.name], wiring.metas[node.name].dtype)})
        if found.get(node.name) is not None
        else node
        for node in nodes
    )


def _elements(value: Any, dtype: str) -> Any:
    """As a GraphInput holds them."""
    if isinstance(value, dict):
        return _complex(value["complex"], dtype)
    if isinstance(value, list):
        return [_elements(item, dtype) for item in value]
    return number(value, dtype)


def _complex(value: Any, dtype: str) -> Any:
    """Pairs of (real, imaginary), nested."""
    if len(value) == 2 and not isinstance(value[0], list):
        return {"complex": [number(value[0], dtype), number(value[1], dtype)]}
    return [_complex(item, dtype) for item in value]


def number(value: Any, dtype: str) -> Any:
    """A JSON number in the shortest spelling that is exact in its dtype; nan, inf and -inf as strings."""
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return str(value)
    if dtype not in SINGLE:
        return value
    for digits in range(1, 10):
        short = float(f"{value:.{digits}g}")
        if _single(short) == _single(value):
            return short
    return value


def _single(value: float) -> float:
    try:
        found: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return found
