"""The nodes of a graph as the statements of a function body.

Nodes that nothing uses are left out unless they change something. A value used once is written where it is used when
that keeps the order of effects and the line short; others get a name. Nodes that switch a mode on and off (no_grad,
autocast, inference mode) become `with` blocks round what lies between them.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from triage.model import effects, trees
from triage.model.graphcase import GraphNode, TensorMeta
from triage.reduce.printing import spelling_table as table
from triage.reduce.printing.modes import modes_of, switches_mode
from triage.reduce.printing.names import Names
from triage.reduce.printing.spelling import ATOM, Expression, Speller

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
    """How bodies are written. `exact` names nodes that keep their recorded spelling."""

    nice: bool = True
    exact: frozenset[str] = frozenset()
    pure: frozenset[str] = frozenset()  # custom operators that are known to change nothing


def changes_something(node: GraphNode, pure: Collection[str]) -> bool:
    """In-place operators, assignments, mode switches, and custom operators that are not in `pure`."""
    if effects.mutated(node) is not None or effects.is_context(node) or node.kwargs.get("inplace") is True:
        return True
    name = effects.operation(node)
    if node.target == "operator.delitem" or name in table.EFFECTS:
        return True
    if effects.is_named_in_place(node):
        return True  # in place on a list of tensors
    if node.target in pure or not node.target.startswith("torch.ops."):
        return False
    return node.target.split(".")[2] not in effects.OWN_NAMESPACES


def is_random(node: GraphNode) -> bool:
    """Whether a node draws random numbers: a dropout that is switched off does not, nor attention without one."""
    name = effects.operation(node)
    bare = name.rstrip("_").removesuffix("_functional")
    if bare not in table.RANDOM:
        return name.startswith("inductor_")
    quiet = table.DRAWS_NOTHING.get(bare, ())
    return not any(_given(node, position, names, default) == value for position, names, default, value in quiet)


def _given(node: GraphNode, position: int, keywords: Sequence[str], default: Any) -> Any:
    """What a node is given as one argument, by position or by a keyword."""
    if len(node.args) > position:
        return node.args[position]
    return next((node.kwargs[keyword] for keyword in keywords if keyword in node.kwargs), default)


def live_nodes(nodes: Sequence[GraphNode], outputs: Any, pure: Collection[str] = ()) -> list[GraphNode]:
    """The nodes that the outputs need, and those that change something that is seen, in order.

    A change of a value that nothing live shares its storage with is not seen. Storage is followed by first arguments, as
    views have it, so more is kept than strictly needed.
    """
    roots = _roots(nodes)
    made = {node.name for node in nodes}
    needed = set(trees.refs(outputs))
    seen = {roots.get(name, name) for name in needed}
    kept = []
    for node in reversed(nodes):
        if node.name in needed or (changes_something(node, pure) and _is_seen(node, roots, made, seen)):
            names = node.reads
            needed.update(names)
            seen.update(roots.get(name, name) for name in names)
            kept.append(node)
    return _without_empty_contexts(kept[::-1])


def _is_seen(node: GraphNode, roots: Mapping[str, str], made: Collection[str], seen: Collection[str]) -> bool:
    target = effects.mutated(node)
    if target is None:
        return True
    root = roots.get(target, target)
    return root in seen or root not in made


def _roots(nodes: Sequence[GraphNode]) -> dict[str, str]:
    """For each value the one that its storage may come from."""
    roots: dict[str, str] = {}
    for node in nodes:
        names = node.reads
        roots[node.name] = roots.get(names[0], names[0]) if names else node.name
    return roots


def plain_random(nodes: Sequence[GraphNode]) -> list[GraphNode]:
    """Random numbers of Inductor without the seed they are drawn from: written as torch.rand, they need none."""
    return [
        replace(node, args=[node.args[0], None, node.args[2]])
        if effects.operation(node) == "inductor_random" and len(node.args) == 3 and node.args[2] in ("rand", "randn")
        else node
        for node in nodes
    ]


def _without_empty_contexts(nodes: list[GraphNode]) -> list[GraphNode]:
    """Contexts that are closed as soon as they are opened hold nothing."""
    kept: list[GraphNode] = []
    for node in nodes:
        if kept and effects.opener_of(node) is not None and effects.opener_of(node) == effects.operation(kept[-1]):
            kept.pop()
        else:
            kept.append(node)
    return kept


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
        self.live = live_nodes(nodes, outputs, style.pure)
        self.outputs = outputs
        self.scope = dict(scope)
        self.names, self.functions, self.style, self.rewrite = names, functions, style, rewrite
        self.metas = dict(metas)
        self.metas.update({node.name: node.out[0] for node in nodes if node.out and node.out[0] and not node.multi})
        self.reads = [node.reads for node in self.live]
        self.users: dict[str, list[int]] = {}  # the places in `live` that read a value
        for place, read in enumerate(self.reads):
            for name in dict.fromkeys(read):
                self.users.setdefault(name, []).append(place)
        self.uses = Counter(itertools.chain(*self.reads, trees.refs(outputs)))
        # How many changes happen before each place: two places with equal counts have none between them.
        self.changes = list(
            itertools.accumulate((changes_something(node, style.pure) for node in self.live), initial=0)
        )
        self.modes = modes_of(self.live, grad_enabled)
        self.depth: dict[str, int] = {}
        self.unpacked: set[str] = set()
        self.statements: list[Statement] = []

    def write(self) -> list[Statement]:
        """The statements without the return. Raises Unprintable."""
        for index, node in enumerate(self.live):
            if not switches_mode(node) and node.name not in self.unpacked:
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
        if self._in_place(index, node, speller):
            return
        expression = self.rewrite(node, speller) if self.rewrite is not None else None
        if expression is None:
            expression = speller.node(node)
        if expression.before:
            apart = "\n" if self.statements and not self.statements[-1].text.endswith("\n") else ""
            self._say(index, apart + expression.before)
        self.depth[node.name] = 1 + max((self.depth.get(name, 0) for name in self.reads[index]), default=0)
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

    def _in_place(self, index: int, node: GraphNode, speller: Speller) -> bool:
        """`x[i] = y` and `x += y`."""
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
        """Whether the node's expression may stand where its value is used: once, soon, and with no change in between."""
        uses = self.uses[node.name]
        if uses == 0 or self.changes[index] != self.changes[index + 1]:
            return False
        if _is_scalar(node) and "(" not in expression.text and len(expression.text) <= INLINE_WIDTH:
            return True
        if self._is_result(index, node):
            return True
        if uses != 1 or is_random(node) or len(expression.text) > INLINE_WIDTH:
            return False
        if self.depth[node.name] > INLINE_DEPTH:
            return False
        if node.name not in self.users:  # an output
            return not self.modes[index] and self.changes[index + 1] == self.changes[-1]
        consumer = self.users[node.name][0]
        if self.modes[consumer] != self.modes[index] or self.changes[index + 1] != self.changes[consumer]:
            return False
        user = self.live[consumer]
        in_place = user.target.removeprefix("operator.") in (*table.IN_PLACE, "setitem")
        if in_place and trees.as_ref(user.args[0]) == node.name:
            return False  # only a name can be assigned to
        return len(set(self.reads[consumer])) <= 3

    def _is_result(self, index: int, node: GraphNode) -> bool:
        """Whether the node is the last one and the only output: it stands behind `return`."""
        last = index == len(self.live) - 1 and not self.modes[index]
        return last and self.uses[node.name] == 1 and list(trees.refs(self.outputs)) == [node.name]

    def _unpack(self, index: int, node: GraphNode, expression: Expression) -> bool:
        """`a, b = op(...)` where every use of the result takes one of its few elements."""
        items: dict[int, GraphNode] = {}
        for user in (self.live[place] for place in self.users.get(node.name, ())):
            position = _item_of(user, node.name)
            if position is None or not 0 <= position < len(node.out) or position in items:
                return False
            items[position] = user
        if not items or node.name in set(trees.refs(self.outputs)) or len(node.out) > UNPACK_LIMIT:
            return False
        names = ["_"] * len(node.out)
        for position in sorted(items):
            names[position] = self.names.value()
            self._named(items[position].name, names[position])
            self.unpacked.add(items[position].name)
        target = ", ".join(names) if len(names) > 1 else f"({names[0]},)"
        self._say(index, f"{target} = {expression.text}")
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
    """Lines of code; neighbours share their `with` blocks, and modes that begin together share a line."""
    lines: list[str] = []
    blocks: list[tuple[str, ...]] = []  # the modes of each `with` statement that is open
    for statement in statements:
        while blocks and tuple(itertools.chain(*blocks)) != statement.modes[: sum(map(len, blocks))]:
            blocks.pop()
        opened = statement.modes[sum(map(len, blocks)) :]
        if opened:
            lines.append("    " * (depth + len(blocks)) + f"with {', '.join(opened)}:")
            blocks.append(opened)
        indent = "    " * (depth + len(blocks))
        lines += [indent + line if line else "" for line in statement.text.splitlines()]
    return lines
