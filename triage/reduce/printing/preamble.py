"""The source that registers custom operators, reduced to what the operators still in use need.

A preamble is one string per statement. Statements that only register other operators are left out, then definitions and
imports whose names nothing mentions any more.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from triage.model import effects, trees
from triage.model.graphcase import GraphCase, GraphNode
from triage.model.syntax import parse
from triage.reduce.printing.kernels import may_write

_QUALIFIED = re.compile(r"^(\w+)::(\w+)")
_SUBCLASSES = re.compile(r"\b(\w+)\.__subclasses__\(")
_BARE = re.compile(r"^(\w+)\s*(\(|\.|$)")


@dataclass(frozen=True)
class Preamble:
    """Import lines and other statements, in order."""

    imports: tuple[str, ...]
    statements: tuple[str, ...]

    def names(self) -> set[str]:
        """The names that the statements bind."""
        return {name for text in (*self.imports, *self.statements) for name in _Statement(text).bound}

    def lines(self) -> list[str]:
        """The statements with the blank lines people put round definitions."""
        lines: list[str] = []
        previous = False
        for text in self.statements:
            definition = text.startswith(("def ", "class ", "@", "async "))
            if definition or previous or not lines:
                lines += ["", ""]
            lines += text.splitlines()
            previous = definition
        return lines


def preamble(statements: Sequence[str], operators: Iterable[tuple[str, str]]) -> Preamble:
    """What of `statements` the (namespace, name) pairs in `operators` need; nothing where there are none."""
    wanted = set(operators)
    if not wanted:
        return Preamble((), ())
    parsed = [_Statement(text) for text in statements]
    owners = {item.binds: item.operators() for item in parsed if item.binds and item.operators()}
    handles = {name: next(iter(found)) for name, found in owners.items() if len(found) == 1}
    return _mentioned([item for item in parsed if item.serves(wanted, handles)], handles)


def whole(statements: Sequence[str], use: str = "") -> Preamble:
    """All of `statements` but definitions and imports that nothing mentions, nor the script's own `use` of them."""
    return _mentioned([_Statement(text) for text in statements], {}, _Statement(use).reads)


def of_case(case: GraphCase, operators: Iterable[tuple[str, str]]) -> Preamble:
    """What the script of this graph prints of its preamble; `operators` are the custom ones that it calls."""
    return whole(case.preamble, case.backend_code) if case.prepared else preamble(case.preamble, operators)


def leaves_unbound(printed: Preamble, block: str, use: str) -> bool:
    """Whether a name that only `block` binds is read by what would be `printed` of the other statements, or by `use`."""
    rest = [_Statement(text) for text in (*printed.imports, *printed.statements, use)]
    read = {name for item in rest for name in item.reads}
    bound = {name for item in rest for name in item.bound}
    return bool((_Statement(block).bound - bound) & read)


def _mentioned(kept: list[_Statement], handles: dict[str, tuple[str, str]], outside: Iterable[str] = ()) -> Preamble:
    while True:
        used = {*outside, *(name for item in kept for name in item.reads)}
        used |= _noted(kept)
        left = [item for item in kept if not item.is_definition(handles) or used.intersection(item.bound)]
        if len(left) == len(kept):
            break
        kept = left
    imports = tuple(item.text for item in kept if item.is_import)
    return Preamble(imports, tuple(item.text for item in kept if not item.is_import))


def _noted(kept: Sequence[_Statement]) -> set[str]:
    """The classes that a base of theirs may take note of, though nothing names them: a metaclass, `__init_subclass__`."""
    asked = {name for item in kept for name in _SUBCLASSES.findall(item.text)}
    found: set[str] = set()
    for item in kept:
        if isinstance(item.node, ast.ClassDef):
            bases = {base.id for base in item.node.bases if isinstance(base, ast.Name)}
            if item.node.keywords or bases & asked:
                found.add(item.node.name)
            if item.node.name in found or any(
                getattr(part, "name", "") == "__init_subclass__" for part in item.node.body
            ):
                asked.add(item.node.name)  # one made from this is taken note of, too
    return found


