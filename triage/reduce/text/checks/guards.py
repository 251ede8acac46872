"""Whether anything decides that a `raise`, an `assert` or a loop of the program's own is reached.

A statement that fails by itself is no reproducer: it fails whatever the compiler does. So where such a statement failed in
the program (`reached`), it must still be under a real condition in a candidate: the test of an `if`, `while` or assertion, a
filter of what is looped over, a `case`, an exception that is caught, a `return` or `continue` before it; there or in one of
the program's functions that called it. Real is a condition on something that the function was given (in a module: that was
computed), and not merely on its being there: `if node.op == "call_function"`, but neither `if True` nor `if node`.

Pure: which statement raised is known from the traceback, the rest is read off the text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from triage.reduce.text.code.names import COMPREHENSIONS
from triage.reduce.text.code.nodes import FUNCTIONS, all_arguments, own_nodes, within
from triage.reduce.text.code.script import Block, Function, Script, blocks_of

Place = tuple[Script, int]  # a text, and a line of it
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def guarded(places: Sequence[Place], words: frozenset[str] | None = None) -> bool:
    """Whether a real condition decides over one of these lines, each of which called the next.

    Of what is only asked for being true (`if x.is_cuda`, `if ready(x)`) `words` are accepted, None accepts all.
    """
    return any(_Reading(script, words).is_guarded(statement_at(script, line)) for script, line in places)


def words_of(scripts: Sequence[Script]) -> frozenset[str]:
    """What a program asks for being true, or returns: names of attributes and functions."""
    tests = (test for script in scripts for node in script.nodes for test in _tests_in(node))
    return frozenset(_word(leaf) for test in tests for leaf in _leaves(test))


def statement_at(script: Script, line: int) -> ast.stmt | None:
    """The innermost statement on a line."""
    found = [
        statement for statement, _ in script.statements() if statement.lineno <= line <= (statement.end_lineno or 0)
    ]
    return max(found, key=lambda statement: (statement.lineno, -(statement.end_lineno or 0)), default=None)


@dataclass(frozen=True)
class _Test:
    """What decides: an expression by its truth (`plain`), or anything that is matched, tried or looped over."""

    node: ast.AST
    plain: bool = True


class _Reading:
    """One look at a text. Names are resolved by their spelling, from the inside out, which is all that is needed here."""

    def __init__(self, script: Script, words: frozenset[str] | None) -> None:
        self._script, self._words = script, words
        self._entered: set[ast.AST] = set()  # what is being asked about: a name may depend on itself

    def is_guarded(self, statement: ast.AST | None) -> bool:
        return statement is not None and any(map(self._is_real, _tests_of(self._script, statement)))

    def _is_real(self, test: _Test) -> bool:
        return self._decides(test.node) if test.plain else self._varies(test.node)

    def _decides(self, node: ast.AST) -> bool:
        """Whether the truth of an expression depends on what the function was given."""
        if node in self._entered:
            return False
        self._entered.add(node)
        try:
            return self._truth(node)
        finally:
            self._entered.discard(node)

    def _truth(self, node: ast.AST) -> bool:
        if isinstance(node, ast.BoolOp):
            together = all if isinstance(node.op, ast.Or) else any  # `or` is as certain as its surest part
            return together(map(self._decides, node.values))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self._decides(node.operand)
        if isinstance(node, ast.Compare):
            sides = [ast.unparse(side) for side in (node.left, *node.comparators)]
            return len(set(sides)) > 1 and self._varies(node)
        if isinstance(node, ast.NamedExpr | ast.Starred):
            return self._decides(node.value)
        if isinstance(node, ast.BinOp):
            return self._varies(node)
        if isinstance(node, ast.IfExp):
            return any(map(self._decides, (node.test, node.body, node.orelse)))
        if isinstance(node, COMPREHENSIONS):
            return self._filters(node)
        if isinstance(node, ast.Name):
            return self._name_decides(node)
        if isinstance(node, ast.Call):
            return self._call_decides(node)
        return self._is_accepted(node)

    def _filters(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> bool:
        kept = [test for loop in node.generators for test in loop.ifs]
        return any(map(self._decides, [*kept, *([node.elt] if not isinstance(node, ast.DictComp) else [])]))

    def _name_decides(self, node: ast.Name) -> bool:
        bound = list(_bindings(self._script, node))
        made = any(self.is_guarded(found) or (value is not None and self._decides(value)) for found, value in bound)
        return made or (self._is_accepted(node) and not any(value is not None for _, value in bound))

    def _call_decides(self, node: ast.Call) -> bool:
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        if any(map(self._decides, [item for item in given if not isinstance(item, ast.Name | ast.Attribute)])):
            return True
        own = [item for item in self._script.nodes if isinstance(item, ast.FunctionDef) and item.name == _word(node)]
        if not own or own[0] in self._entered:
            return not own and self._is_accepted(node)
        return self._varies(node) and self._answers(own[0])

    def _answers(self, function: ast.FunctionDef) -> bool:
        """Whether what a function of the program's returns depends on what it was given."""
        self._entered.add(function)
        returned = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
        found = any(
            self.is_guarded(node) or (node.value is not None and self._decides(node.value)) for node in returned
        )
        self._entered.discard(function)
        return found

    def _is_accepted(self, node: ast.AST) -> bool:
        return self._varies(node) and (self._words is None or _word(node) in self._words)

    def _varies(self, node: ast.AST) -> bool:
        """Whether anything in it depends on what the function was given; in a module, on what was computed."""
        if not _functions_around(self._script, node) and any(isinstance(item, ast.Call) for item in ast.walk(node)):
            return True
        names = [item for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)]
        return any(map(self._name_varies, names))

    def _name_varies(self, name: ast.Name) -> bool:
        if any(_takes(function, name.id) for function in _functions_around(self._script, name)):
            return True
        for statement, value in _bindings(self._script, name):
            if statement in self._entered:
                continue
            self._entered.add(statement)
            varies = isinstance(statement, ast.AugAssign) or (value is not None and self._varies(value))
            varies = varies or self.is_guarded(statement)
            self._entered.discard(statement)
            if varies:
                return True
        return False


