"""What is given for a parameter, in its place in the function's body."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.reduce.text.code.edits import without_argument
from triage.reduce.text.code.names import Occurrences, text_for
from triage.reduce.text.code.nodes import all_arguments, calls, defaults_of
from triage.reduce.text.code.script import Edit, Function, Script
from triage.reduce.text.passes.choice import Choice, one
from triage.reduce.text.passes.definitions import without_registered


def propose(script: Script) -> Iterator[Choice]:
    seen = Occurrences(script)
    for statement, _ in script.statements():
        if isinstance(statement, ast.FunctionDef):
            yield from _argument_for_parameter(script, seen, statement)
            yield from _default_for_parameter(script, seen, statement)


def _argument_for_parameter(script: Script, seen: Occurrences, node: Function) -> Iterator[Choice]:
    """What the only call passes, in place of the parameter: a literal (which leaves it unused), or what is used once.

    Of several calls a literal that each of them passes.
    """
    owner = script.parents[node]
    name, positional = node.name, [*node.args.posonlyargs, *node.args.args]
    if isinstance(owner, ast.ClassDef):
        name, positional = (owner.name if name == "__init__" else ""), positional[1:]
    found = [call for call in script.calls if calls(call, name)]
    if not found or any(isinstance(item, ast.Starred) for call in found for item in call.args):
        return
    call, inner = found[0], seen.scope_at(node)
    named = {argument.arg: argument for argument in all_arguments(node.args)}

    def told(call: ast.Call) -> list[tuple[ast.arg, ast.expr, ast.AST]]:
        by_place = [(*pair, pair[1]) for pair in zip(positional, call.args, strict=False)]
        return by_place + [(named[item.arg], item.value, item) for item in call.keywords if item.arg in named]

    elsewhere = [{argument: script.source(given) for argument, given, _ in told(other)} for other in found[1:]]
    called = len(seen.reads(name))
    for argument, given, item in told(call):
        uses = seen.reads(argument.arg, inner)
        value = script.source(given)
        if not uses or not all(place.placed for place in uses):
            continue
        filled = [Edit(place.start, place.end, text_for(script, place.node, value)) for place in uses]
        plain = isinstance(given, ast.Constant)
        if any(other.get(argument) != value for other in elsewhere):
            continue
        if called == 1 and "\n" not in value and (plain or len(uses) == 1):
            gone = (without_argument(script, call, item), *without_registered(script, node, argument))
            yield one(*filled, *gone)
        if plain:
            yield one(*filled)


def _default_for_parameter(script: Script, seen: Occurrences, node: Function) -> Iterator[Choice]:
    """A default that is a literal in place of the parameter, which goes or then is unused: perhaps no call gives another.

    Together, as the default may be longer than the name.
    """
    inner = seen.scope_at(node)
    for argument, default in defaults_of(node.args):
        places = seen.of(argument.arg, inner)
        uses = [place for place in places if not place.binds and place.placed]
        if isinstance(default, ast.Constant) and uses and len(places) == len(uses) + 1:
            filled = tuple(Edit(place.start, place.end, script.source(default)) for place in uses)
            yield Choice(((*filled, *without_registered(script, node, argument)), filled))
