"""Which names a script uses and where: resolved as Python does it, by scope.

`undefined` lets a candidate be refused before it costs a query; `Occurrences` is what renaming and inlining stand on.
"""

from __future__ import annotations

import ast
import builtins
import re
import symtable
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from triage.model.syntax import parse_expression
from triage.reduce.text.code.nodes import all_arguments, bound_name
from triage.reduce.text.code.script import Script, quiet

KNOWN = frozenset(
    {*dir(builtins), "__file__", "__name__", "__doc__", "__spec__", "__package__", "__builtins__", "__loader__"}
)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def bound_globals(script: Script) -> frozenset[str]:
    """Names that the module binds somewhere, also through `global`."""
    return frozenset(_bound(_table(script)))


def undefined(script: Script) -> frozenset[str]:
    """Names that are read, and that nothing binds. Empty where everything might be bound by a star import."""
    if any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in script.nodes):
        return frozenset()
    table = _table(script)
    return frozenset(set(_used(table)) - set(_bound(table)) - KNOWN)


def _table(script: Script) -> symtable.SymbolTable:
    with quiet():
        return symtable.symtable(script.text, "script", "exec")


def _bound(table: symtable.SymbolTable) -> Iterator[str]:
    top = table.get_type() == "module"
    for symbol in table.get_symbols():
        if (top or symbol.is_declared_global()) and (
            symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
        ):
            yield symbol.get_name()
    for child in table.get_children():
        yield from _bound(child)


def _used(table: symtable.SymbolTable) -> Iterator[str]:
    top = table.get_type() == "module"
    for symbol in table.get_symbols():
        if (top or symbol.is_global()) and symbol.is_referenced():
            yield symbol.get_name()
    for child in table.get_children():
        yield from _used(child)


@dataclass(frozen=True)
class Occurrence:
    """One place where a name stands: its characters, and the node it belongs to.

    `placed` is False where the characters are not known: before 3.12 not those of names within an f-string.
    """

    name: str
    start: int
    end: int
    node: ast.AST
    binds: bool
    placed: bool = True


@dataclass(eq=False)
class Scope:
    """A module, class, function, lambda or comprehension."""

    node: ast.AST
    parent: Scope | None
    bound: set[str] = field(default_factory=set)
    declared: dict[str, str] = field(default_factory=dict)  # name -> global | nonlocal
    found: list[Occurrence] = field(default_factory=list)

    def owner(self, name: str) -> Scope:
        """The scope that a name used here belongs to: the module where nothing binds it."""
        top = self
        while top.parent is not None:
            top = top.parent
        if self.declared.get(name) == "global":
            return top
        scope: Scope | None = self
        while scope is not None:
            if (
                name in scope.bound
                and name not in scope.declared
                and (scope is self or not isinstance(scope.node, ast.ClassDef))
            ):
                return scope
            scope = scope.parent
        return top