# -- what stands around a statement -----------------------------------------------------------------------------------


def _tests_of(script: Script, statement: ast.AST) -> Iterator[_Test]:
    """Everything in its function that decides whether a statement is reached, and an assertion's own test."""
    if isinstance(statement, ast.Assert):
        yield _Test(statement.test)
    elif not list(blocks_of(statement)):
        yield from (_Test(test) for node in ast.walk(statement) for test in _inner_tests(node))
    for node, above in _upwards(script, statement):
        yield from _tests_at(script, node, above)
        for block in blocks_of(above):
            if isinstance(node, ast.stmt) and node in block:
                yield from _exits(script, block[: block.index(node)])


def _upwards(script: Script, node: ast.AST, end: ast.AST | None = None) -> Iterator[tuple[ast.AST, ast.AST]]:
    """(node, what holds it), from here up to the body of its function, or of `end`."""
    while not isinstance(node, FUNCTIONS):
        above = script.parents.get(node)
        if above is None or above is end:
            return
        yield node, above
        node = above


def _tests_at(script: Script, node: ast.AST, above: ast.AST) -> Iterator[_Test]:
    if isinstance(above, ast.If | ast.While) and node is not above.test:
        yield _Test(above.test)
    elif isinstance(above, ast.For | ast.AsyncFor) and node in above.body:
        yield from (_Test(test) for item in ast.walk(above.iter) for test in _inner_tests(item))
        if isinstance(above.iter, ast.Name):
            yield _Test(above.iter)
    elif isinstance(above, ast.Match) and isinstance(node, ast.match_case):
        if node.guard is not None:
            yield _Test(node.guard)
        if not (isinstance(node.pattern, ast.MatchAs) and node.pattern.pattern is None):
            yield _Test(above.subject, plain=False)
    elif isinstance(above, ast.Try) and isinstance(node, ast.ExceptHandler):
        yield from (_Test(tried, plain=False) for tried in above.body)
    if isinstance(above, _LOOPS) and node in above.orelse:
        yield from _exits(script, above.body, (ast.Break,))


