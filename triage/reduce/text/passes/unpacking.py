"""A name less that a value is unpacked into and that nothing reads: `a, b, c, d = self.body(x)`, with the number of the values.

How many values there are is told elsewhere (`nn.Linear(6, 4)`, `chunk(4)`), so neither may be changed alone. Nor may a function
that returns a tuple of one (`return y,`) and what takes that out of it (`f(x)[0]`). Nor may what a loop takes pairs apart for
(`for i, x in enumerate(xs)`) and its target.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from triage.reduce.text.code.names import Occurrences
from triage.reduce.text.code.nodes import own_nodes
from triage.reduce.text.code.script import Edit, Function, Script
from triage.reduce.text.passes.choice import Choice, one


def propose(script: Script) -> Iterator[Choice]:
    yield from _fewer_names(script)
    yield from _plain_loops(script)
    yield from _only_results(script)


def _only_results(script: Script) -> Iterator[Choice]:
    """`return y` and `f(x)` for `return y,` and `f(x)[0]`: by whatever name the function is called."""
    firsts = [node for node in script.nodes if _is_first_of_call(node) and not script.in_fstring(node)]
    for function in script.nodes:
        if not isinstance(function, Function):
            continue
        given = [node.value for node in own_nodes(function) if isinstance(node, ast.Return)]
        tuples = [value for value in given if isinstance(value, ast.Tuple) and len(value.elts) == 1]
        if not tuples or len(tuples) < len(given):
            continue
        less = [Edit(*script.span(value), script.source(value.elts[0])) for value in tuples]
        within = {node for value in tuples for node in ast.walk(value)}
        taken = [node for node in firsts if node not in within]
        if taken:
            yield one(*less, *(Edit(script.span(node.value)[1], script.span(node)[1]) for node in taken))


def _is_first_of_call(node: ast.AST) -> TypeGuard[ast.Subscript]:
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Call):
        return False
    return isinstance(node.slice, ast.Constant) and node.slice.value == 0 and type(node.slice.value) is int


def _fewer_names(script: Script) -> Iterator[Choice]:
    names = Occurrences(script)
    numbers = [
        node
        for node in script.nodes
        if isinstance(node, ast.Constant) and type(node.value) is int and not script.in_fstring(node)
    ]
    for statement, _ in script.statements():
        target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
        if not isinstance(target, ast.Tuple) or isinstance(statement.value, ast.Tuple):  # type: ignore[attr-defined]
            continue
        kept = [item for item in target.elts if not isinstance(item, ast.Name) or _is_read(names, item)]
        count = len(target.elts)
        if len(kept) in (0, count) or any(isinstance(item, ast.Starred) for item in target.elts):
            continue
        told = ", ".join(script.source(item) for item in kept) + ("," if len(kept) == 1 else "")
        less = Edit(*script.span(target), f"({told})" if len(kept) == 1 else told)
        same = [Edit(*script.span(node), str(len(kept))) for node in numbers if node.value == count]
        every = [(less, *same)] if len(same) > 1 else []
        if same:
            yield Choice((*every, *((less, edit) for edit in same)))


def _plain_loops(script: Script) -> Iterator[Choice]:
    """`for x in xs` for a loop over pairs that reads one of each: of `enumerate(xs)`, `zip(xs, ys)`, `xs.items()`."""
    names = Occurrences(script)
    for loop in script.nodes:
        if not isinstance(loop, ast.For | ast.comprehension) or not isinstance(loop.target, ast.Tuple):
            continue
        target = loop.target.elts
        given = _one_by_one(script, loop.iter)
        if len(target) != 2 or len(given) != 2 or script.in_fstring(loop.target):
            continue
        unread = [isinstance(item, ast.Name) and not _is_read(names, item) for item in target]
        if any(unread):
            kept = unread.index(False) if False in unread else 1
            if text := given[kept]:
                yield one(
                    Edit(*script.span(loop.target), script.source(target[kept])), Edit(*script.span(loop.iter), text)
                )


def _one_by_one(script: Script, pairs: ast.expr) -> tuple[str, ...]:
    """What gives the first ones of these pairs, and what gives the second; empty where that is not written shorter."""
    if not isinstance(pairs, ast.Call) or pairs.keywords:
        return ()
    given = [script.source(each) for each in pairs.args]
    called = ast.unparse(pairs.func)
    if called == "enumerate" and len(given) == 1:
        return "", given[0]
    if called == "zip" and len(given) == 2:
        return given[0], given[1]
    if isinstance(pairs.func, ast.Attribute) and pairs.func.attr == "items" and not given:
        table = script.source(pairs.func.value)
        return table, f"{table}.values()"
    return ()


def _is_read(names: Occurrences, item: ast.Name) -> bool:
    scope = names.owners.get(item)
    return scope is None or bool(names.reads(item.id, scope))
