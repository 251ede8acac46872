"""A Dynamo graph kept as it was before any backend saw it, for running it eagerly later.

Dropout is switched off in the graph that is compiled and in the one that is kept: masks of different random streams cannot
be compared, everything behind them can.
"""

import contextlib
import copy
import re

from .. import compat

# Position of the probability among the arguments, where it is not the second one.
_PROBABILITY = {"scaled_dot_product_attention": (4, "dropout_p"), "multi_head_attention_forward": (10, "dropout_p")}


def without_dropout(gm):
    """Set the probability of every dropout in the graph, and in those nested in it, to 0; tells how many were on."""
    found = 0
    for node in gm.graph.nodes:
        known = node.op == "call_function" and _of_torch(node.target)
        name = getattr(node.target, "__name__", "") if known else ""
        position, keyword = _PROBABILITY.get(name, (1, "p") if "dropout" in name else (None, None))
        if position is None or _is_off(node, position, keyword):
            continue
        if len(node.args) > position:
            node.args = (*node.args[:position], 0.0, *node.args[position + 1 :])
        elif keyword in node.kwargs or keyword == "p":
            node.kwargs = dict(node.kwargs, **{keyword: 0.0})
        else:
            continue
        found += 1
    for _, child in gm.named_children():
        if hasattr(child, "graph"):
            found += without_dropout(child)
    if found:
        gm.recompile()
    return found


def _is_off(node, position, keyword):
    """Whether it draws nothing as it is: in a model that is evaluated, or with a probability of 0."""
    probability = node.args[position] if len(node.args) > position else node.kwargs.get(keyword)
    training = node.kwargs.get("training", node.kwargs.get("train"))
    if keyword == "p" and len(node.args) > 2:
        training = node.args[2]
    return training is False or (isinstance(probability, (int, float)) and probability == 0)


def _of_torch(function):
    """Whether it is torch's: an operator of the user's with that name has its arguments in an order of its own."""
    if isinstance(function, compat.operator_types()):
        return str(function).startswith("aten.")
    return (getattr(function, "__module__", None) or "torch").split(".")[0] == "torch"


def collective(gm):
    """Whether the graph, or one nested in it, speaks with other processes: they would wait for each other's extra runs."""
    for node in gm.graph.nodes:
        words = "%s %s" % (node.target, getattr(node.target, "__module__", ""))
        if "c10d" in words or "torch.distributed" in words:
            return True
    return any(collective(child) for _, child in gm.named_children() if hasattr(child, "graph"))


def alone(torch):
    """Whether this process is the only one of its group: nobody waits for it."""
    distributed = getattr(torch, "distributed", None)
    return distributed is not None and distributed.is_initialized() and distributed.get_world_size() == 1


class Kept:
    """The graph, and the tensors it holds itself (parameters, buffers and constants; before torch 2.5 all of a module's)."""

    def __init__(self, torch, gm):
        self.torch = torch
        self.gm = compat.copy_graph_deeply(gm)
        self.names = [_named(node) for node in gm.graph.nodes if node.op == "placeholder"]
        self.holds = any(node.op in ("get_attr", "call_module") for node in gm.graph.nodes)

    def held(self):
        """What the graph holds, as it is now, by name: the program's own call may change it."""
        return [(name, tensor.detach().clone()) for name, tensor in self.named(self.gm)]

    def fresh(self, held, double=False):
        """A module to run once, holding these values: the run may change them, and they are double where that is asked for."""
        if not self.holds:
            return self.gm
        made = copy.deepcopy(self.gm)
        self._put(made, held)
        if double:
            made.double()
            for owner, name, tensor in _attributes(self.torch, made):
                if tensor.dtype.is_floating_point:
                    setattr(owner, name, tensor.double())
        return made

    def named(self, module):
        """What a module of this graph holds, as (name, tensor)."""
        if not self.holds:
            return []
        attributes = [(name, tensor) for _, name, tensor in _attributes(self.torch, module)]
        return [*module.named_parameters(), *module.named_buffers(), *attributes]

    @contextlib.contextmanager
    def begun(self, held):
        """Inside, what the compiled graph holds has these values; afterwards those of now, for the program."""
        now = self.held()
        self._put(self.gm, held)
        try:
            yield
        finally:
            self._put(self.gm, now)

    def _put(self, module, held):
        for (_, tensor), (_, value) in zip(self.named(module), held):  # noqa: B905 - not in Python 3.9
            if not self.torch.equal(tensor, value):
                tensor.data.copy_(value)  # not seen by autograd: the program may have saved it for its backward pass


_PARTS = (
    (re.compile(r"_(?:modules|parameters|buffers)\['(\w+)'\]"), r"\1"),
    (re.compile(r"[LG]\['(\w+)'\]"), r"\1"),
)


def _named(node):
    """What the program calls an input, e.g. self.proj.weight; else the graph's own name."""
    try:
        source = node.meta["grapharg"].source
        name = source.name() if callable(source.name) else source.name
        for pattern, plain in _PARTS:
            name = pattern.sub(plain, name)
        return name[:200] or str(node.target)
    except Exception:
        return str(node.target)


def _attributes(torch, module):
    """Tensors that a module holds as plain attributes."""
    for node in module.graph.nodes:
        if node.op != "get_attr":
            continue
        *path, name = str(node.target).split(".")
        owner = module
        for part in path:
            owner = getattr(owner, part)
        value = owner.__dict__.get(name)
        if isinstance(value, torch.Tensor):
            yield owner, name, value
