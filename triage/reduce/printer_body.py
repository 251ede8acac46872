"""The nodes of a graph as the statements of a function body.

Nodes that nothing uses are left out unless they change something. A value used once is written where it is used when
that keeps the order of effects and the line short; others get a name. Nodes that switch a mode on and off (no_grad,
autocast, inference mode) become `with` blocks round what lies between them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from triage.model.graphcase import GraphNode, TensorMeta
from triage.reduce import spelling_table as table
from triage.reduce.printer_modes import MODE_SWITCHES, modes_of
from triage.reduce.printer_names import Names
from triage.reduce.spelling import ATOM, Expression, Speller, Unprintable

INLINE_WIDTH = 44
INLINE_DEPTH = 3
UNPACK_LIMIT = 5


@dataclass(frozen=True)
class Statement:
    """One line (or several) inside the `with` headers that surround it."""

    modes: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Style:
    """How bodies are written. `exact` names nodes that keep their recorded spelling; `inline` allows nested calls."""

    nice: bool = True
    exact: frozenset[str] = frozenset()
    inline: bool = True


def references(value: Any) -> Iterator[str]:
    """The names of the values an argument tree refers to."""
    if isinstance(value, list):
        for item in value:
            yield from references(item)
    elif isinstance(value, dict):
        for tag, content in value.items():
            if tag == "ref":
                yield str(content)
            elif tag in ("tuple", "slice", "dict"):
                yield from references(list(content))


def node_references(node: GraphNode) -> list[str]:
    return [*references(node.args), *references(list(node.kwargs.values()))]


def graphs(value: Any) -> Iterator[str]:
    """The names of the nested graphs an argument tree refers to."""
    if isinstance(value, list):
        for item in value:
            yield from graphs(item)
    elif isinstance(value, dict):
        for tag, content in value.items():
            if tag == "graph":
                yield str(content)
            elif tag in ("tuple", "slice", "dict"):
                yield from graphs(list(content))


def changes_something(node: GraphNode) -> bool:
    """In-place operators, assignments, mode switches, and custom operators (of which nobody knows)."""
    target, name = node.target, _plain_name(node)
    if target in MODE_SWITCHES or target in ("operator.setitem", "operator.delitem"):
        return True
    if target.startswith("operator.") and target.removeprefix("operator.") in table.IN_PLACE:
        return True
    if name.endswith("_") and not name.endswith("__"):
        return True
    if "out" in node.kwargs or node.kwargs.get("inplace") is True:
        return True
    if target.startswith("torch.ops.") and target.split(".")[2] not in ("aten", "prims", "higher_order"):
        return True
    return name in (
        "_assert",
        "_assert_async",
        "resize",
        "set_data",
        "_check",
        "sym_constrain_range",
        "auto_functionalized",
    )


def is_random(node: GraphNode) -> bool:
    return _plain_name(node) in table.RANDOM or _plain_name(node).startswith("inductor_")


def _plain_name(node: GraphNode) -> str:
    """`add_` for torch.ops.aten.add_.Tensor, `relu` for torch.nn.functional.relu."""
    parts = node.target.split(".")
    return parts[3] if parts[:2] == ["torch", "ops"] and len(parts) > 3 else parts[-1]


def live_nodes(nodes: Sequence[GraphNode], outputs: Any) -> list[GraphNode]:
    """The nodes that the outputs need, and those that change something, in order."""
    needed, kept = set(references(outputs)), []
    for node in reversed(nodes):
        if node.name in needed or changes_something(node):
            needed.update(node_references(node))
            kept.append(node)
    return kept[::-1]


class Body:
    """Writes one function body. `scope` maps the inputs to their expressions; it is extended node by node."""

    def __init__(
        self,
        nodes: Sequence[GraphNode],
        outputs: Any,
        scope: Mapping[str, Expression],
        names: Names,
        *,
        functions: Mapping[str, str],
        metas: Mapping[str, TensorMeta],
        style: Style,
        grad_enabled: bool = True,
        rewrite: Callable[[GraphNode, Speller], Expression | None] | None = None,
    ) -> None:
        self.live = live_nodes(nodes, outputs)
        self.outputs = outputs
        self.scope = dict(scope)
        self.names, self.functions, self.style, self.rewrite = names, functions, style, rewrite
        self.metas = dict(metas)
        self.metas.update({node.name: node.out[0] for node in nodes if node.out and node.out[0] and not node.multi})
        self.uses = Counter(name for node in self.live for name in node_references(node))
        self.uses.update(references(outputs))
        self.modes = modes_of(self.live, grad_enabled)
        self.depth: dict[str, int] = {}
        self.unpacked: set[str] = set()
        self.statements: list[Statement] = []

    def write(self) -> list[Statement]:
        """The statements without the return. Raises Unprintable."""
        for index, node in enumerate(self.live):
            if node.target not in MODE_SWITCHES and node.name not in self.unpacked:
                self._node(index, node)
        return self.statements

    def result(self, value: Any) -> Expression:
        """The expression of an output."""
        return self._speller(None).argument(value)

    def _speller(self, node: GraphNode | None) -> Speller:
        nice = self.style.nice and (node is None or node.name not in self.style.exact)
        return Speller(self.scope, self.functions, self.metas.get, nice)

    def _node(self, index: int, node: GraphNode) -> None:
        speller = self._speller(node)
        if self._in_place(node, speller):
            return
        expression = self.rewrite(node, speller) if self.rewrite is not None else None
        if expression is None:
            expression = speller.node(node)
        self.depth[node.name] = 1 + max((self.depth.get(name, 0) for name in node_references(node)), default=0)
        if self._inlined(index, node, expression):
            self.scope[node.name] = expression
        elif node.multi and self._unpack(index, node, expression):
            return
        elif self.uses[node.name] == 0:
            self._say(index, expression.text)
        else:
            name = self.names.value()
            self._say(index, f"{name} = {expression.text}")
            self._named(node.name, name)

    def _say(self, index: int, text: str) -> None:
        self.statements.append(Statement(self.modes[index], text))

    def _named(self, value: str, name: str) -> None:
        self.scope[value] = Expression(name)
        self.depth[value] = 0

    def _in_place(self, node: GraphNode, speller: Speller) -> bool:
        """`x[i] = y` and `x += y`."""
        index = self.live.index(node)
        name = node.target.removeprefix("operator.")
        if node.target == "operator.setitem" and len(node.args) == 3:
            target = speller.argument(node.args[0]).inside(ATOM)
            value = speller.argument(node.args[2]).text
            self._say(index, f"{target}[{speller.subscript(node.args[1])}] = {value}")
            return True
        if node.target.startswith("operator.") and name in table.IN_PLACE and len(node.args) == 2:
            left = speller.argument(node.args[0])
            if node.out and node.out[0] is not None and left.text.isidentifier():
                self._say(index, f"{left.text} {table.IN_PLACE[name]} {speller.argument(node.args[1]).text}")
                self._named(node.name, left.text)
                return True
        return False

    def _inlined(self, index: int, node: GraphNode, expression: Expression) -> bool:
        uses = self.uses[node.name]
        if uses == 0 or changes_something(node):
            return False
        if _is_scalar(node) and "(" not in expression.text and len(expression.text) <= INLINE_WIDTH:
            return True
        if self._is_result(index, node):
            return True
        if not self.style.inline or uses != 1 or is_random(node) or len(expression.text) > INLINE_WIDTH:
            return False
        if self.depth[node.name] > INLINE_DEPTH:
            return False
        consumer = next((place for place in range(index + 1, len(self.live)) if self._uses(place, node.name)), None)
        if consumer is None:  # an output
            return not any(changes_something(other) for other in self.live[index + 1 :])
        between = self.live[index + 1 : consumer]
        if self.live[consumer].kind != "call_method" and self.modes[consumer] != self.modes[index]:
            return False
        if self.modes[consumer] != self.modes[index] or any(changes_something(other) for other in between):
            return False
        user = self.live[consumer]
        if user.target.removeprefix("operator.") in (*table.IN_PLACE, "setitem") and user.args[:1] == [
            {"ref": node.name}
        ]:
            return False
        return len(set(node_references(user))) <= 3

    def _is_result(self, index: int, node: GraphNode) -> bool:
        """Whether the node is the last one and the only output: it stands behind `return`."""
        last = index == len(self.live) - 1 and not self.modes[index]
        return (
            self.style.inline and last and self.uses[node.name] == 1 and list(references(self.outputs)) == [node.name]
        )

    def _uses(self, place: int, name: str) -> bool:
        return name in node_references(self.live[place])

    def _unpack(self, index: int, node: GraphNode, expression: Expression) -> bool:
        """`a, b = op(...)` where every use of the result takes one of its few elements."""
        items: dict[int, GraphNode] = {}
        for user in self.live[index + 1 :]:
            if node.name in node_references(user):
                position = _item_of(user, node.name)
                if position is None or not 0 <= position < len(node.out) or position in items:
                    return False
                items[position] = user
        if not items or node.name in set(references(self.outputs)) or len(node.out) > UNPACK_LIMIT:
            return False
        names = ["_"] * len(node.out)
        for position in sorted(items):
            names[position] = self.names.value()
            self._named(items[position].name, names[position])
            self.unpacked.add(items[position].name)
        self._say(index, f"{', '.join(names)}{',' if len(names) == 1 else ''} = {expression.text}")
        return True


def _item_of(node: GraphNode, value: str) -> int | None:
    """The element of `value` that a getitem node takes."""
    if node.target != "operator.getitem" and node.kind != "get_item":
        return None
    position = node.args[1] if len(node.args) == 2 and node.args[0] == {"ref": value} else None
    return position if isinstance(position, int) and not isinstance(position, bool) else None


def _is_scalar(node: GraphNode) -> bool:
    """A symbolic number: a size, or arithmetic of such."""
    arithmetic = node.target.startswith("operator.") and node.target != "operator.getitem"
    return node.out == [None] and not node.multi and (arithmetic or (node.kind, node.target) == ("call_method", "size"))


def indented(statements: Sequence[Statement], depth: int = 1) -> list[str]:
    """Lines of code, with the `with` headers of neighbours shared."""
    lines: list[str] = []
    open_modes: tuple[str, ...] = ()
    for statement in statements:
        shared = 0
        while shared < min(len(open_modes), len(statement.modes)) and open_modes[shared] == statement.modes[shared]:
            shared += 1
        headers = [f"with {mode}:" for mode in statement.modes[shared:]]
        lines += ["    " * (depth + shared + level) + header for level, header in enumerate(headers)]
        open_modes = statement.modes
        lines += ["    " * (depth + len(open_modes)) + line for line in statement.text.splitlines()]
    return lines


__all__ = ["Body", "Statement", "Style", "Unprintable", "indented", "live_nodes", "references"]
