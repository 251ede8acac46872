"""The short way to the failure: call the failing function itself, on what it was called on.

Of a bundled program only what that call needs is kept: definitions by name, and the module-level statements that act on
them (a custom op is registered, a setting of torch is changed). The training loop, the data, the arguments are gone.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import re
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from triage.model.syntax import first_name, parse, parse_expression
from triage.reduce.text.code.compile_calls import compile_uses
from triage.reduce.text.code.edits import without_decorator
from triage.reduce.text.code.names import Occurrences, bound_globals, tells_its_base
from triage.reduce.text.code.nodes import all_arguments, bind_torch, bound_name, is_future, names_within
from triage.reduce.text.code.script import Script
from triage.reduce.text.watching.evidence import Call

REFERENCE = re.compile(r"<<([\w.]+)(::?)(\w+)>>")
MOST_CALLS = 12
MAKERS = ("make", "make_it", "made_anew")


@dataclass(frozen=True)
class Spoken:
    """A recorded call as statements: how the callee is made, and each call's arguments."""

    callees: tuple[str, ...]  # of each call: functions that one line defines may be many, `scaled(2)` and `scaled(3)`
    arguments: tuple[str, ...]
    grad: bool
    compiled: bool = True
    made: str | None = None  # the object that is called, or whose method is
    method: str = ""  # of that object, with its point
    before: str = ""  # statements that these expressions need

    def by_callee(self) -> Iterator[tuple[str, list[str]]]:
        """The calls in their order, those of one function that follow each other together."""
        for callee, calls in itertools.groupby(zip(self.callees, self.arguments, strict=True), lambda call: call[0]):
            yield callee, [given for _, given in calls]


def spoken(calls: Sequence[Call], resolve: Callable[[str, str, bool], str | None]) -> Spoken | None:
    """Calls of one function as text; `resolve(module, name, foreign)` names the program's definitions, and what is somebody
    else's (`foreign`). None where one cannot.
    """
    missing: list[str] = []

    def named(text: str) -> str:
        def put(found: re.Match[str]) -> str:
            name = resolve(found.group(1), found.group(3), found.group(2) == "::")
            if name is None:
                missing.append(found.group(0))
            return name or ""

        return REFERENCE.sub(put, text)

    first = calls[0]
    method = f".{first.method}" if first.made is not None and not first.is_module_call else ""
    made = named(first.made) if first.made is not None else None  # one object, though it may have another text later
    callees = tuple(named(call.function) if made is None else made + method for call in calls)
    arguments = tuple(named(call.arguments) for call in calls)
    begun = calls if len(set(callees)) > 1 else calls[:1]  # one function goes on from what its first call was given
    before = "".join(dict.fromkeys(named(text) for call in begun for text in call.before))
    return None if missing else Spoken(callees, arguments, first.grad, first.compiled, made, method, before)


def direct_script(
    bundled: Script, said: Spoken, options: str, imported: Collection[str] = (), definition: str = ""
) -> str:
    """The script that compiles the callee and calls it (or calls it as it is, where it is compiled or only leads to that).

    `options` are keyword arguments of torch.compile, as text; `imported` are names that the caller will import;
    `definition` is that of the callee, where the program has none.
    """
    grad = [] if said.grad else ["torch.set_grad_enabled(False)"]
    name = next(name for name in ("compiled", "compiled_f", "compiled_again") if name not in bound_globals(bundled))
    is_compiled, lines = _compiled_where_defined(bundled), list[str]()
    for callee, calls in said.by_callee():
        called = callee
        if said.compiled and callee not in is_compiled:
            lines.append(f"{name} = torch.compile({callee}{', ' if options else ''}{options})")
            called = name
        lines += [f"{called}({given})" for given in calls]
    definition += said.before
    text = definition + "".join(f"{line}\n" for line in [*grad, *lines])
    known = _bound_by(definition)
    return _with_what_it_needs(bundled, text, {name, *imported, *known})


