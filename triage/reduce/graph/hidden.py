"""Graphs whose failing operation cannot be written: it reads an object that no script can make, or is none that has a name.

Where the failure names an operator of its own, no part of the graph without that one says the same; nor does one without the
tensor subclass that the failure is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from triage.judge.signature import FailureSignature
from triage.model.graphcase import GraphCase, GraphNode

_OPERATOR = re.compile(r"torch\.ops\.(?P<space>\w+)\.(?P<name>\w+)(?:\.\w+)?$")
_SUBCLASS = re.compile(r"a tensor of the subclass (?:.*\.)?(\w+)")  # as `agent/capture/inputs.py` tells it
_WRAPS_SUBCLASSES = "torch/_functorch/_aot_autograd/subclass_"  # what AOTAutograd does with them around a graph
_MADE_OF_OTHERS = ("aten", "prims")  # what other operations are decomposed into


def lacks(cases: Sequence[GraphCase], signature: FailureSignature) -> str:
    """Why no script made of these graphs can fail so; empty where one may."""
    lost = list(filter(None, (hidden(case, signature.message) for case in cases)))
    if lost and len(lost) == len(cases):
        return f"{lost[0]}, which the failure names, is given an object that no script can make"
    subclass = hidden_subclass(cases, signature)
    return (
        f"the failure is about the tensor subclass {subclass}, and no script of a graph has an input of it"
        if subclass
        else ""
    )


def hidden(case: GraphCase, message: str) -> str:
    """The custom operator (`diffuse.noise`) that the message names and each call of which cannot be written; else empty."""
    objects = {item.name for item in case.inputs if item.kind == "opaque"}
    lost: dict[str, bool] = {}
    for node in case.nodes:
        name = _own_name(node)
        if name:
            lost[name] = lost.get(name, True) and (bool(node.opaque) or not objects.isdisjoint(node.reads))
    return next((name for name, gone in lost.items() if gone and _names(message, name)), "")


def hidden_subclass(cases: Iterable[GraphCase], signature: FailureSignature) -> str:
    """The subclass of an input that the failure is about; else empty. In graphs of a lower level it is traced away."""
    told = (_SUBCLASS.fullmatch(str(item.value)) for case in cases for item in case.inputs if item.kind == "opaque")
    names = [found.group(1) for found in told if found is not None]
    if any(frame.startswith(_WRAPS_SUBCLASSES) for frame in signature.frames):
        return next(iter(names), "")
    return next((name for name in names if re.search(rf"\b{name}\b", signature.message)), "")


def _own_name(node: GraphNode) -> str:
    found = _OPERATOR.match(node.target)
    return f"{found['space']}.{found['name']}" if found is not None and found["space"] not in _MADE_OF_OTHERS else ""


def _names(message: str, name: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", message.replace("::", ".")) is not None
