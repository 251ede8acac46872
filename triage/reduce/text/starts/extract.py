"""A class or function of an installed package in place of its import: the script grows first, to need one package less."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from triage.model.syntax import parse
from triage.reduce.text.code.edits import given_nothing, importing, without_argument, without_bases, without_decorator
from triage.reduce.text.code.names import Occurrences, bound_globals
from triage.reduce.text.code.nodes import bound_name, super_inits
from triage.reduce.text.code.script import Edit, Script, readable
from triage.reduce.text.code.tidy import cleaned, tidy
from triage.reduce.text.code.weight import foreign_imports
from triage.reduce.text.starts.bundle import imported_from
from triage.reduce.text.starts.executed import executed_part
from triage.reduce.text.watching.evidence import Module

MOST_DEFINITIONS = 60
MOST_CHARACTERS = 80_000


def pumped(script: Script, modules: Mapping[str, Module]) -> Iterator[str]:
    """Texts with the definition of one imported name in place of its import; what that needs is imported in turn."""
    for node, alias in _copyable(script):
        found = defining(modules, node.module or "", alias.name)
        if found is not None:
            yield _with_definition(script, node, alias, *found)


def closed(script: Script, modules: Mapping[str, Module]) -> Iterator[Script]:
    """The script with all that it takes, directly or not, from the packages that fail; first without what is beside the point.

    Those are the modules of which the executed lines are known.
    """
    telling = {name: module for name, module in modules.items() if module.lines is not None}
    seen = {script.text, cleaned(script.text)}
    for prepared in (lambda grown: stripped(grown, telling), lambda grown: grown):
        grown = _closed(script, telling, prepared)
        if grown.text not in seen:
            seen.add(grown.text)
            yield grown


def _closed(script: Script, modules: Mapping[str, Module], prepared: Callable[[Script], Script]) -> Script:
    """Definitions in place of imports until none is known; what is imported by then is taken first, deeper ones later."""
    grown, count, growing = prepared(script), 0, True
    while growing:
        growing = False
        for node, alias in list(_copyable(grown)):
            text = _pumped(grown, modules, node.module or "", alias.name)
            if text is None or count >= MOST_DEFINITIONS or len(text) > MOST_CHARACTERS:
                continue
            grown, count, growing = Script(text), count + 1, True
        grown = prepared(Script(tidy(grown.text))) if growing else grown
    return Script(cleaned(grown.text))


def _copyable(script: Script) -> Iterator[tuple[ast.ImportFrom, ast.alias]]:
    for node, names in foreign_imports(script):
        if isinstance(node, ast.ImportFrom) and script.parents[node] is script.tree:
            for alias in names:
                if alias.asname in (None, alias.name):
                    yield node, alias


def _pumped(script: Script, modules: Mapping[str, Module], module: str, name: str) -> str | None:
    """The script with one definition in place of its import; None where it is not known, or not imported any more."""
    for node, alias in _copyable(script):
        if (node.module, alias.name) == (module, name):
            found = defining(modules, module, name)
            return None if found is None else _with_definition(script, node, alias, *found)
    return None


def stripped(script: Script, modules: Mapping[str, Module]) -> Script:
    """Without decorators and base classes that are imported from packages, and imports that nothing uses then.

    A class that comes from one of torch in the end, by way of classes of a package, then comes from that one directly.
    """
    for _ in range(2):  # the imports are unused only once the rest is gone
        seen = Occurrences(script)
        edits: list[Edit] = []
        for node, names in foreign_imports(script):
            if script.parents[node] is not script.tree:
                continue
            unused = []
            for alias in names:
                uses = [place.node for place in seen.reads(bound_name(alias))]
                home = (node.module or "") if isinstance(node, ast.ImportFrom) else None
                own = _base_of_torch(modules, home, alias.name) if home is not None else None
                edits += [edit for use in uses for edit in _beside_the_point(script, use, own)]
                unused += [alias] if not uses else []
            if unused:
                edits.append(importing(script, node, [alias for alias in node.names if alias not in unused]))
        script = Script(tidy(script.replaced(dict.fromkeys(edits))))
    return script


def _base_of_torch(modules: Mapping[str, Module], module: str, name: str, depth: int = 0) -> str | None:
    """The class of torch that a class of a package comes from, dotted; None where it is not a class, or of another kind."""
    found = defining(modules, module, name)
    there = _read(found[0]) if found is not None else None
    if found is None or there is None or depth > 10:
        return None
    statement = next((item for item in there.tree.body if _defines(item, found[1])), None)
    for base in statement.bases if isinstance(statement, ast.ClassDef) else ():
        written = ast.unparse(base)
        first, _, rest = written.partition(".")
        given = import_of(there, found[0], first) if re.fullmatch(r"[\w.]+", written) else None
        if given is None:
            continue
        imported = parse(given).body[0]
        if isinstance(imported, ast.Import) and imported.names[0].name.split(".")[0] == "torch":
            return f"{imported.names[0].name if imported.names[0].asname else first}.{rest}"
        if isinstance(imported, ast.ImportFrom) and imported.module:
            original = imported.names[0].name
            if imported.module.split(".")[0] == "torch":
                return ".".join([imported.module, original, *([rest] if rest else [])])
            own = _base_of_torch(modules, imported.module, original, depth + 1) if not rest else None
            if own is not None:
                return own
    return None


def _beside_the_point(script: Script, use: ast.AST, own: str | None) -> Iterator[Edit]:
    """The edits that take a decorator or a base class away; `own` stands for that base class, if there is one."""
    node, above = use, script.parents[use]
    while (
        isinstance(above, ast.Attribute | ast.Call)
        and (above.value if isinstance(above, ast.Attribute) else above.func) is node
    ):
        node, above = above, script.parents[above]
    if not isinstance(above, ast.ClassDef | ast.FunctionDef):
        return
    if node in above.decorator_list and isinstance(node, ast.expr):
        yield without_decorator(script, node)
    elif isinstance(above, ast.ClassDef) and node is use and node in above.bases and own is not None:
        yield Edit(*script.span(node), own)
        # The package's class was given arguments, that of torch takes none.
        yield from (given_nothing(script, call) for call in super_inits(above))
    elif isinstance(above, ast.ClassDef) and [node] == [*above.bases, *above.keywords]:
        yield without_bases(script, node)
    elif isinstance(above, ast.ClassDef) and node in above.bases:
        yield without_argument(script, above, node)


def defining(modules: Mapping[str, Module], module: str, name: str, depth: int = 0) -> tuple[Module, str] | None:
    """The module whose text defines a name, through imports and what was seen when it ran."""
    found = modules.get(module)
    if found is None or depth > 10:
        return None
    script = _read(found)
    if script is None:
        return None
    for statement in script.tree.body:
        if _defines(statement, name):
            return found, name
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                if (alias.asname or alias.name) == name:
                    return defining(modules, imported_from(statement, _package(found)), alias.name, depth + 1)
    if name in found.origins:
        return defining(modules, *found.origins[name], depth + 1)
    return None


def _with_definition(script: Script, node: ast.ImportFrom, alias: ast.alias, module: Module, name: str) -> str:
    """The script with the definition where the import stood, below what the definition needs."""
    there = _read(module)
    assert there is not None
    statement = next(item for item in there.tree.body if _defines(item, name))
    start, end = there.lines_span(statement)
    definition = there.text[start:end]
    seen = _names(there)
    needed = {item.name for item in seen.between(start, end)} - {name}
    own = bound_globals(script) - {alias.name}
    # A name that the script has is most likely the same thing, copied before; the run will tell.
    imports = [line for key in sorted(needed - own) if (line := import_of(there, module, key)) is not None]
    kept = [other for other in node.names if other is not alias]
    if kept:
        imports.append(ast.unparse(ast.ImportFrom(node.module, kept, 0)))
    place = script.lines_span(node)
    moved = [
        script.lines_span(item)
        for item in script.tree.body
        if item.lineno > node.lineno and any(_defines(item, key) for key in needed & own)
    ]
    above = "".join(script.text[first:last] for first, last in moved)
    renamed = f"{alias.name} = {name}\n" if name != alias.name else ""
    head = "".join(f"{line}\n" for line in imports) + above + definition + renamed
    return script.replaced([Edit(*place, head), *(Edit(*span) for span in moved)])


def _defines(statement: ast.stmt, name: str) -> bool:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return statement.name == name
    return isinstance(statement, ast.Assign) and any(
        isinstance(t, ast.Name) and t.id == name for t in statement.targets
    )


def import_of(script: Script, module: Module, name: str) -> str | None:
    """The import statement that gives a script this global of a module; None for a builtin."""
    for node in script.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if bound_name(alias) == name:
                    return ast.unparse(ast.Import([alias]))
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return ast.unparse(ast.ImportFrom(imported_from(node, _package(module)), [alias], 0))
    if name in bound_globals(script):
        return f"from {module.name} import {name}"
    return None


def _package(module: Module) -> str:
    return module.name if module.package else module.name.rpartition(".")[0]


def _read(module: Module) -> Script | None:
    """The module's text, without what was never executed of it."""
    return _cut(module.text, module.lines)


@lru_cache(maxsize=64)
def _cut(text: str, lines: frozenset[int] | None) -> Script | None:
    try:
        plain = readable(text)
        script = Script(plain)
        assert script.tree
        if lines is not None and plain == text:
            script = Script(executed_part(plain, lines))
    except (SyntaxError, AssertionError):
        return None
    return script


@lru_cache(maxsize=64)
def _names(script: Script) -> Occurrences:
    return Occurrences(script)
