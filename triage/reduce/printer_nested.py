"""Sub-graphs of higher-order operators as functions, and the operators as people call them.

An autograd.Function comes back as a class, checkpoint as a call of torch.utils.checkpoint, `wrap` as a plain call; any
other operator is called through torch.ops.higher_order with its bodies as functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from triage.model.graphcase import GraphCase, GraphNode, SubGraph
from triage.reduce.printer_body import Body, Style, graphs, indented, node_references, references
from triage.reduce.printer_names import Names
from triage.reduce.spelling import Expression, Speller, Unprintable

HIGHER_ORDER = "torch.ops.higher_order."
APPLY = HIGHER_ORDER + "autograd_function_apply"
# Operators that are printed as a call whose bodies may return a bare value.
BARE = frozenset({APPLY, HIGHER_ORDER + "cond", HIGHER_ORDER + "tag_activation_checkpoint", HIGHER_ORDER + "wrap"})


@dataclass(frozen=True)
class Nested:
    """The functions of a case's sub-graphs: their source, and what each is called."""

    lines: tuple[str, ...]
    functions: Mapping[str, str]
    classes: Mapping[str, str]  # name of an autograd_function_apply node's forward graph -> class


def nested(
    case: GraphCase, nodes: Sequence[GraphNode], names: Names, style: Style, bare: frozenset[str] = frozenset()
) -> Nested:
    """The functions that `nodes` need, inner ones first; those in `bare` return their only result. Raises Unprintable."""
    writer = _Writer(case, names, style)
    writer.bare |= bare
    writer.need(nodes)
    return Nested(tuple(writer.lines), writer.functions, writer.classes)


class _Writer:
    def __init__(self, case: GraphCase, names: Names, style: Style) -> None:
        self.graphs = {graph.name: graph for graph in case.subgraphs}
        self.names, self.style = names, style
        self.bare: set[str] = set()
        self.lines: list[str] = []
        self.functions: dict[str, str] = {}
        self.classes: dict[str, str] = {}

    def need(self, nodes: Sequence[GraphNode]) -> None:
        for node in nodes:
            if node.target == APPLY and self.style.nice:
                self._function_class(node)
                continue
            for name in [*graphs(node.args), *graphs(list(node.kwargs.values()))]:
                if name not in self.functions:
                    self._function(name)

    def _graph(self, name: str) -> SubGraph:
        if name not in self.graphs:
            raise Unprintable(f"the nested graph {name} is missing")
        return self.graphs[name]

    def _function(self, name: str) -> None:
        graph = self._unwrapped(self._graph(name))
        self.need(graph.nodes)
        title = self.names.like(_title(name))
        self.functions[name] = title
        parameters, body = self._body(graph, graph.inputs)
        lines = indented(body.write())
        results = _items(graph.outputs)
        bare = name in self.bare and len(results) == 1
        lines.append(f"    return {body.result(results[0] if bare else graph.outputs).text}")
        self.lines += ["", "", f"def {title}({', '.join(parameters)}):", *lines]

    def _unwrapped(self, graph: SubGraph) -> SubGraph:
        nodes, outputs, bare = unwrapped(graph.nodes, graph.outputs, self.style)
        self.bare |= bare
        return SubGraph(graph.name, graph.inputs, tuple(nodes), outputs)

    def _body(self, graph: SubGraph, inputs: Sequence[str]) -> tuple[list[str], Body]:
        names = Names(set(self.functions.values()) | set(self.classes.values()))
        parameters = [names.like(_parameter(name)) for name in inputs]
        scope = {name: Expression(text) for name, text in zip(inputs, parameters, strict=True)}
        body = Body(
            graph.nodes, graph.outputs, scope, names,
            functions=self.functions, metas={}, style=self.style, rewrite=self.rewrite,
        )  # fmt: skip
        return parameters, body

    def rewrite(self, node: GraphNode, speller: Speller) -> Expression | None:
        return rewrite(node, speller, self.classes)

    def _function_class(self, node: GraphNode) -> None:
        """Class Fn(torch.autograd.Function) from the forward and backward graphs of autograd_function_apply."""
        if len(node.args) < 2 or not all(isinstance(item, dict) and "graph" in item for item in node.args[:2]):
            raise Unprintable("autograd_function_apply without its two graphs")
        forward, backward = (self._unwrapped(self._graph(item["graph"])) for item in node.args[:2])
        if forward.name in self.classes:
            return
        self.need([*forward.nodes, *backward.nodes])
        title = self.names.like("Fn")
        self.classes[forward.name] = title
        count = len(node.args) - 2
        outputs, saved = _pair(forward.outputs)
        # Up to torch 2.9 the forward graph takes the context as its first input, and the backward graph likewise.
        inputs = list(forward.inputs)[len(forward.inputs) - count :]
        parameters, body = self._body(_without_modes(forward), inputs)
        lines = indented(body.write(), 2)
        tensors = [body.result(item).text for item in saved]
        if tensors:
            lines.append(f"        ctx.save_for_backward({', '.join(tensors)})")
        results = [body.result(item).text for item in outputs]
        tail = "," if len(results) == 1 and node.multi else ""
        lines.append(f"        return {', '.join(results)}{tail}")
        self.lines += ["", "", f"class {title}(torch.autograd.Function):", "    @staticmethod"]
        self.lines += [f"    def forward({', '.join(['ctx', *parameters])}):", *lines, "", "    @staticmethod"]
        self._backward(backward, len(saved), len(results))

    def _backward(self, graph: SubGraph, saved: int, gradients: int) -> None:
        inputs = list(graph.inputs)[len(graph.inputs) - saved - gradients :]
        parameters, body = self._body(_without_modes(graph), inputs)
        lines = indented(body.write(), 2)
        results = graph.outputs
        items = _items(results)
        self.lines.append(f"    def backward({', '.join(['ctx', *parameters[:gradients]])}):")
        if saved:
            names = parameters[gradients:]
            targets = ", ".join(names) if len(names) > 1 else f"({names[0]},)"
            self.lines.append(f"        {targets} = ctx.saved_tensors")
        self.lines += [*lines, f"        return {', '.join(body.result(item).text for item in items)}"]


