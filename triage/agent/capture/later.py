"""What a graph was given in the call that failed, where that was not its first, by which it was described.

A batch that holds what no earlier one did fails in the twentieth step, with the code that was compiled for the first.
"""

import json
import os

from . import resized, values


def placeholders_of(gm):
    """Names of what a graph is given, in order; they stay when a backend changes the graph."""
    return [node.name for node in gm.graph.nodes if node.op == "placeholder"]


def describe_again(channel, name, names, given):
    """Put what was `given` for these `names` into the described graph of that file."""
    with open(os.path.join(channel.directory, name), encoding="utf-8") as file:
        case = json.load(file)
    with values.outside_modes():
        changed = give(case, names, given)
    if changed:
        channel.put(name, json.dumps(case))


def give(case, names, given):
    """Put these values into the inputs of a described graph, and their sizes where those are symbolic; whether that could be."""
    entries = {entry["name"]: entry for entry in case["inputs"]}
    pairs = [(entries[name], value) for name, value in zip(names, given) if name in entries]  # noqa: B905 - not in Python 3.9
    tensors = [(entry, value) for entry, value in pairs if values.is_real(value)]
    shaped = [(entry, value) for entry, value in tensors if entry["meta"]]
    if any(entry["meta"]["shape"] != list(value.shape) for entry, value in shaped):
        try:
            resized.resize(case, shaped)
        except resized.UnknownSizeError:
            return False
    for entry, value in pairs:
        if entry["kind"] in ("int", "float", "bool") and isinstance(value, (bool, int, float)):
            entry["value"] = values.number(value)
    left = values.RECORDED_ALTOGETHER
    for entry, value in tensors:
        if entry["kind"] == "float":
            entry["value"] = values.number(float(value))
        elif entry["kind"] == "tensor":
            elements = values.data(value, min(values.recorded(entry["role"]), left))
            left -= value.numel() if elements is not None else 0
            entry["data"], entry["fill"] = elements, "values" if elements is not None else values.fill(value)
    return True
