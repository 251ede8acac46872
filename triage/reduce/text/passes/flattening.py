"""Functions and global names in place of a class with one instance; bodies in place of a generator's `with`, a method's call."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.reduce.text.code.edits import deletion
from triage.reduce.text.code.names import KNOWN, Occurrences
from triage.reduce.text.code.own_names import MODULE
from triage.reduce.text.code.script import Edit, Script, reindent, statements_in
from triage.reduce.text.passes.choice import Choice, one

_PLAIN_BASES = ("object", *MODULE)
_CALLED = ("forward", "__call__")


def propose(script: Script) -> Iterator[Choice]:
    yield from _generators(script)
    yield from _methods(script)
    yield from _classes(script)


def _classes(script: Script) -> Iterator[Choice]:
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

    def edits(self) -> list[Edit]:
        """Nothing where the class is more than functions and values, or its instance is used as an object."""
        made = self._only_instance()
        if made is None or not self._is_flat():
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
        setup = "".join(
            self._text(item, inner) for method in self._methods if method.name == "__init__" for item in method.body
        )
        if isinstance(statement, ast.Assign) and statement.value is made:
            whole = Edit(*self._script.lines_span(statement), setup)
            return [Edit(start, end, body), whole, *uses]
        return [Edit(start, end, body), Edit(place, place, setup), *uses]

    def _only_instance(self) -> ast.Call | None:
        """The only use of the class's name: a call without arguments in a statement of the module."""
        uses = [place.node for place in self._seen.reads(self._node.name)]
        call = self._script.parents.get(uses[0]) if len(uses) == 1 else None
        if not isinstance(call, ast.Call) or call.func is not uses[0] or call.args or call.keywords:
            return None
        return call if self._script.parents[self._script.statement_of(call)] is self._script.tree else None

    def _is_flat(self) -> bool:
        """Its attributes get names that nothing has yet, and only `__init__` sets them."""
        for item in self._node.body:
            if isinstance(item, ast.FunctionDef):
                special = item.name.startswith("__") and item.name not in ("__init__", "__call__")
                named = any(isinstance(mark, ast.Name) for mark in item.decorator_list)  # property, staticmethod
                if special or named or not item.args.args or (item.name == "__init__" and len(item.args.args) > 1):
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
            short = "f" if name in _CALLED and "f" not in self._taken else name
            if short.startswith("__") or short in KNOWN or self._seen.of(name):
                return False
            self._names[name] = short
        return True

    def _is_self(self, method: ast.FunctionDef, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id == method.args.args[0].arg

    def _edits_of_method(self, method: ast.FunctionDef) -> list[Edit] | None:
        """`self.a` as `a`, no `self`; None where it is used in another way, or calls what the class inherits."""
        script = self._script
        first = method.args.args[0]
        scope = self._seen.scope_at(method)
        edits = [Edit(script.span(first)[0], self._after_parameter(first))]
        name = script.text.index(method.name, script.span(method)[0] + len("def"))
        edits.append(Edit(name, name + len(method.name), self._names.get(method.name, method.name)))
        for place in self._seen.of(first.arg, scope):
            above = script.parents.get(place.node)
            if place.binds:
                continue
            if not isinstance(above, ast.Attribute) or above.attr not in self._names:
                return None
            edits.append(Edit(*script.span(above), self._names[above.attr]))
        edits += [Edit(*script.lines_span(item)) for item in method.body if _calls_super(item)]
        rest = [item for item in method.body if not _calls_super(item)]
        named = [item for part in rest for item in ast.walk(part) if isinstance(item, ast.Name) and item.id == "super"]
        shadowed = {argument.arg for argument in method.args.args} | scope.bound
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


def _methods(script: Script) -> Iterator[Choice]:
    """`x.advance(1)`, a statement and the only use of the method, as what the method does."""
    seen = Occurrences(script)
    for kind in script.tree.body:
        for method in kind.body if isinstance(kind, ast.ClassDef) else ():
            if not isinstance(method, ast.FunctionDef) or method.decorator_list or method.name.startswith("__"):
                continue
            told = [n for n in script.nodes if isinstance(n, ast.Attribute) and n.attr == method.name]
            call = script.parents[told[0]] if len(told) == 1 else None
            statement = script.parents[call] if call is not None else None
            if not isinstance(call, ast.Call) or call.func is not told[0] or not isinstance(statement, ast.Expr):
                continue
            edit = _body_for_call(script, seen, method, call, statement)
            if edit is not None:
                yield one(deletion(script, method), edit)


def _body_for_call(
    script: Script, seen: Occurrences, method: ast.FunctionDef, call: ast.Call, statement: ast.Expr
) -> Edit | None:
    """None where the method is more than a list of statements on what it is given."""
    assert isinstance(call.func, ast.Attribute)
    parameters = [argument.arg for argument in method.args.args]
    ends = any(isinstance(item, ast.Return | ast.Yield | ast.YieldFrom) for item in ast.walk(method))
    plain = not call.keywords and len(parameters) == len(call.args) + 1 and not method.args.vararg
    if ends or not plain or not isinstance(call.func.value, ast.Name):
        return None
    scope = seen.scope_at(method)
    selves = seen.reads(parameters[0], scope)
    if not all(place.placed for place in selves):
        return None
    indent = script.indent(statement)
    given = [
        f"{indent}{name} = {script.source(value)}\n" for name, value in zip(parameters[1:], call.args, strict=True)
    ]
    start, end = script.lines_span(method.body[0])[0], script.lines_span(method.body[-1])[1]
    edits = [Edit(place.start, place.end, call.func.value.id) for place in selves]
    body = reindent(script.part(start, end, edits), script.indent(method.body[0]), indent)
    return Edit(*script.lines_span(statement), "".join(given) + body)


def _generators(script: Script) -> Iterator[Choice]:
    """What `@contextmanager def g()` does around its `yield`, in place of `with g():`."""
    seen = Occurrences(script)
    for statement, _ in script.statements():
        if not isinstance(statement, ast.With) or len(statement.items) != 1:
            continue
        call = statement.items[0].context_expr
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args or call.keywords:
            continue
        made = next((n for n in script.tree.body if isinstance(n, ast.FunctionDef) and n.name == call.func.id), None)
        if made is None or made.args.args or len(made.decorator_list) != 1:
            continue
        yielding = [
            item for item, _ in statements_in(made) if isinstance(item, ast.Expr) and isinstance(item.value, ast.Yield)
        ]
        places = [item for item in ast.walk(made) if isinstance(item, ast.Yield | ast.YieldFrom | ast.Return)]
        if len(yielding) != 1 or len(places) != 1:
            continue
        indent = script.indent(statement)
        edits = [Edit(*script.lines_span(statement), _around(script, made, statement, yielding[0], indent))]
        if len(seen.reads(made.name)) == 1:
            edits.append(Edit(*script.lines_span(made)))
        yield one(*edits)


def _around(script: Script, made: ast.FunctionDef, user: ast.With, yielding: ast.Expr, indent: str) -> str:
    inner = script.indent(yielding)
    body = script.body_text(user.body, inner)
    named, value = user.items[0].optional_vars, yielding.value
    if named is not None and isinstance(value, ast.Yield):
        told = script.source(value.value) if value.value is not None else "None"
        body = f"{inner}{script.source(named)} = {told}\n{body}"
    start, end = script.lines_span(made.body[0])[0], script.lines_span(made.body[-1])[1]
    place = script.lines_span(yielding)
    text = script.text[start : place[0]] + body + script.text[place[1] : end]
    return reindent(text, script.indent(made.body[0]), indent)