def _bound_by(statements: str) -> set[str]:
    """The names that statements bind, and those of the arguments of functions."""
    nodes = list(ast.walk(parse(statements)))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.Lambda)]
    found = {item.arg for node in functions for item in all_arguments(node.args)}
    found |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return found | {node.name for node in functions if isinstance(node, ast.FunctionDef)}


def _compiled_where_defined(script: Script) -> set[str]:
    """Functions with a decorator that compiles them: torch refuses to compile them once more."""
    marked = {node for node, _ in _compiling_marks(script)}
    return {item.name for item in script.tree.body if isinstance(item, ast.FunctionDef) and item in marked}


def _plain_where_defined(script: Script) -> Script:
    """The script whose functions have no decorator that compiles them: else both sides of a comparison are compiled."""
    edits = [without_decorator(script, mark) for _, mark in _compiling_marks(script)]
    return Script(script.replaced(edits)) if edits else script


def _compiling_marks(script: Script) -> Iterator[tuple[ast.AST, ast.expr]]:
    """What is defined with a decorator that compiles it, and that decorator."""
    uses = set(compile_uses(script))
    yield from ((node, mark) for node in script.nodes for mark in getattr(node, "decorator_list", ()) if mark in uses)


def compared_script(
    bundled: Script, said: Spoken, options: str, imported: Collection[str] = (), *, gradients: str = ""
) -> str:
    """The script that makes each call compiled and uncompiled, and compares what they give.

    `gradients` is an expression of what is called `out`, whose gradient to the module's parameters is compared instead. Of
    several calls of an object a copy is called uncompiled, and so is a copy given of an object: a call may change them.
    """
    bundled = _plain_where_defined(bundled)
    held = len(set(said.callees)) == 1 and _holds(said.before)
    own = _bound_by(said.before)
    taken, lines = bound_globals(bundled) | own, list[str]()

    def free(*names: str) -> str:
        return next(name for name in names if name not in taken)

    name = free("compiled", "compiled_f", "compiled_again")
    words = (word for word in ("state", *(f"state{n}" for n in range(2, 66))) if word not in taken)
    kept = dict(zip(_of_every_call([_arguments(call) for call in said.arguments]), words, strict=False))
    for text, word in kept.items():
        lines += _with_copy(word, text)
    for callee, calls in said.by_callee():
        plain = called = callee
        if said.made is not None:
            holder = free("model", "net", "made", "the_model")
            lines.append(f"{holder} = {said.made}")
            plain = called = holder + said.method
            if len(calls) > 1:
                other = free("eager", "uncompiled", "plain", "other")
                lines.append(f"{other} = copy.deepcopy({holder})")
                plain = other + said.method
        elif held:
            called, plain = free("f", "g", "function"), free("eager", "uncompiled", "plain", "other")
            lines += [f"{called} = {free(*MAKERS)}()", f"{plain} = {free(*MAKERS)}()"]
        elif not callee.isidentifier():  # both calls are of one function
            plain = called = free("f", "g", "function", "the_function")
            lines.append(f"{called} = {callee}")
        lines.append(f"{name} = torch.compile({called}{', ' if options else ''}{options})")
        for given in calls:
            named, arguments, copies = _by_name(_arguments(given), taken, kept)
            lines += named
            if gradients:
                lines += ["def gradients(f):", f"    out = f({arguments})"]
                lines += [f"    return torch.autograd.grad({gradients}, list({plain}.parameters()))"]
                lines.append(f"torch.testing.assert_close(gradients({name}), gradients({plain}))")
            else:
                lines.append(f"torch.testing.assert_close({name}({arguments}), {plain}({copies}))")
    if not said.grad:
        lines.insert(0, "torch.set_grad_enabled(False)")
    if held:  # on either side a call sees what those before it have left there
        body = f"torch.manual_seed(0)\n{said.before}return {said.callees[0]}\n"
        lines.insert(0, f"def {free(*MAKERS)}():\n{textwrap.indent(body, '    ')}")
    else:
        lines.insert(0, said.before.rstrip())
    lines.insert(0, "torch.manual_seed(0)")  # each candidate draws the same; it goes at the end, if it fails without
    if any("copy.deepcopy(" in line for line in lines):
        lines.insert(0, "import copy")
    own |= {
        "copy",
        *MAKERS,
        *(line.split(" = ")[0] for line in lines),
        *(("gradients", "out", "f") if gradients else ()),
    }
    return _with_what_it_needs(bundled, "".join(f"{line}\n" for line in lines), {*own, *imported})


