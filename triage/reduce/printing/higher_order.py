"""Higher-order operators as people call them.

An autograd.Function is applied, checkpoint and torch.cond are called by their public names, `wrap` is a plain call; any
other operator is called through torch.ops.higher_order with its bodies as functions. Graphs pass a tuple of one where
people pass the value itself: `cond(...)[0]` is written `torch.cond(...)`, and the bodies return bare values then.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from triage.model import trees
from triage.model.graphcase import GraphNode, SubGraph
from triage.reduce.printing.spelling import Expression, Speller, Unprintable

PREFIX = "torch.ops.higher_order."
APPLY = PREFIX + "autograd_function_apply"
REGION = PREFIX + "invoke_subgraph"
FLEX = PREFIX + "flex_attention"
SCAN = PREFIX + "scan"
# Operators whose only result is written bare.
_BARE = frozenset({APPLY, REGION, PREFIX + "cond", PREFIX + "tag_activation_checkpoint", PREFIX + "wrap"})
_SCORE = ("score", "b", "h", "q", "k")


@dataclass(frozen=True)
class Mask:
    """The block mask of a flex_attention, made before the function is called."""

    name: str
    graph: str  # of its mask_mod
    batch: int | None
    heads: int | None
    queries: int
    keys: int
    device: str
    block: tuple[int, int]

    def creation(self, function: str) -> str:
        arguments = [function, self.batch, self.heads, self.queries, self.keys]
        options = [f'device="{self.device}"']
        if self.block != (128, 128):
            options.append(f"BLOCK_SIZE={self.block}")
        return f"create_block_mask({', '.join([*map(str, arguments), *options])})"


def unwrapped(nodes: Sequence[GraphNode], outputs: Any) -> tuple[list[GraphNode], Any, frozenset[str]]:
    """(nodes, outputs, graphs that return their only result bare)."""
    singles = {node.name: node for node in nodes if _is_single(node)}
    items: dict[str, str] = {}
    for node in nodes:
        for name in node.reads:
            if name in singles:
                if node.target == "operator.getitem" and node.args == [{"ref": name}, 0]:
                    items[node.name] = name
                else:
                    del singles[name]
    returned = set(trees.refs(outputs))
    singles = {name: node for name, node in singles.items() if name not in returned}
    items = {name: owner for name, owner in items.items() if owner in singles}

    def rename(name: str) -> dict[str, str]:
        return trees.ref(items.get(name, name))

    kept = []
    for node in nodes:
        if node.name not in items:
            made = node.rewritten(rename)
            kept.append(replace(made, out=node.out[:1], multi=False) if node.name in singles else made)
    bare = frozenset(name for node in singles.values() for name in trees.graphs(node.args))
    return kept, trees.rewrite(outputs, rename), bare


def _is_single(node: GraphNode) -> bool:
    # flex_attention also gives the log-sum-exp and the maximum, which people rarely ask for.
    return node.multi and ((node.target in _BARE and len(node.out) == 1) or node.target == FLEX)


def pruned(nodes: Sequence[GraphNode], graphs: Sequence[SubGraph]) -> tuple[list[GraphNode], list[SubGraph]]:
    """Without the operands of torch.cond that neither branch reads, such as the sizes that Dynamo passes along."""
    known = {graph.name: graph for graph in graphs}
    kept = []
    for node in nodes:
        names = [str(item.get("graph", "")) for item in node.args[1:3] if isinstance(item, dict)]
        if node.target == PREFIX + "cond" and len(names) == 2 and all(name in known for name in names):
            values = items(node.args[3])
            read = [index for index in range(len(values)) if any(_reads(known[name], index) for name in names)]
            for name in names:
                graph = known[name]
                known[name] = replace(
                    graph, inputs=tuple(graph.inputs[index] for index in read if index < len(graph.inputs))
                )
            node = replace(node, args=[*node.args[:3], {"tuple": [values[index] for index in read]}])
        kept.append(node)
    return kept, list(known.values())


def _reads(graph: SubGraph, index: int) -> bool:
    if index >= len(graph.inputs):
        return True
    name = graph.inputs[index]
    return name in trees.refs(graph.outputs) or any(name in node.reads for node in graph.nodes)


def operands(node: GraphNode) -> list[Any]:
    """The values that the bodies of a higher-order operator are called with, in the order of their inputs."""
    args = node.args
    if node.target == PREFIX + "cond" and len(args) == 4:
        return items(args[3])
    if node.target in (PREFIX + "tag_activation_checkpoint", PREFIX + "wrap"):
        return args[1:]
    if node.target in (APPLY, REGION):
        return args[2:]
    if node.target in (PREFIX + "while_loop", SCAN):
        return [
            value for part in args[1:] for value in items(part) if not isinstance(part, dict) or "graph" not in part
        ]
    return []


def captured(node: GraphNode) -> list[Any]:
    """The values that the bodies of a loop, or the score_mod of a flex_attention, are given from outside of it."""
    place = {PREFIX + "while_loop": 3, SCAN: 3, FLEX: 7}.get(node.target)
    return items(node.args[place]) if place is not None and place < len(node.args) else []


def items(value: Any) -> list[Any]:
    """The elements of a tuple or list argument; a single value counts as a tuple of one."""
    if isinstance(value, dict) and "tuple" in value:
        return list(value["tuple"])
    return list(value) if isinstance(value, list) else [value]


def masks(nodes: Sequence[GraphNode], shapes: Mapping[str, tuple[tuple[int, ...], str]]) -> dict[str, Mask]:
    """The block masks that come from outside of the graph, by the name of the node; shapes are (sizes, device)."""
    found: dict[str, Mask] = {}
    for node in nodes:
        parts = items(node.args[4]) if node.target == FLEX and len(node.args) > 8 else []
        counts = next((name for name in map(trees.as_ref, parts) if name), "")
        query, key = (trees.as_ref(item) or "" for item in node.args[:2]) if parts else ("", "")
        if counts not in shapes or query not in shapes or key not in shapes or not isinstance(parts[-1], dict):
            continue
        if items(node.args[8]):
            raise Unprintable("a mask_mod that reads tensors")
        (batch, heads, *_), device = shapes[counts]
        numbers = [part for part in parts if isinstance(part, int)]
        found[node.name] = Mask(
            name="block_mask" if not found else f"block_mask{len(found)}",
            graph=parts[-1]["graph"],
            batch=None if batch == 1 else batch,
            heads=None if heads == 1 else heads,
            queries=shapes[query][0][-2],
            keys=shapes[key][0][-2],
            device=device,
            block=(numbers[-2], numbers[-1]),
        )
    return found


@dataclass(frozen=True)
class Rewriter:
    """Writes higher-order operators by their public names. `classes` are those of autograd.Functions by forward graph.

    A body that captures values is written by `closure` where it is used, under the caller's names: (title, source). Where one
    of them has no name there, `whole` writes it as a function of all, and a lambda adds them.
    """

    classes: Mapping[str, str]
    masks: Mapping[str, Mask]
    closure: Callable[[str, GraphNode, Sequence[str]], tuple[str, str]]
    whole: Callable[[str, GraphNode], None]
    trivial: frozenset[str] = frozenset()  # score_mods that return the score

    def __call__(self, node: GraphNode, speller: Speller) -> Expression | None:
        """The expression, None where the recorded call is as good. Raises Unprintable."""
        if not node.target.startswith(PREFIX) or node.opaque:
            return None
        write = getattr(self, "_" + node.target.removeprefix(PREFIX), None)
        return None if write is None else write(node, speller)

    def _autograd_function_apply(self, node: GraphNode, speller: Speller) -> Expression:
        return speller.call(f"{self.classes[node.args[0]['graph']]}.apply", node.args[2:], {})

    def _cond(self, node: GraphNode, speller: Speller) -> Expression:
        return speller.call("torch.cond", node.args, node.kwargs)

    def _tag_activation_checkpoint(self, node: GraphNode, speller: Speller) -> Expression:
        keywords = {key: item for key, item in node.kwargs.items() if key in ("use_reentrant", "preserve_rng_state")}
        return speller.call("checkpoint", node.args, keywords)

    def _wrap(self, node: GraphNode, speller: Speller) -> Expression:
        return speller.call(speller.argument(node.args[0]).text, node.args[1:], {})

    def _invoke_subgraph(self, node: GraphNode, speller: Speller) -> Expression:
        return speller.call(speller.argument(node.args[0]).text, node.args[2:], {})

    def _while_loop(self, node: GraphNode, speller: Speller) -> Expression | None:
        if len(node.args) != 4:
            return None
        bodies = [self._closed(speller, node, graph, ["*args"]) for graph in node.args[:2]]
        text = f"while_loop({', '.join(body.text for body in bodies)}, {speller.argument(node.args[2]).text})"
        return Expression(text, before="".join(body.before for body in bodies))

    def _scan(self, node: GraphNode, speller: Speller) -> Expression:
        if len(node.args) != 4 or len(items(node.args[1])) != 1 or len(node.out) != 2:
            raise Unprintable("a scan that carries or gives more than one tensor")
        init, *xs = (speller.argument(item).text for part in node.args[1:3] for item in items(part))
        if len(xs) == 1:
            body = self._closed(speller, node, node.args[0], ["carry", "x"])
            return Expression(f"scan({body.text}, {init}, {xs[0]})", before=body.before)
        body = self._of_all(speller, node, node.args[0], ["carry", "*x"])  # it is given one tuple of them
        return Expression(f"scan({body.text}, {init}, ({', '.join(xs)}))")

    def _flex_attention(self, node: GraphNode, speller: Speller) -> Expression:
        if node.multi or len(node.args) < 9:
            raise Unprintable("flex_attention whose log-sum-exp is used")
        query, key = (speller.meta(trees.as_ref(item) or "") for item in node.args[:2])
        if any(meta is not None and len(meta.shape) != 4 for meta in (query, key)):
            raise Unprintable("flex_attention of what has no batch and no heads")
        arguments = [speller.argument(item).text for item in node.args[:3]]
        before = ""
        if node.args[3].get("graph") not in self.trivial:
            score = self._closed(speller, node, node.args[3], _SCORE)
            arguments.append("score_mod=" + score.text)
            before = score.before
        if node.name in self.masks:
            arguments.append(f"block_mask={self.masks[node.name].name}")
        if query is None or abs(node.args[5] * query.shape[-1] ** 0.5 - 1) > 1e-6:
            arguments.append(f"scale={node.args[5]!r}")
        if query is not None and key is not None and query.shape[1] != key.shape[1]:
            arguments.append("enable_gqa=True")
        return Expression(f"flex_attention({', '.join(arguments)})", before=before)

    def _closed(self, speller: Speller, node: GraphNode, graph: Any, parameters: Sequence[str]) -> Expression:
        """A body: a closure over what it captures, or a lambda that adds that to its arguments."""
        more = [speller.argument(item).text for item in captured(node)]
        if not more:
            return speller.argument(graph)
        if all(text.isidentifier() for text in more):
            title, source = self.closure(graph["graph"], node, more)
            return Expression(title, before=source)
        return self._of_all(speller, node, graph, parameters)

    def _of_all(self, speller: Speller, node: GraphNode, graph: Any, parameters: Sequence[str]) -> Expression:
        """A lambda that calls a body with its own parameters, some of them taken apart (`*x`), and what it captures besides."""
        more = [speller.argument(item).text for item in captured(node)]
        if more:
            self.whole(graph["graph"], node)
        taken = " ".join(more)
        handed = [name + "_" if re.search(rf"\b{re.escape(name.strip('*'))}\b", taken) else name for name in parameters]
        own = [name.strip("*") if len(handed) > 1 else name for name in handed]
        return Expression(f"lambda {', '.join(own)}: {speller.argument(graph).text}({', '.join([*handed, *more])})")


def parameter_hints(node: GraphNode) -> dict[str, tuple[str, ...]]:
    """Names for the first inputs of the bodies that have customary ones."""
    if node.target != FLEX or len(node.args) < 5:
        return {}
    hints: dict[str, tuple[str, ...]] = {node.args[3]["graph"]: _SCORE}
    hints.update(dict.fromkeys(trees.graphs(node.args[4]), _SCORE[1:]))
    return hints


def title(node: GraphNode, graph: str) -> str:
    """What the function of a body is called."""
    position = list(trees.graphs([node.args, node.kwargs])).index(graph)
    known = {
        PREFIX + "cond": ("true_fn", "false_fn"),
        PREFIX + "while_loop": ("cond_fn", "body_fn"),
        SCAN: ("combine_fn",),
        FLEX: ("score_mod", "mask_mod"),
        REGION: ("region",),
    }.get(node.target, ())
    return known[position] if position < len(known) else "body"
