"""What passes, rules and starts ask of a tree and of edits, each in its one home."""

from __future__ import annotations

import ast

import pytest

from triage.model.syntax import called_name
from triage.reduce.text.code.edits import importing, outermost, without_argument, without_item
from triage.reduce.text.code.nodes import defaults_of, own_nodes, pairs_of
from triage.reduce.text.code.script import Edit, Script


def first(text: str) -> ast.stmt:
    return Script(text).tree.body[0]


def test_defaults_stand_beside_their_parameters():
    function = first("def f(a, /, b=1, *rest, c, d=2, **others): pass\n")
    assert isinstance(function, ast.FunctionDef)
    assert [(argument.arg, ast.unparse(value)) for argument, value in defaults_of(function.args)] == [
        ("b", "1"),
        ("d", "2"),
    ]


@pytest.mark.parametrize(("text", "count"), [("a, b = c, d\n", 2), ("a, *b = c, d\n", 0), ("a, b = c\n", 0)])
def test_pairs_of_an_assignment(text, count):
    statement = first(text)
    assert isinstance(statement, ast.Assign)
    assert len(pairs_of(statement)) == count


def test_what_a_function_holds_is_not_what_the_functions_within_it_hold():
    function = first("def f():\n    a = 1\n    def g():\n        b = 2\n    return lambda: c\n")
    assert {node.id for node in own_nodes(function) if isinstance(node, ast.Name)} == {"a"}


@pytest.mark.parametrize(("text", "name"), [("f(x)", "f"), ("a.b.f(x)", "f"), ("f(x)(y)", ""), ("f", "")])
def test_the_name_that_is_called(text, name):
    assert called_name(ast.parse(text, mode="eval").body) == name


@pytest.mark.parametrize(("index", "left"), [(0, "f(b, c)"), (1, "f(a, c)"), (2, "f(a, b)")])
def test_a_comma_goes_with_what_it_parts(index, left):
    script = Script("f(a, b, c)")
    call = script.calls[0]
    assert script.replaced([without_argument(script, call, call.args[index])]) == left
    assert script.replaced([without_item(list(map(script.span, call.args)), index)]) == left


def test_of_edits_within_each_other_the_outer_ones_stay():
    assert outermost([Edit(4, 6), Edit(1, 9), Edit(9, 12)]) == [Edit(1, 9), Edit(9, 12)]


@pytest.mark.parametrize(("kept", "left"), [(["b"], "from a import b\nx\n"), ([], "x\n")])
def test_an_import_with_fewer_names(kept, left):
    script = Script("from a import b, c\nx\n")
    node = script.tree.body[0]
    assert isinstance(node, ast.ImportFrom)
    names = [alias for alias in node.names if alias.name in kept]
    assert script.replaced([importing(script, node, names)]) == left


def test_part_of_a_text_with_edits_in_it_and_the_statement_around_a_node():
    script = Script("if a:\n    b(c)\nd\n")
    call = script.calls[0]
    start, end = script.span(call)
    assert script.part(start, end, [Edit(*script.span(call.args[0]), "xyz")]) == "b(xyz)"
    assert script.source(script.statement_of(call.args[0])) == "b(c)"