Arguments = Sequence[tuple[str, ast.expr]]  # of one call: the keyword, empty where it has none, and what is given


def _arguments(given: str) -> Arguments:
    call = parse_expression(f"f({given})")
    assert isinstance(call, ast.Call)
    return [*(("", item) for item in call.args), *((item.arg or "", item.value) for item in call.keywords)]


def _holds(statements: str) -> bool:
    """Whether one of them gives a name to what a call may change, or to what it binds anew (`nonlocal`)."""
    tree = parse(statements)
    changed = any(isinstance(each, ast.Assign) and _changes(each.value) for each in tree.body)
    return changed or any(isinstance(node, ast.Nonlocal) for node in ast.walk(tree))


def _changes(value: ast.expr) -> bool:
    """Whether a call may change what it is given here: an object of the program's, a list, a dict."""
    if isinstance(value, ast.List | ast.Dict | ast.Set):
        return True
    first = first_name(value.func) if isinstance(value, ast.Call) else ""
    return bool(first) and first != "torch" and not hasattr(builtins, first)


def _of_every_call(calls: Sequence[Arguments]) -> list[str]:
    """The objects that several calls are all given, in one place, made in one way: one object, as far as can be told."""
    if len(calls) < 2:
        return []
    first, *rest = [[(place, key, ast.unparse(value)) for place, (key, value) in enumerate(call)] for call in calls]
    alike = [item for item in first if all(item in other for other in rest) and _changes(calls[0][item[0]][1])]
    return list(dict.fromkeys(text for _, _, text in alike))


def _with_copy(name: str, text: str) -> list[str]:
    return [f"{name} = {text}", f"{name}_copy = copy.deepcopy({name})"]


def _by_name(given: Arguments, taken: Collection[str], kept: Mapping[str, str]) -> tuple[list[str], str, str]:
    """Arguments as lines that give each a name, so that two calls are given the same, and the text of both calls.

    `kept` are names of objects that were made before.
    """
    words = iter(word for word in ("x", "y", "z", *(f"x{n}" for n in range(2, 66))) if word not in taken)
    lines, told, copies = list[str](), list[str](), list[str]()
    for key, value in given:
        text = copied = ast.unparse(value)
        if text in kept:
            text, copied = kept[text], f"{kept[text]}_copy"
        elif _changes(value):
            word = next(words)
            lines += _with_copy(word, text)
            text, copied = word, f"{word}_copy"
        elif not isinstance(value, ast.Constant | ast.Name) and not text.startswith("*"):
            word = next(words)
            lines.append(f"{word} = {text}")
            text = copied = word
        told.append(f"{key}={text}" if key else text)
        copies.append(f"{key}={copied}" if key else copied)
    return lines, ", ".join(told), ", ".join(copies)


def _with_what_it_needs(bundled: Script, text: str, elsewhere: Collection[str]) -> str:
    """The text below the statements of the program that it needs. Names bound `elsewhere` need none."""
    kept = "".join(needed(bundled, text, elsewhere))
    imports = [] if bind_torch(parse(kept).body) else ["import torch\n"]
    imports += [f"import {name}\n" for name in ("collections", "types") if re.search(rf"\b{name}\.[dS]", text)]
    futures = "".join(line for line in kept.splitlines(keepends=True) if line.startswith("from __future__"))
    rest = "".join(line for line in kept.splitlines(keepends=True) if not line.startswith("from __future__"))
    return futures + "".join(imports) + rest + text


