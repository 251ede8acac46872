"""Graphs whose failing operation cannot be written: it reads an object that no script can make, or is none that has a name.

Where the failure names an operator of its own, no part of the graph without that one says the same.
"""

from __future__ import annotations

import re

from triage.model.graphcase import GraphCase, GraphNode

_OPERATOR = re.compile(r"torch\.ops\.(?P<space>\w+)\.(?P<name>\w+)(?:\.\w+)?$")
_MADE_OF_OTHERS = ("aten", "prims")  # what other operations are decomposed into


def hidden(case: GraphCase, message: str) -> str:
    """The custom operator (`diffuse.noise`) that the message names and each call of which cannot be written; else empty."""
    objects = {item.name for item in case.inputs if item.kind == "opaque"}
    lost: dict[str, bool] = {}
    for node in case.nodes:
        name = _own_name(node)
        if name:
            lost[name] = lost.get(name, True) and (bool(node.opaque) or not objects.isdisjoint(node.reads))
    return next((name for name, gone in lost.items() if gone and _names(message, name)), "")


def _own_name(node: GraphNode) -> str:
    found = _OPERATOR.match(node.target)
    return f"{found['space']}.{found['name']}" if found is not None and found["space"] not in _MADE_OF_OTHERS else ""


def _names(message: str, name: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", message.replace("::", ".")) is not None
