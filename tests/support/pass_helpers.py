"""What passes propose, by slot."""

from reduce_cases import case, meta, op, r, tensor

from triage.model.graphcase import SubGraph


def one(*inputs, node=None, **rest):
    """A case of one operation on its inputs."""
    return case(list(inputs), [node or op("y", "torch.relu", "%" + inputs[0].name, out=inputs[0].meta)], "y", **rest)


def slots(choices):
    return [choice.slot for choice in choices]


def after(choices, slot, case_, alternative=0):
    """The case after one alternative of the choice with this slot."""
    choice = next(choice for choice in choices if choice.slot == slot)
    return choice.edits[alternative].apply(case_)


def conditional():
    body = SubGraph(
        "body",
        ("t", "u"),
        (op("i", "torch.sin", "%t", out=meta(4)), op("j", "torch.add", "%i", "%u", out=meta(4))),
        [r("j")],
    )
    other = SubGraph("other", ("t", "u"), (op("i", "torch.cos", "%t", out=meta(4)),), [r("i")])
    nodes = [
        op("p", "torch.any", "%x", out=meta(dtype="bool")),
        op("c", "torch.ops.higher_order.cond", "%p", {"graph": "body"}, {"graph": "other"}, {"tuple": [r("x"), r("w")]},
           out=[meta(4)]),
        op("first", "operator.getitem", "%c", 0, kind="get_item", out=meta(4)),
        op("y", "torch.relu", "%first", out=meta(4)),
    ]  # fmt: skip
    return case([tensor("x", 4), tensor("w", 4)], nodes, "y", subgraphs=(body, other))