def needed(bundled: Script, text: str, elsewhere: Collection[str] = ()) -> Iterator[str]:
    """The top-level statements that the text needs, in order. Names bound `elsewhere` need none."""
    seen = Occurrences(bundled)
    places = {statement: list(seen.between(*bundled.lines_span(statement))) for statement in bundled.tree.body}
    uses = {statement: {item.name for item in found} for statement, found in places.items()}
    binds = {statement: {item.name for item in found if item.binds} for statement, found in places.items()}
    texts = {statement: bundled.text[slice(*bundled.lines_span(statement))] for statement in bundled.tree.body}
    wanted = names_within(parse(text)) - set(elsewhere)
    chosen: set[ast.stmt] = set()
    grown = True
    while grown:
        grown = False
        kept = "".join(texts[item] for item in chosen)
        registered = "torch.ops." in kept or "torch.library" in kept
        for statement in bundled.tree.body:
            if statement in chosen:
                continue
            acts = not isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom)
            if (
                binds[statement] & wanted
                or (acts and not binds[statement] and _acts_on(bundled, statement, wanted))
                or _registers(bundled, statement, wanted)
                or (not acts and _is_registered(bundled, statement, wanted, uses))
                or (registered and "torch.library" in texts[statement])
                or is_future(statement)
            ):
                chosen.add(statement)
                wanted |= uses[statement] - set(elsewhere)
                grown = True
    for statement in bundled.tree.body:
        if statement in chosen:
            yield texts[statement]


def _acts_on(script: Script, statement: ast.stmt, wanted: set[str]) -> bool:
    """A call of a method of a wanted name, or an attribute or item of one that is set; settings of torch as well."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        node: ast.AST = statement.value.func
    elif isinstance(statement, ast.Assign | ast.AugAssign):
        node = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        if isinstance(node, ast.Name):
            return node.id in wanted
    else:
        return False
    if not isinstance(node, ast.Attribute | ast.Subscript):
        return False
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return isinstance(node, ast.Name) and (
        node.id in wanted or (node.id == "torch" and "config" in script.source(statement))
    )


def _registers(script: Script, statement: ast.stmt, wanted: set[str]) -> bool:
    """A call of something imported that is given a wanted class and whose result nobody reads: `add_safe_globals([Config])`.

    Given a function it may well run the program: `spawn(work)`.
    """
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    call, body = statement.value, script.tree.body
    own = {item.name for item in body if isinstance(item, ast.ClassDef)} & wanted
    imports = [item for item in body if isinstance(item, ast.Import | ast.ImportFrom)]
    imported = {bound_name(alias) for item in imports for alias in item.names}
    given = [*call.args, *(item.value for item in call.keywords)]
    told = {item.id for value in given for item in (value, *getattr(value, "elts", ())) if isinstance(item, ast.Name)}
    return bool(told & own) and bool(names_within(call.func) & imported)


def _is_registered(script: Script, statement: ast.stmt, wanted: set[str], uses: Mapping[ast.stmt, set[str]]) -> bool:
    """A class that tells a wanted one of itself, or a definition whose decorator puts it into a wanted table or object.

    A function that is decorated itself is such an object: `@op.register_fake` below `@torch.library.custom_op(...) def op`.
    """
    if isinstance(statement, ast.ClassDef):
        bases = {item.id for item in statement.bases if isinstance(item, ast.Name)}
        if bases & wanted and tells_its_base(script, statement):
            return True
    tables = {
        target.id
        for item in script.tree.body
        if isinstance(item, ast.Assign | ast.AnnAssign)
        for target in (item.targets if isinstance(item, ast.Assign) else [item.target])
        if isinstance(target, ast.Name) and target.id in wanted
    }
    objects = {
        item.name
        for item in script.tree.body
        if isinstance(item, ast.FunctionDef) and item.decorator_list and item.name in wanted
    }
    for decorator in getattr(statement, "decorator_list", ()):
        named = names_within(decorator)
        method = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(method, ast.Attribute) and isinstance(method.value, ast.Name) and method.value.id in objects:
            return True
        made = [item for item in script.tree.body if isinstance(item, ast.FunctionDef) and item.name in named]
        if named & tables or any(uses[item] & tables for item in made):
            return True
    return False
