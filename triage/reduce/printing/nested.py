"""Sub-graphs of higher-order operators as functions at the top of the script; an autograd.Function as a class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from triage.model import effects, trees
from triage.model.graphcase import GraphNode, SubGraph
from triage.reduce.printing import higher_order as hop
from triage.reduce.printing.body import Body, Style, indented
from triage.reduce.printing.names import Names, parameter_name
from triage.reduce.printing.spelling import Expression, Unprintable


class Nested:
    """The functions of a case's sub-graphs: their source, what each is called, and how their operators are written.

    Those in `bare` return their only result; `titles` are the names of the values that are passed.
    """

    def __init__(
        self,
        graphs: Sequence[SubGraph],
        names: Names,
        style: Style,
        *,
        bare: Iterable[str],
        titles: Mapping[str, str],
        masks: Mapping[str, hop.Mask],
    ) -> None:
        self.graphs = {graph.name: graph for graph in graphs}
        self.names, self.style = names, style
        self.bare, self.titles = set(bare), dict(titles)
        self.lines: list[str] = []
        self.functions: dict[str, str] = {}
        self.classes: dict[str, str] = {}
        trivial = frozenset(
            graph.name for graph in graphs if graph.inputs and graph.outputs == trees.ref(graph.inputs[0])
        )
        self.rewriter = hop.Rewriter(self.classes, masks, self._closure, self._whole, trivial)

    def need(self, nodes: Sequence[GraphNode]) -> None:
        """Write what the nodes refer to and is not yet written, inner ones first. Raises Unprintable."""
        for node in nodes:
            if node.target == hop.APPLY:
                self._function_class(node)
                continue
            flex = node.target == hop.FLEX
            closed = set(trees.graphs(node.args[:4])) if hop.captured(node) else set()  # written where they are used
            for name in trees.graphs([node.args, node.kwargs]):
                skipped = flex and name in self.rewriter.trivial
                unused = flex and name != node.args[3]["graph"] and node.name not in self.rewriter.masks
                if name not in closed and not skipped and not unused:
                    self._whole(name, node)

    def _graph(self, name: str) -> SubGraph:
        """The sub-graph with its own nested operators unwrapped."""
        if name not in self.graphs:
            raise Unprintable(f"the nested graph {name} is missing")
        graph = self.graphs[name]
        nodes, outputs, bare = hop.unwrapped(graph.nodes, graph.outputs)
        self.bare |= bare
        return SubGraph(graph.name, graph.inputs, tuple(nodes), outputs)

    def _whole(self, name: str, user: GraphNode) -> None:
        """The function of all inputs of a body, once, at the top of the script."""
        if name in self.functions:
            return
        graph = self._graph(name)
        self.need(graph.nodes)
        title = self.names.like(hop.title(user, name))
        self.functions[name] = title
        decorator = ["@torch.compiler.nested_compile_region"] if user.target == hop.REGION else []
        self.lines += ["", "", *decorator, *self._written(graph, title, self._hints(user, name))]

    def _closure(self, name: str, user: GraphNode, captured: Sequence[str]) -> tuple[str, str]:
        """(title, source) of a body inside the function that uses it, whose names for the last inputs are `captured`."""
        graph = self._graph(name)
        self.need(graph.nodes)
        title = self.names.like(hop.title(user, name))
        return title, "\n".join([*self._written(graph, title, self._hints(user, name), captured), "", ""])

    def _written(self, graph: SubGraph, title: str, hints: Sequence[str], captured: Sequence[str] = ()) -> list[str]:
        parameters, body = self._body(graph, graph.inputs, hints, captured)
        lines = indented(body.write())
        results = hop.items(graph.outputs)
        single = len(results) == 1 and (graph.name in self.bare or not isinstance(graph.outputs, list | dict))
        shown = results if single or isinstance(graph.outputs, list) or len(results) > 1 else [graph.outputs]
        lines.append(f"    return {', '.join(body.result(item).text for item in shown)}")
        return [f"def {title}({', '.join(parameters)}):", *lines]

    def _hints(self, user: GraphNode, graph: str) -> list[str]:
        """What the caller calls the values it passes."""
        customary = hop.parameter_hints(user).get(graph)
        if customary is not None:
            return list(customary)
        called = [self.titles.get(trees.as_ref(item) or "", "") for item in hop.operands(user)]
        if user.target != hop.SCAN:
            return called
        # What it is given is not what the caller has under that name: the state so far, and one step of what is gone through.
        carried, steps = (len(hop.items(part)) for part in user.args[1:3])
        given = [f"{name}_t" if name else "" for name in called[carried : carried + steps]]
        return ["carry"] * carried + given + called[carried + steps :]

    def _body(
        self, graph: SubGraph, inputs: Sequence[str], hints: Sequence[str], captured: Sequence[str] = ()
    ) -> tuple[list[str], Body]:
        names = Names({*self.functions.values(), *self.classes.values(), *captured})
        given = len(inputs) - len(captured)
        wanted = [*hints, *[""] * len(inputs)]
        parameters = [parameter_name(name, hint, names) for name, hint in zip(inputs[:given], wanted, strict=False)]
        titles = dict(zip(inputs, [*parameters, *captured], strict=True))
        self.titles.update(titles)
        scope = {name: Expression(text) for name, text in titles.items()}
        body = Body(
            graph.nodes, graph.outputs, scope, names,
            functions=self.functions, metas={}, style=self.style, rewrite=self.rewriter,
        )  # fmt: skip
        return parameters, body

    def _function_class(self, node: GraphNode) -> None:
        """Class Fn(torch.autograd.Function) from the forward and backward graphs of autograd_function_apply."""
        if len(node.args) < 2 or not all(isinstance(item, dict) and "graph" in item for item in node.args[:2]):
            raise Unprintable("autograd_function_apply without its two graphs")
        forward, backward = (self._graph(item["graph"]) for item in node.args[:2])
        if forward.name in self.classes:
            return
        self.need([*forward.nodes, *backward.nodes])
        title = self.names.like("Fn")
        self.classes[forward.name] = title
        outputs, saved = _pair(forward.outputs)
        # Up to torch 2.9 the forward graph takes the context as its first input, and the backward graph likewise.
        inputs = forward.inputs[len(forward.inputs) - len(hop.operands(node)) :]
        parameters, body = self._body(_without_modes(forward), inputs, self._hints(node, forward.name))
        lines = indented(body.write(), 2)
        if saved:
            lines.append(f"        ctx.save_for_backward({', '.join(body.result(item).text for item in saved)})")
        results = [body.result(item).text for item in outputs]
        lines.append(f"        return {', '.join(results)}{',' if len(results) == 1 and node.multi else ''}")
        self.lines += ["", "", f"class {title}(torch.autograd.Function):", "    @staticmethod"]
        self.lines += [f"    def forward({', '.join(['ctx', *parameters])}):", *lines, "", "    @staticmethod"]
        self._backward(backward, len(saved), len(results))

    def _backward(self, graph: SubGraph, saved: int, gradients: int) -> None:
        inputs = graph.inputs[len(graph.inputs) - saved - gradients :]
        hints = ["g"] if gradients == 1 else [f"g{index + 1}" for index in range(gradients)]
        parameters, body = self._body(_without_modes(graph), inputs, hints)
        lines = indented(body.write(), 2)
        self.lines.append(f"    def backward({', '.join(['ctx', *parameters[:gradients]])}):")
        if saved:
            names = parameters[gradients:]
            targets = ", ".join(names) if len(names) > 1 else f"({names[0]},)"
            self.lines.append(f"        {targets} = ctx.saved_tensors")
        results = ", ".join(body.result(item).text for item in hop.items(graph.outputs))
        self.lines += [*lines, f"        return {results}"]


def _pair(outputs: Any) -> tuple[list[Any], list[Any]]:
    """(results, saved) of a forward graph."""
    parts = hop.items(outputs)
    if len(parts) != 2:
        raise Unprintable("the forward graph of an autograd.Function has an unknown form")
    return hop.items(parts[0]), hop.items(parts[1])


def _without_modes(graph: SubGraph) -> SubGraph:
    """Inside an autograd.Function gradients are off anyway."""
    nodes = tuple(node for node in graph.nodes if effects.sets_grad_mode(node) is None)
    return SubGraph(graph.name, graph.inputs, nodes, graph.outputs)