def changes_arguments(statements: Sequence[str], namespace: str, name: str) -> bool:
    """Whether it is left open that the operator changes an argument.

    So it is where the registration says so or says nothing, and where a function of it is not seen to write to none.
    """
    needed = preamble(statements, [(namespace, name)])
    source = "\n".join((*needed.imports, *needed.statements))
    return _may_say_so(statements, namespace, name) or may_write(parse(source).body)


def _may_say_so(statements: Sequence[str], namespace: str, name: str) -> bool:
    """No schema without a mark of a changed argument, and no `mutates_args=()`, was seen."""
    text = "\n".join(statements)
    if re.search(rf"""["']{namespace}::{name}["'][^)]*mutates_args=(\(\)|\[\]|\{{\}})""", text):
        return False
    schema = re.search(rf"""["']({namespace}::)?{name}\((?P<arguments>[^"']*)\)\s*->""", text)
    return schema is None or "!" in schema.group("arguments")


class _Statement:
    """One statement of a preamble: what it binds, what it reads, which operators it names."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.node = next(iter(parse(text).body), ast.Pass())
        nodes = list(ast.walk(self.node))
        self.is_import = isinstance(self.node, (ast.Import, ast.ImportFrom))
        self.reads = {item.id for item in nodes if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)}
        self.strings = [item.value for item in nodes if isinstance(item, ast.Constant) and isinstance(item.value, str)]
        self.methods = {item.attr for item in nodes if isinstance(item, ast.Attribute)}
        self.bound = self._bound()
        self.binds = next(iter(self.bound)) if len(self.bound) == 1 else ""

    def _bound(self) -> frozenset[str]:
        node = self.node
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            return frozenset({node.name})
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return frozenset(alias.asname or alias.name.split(".")[0] for alias in node.names)
        return frozenset(
            item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
        )

    def operators(self) -> frozenset[tuple[str, str]]:
        """The (namespace, name) pairs that the strings of the statement name."""
        matches = (_QUALIFIED.match(text) for text in self.strings)
        return frozenset((match.group(1), match.group(2)) for match in matches if match)

    def serves(self, wanted: set[tuple[str, str]], handles: dict[str, tuple[str, str]]) -> bool:
        """Whether it is needed, as far as the operators it names tell."""
        found = set(self.operators()) | {handles[name] for name in self.reads if name in handles}
        if found:
            return bool(found & wanted)
        if {"define", "impl"} & self.methods and not isinstance(self.node, ast.ClassDef):
            bare = [match.group(1) for match in map(_BARE.match, self.strings) if match]
            return not bare or any(name in {operator for _, operator in wanted} for name in bare)
        return True

    def is_definition(self, handles: dict[str, tuple[str, str]]) -> bool:
        """Whether the statement only matters to those who use the names it binds."""
        if isinstance(self.node, (ast.FunctionDef, ast.ClassDef)):
            return not self.node.decorator_list
        if self.is_import:
            # `import package` may be there for the operators it registers, an alias is there to be used.
            own = self.text.split()[1].split(".")[0] in {*sys.stdlib_module_names, "torch"}
            return own or isinstance(self.node, ast.ImportFrom) or " as " in self.text
        return self._only_binds() and not any(name in handles for name in self.bound)

    def _only_binds(self) -> bool:
        """An assignment to names; one to an attribute or an element changes something, and so may a call that registers."""
        if not isinstance(self.node, ast.Assign) or not all(isinstance(item, ast.Name) for item in self.node.targets):
            return False
        return not (isinstance(self.node.value, ast.Call) and any("register" in name for name in self.methods))


def custom_operators(nodes: Iterable[GraphNode]) -> dict[str, tuple[str, str]]:
    """(namespace, name) of the operators that are not torch's own, by target; also those passed as arguments."""
    found = {}
    for node in nodes:
        for target in [node.target, *_codes([node.args, node.kwargs])]:
            parts = target.split(".")
            if parts[:2] == ["torch", "ops"] and len(parts) > 3 and parts[2] not in effects.OWN_NAMESPACES:
                found[target] = (parts[2], parts[3])
    return found


def _codes(tree: Any) -> Iterator[str]:
    """The expressions in an argument tree that are written as they stand."""
    codes = (item.get("code") for _, item in trees.walk(tree) if isinstance(item, dict))
    return (code for code in codes if isinstance(code, str))
