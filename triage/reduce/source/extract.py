"""A class or function of an installed package in place of its import: the script grows first, to need one package less."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from triage.reduce.source.bundle import imported_from
from triage.reduce.source.cut import executed_part
from triage.reduce.source.evidence import Module
from triage.reduce.source.names import Occurrences, bound_globals
from triage.reduce.source.script import Edit, Script, readable
from triage.reduce.source.shape import without_argument
from triage.reduce.source.tidy import tidy
from triage.reduce.source.weight import foreign_imports


def pumped(script: Script, modules: Mapping[str, Module]) -> Iterator[str]:
    """Texts with the definition of one imported name in place of its import; what that needs is imported in turn."""
    for node, names in foreign_imports(script):
        if not isinstance(node, ast.ImportFrom) or script.parents[node] is not script.tree:
            continue
        for alias in names:
            found = defining(modules, node.module or "", alias.name)
            if found is not None and alias.asname in (None, alias.name):
                yield _with_definition(script, node, alias, *found)


def closed(script: Script, modules: Mapping[str, Module], most: int = 60) -> Iterator[Script]:
    """The script with all that it takes, directly or not, from the files that fail; first without what is beside the point.

    Those files are the ones of which the executed lines are known.
    """
    telling = {name: module for name, module in modules.items() if module.lines is not None}
    grown = script
    for _ in range(most):
        text = next(pumped(grown, telling), None)
        if text is None:
            break
        grown = Script(tidy(text))
    if grown is not script:
        yield from (item for item in [stripped(grown), grown] if item.text != script.text)


def stripped(script: Script) -> Script:
    """Without decorators and base classes that are imported from packages, and imports that nothing uses then."""
    for _ in range(2):  # the imports are unused only once the rest is gone
        seen = Occurrences(script)
        edits: list[Edit] = []
        for node, names in foreign_imports(script):
            if script.parents[node] is not script.tree:
                continue
            unused = []
            for alias in names:
                uses = [place.node for place in seen.of(alias.asname or alias.name.split(".")[0]) if not place.binds]
                edits += [edit for use in uses for edit in _beside_the_point(script, use)]
                unused += [alias] if not uses else []
            kept = [alias for alias in node.names if alias not in unused]
            if unused and not kept:
                edits.append(Edit(*script.lines_span(node)))
            elif unused:
                node_text = ast.Import(kept) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, kept, 0)
                edits.append(Edit(*script.span(node), ast.unparse(node_text)))
        script = Script(tidy(script.replaced(dict.fromkeys(edits))))
    return script


def _beside_the_point(script: Script, use: ast.AST) -> Iterator[Edit]:
    """The edit that takes a decorator or a base class away."""
    node, above = use, script.parents[use]
    while (
        isinstance(above, ast.Attribute | ast.Call)
        and (above.value if isinstance(above, ast.Attribute) else above.func) is node
    ):
        node, above = above, script.parents[above]
    if not isinstance(above, ast.ClassDef | ast.FunctionDef):
        return
    if node in above.decorator_list and isinstance(node, ast.expr):
        yield Edit(script.offset(node.lineno, 0), script.offset((node.end_lineno or 0) + 1, 0))
    elif isinstance(above, ast.ClassDef) and [node] == [*above.bases, *above.keywords]:
        start, end = script.span(node)
        yield Edit(script.text.rindex("(", 0, start), script.text.index(")", end) + 1)
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
    seen = Occurrences(there)
    needed = {key for key in seen.names() if any(start <= item.start < end for item in seen.of(key))} - {name}
    own = bound_globals(script) - {alias.name}
    # A name that the script has is most likely the same thing, copied before; the run will tell.
    imports = [line for key in sorted(needed - own) if (line := _import_of(there, module, key)) is not None]
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


def _import_of(script: Script, module: Module, name: str) -> str | None:
    """The import statement that gives a script this global of a module; None for a builtin."""
    for node in ast.walk(script.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if (alias.asname or alias.name.split(".")[0]) == name:
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
    try:
        text = readable(module.text)
        script = Script(text)
        assert script.tree
        if module.lines is not None and text == module.text:
            script = Script(executed_part(text, module.lines))
    except (SyntaxError, AssertionError):
        return None
    return script
