"""Functions and global names in place of a class with one instance."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from triage.reduce.text.code.names import KNOWN, Occurrences
from triage.reduce.text.code.nodes import all_arguments, defaults_of
from triage.reduce.text.code.own_names import MODULE
from triage.reduce.text.code.script import Edit, Script, reindent
from triage.reduce.text.passes.choice import Choice, one

_PLAIN_BASES = ("object", *MODULE)
_CALLED = ("forward", "__call__")


def propose(script: Script) -> Iterator[Choice]:
    """`class M` with one `M()` as the functions it holds; `self.lin` as `lin`."""
    seen = Occurrences(script)
    taken = seen.everywhere() | KNOWN
    for node in script.tree.body:
        if not isinstance(node, ast.ClassDef) or node.decorator_list or node.keywords:
            continue
        if all(script.source(base) in _PLAIN_BASES for base in node.bases):
            edits = _Flat(script, seen, node, taken).edits()
            if edits:
                yield one(*edits)


class _Flat:
    """One class, and what stands in its place."""

    def __init__(self, script: Script, seen: Occurrences, node: ast.ClassDef, taken: set[str]) -> None:
        self._script, self._seen, self._node, self._taken = script, seen, node, taken
        self._methods = [item for item in node.body if isinstance(item, ast.FunctionDef)]
        self._called = next((item.name for item in self._methods if item.name in _CALLED), None)
        self._names: dict[str, str] = {}
        self._given: dict[str, str] = {}  # parameters of __init__, and what the call gives for them

    def edits(self) -> list[Edit]:
        """Nothing where the class is more than functions and values, or its instance is used as an object."""
        made = self._only_instance()
        if made is None or not self._is_given(made) or not self._is_flat():
            return []
        selves = [self._edits_of_method(method) for method in self._methods]
        uses = self._edits_of_uses(made)
        if uses is None or any(edits is None for edits in selves):
            return []
        start, end = self._script.lines_span(self._node)
        inner = [edit for edits in (*selves, uses) if edits is not None for edit in edits if start <= edit.start < end]
        uses = [edit for edit in uses if edit not in inner]
        statement = self._script.statement_of(made)
        place = self._script.lines_span(statement)[0]
        body = "".join(self._text(item, inner) for item in self._node.body if getattr(item, "name", "") != "__init__")
        setup = "".join(f"{name} = {value}\n" for name, value in self._given.items() if name != value)
        setup += "".join(self._text(item, inner) for method in self._constructor for item in method.body)
        if isinstance(statement, ast.Assign) and statement.value is made:
            whole = Edit(*self._script.lines_span(statement), setup)
            return [Edit(start, end, body), whole, *uses]
        return [Edit(start, end, body), Edit(place, place, setup), *uses]

    def _only_instance(self) -> ast.Call | None:
        """The only use of the class's name: a call in a statement of the module; anywhere, where its instances keep nothing."""
        uses = [place.node for place in self._seen.reads(self._node.name)]
        call = self._script.parents.get(uses[0]) if len(uses) == 1 else None
        if not isinstance(call, ast.Call) or call.func is not uses[0]:
            return None
        statement = self._script.statement_of(call)
        if self._script.parents[statement] is self._script.tree:
            return call
        named = isinstance(statement, ast.Assign) and statement.value is call
        return None if self._constructor or named else call

    @property
    def _constructor(self) -> list[ast.FunctionDef]:
        return [method for method in self._methods if method.name == "__init__"]

    def _is_given(self, made: ast.Call) -> bool:
        """What the call gives can stand above the body, by the names of the parameters, which nothing else has."""
        if not made.args and not made.keywords:
            return True
        if len(self._constructor) != 1 or any(isinstance(item, ast.Starred) for item in made.args):
            return False
        arguments = self._constructor[0].args
        positional = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)][1:]
        names = {*positional, *(argument.arg for argument in arguments.kwonlyargs)}
        pairs = [*zip(positional, made.args, strict=False), *((item.arg, item.value) for item in made.keywords)]
        for name, value in pairs:
            text = self._script.source(value)
            if name not in names or name in KNOWN or (name != text and self._seen.of(name)):
                return False
            self._given[name] = f"({text})" if "\n" in text else text
        return len(made.args) <= len(positional)

    @cached_property
    def _kept(self) -> dict[ast.stmt, str]:
        """Statements `self.width = width` of `__init__`, each with the parameter that the attribute is."""
        pairs = ((item, self._keeps(method, item)) for method in self._constructor for item in method.body)
        return {item: name for item, name in pairs if name is not None}

    def _keeps(self, method: ast.FunctionDef, item: ast.stmt) -> str | None:
        """The parameter of a `self.width = width`: the attribute is the parameter, if nothing else binds either."""
        if not isinstance(item, ast.Assign) or len(item.targets) > 1 or not isinstance(item.value, ast.Name):
            return None
        target, name = item.targets[0], item.value.id
        if name not in self._given or not isinstance(target, ast.Attribute) or target.attr != name:
            return None
        stored = [
            node
            for node in ast.walk(self._node)
            if isinstance(node, ast.Attribute) and node.attr == name and not isinstance(node.ctx, ast.Load)
        ]
        bound = [place for place in self._seen.of(name, self._seen.scope_at(method)) if place.binds]
        return name if self._is_self(method, target.value) and len(stored) == len(bound) == 1 else None

    def _is_flat(self) -> bool:
        """Its attributes get names that nothing has yet, and only `__init__` sets them."""
        for item in self._node.body:
            if isinstance(item, ast.FunctionDef):
                special = item.name.startswith("__") and item.name not in ("__init__", "__call__")
                named = any(isinstance(mark, ast.Name) for mark in item.decorator_list)  # property, staticmethod
                if special or named or not item.args.args:
                    return False
                settled = self._left_alone(item) | self._given.keys()
                if item.name == "__init__" and len(settled) < len(all_arguments(item.args)) - 1:
                    return False
            elif not isinstance(item, ast.Assign) or not isinstance(item.targets[0], ast.Name):
                return False
        attributes = {item.name for item in self._methods} - {"__init__"}
        attributes |= {
            t.id for s in self._node.body if isinstance(s, ast.Assign) for t in s.targets if isinstance(t, ast.Name)
        }
        for method in self._methods:
            for node in ast.walk(method):
                own = isinstance(node, ast.Attribute) and self._is_self(method, node.value)
                if isinstance(node, ast.Attribute) and own and isinstance(node.ctx, ast.Store):
                    if method.name != "__init__":
                        return False
                    attributes.add(node.attr)
        for name in attributes:
            if name in self._kept.values():
                self._names[name] = name
                continue
            free = self._free_name(name)
            if free is None:
                return False
            self._names[name] = free
        return True

    def _free_name(self, name: str) -> str | None:
        """What an attribute is called at the top of the script; with the name of the class where another has its own already."""
        if name in _CALLED and "f" not in self._taken:
            return "f"
        if not (name.startswith("__") or name in KNOWN or self._seen.of(name)):
            return name
        owner = self._node.name.strip("_").lower()
        longer = owner if name in _CALLED else f"{owner}_{name.strip('_')}"
        return longer if longer.isidentifier() and longer not in self._taken else None

    def _left_alone(self, method: ast.FunctionDef) -> set[str]:
        """Parameters that have a default and are not read, as those are of which the default stands in the body already."""
        scope = self._seen.scope_at(method)
        return {each.arg for each, _ in defaults_of(method.args) if not self._seen.reads(each.arg, scope)}

    def _is_self(self, method: ast.FunctionDef, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id == method.args.args[0].arg

    def _edits_of_method(self, method: ast.FunctionDef) -> list[Edit] | None:
        """`self.a` as `a`, `self` as the function that it is; None where it is an object, or calls what the class inherits."""
        script = self._script
        first = method.args.args[0]
        scope = self._seen.scope_at(method)
        edits = [Edit(script.span(first)[0], self._after_parameter(first))]
        name = script.text.index(method.name, script.span(method)[0] + len("def"))
        edits.append(Edit(name, name + len(method.name), self._names.get(method.name, method.name)))
        gone = [item for item in method.body if _calls_super(item) or item in self._kept]
        for place in self._seen.of(first.arg, scope):
            above = script.parents.get(place.node)
            if place.binds or script.statement_of(place.node) in gone:
                continue
            if isinstance(above, ast.Attribute) and above.attr in self._names:
                edits.append(Edit(*script.span(above), self._names[above.attr]))
            elif self._called == "__call__" and not isinstance(above, ast.Attribute) and place.placed:
                edits.append(Edit(*script.span(place.node), self._names[self._called]))  # given away, as a hook is
            else:
                return None
        edits += [Edit(*script.lines_span(item)) for item in gone]
        rest = [item for item in method.body if item not in gone]
        named = [item for part in rest for item in ast.walk(part) if isinstance(item, ast.Name) and item.id == "super"]
        shadowed = {argument.arg for argument in method.args.args} | scope.bound
        if method.name == "__init__":
            shadowed -= self._left_alone(method) | set(self._kept.values())
        return None if named or shadowed & set(self._names.values()) else edits

    def _after_parameter(self, first: ast.arg) -> int:
        script, end = self._script, self._script.span(first)[1]
        following = script.text[end : script.text.index(")", end) + 1]
        rest = following.lstrip()
        return end + len(following) - len(rest[1:].lstrip()) if rest.startswith(",") else end

    def _edits_of_uses(self, made: ast.Call) -> list[Edit] | None:
        """What is done with the instance: its attributes, and it itself where it is a function."""
        script, statement = self._script, self._script.statement_of(made)
        nodes: list[ast.AST] = [made]
        if isinstance(statement, ast.Assign) and statement.value is made:
            target = statement.targets[0]
            if not isinstance(target, ast.Name) or len(statement.targets) > 1:
                return None
            places = self._seen.of(target.id)
            if len([place for place in places if place.binds]) != 1 or not all(place.placed for place in places):
                return None
            nodes = [place.node for place in places if not place.binds]
        edits = []
        for node in nodes:
            above = script.parents[node]
            if isinstance(above, ast.Attribute) and above.value is node:
                if above.attr not in self._names or not isinstance(above.ctx, ast.Load):
                    return None
                edits.append(Edit(*script.span(above), self._names[above.attr]))
            elif self._called is not None:
                edits.append(Edit(*script.span(node), self._names[self._called]))
            else:
                return None
        return edits

    def _text(self, item: ast.stmt, edits: list[Edit]) -> str:
        """The lines of a statement after the edits, at module level."""
        start, end = self._script.lines_span(item)
        own = dict.fromkeys(edit for edit in edits if start <= edit.start < end)
        return reindent(self._script.part(start, end, own), self._script.indent(item), "")


def _calls_super(item: ast.stmt) -> bool:
    return isinstance(item, ast.Expr) and ast.unparse(item).startswith("super().__init__(")
