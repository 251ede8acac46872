"""Plainer definitions: without decorators, base classes, annotations and defaults, and with a parameter less."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from triage.reduce.text.code.edits import (
    deletion,
    outermost,
    without_argument,
    without_bases,
    without_decorator,
)
from triage.reduce.text.code.names import Occurrences
from triage.reduce.text.code.nodes import all_arguments, calls, defaults_of, names_within, super_inits
from triage.reduce.text.code.own_names import MODULE, registered_with
from triage.reduce.text.code.script import Definition, Edit, Function, Script
from triage.reduce.text.passes.choice import Choice, never_stricter, one


@never_stricter
def propose(script: Script) -> Iterator[Choice]:
    yield from _annotations(script)
    for node in script.nodes:
        if isinstance(node, Definition):
            for decorator in node.decorator_list:
                if script.source(decorator) in ("staticmethod", "classmethod"):
                    continue  # often not needed, but people look for it
                yield one(without_decorator(script, decorator))
                if isinstance(decorator, ast.Call):
                    yield one(Edit(*script.span(decorator), script.source(decorator.func)))
        if isinstance(node, ast.ClassDef):
            yield from _bases(script, node)
            yield from _fields(script, node)
        if isinstance(node, Function):
            yield from _defaults(script, node)
            yield from _parameters(script, node, all_arguments(node.args))
            yield from _returned(script, node)


def unread_parameters(script: Script) -> Iterator[Choice]:
    """Those that a function never reads, where calls of it are seen."""
    seen = Occurrences(script)
    for node in script.nodes:
        if isinstance(node, Function):
            inner = seen.scope_at(node)
            unread = [item for item in all_arguments(node.args) if not seen.reads(item.arg, inner)]
            if unread and any(_calls(script, node, isinstance(script.parents[node], ast.ClassDef))):
                yield from _parameters(script, node, unread)


def _annotations(script: Script) -> Iterator[Choice]:
    for node in script.nodes:
        if isinstance(node, ast.arg) and node.annotation is not None:
            yield one(Edit(script.span(node)[0] + len(node.arg), script.span(node.annotation)[1]))
        elif isinstance(node, Function) and node.returns is not None:
            arrow = script.text.rindex("->", 0, script.span(node.returns)[0])
            yield one(Edit(len(script.text[:arrow].rstrip()), script.span(node.returns)[1]))
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield one(Edit(script.span(node.target)[1], script.span(node.annotation)[1]))


def _bases(script: Script, node: ast.ClassDef) -> Iterator[Choice]:
    items: list[ast.AST] = [*node.bases, *node.keywords]
    for item in items:
        if len(items) == 1:
            gone = (without_bases(script, item),)
            plain = (Edit(*script.span(item), "torch.nn.Module"),)
            told = script.source(item) in MODULE
            yield Choice((gone,) if told or isinstance(item, ast.keyword) else (gone, plain))
        else:
            yield one(without_argument(script, node, item))


def _defaults(script: Script, node: Function) -> Iterator[Choice]:
    pairs, positional = defaults_of(node.args), len(node.args.defaults)
    for argument, value in pairs[: min(positional, 1)] + pairs[positional:]:
        yield one(Edit(script.span(argument)[1], script.span(value)[1]))


def _parameters(script: Script, node: Function, gone: Iterable[ast.arg]) -> Iterator[Choice]:
    """One of these parameters less, in the definition and in all calls that look like calls of it.

    One of a custom operator goes from all that is registered for it, or what is left of them would not belong together.
    """
    if node is not registered_with(script, node)[0]:
        return
    positional = [*node.args.posonlyargs, *node.args.args]
    method = isinstance(script.parents[node], ast.ClassDef) and bool(positional)
    for argument in gone:
        if method and argument is positional[0]:
            continue
        index = positional.index(argument) - method if argument in positional else None
        given = [_without_given(script, call, argument.arg, index) for call in _calls(script, node, method)]
        yield one(*without_registered(script, node, argument), *outermost(filter(None, given)))


def _fields(script: Script, node: ast.ClassDef) -> Iterator[Choice]:
    """A field less in a dataclass, and in all calls that make one."""
    if not any("dataclass" in script.source(mark) for mark in node.decorator_list):
        return
    made = [call for call in script.calls if calls(call, node.name)]
    fields = [item for item in node.body if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)]
    for index, field in enumerate(fields):
        gone = [_without_given(script, call, ast.unparse(field.target), index) for call in made]
        yield one(deletion(script, field), *outermost(filter(None, gone)))


def _without_given(script: Script, call: ast.Call, name: str, index: int | None) -> Edit | None:
    """The edit that takes away what a call gives for a parameter; None where it gives nothing, or one cannot tell."""
    named = [item for item in call.keywords if item.arg == name]
    starred = any(isinstance(item, ast.Starred) for item in call.args)
    if named:
        return without_argument(script, call, named[0])
    if index is not None and index < len(call.args) and not starred:
        return without_argument(script, call, call.args[index])
    return None


def _returned(script: Script, node: Function) -> Iterator[Choice]:
    """`return a, b` and `c, d = f()` with an element less."""
    given = [item.value for item in ast.walk(node) if isinstance(item, ast.Return)]
    taken: list[ast.AST] = []
    for call in _calls(script, node, isinstance(script.parents[node], ast.ClassDef)):
        above = script.parents[call]
        if not isinstance(above, ast.Assign) or len(above.targets) > 1:
            return
        taken.append(above.targets[0])
    tuples = [item for item in [*given, *taken] if isinstance(item, ast.Tuple)]
    sizes = {len(item.elts) for item in tuples}
    if not given or not taken or len(tuples) < len(given) + len(taken) or len(sizes) > 1 or min(sizes) < 2:
        return
    for index in range(min(sizes)):
        edits = []
        for item in tuples:
            kept = [script.source(element) for element in item.elts if element is not item.elts[index]]
            edits.append(Edit(*script.span(item), ", ".join(kept)))
        yield one(*edits)


def without_parameter(script: Script, node: Function, argument: ast.arg) -> Edit:
    """The edit that takes a parameter away, with its annotation and its default."""
    items = all_arguments(node.args)
    index = items.index(argument)
    start, end = script.span(argument)
    defaults = [item for item in [*node.args.defaults, *node.args.kw_defaults] if item is not None]
    following = script.span(items[index + 1])[0] if index + 1 < len(items) else len(script.text)
    end = max([end, *(script.span(item)[1] for item in defaults if end <= script.span(item)[0] < following)])
    start -= 2 if argument is node.args.kwarg else 1 if argument is node.args.vararg else 0
    if [argument] == node.args.kwonlyargs and node.args.vararg is None:
        start = script.text.rindex("*", 0, start)
    elif [argument] == node.args.posonlyargs:
        end = script.text.index("/", end) + 1
    if index:
        return Edit(script.text.rindex(",", 0, start), end)
    if len(items) > 1:
        return Edit(start, script.text.index(",", end) + 2)
    return Edit(start, end)


def without_registered(script: Script, node: Function, argument: ast.arg) -> list[Edit]:
    """Those that take it away from a function, and from all that is registered with it."""
    place = all_arguments(node.args).index(argument)
    together = registered_with(script, node)
    return [without_parameter(script, each, all_arguments(each.args)[place]) for each in together]


def _calls(script: Script, node: Function, method: bool) -> Iterator[ast.Call]:
    """Calls of it by name, of what was made of it (`g = torch.compile(f)`), and of the instances of its class.

    What `super().__init__` is given in the class itself is given to another class.
    """
    names = {node.name}
    owner = script.parents[node]
    if isinstance(owner, ast.ClassDef) and node.name == "__init__":
        names = {owner.name}
    elif isinstance(owner, ast.ClassDef) and node.name in ("forward", "__call__"):
        names = set()
    makers = {owner.name} if isinstance(owner, ast.ClassDef) and node.name != "__init__" else set()
    aliases: set[str] = set()
    for _ in range(3):
        for item in script.nodes:
            if isinstance(item, ast.Assign) and _holds_one(script, item.value, names | aliases, makers):
                aliases |= {target.id for target in item.targets if isinstance(target, ast.Name)}
    heirs = _heirs(script, owner) if isinstance(owner, ast.ClassDef) and node.name == "__init__" else []
    names |= {heir.name for heir in heirs}
    through_super = {call for heir in heirs for call in super_inits(heir)}
    for item in script.calls:
        if item in through_super:
            yield item
            continue
        function = item.func
        by_name = isinstance(function, ast.Name) and (
            function.id in names or (function.id in aliases and node.name != "__init__")
        )
        by_attribute = isinstance(function, ast.Attribute) and method and function.attr == node.name != "__init__"
        if isinstance(owner, ast.ClassDef) and isinstance(function, ast.Attribute) and function.attr == "apply":
            by_attribute = node.name == "forward" and owner.name in names_within(function)  # torch.autograd.Function
        by_result = isinstance(function, ast.Call) and _holds_one(script, function, names | aliases, makers)
        if by_name or by_attribute or (by_result and node.name != "__init__"):
            yield item


def _holds_one(script: Script, value: ast.AST, names: set[str], makers: set[str]) -> bool:
    """Whether a value may hold one of these: what only calls it holds something else; calling a maker makes one."""
    for item in ast.walk(value):
        if isinstance(item, ast.Name) and item.id in makers | names:
            above = script.parents[item]
            if item.id in makers or not (isinstance(above, ast.Call) and above.func is item):
                return True
    return False


def _heirs(script: Script, kind: ast.ClassDef) -> list[ast.ClassDef]:
    """Classes that are constructed by this one's `__init__`, or call it through `super()`."""
    found = [
        node
        for node in script.nodes
        if isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id == kind.name for base in node.bases)
    ]
    bare = [node for node in found if not any(isinstance(s, Function) and s.name == "__init__" for s in node.body)]
    return found + [heir for node in bare for heir in _heirs(script, node)]
