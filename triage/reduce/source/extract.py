"""A class or function of an installed package in place of its import: the script grows first, to need one package less."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from triage.reduce.source.bundle import imported_from
from triage.reduce.source.evidence import Module
from triage.reduce.source.names import Occurrences, bound_globals
from triage.reduce.source.script import Script, readable
from triage.reduce.source.weight import foreign_imports


def pumped(script: Script, modules: Mapping[str, Module]) -> Iterator[str]:
    """Texts with the definition of one imported name in place of its import; what that needs is imported in turn."""
    for node, names in foreign_imports(script):
        if not isinstance(node, ast.ImportFrom) or script.parents[node] is not script.tree:
            continue
        for alias in names:
            found = defining(modules, node.module or "", alias.name)
            if (found is not None and not alias.asname) or (found is not None and alias.asname == alias.name):
                text = _with_definition(script, node, alias, *found)
                if text is not None:
                    yield text


def defining(modules: Mapping[str, Module], module: str, name: str, depth: int = 0) -> tuple[Module, str] | None:
    """The module whose text defines a name, through imports and what was seen when it ran."""
    found = modules.get(module)
    if found is None or depth > 10:
        return None
    script = _read(found)
    if script is None:
        return None
    for statement in script.tree.body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef) and statement.name == name:
            return found, name
        if isinstance(statement, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == name for t in statement.targets
        ):
            return found, name
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                if (alias.asname or alias.name) == name:
                    return defining(modules, imported_from(statement, _package(found)), alias.name, depth + 1)
    if name in found.origins:
        return defining(modules, *found.origins[name], depth + 1)
    return None


def _with_definition(script: Script, node: ast.ImportFrom, alias: ast.alias, module: Module, name: str) -> str:
    there = _read(module)
    assert there is not None
    statement = next(
        item
        for item in there.tree.body
        if (isinstance(item, ast.FunctionDef | ast.ClassDef) and item.name == name)
        or (isinstance(item, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in item.targets))
    )
    start, end = there.lines_span(statement)
    definition = there.text[start:end]
    own = bound_globals(script)
    lines: list[str] = []
    seen = Occurrences(there)
    needed = {key for key in seen.names() if any(start <= item.start < end for item in seen.of(key))} - {name}
    for key in sorted(needed):
        line = _import_of(there, module, key)
        if line is None or line in script.text:
            continue
        if key in own and key != alias.name:
            continue  # most likely the same thing, copied before; the run will tell
        lines.append(line)
    if name != alias.name:
        lines_after = f"{alias.name} = {name}\n"
    else:
        lines_after = ""
    kept = [other for other in node.names if other is not alias]
    if kept:
        lines.append(ast.unparse(ast.ImportFrom(node.module, kept, 0)))
    first, last = script.lines_span(node)
    head = "".join(f"{line}\n" for line in lines)
    return script.text[:first] + head + definition + lines_after + script.text[last:]


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
    try:
        script = Script(readable(module.text))
        assert script.tree
    except (SyntaxError, AssertionError):
        return None
    return script