class Occurrences:
    """Every name of a script by the scope that owns it."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.module = Scope(script.tree, None)
        self.scopes = [self.module]
        self._visit_children(script.tree, self.module)
        self._by_owner: dict[tuple[Scope, str], list[Occurrence]] = {}
        for scope in self.scopes:
            for item in scope.found:
                self._by_owner.setdefault((scope.owner(item.name), item.name), []).append(item)

    def of(self, name: str, scope: Scope | None = None) -> list[Occurrence]:
        """The places of a name of this scope (the module's by default), in order."""
        return sorted(self._by_owner.get((scope or self.module, name), []), key=lambda item: item.start)

    @cached_property
    def owners(self) -> dict[ast.AST, Scope]:
        """The scope that the name at each node belongs to."""
        return {item.node: scope.owner(item.name) for scope in self.scopes for item in scope.found}

    def reads(self, name: str, scope: Scope | None = None) -> list[Occurrence]:
        """Those of them that bind nothing."""
        return [place for place in self.of(name, scope) if not place.binds]

    def scope_at(self, node: ast.AST) -> Scope:
        """The scope that a module, class, function, lambda or comprehension is."""
        return next(scope for scope in self.scopes if scope.node is node)

    def everywhere(self) -> set[str]:
        """All names, whatever scope they belong to."""
        return {item.name for scope in self.scopes for item in scope.found}

    def between(self, start: int, end: int) -> Iterator[Occurrence]:
        """The places between two characters where names of the module stand."""
        own = (items for (owner, _), items in self._by_owner.items() if owner is self.module)
        return (item for items in own for item in items if start <= item.start < end)

    def names(self, scope: Scope | None = None) -> list[str]:
        """The names that belong to a scope, in order of appearance."""
        wanted = scope or self.module
        return [name for owner, name in self._by_owner if owner is wanted]

    # -- walking --------------------------------------------------------------------------------------------------

    def _visit(self, node: ast.AST, scope: Scope) -> None:
        if isinstance(node, ast.Name):
            binds = not isinstance(node.ctx, ast.Load)
            self._add(scope, node.id, *self._script.span(node), node, binds)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            for name in node.names:
                scope.declared[name] = "global" if isinstance(node, ast.Global) else "nonlocal"
            self._find_words(scope, node, node.names)
        elif isinstance(node, ast.alias):
            name = bound_name(node)
            start, end = self._script.span(node)
            if node.asname:
                start = end - len(node.asname)
            self._add(scope, name, start, start + len(name), node, binds=True)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            self._find_words(scope, node, [node.name], binds=True, behind=r"\bas\s+")
        elif isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
            start, end = self._script.span(node)
            self._add(scope, node.name, end - len(node.name), end, node, binds=True)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            self._find_words(scope, node, [node.rest], binds=True, behind=r"\*\*\s*")
        if isinstance(node, _SCOPES):
            self._visit_scope(node, scope)
        elif isinstance(node, COMPREHENSIONS):
            self._visit_comprehension(node, scope)
        elif isinstance(node, ast.NamedExpr):
            home = scope
            while isinstance(home.node, COMPREHENSIONS) and home.parent is not None:
                home = home.parent
            self._visit(node.target, home)
            self._visit(node.value, scope)
        else:
            self._visit_children(node, scope)

    def _visit_children(self, node: ast.AST, scope: Scope) -> None:
        for child in ast.iter_child_nodes(node):
            self._visit(child, scope)

    def _visit_scope(self, node: ast.AST, scope: Scope) -> None:
        if not isinstance(node, ast.Lambda):
            assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            self._find_words(scope, node, [node.name], binds=True)
        inner = Scope(node, scope)
        self.scopes.append(inner)
        body = getattr(node, "body", [])
        outside: list[ast.AST] = list(getattr(node, "decorator_list", []))
        if isinstance(node, ast.ClassDef):
            outside += [*node.bases, *node.keywords]
        else:
            arguments: ast.arguments = node.args
            outside += [*arguments.defaults, *(item for item in arguments.kw_defaults if item is not None)]
            returns: ast.expr | None = getattr(node, "returns", None)
            outside += [returns] if returns is not None else []
            for argument in all_arguments(arguments):
                start = self._script.span(argument)[0]
                self._add(inner, argument.arg, start, start + len(argument.arg), argument, binds=True)
                if argument.annotation is not None:
                    outside.append(argument.annotation)
        for part in outside:
            self._visit(part, scope)
        for part in body if isinstance(body, list) else [body]:
            self._visit(part, inner)

    def _visit_comprehension(self, node: ast.AST, scope: Scope) -> None:
        inner = Scope(node, scope)
        self.scopes.append(inner)
        generators: list[ast.comprehension] = node.generators  # type: ignore[attr-defined]
        self._visit(generators[0].iter, scope)
        for number, generator in enumerate(generators):
            self._visit(generator.target, inner)
            if number:
                self._visit(generator.iter, inner)
            for condition in generator.ifs:
                self._visit(condition, inner)
        for name in ("elt", "key", "value"):
            part = getattr(node, name, None)
            if part is not None:
                self._visit(part, inner)

    def _find_words(
        self, scope: Scope, node: ast.AST, words: list[str], *, binds: bool = False, behind: str = r"\b"
    ) -> None:
        """Names that have no node of their own: after `def`, `class`, `as`, `global`."""
        start, end = self._script.span(node)
        for word in words:
            found = re.compile(rf"{behind}({re.escape(word)})\b").search(self._script.text, start, end)
            if found is not None:
                self._add(scope, word, *found.span(1), node, binds)

    def _add(self, scope: Scope, name: str, start: int, end: int, node: ast.AST, binds: bool) -> None:
        if binds:
            scope.bound.add(name)
        placed = self._script.text[start:end] == name
        scope.found.append(Occurrence(name, start, end, node, binds, placed))


def tells_its_base(script: Script, node: ast.ClassDef, depth: int = 0) -> bool:
    """Whether making this class may act on something else: a metaclass, `__init_subclass__`, or a base that is not known; or
    its base is asked for its subclasses.

    Then it may matter though nothing names it: a registry does.
    """
    if node.keywords or depth > 10:
        return True
    known = {item.name: item for item in script.tree.body if isinstance(item, ast.ClassDef)}
    for base in node.bases:
        if not isinstance(base, ast.Name) or base.id not in known:
            if not re.match(
                r"(?:torch|nn|Module|object|dict|list|tuple|str|int|float|\w*(?:Error|Exception|Enum))\b",
                script.source(base),
            ):
                return True
            continue
        above = known[base.id]
        if above is node or tells_its_base(script, above, depth + 1):
            return True
        if any(isinstance(item, ast.FunctionDef) and item.name == "__init_subclass__" for item in above.body):
            return True
        if f"{base.id}.__subclasses__(" in script.text:
            return True
    return False


def atom(text: str) -> str:
    """An expression's text, in brackets where something may stand on either side of it."""
    try:
        node = parse_expression(text.strip())
    except SyntaxError:
        return text
    plain = isinstance(node, ast.Name | ast.Constant | ast.Call | ast.Attribute | ast.Subscript | ast.List)
    return text if plain else f"({text})"


def text_for(script: Script, node: ast.AST, text: str) -> str:
    """An expression's text where another stood."""
    above = script.parents[node]
    called = isinstance(above, ast.Call) and above.func is node
    bare = isinstance(above, ast.Call | ast.Return | ast.Expr | ast.Assign | ast.keyword) and not called
    return text if bare else atom(text)