def _exits(
    script: Script, before: Block, kinds: tuple[type[ast.stmt], ...] = (ast.Return, ast.Continue, ast.Break)
) -> Iterator[_Test]:
    """The tests that decide whether what follows these statements is left before it is reached."""
    for statement in before:
        for node in within(statement):
            if isinstance(node, kinds) and (isinstance(node, ast.Return) or not _in_loop(script, node, statement)):
                for inner, above in _upwards(script, node, script.parents[statement]):
                    yield from _tests_at(script, inner, above)
                    if isinstance(above, ast.Try) and inner in above.body:
                        yield _Test(inner, plain=False)  # what raises before it leaves


def _in_loop(script: Script, node: ast.AST, end: ast.AST) -> bool:
    """Whether a `break` or `continue` belongs to a loop within `end`, so that what follows is reached all the same."""
    while node is not end:
        node = script.parents[node]
        if isinstance(node, _LOOPS):
            return True
    return False


def _inner_tests(node: ast.AST) -> Iterator[ast.expr]:
    """What decides within an expression."""
    if isinstance(node, ast.IfExp):
        yield node.test
    elif isinstance(node, ast.BoolOp):
        yield from node.values
    elif isinstance(node, ast.comprehension):
        yield from node.ifs


def _tests_in(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.If | ast.While | ast.Assert):
        yield node.test
    elif isinstance(node, ast.Return | ast.Assign) and node.value is not None:
        yield node.value
    yield from _inner_tests(node)


def _leaves(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from _leaves(value)
    elif isinstance(node, ast.UnaryOp):
        yield from _leaves(node.operand)
    elif isinstance(node, ast.NamedExpr):
        yield from _leaves(node.value)
    elif isinstance(node, ast.Call | ast.Attribute | ast.Subscript | ast.Name):
        yield node


def _word(node: ast.AST) -> str:
    """By what a leaf is known again after names were changed: an attribute or function, else its form."""
    if isinstance(node, ast.Call):
        return _word(node.func) if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "()")
    return node.attr if isinstance(node, ast.Attribute) else type(node).__name__


# -- names ------------------------------------------------------------------------------------------------------------


def _functions_around(script: Script, node: ast.AST) -> list[Function | ast.Lambda]:
    return [item for item in script.above(node) if isinstance(item, FUNCTIONS)]


def _takes(scope: ast.AST, name: str) -> bool:
    return isinstance(scope, FUNCTIONS) and any(item.arg == name for item in all_arguments(scope.args))


def _bindings(script: Script, name: ast.Name) -> Iterator[tuple[ast.AST, ast.expr | None]]:
    """(where, value) of what a name is bound to in the innermost function that binds it, else in the module."""
    for scope in (*_functions_around(script, name), script.tree):
        found = [binding for node in own_nodes(scope) for binding in _bound(node, name.id)]
        if found or _takes(scope, name.id):
            yield from found
            return


def _bound(node: ast.AST, name: str) -> Iterator[tuple[ast.AST, ast.expr | None]]:
    targets: list[ast.expr]
    value: ast.expr | None
    if isinstance(node, ast.Assign):
        targets, value = node.targets, node.value
    elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
        targets, value = [node.target], node.value
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        targets, value = [node.target], node.iter
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        targets, value = [node.optional_vars], node.context_expr
    else:
        return
    if any(isinstance(item, ast.Name) and item.id == name for target in targets for item in ast.walk(target)):
        yield node, value