def rewrite(node: GraphNode, speller: Speller, classes: Mapping[str, str]) -> Expression | None:
    """The expression of a higher-order operator where people call it by another name."""
    if not speller.nice or not node.target.startswith(HIGHER_ORDER) or node.opaque:
        return None
    name = node.target.removeprefix(HIGHER_ORDER)
    if name == "autograd_function_apply":
        title = classes.get(node.args[0]["graph"])
        return speller.call(f"{title}.apply", node.args[2:], {}) if title else None
    if name == "cond" and not node.kwargs:
        return speller.call("torch.cond", node.args, {})
    if name == "tag_activation_checkpoint":
        keywords = {key: item for key, item in node.kwargs.items() if key in ("use_reentrant", "preserve_rng_state")}
        return speller.call("checkpoint", node.args, keywords)
    if name == "wrap" and node.args and not node.kwargs:
        return speller.call(speller.argument(node.args[0]).text, node.args[1:], {})
    return None


def unwrapped(nodes: Sequence[GraphNode], outputs: Any, style: Style) -> tuple[list[GraphNode], Any, frozenset[str]]:
    """(nodes, outputs, graphs that return their only result bare).

    Graphs pass a tuple of one where people pass the value itself: `cond(...)[0]` becomes `torch.cond(...)`.
    """
    singles = {
        node.name: node
        for node in nodes
        if style.nice and node.target in BARE and node.multi and len(node.out) == 1 and node.name not in style.exact
    }
    items: dict[str, str] = {}
    for node in nodes:
        for name in node_references(node):
            if name in singles:
                if node.target == "operator.getitem" and node.args == [{"ref": name}, 0]:
                    items[node.name] = name
                else:
                    del singles[name]
    singles = {name: node for name, node in singles.items() if name not in set(references(outputs))}
    items = {name: owner for name, owner in items.items() if owner in singles}
    kept = []
    for node in nodes:
        if node.name in items:
            continue
        args, kwargs = renamed(node.args, items), {key: renamed(item, items) for key, item in node.kwargs.items()}
        kept.append(replace(node, args=args, kwargs=kwargs, multi=node.multi and node.name not in singles))
    bare = frozenset(name for node in singles.values() for name in graphs(node.args))
    return kept, renamed(outputs, items), bare


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """The argument tree with its references renamed."""
    if isinstance(value, (list, tuple)):
        return [renamed(item, names) for item in value]
    if isinstance(value, dict):
        return {tag: names.get(item, item) if tag == "ref" else renamed(item, names) for tag, item in value.items()}
    return value


def _pair(outputs: Any) -> tuple[list[Any], list[Any]]:
    """(results, saved) of a forward graph."""
    parts = outputs.get("tuple", outputs) if isinstance(outputs, dict) else outputs
    if not isinstance(parts, list) or len(parts) != 2:
        raise Unprintable("the forward graph of an autograd.Function has an unknown form")
    return _items(parts[0]), _items(parts[1])


def _items(value: Any) -> list[Any]:
    if isinstance(value, dict) and "tuple" in value:
        return list(value["tuple"])
    return list(value) if isinstance(value, list) else [value]


def _without_modes(graph: SubGraph) -> SubGraph:
    """Inside an autograd.Function gradients are off anyway."""
    nodes = tuple(node for node in graph.nodes if node.target != "torch._C._set_grad_enabled")
    return SubGraph(graph.name, graph.inputs, nodes, graph.outputs)


def _title(name: str) -> str:
    for part, title in (
        ("true", "true_fn"),
        ("false", "false_fn"),
        ("cond", "cond_fn"),
        ("body", "body"),
        ("mask", "mask_mod"),
    ):
        if part in name:
            return title
    return "score_mod" if "score" in name else "body"


def _parameter(name: str) -> str:
    """`l_x__1` is the script's x."""
    text = name.strip("_").removeprefix("l_").removeprefix("L_")
    text = text.rstrip("0123456789").strip("_") if not text[:1].isdigit() else ""
    return text if text.isidentifier() and len(text) <= 8 else "x"


__all__ = ["Nested", "nested", "renamed", "rewrite", "unwrapped"]
