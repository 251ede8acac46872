"""One file of several: the modules of the program, in the order they are imported, above the script.

Names keep their spelling where they can; where two modules bind one name to different things, the imported one is renamed
throughout. `import m` and `m.f` become `f`. What cannot be told from the text (a module passed around as an object) is an
UnbundledError: the caller then goes on without this module's text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from triage.reduce.text.code.edits import deletion
from triage.reduce.text.code.names import KNOWN, Occurrence, Occurrences
from triage.reduce.text.code.nodes import bound_name, is_bare_constant, is_future, names_within
from triage.reduce.text.code.script import Edit, Script, readable

MAIN = "__main__"


class UnbundledError(Exception):
    """The modules cannot be made one text. The message says why."""


@dataclass(frozen=True)
class Part:
    """The text of one module, and what its package is called (for relative imports)."""

    name: str
    text: str
    package: str = ""
    origins: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Bundle:
    """The one text. `names` says what a module's name is called in it."""

    text: str
    names: Mapping[tuple[str, str], str]


def bundle(parts: Mapping[str, Part]) -> Bundle:
    """Raises UnbundledError, and SyntaxError where a text does not parse."""
    return _Bundler(parts).made()


def imported_from(node: ast.ImportFrom, package: str) -> str:
    """The absolute name of the module in `from ... import`."""
    if not node.level:
        return node.module or ""
    base = package.split(".")
    base = base[: len(base) - (node.level - 1)]
    return ".".join([*base, *([node.module] if node.module else [])])


class _Read:
    """One module as it is understood: what it binds, and which of its names come from other modules of the bundle."""

    def __init__(self, part: Part, known: Mapping[str, Part]) -> None:
        self.part = part
        self.script = Script(readable(part.text))
        self.seen = Occurrences(self.script)
        self.names: dict[str, tuple[str, str]] = {}  # name -> (module, name there)
        self.modules: dict[str, str] = {}  # name -> dotted path of modules of the bundle
        self.either: dict[str, tuple[str, str]] = {}  # those that may be a name of the package instead
        self.wanted: list[str] = []  # modules it imports, in order
        self._known = known
        self._paths = {".".join(name.split(".")[:n]) for name in known for n in range(1, name.count(".") + 2)}
        for node in ast.walk(self.script.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self._import(alias)
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    self._from(node, alias)

    def is_path(self, dotted: str) -> bool:
        return dotted in self._paths

    def ours(self, node: ast.Import | ast.ImportFrom, alias: ast.alias) -> bool:
        """Whether this import is of a module of the bundle."""
        if isinstance(node, ast.Import):
            return alias.name in self._known
        base = imported_from(node, self.part.package)
        return base in self._known or f"{base}.{alias.name}" in self._known

    def binds(self) -> Iterator[str]:
        """Names of its own at module level, in order."""
        for name in self.seen.names():
            if name not in self.names and name not in self.modules and any(item.binds for item in self.seen.of(name)):
                yield name

    def _import(self, alias: ast.alias) -> None:
        if alias.name not in self._known:
            return
        self._want(alias.name)
        self.modules[bound_name(alias)] = alias.name if alias.asname else bound_name(alias)

    def _from(self, node: ast.ImportFrom, alias: ast.alias) -> None:
        base = imported_from(node, self.part.package)
        deeper = f"{base}.{alias.name}"
        if deeper in self._known:
            self._want(deeper)
            self.modules[alias.asname or alias.name] = deeper
            self.either[alias.asname or alias.name] = (base, alias.name)
        elif base in self._known:
            self._want(base)
            if alias.name != "*":
                self.names[alias.asname or alias.name] = (base, alias.name)

    def _want(self, name: str) -> None:
        """A module, after the packages that it lies in."""
        pieces = name.split(".")
        for count in range(1, len(pieces) + 1):
            path = ".".join(pieces[:count])
            if path in self._known and path not in self.wanted:
                self.wanted.append(path)


class _Bundler:
    def __init__(self, parts: Mapping[str, Part]) -> None:
        self._read = {name: _Read(part, parts) for name, part in parts.items()}
        self._final: dict[tuple[str, str], str] = {}
        self._taken: dict[str, object] = {}

    def made(self) -> Bundle:
        order = self._order()
        self._open_stars(order)
        for read in self._read.values():
            for name, (package, key) in read.either.items():
                if self._has(package, key):
                    del read.modules[name]
                    read.names[name] = (package, key)
        for name in [MAIN, *[other for other in order if other != MAIN]]:
            self._name(self._read[name])
        future: list[str] = []
        texts = {name: self._rewritten(self._read[name], future) for name in order}
        head = "".join(f"{line}\n" for line in dict.fromkeys(future))
        return Bundle(head + "\n".join(texts[name] for name in order), dict(self._all_names()))

    def _order(self) -> list[str]:
        """Each module after those it imports."""
        found: list[str] = []
        begun: set[str] = set()

        def visit(name: str) -> None:
            if name in begun:
                return
            begun.add(name)
            for other in self._read[name].wanted:
                visit(other)
            found.append(name)

        visit(MAIN)
        return found

    def _open_stars(self, order: list[str]) -> None:
        """Each name that `from other import *` brings, as if it were imported by itself."""
        for name in order:
            read = self._read[name]
            for base in self._starred(read):
                other = self._read[base]
                for key in [*other.binds(), *other.names]:
                    if not key.startswith("_") and not any(item.binds for item in read.seen.of(key)):
                        read.names.setdefault(key, (base, key))

    def _starred(self, read: _Read) -> Iterator[str]:
        for node in read.script.tree.body:
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
                base = imported_from(node, read.part.package)
                if base in self._read:
                    yield base

    def _has(self, module: str, name: str) -> bool:
        """Whether a module has this name of its own: it hides a module of that name within a package."""
        read = self._read.get(module)
        return read is not None and (name in read.names or name in read.binds())

    # -- names ----------------------------------------------------------------------------------------------------

    def _name(self, read: _Read) -> None:
        """Give each of the module's own names the name it has in the bundle."""
        for name in read.binds():
            meaning: object = _meaning(read, name)
            final, number = name, 2
            while final in KNOWN - {name} or self._taken.get(final, meaning) != meaning:
                final, number = f"{name}_{number}", number + 1
            self._taken[final] = meaning
            self._final[read.part.name, name] = final

    def _all_names(self) -> Iterator[tuple[tuple[str, str], str]]:
        yield from self._final.items()
        for read in self._read.values():
            for name, (module, other) in read.names.items():
                try:
                    yield (read.part.name, name), self._resolved(module, other)
                except UnbundledError:
                    continue

    def _resolved(self, module: str, name: str, depth: int = 0) -> str:
        """What a module's name is called in the bundle, through any chain of imports."""
        read = self._read.get(module)
        if read is None or depth > 20:
            raise UnbundledError(f"{name} of {module} could not be followed")
        if (module, name) in self._final:
            return self._final[module, name]
        if name in read.names:
            return self._resolved(*read.names[name], depth + 1)
        if name in read.part.origins:
            return self._resolved(*read.part.origins[name], depth + 1)
        raise UnbundledError(f"{module} does not say where {name} comes from")

    # -- text -----------------------------------------------------------------------------------------------------

    def _rewritten(self, read: _Read, future: list[str]) -> str:
        script, seen, edits = read.script, read.seen, list[Edit]()
        whole: list[tuple[int, int]] = []
        for statement, _ in script.statements():
            edit = self._statement(read, statement, future)
            if edit is not None:
                edits.append(edit)
                whole.append((edit.start, edit.end))
        for scope in seen.scopes:
            for name in seen.names(scope):
                for item in seen.of(name, scope):
                    inside = any(start <= item.start < end for start, end in whole)
                    if not inside and not isinstance(item.node, ast.alias):
                        edits += self._occurrence(read, item, at_top=scope is seen.module)
        return script.replaced(dict.fromkeys(edits))

    def _statement(self, read: _Read, statement: ast.stmt, future: list[str]) -> Edit | None:
        script = read.script
        top = script.parents[statement] is script.tree
        if is_future(statement):
            future.append(script.source(statement))
            return deletion(script, statement)
        if isinstance(statement, ast.Import | ast.ImportFrom):
            return self._import(read, statement, top)
        if read.part.name == MAIN or not top:
            return None
        asks_for_main = isinstance(statement, ast.If) and "__name__" in names_within(statement.test)
        exports = isinstance(statement, ast.Assign) and script.source(statement.targets[0]) == "__all__"
        return deletion(script, statement) if asks_for_main or exports or is_bare_constant(statement) else None

    def _import(self, read: _Read, node: ast.Import | ast.ImportFrom, top: bool) -> Edit | None:
        """The import without what the bundle holds; absolute; with the names as they are now called."""
        kept: list[ast.alias] = []
        changed = isinstance(node, ast.ImportFrom) and node.level > 0
        lines: list[str] = []
        for alias in node.names:
            if read.ours(node, alias):
                changed = True
                local = alias.asname or alias.name
                if not top and local in read.names:
                    final = self._resolved(*read.names[local])
                    lines += [f"{local} = {final}"] if final != local else []
                continue
            bound = bound_name(alias)
            final = self._final.get((read.part.name, bound), bound) if top else bound
            changed = changed or final != bound
            kept.append(ast.alias(alias.name, final) if final != bound else alias)
        if not changed:
            return None
        script = read.script
        indent = script.indent(node)
        if kept:
            if isinstance(node, ast.Import):
                lines.append(ast.unparse(ast.Import(kept)))
            else:
                lines.append(ast.unparse(ast.ImportFrom(imported_from(node, read.part.package), kept, 0)))
        return Edit(*script.lines_span(node), "".join(f"{indent}{line}\n" for line in lines or ["pass"]))

    def _occurrence(self, read: _Read, item: Occurrence, *, at_top: bool) -> Iterator[Edit]:
        name = item.name
        if name in read.modules and not item.binds:
            yield self._attribute(read, item)
        elif at_top and name in read.names and not item.binds:
            yield from _renamed(item, self._resolved(*read.names[name]))
        elif at_top and name == "__name__" and read.part.name != MAIN:
            yield from _renamed(item, repr(read.part.name))
        elif at_top and name == "__package__" and read.part.package:
            yield from _renamed(item, repr(read.part.package))
        elif at_top:
            yield from _renamed(item, self._final.get((read.part.name, name), name))

    def _attribute(self, read: _Read, item: Occurrence) -> Edit:
        """`pkg.mod.f` as `f`."""
        path, node = read.modules[item.name], item.node
        while True:
            above = read.script.parents.get(node)
            if not isinstance(above, ast.Attribute) or above.value is not node:
                raise UnbundledError(f"the module {path} is used as a value")
            node = above
            if read.is_path(f"{path}.{above.attr}") and not self._has(path, above.attr):
                path = f"{path}.{above.attr}"
                continue
            return Edit(*read.script.span(above), self._resolved(path, above.attr))


def _renamed(item: Occurrence, final: str) -> Iterator[Edit]:
    if final != item.name:
        if not item.placed:
            raise UnbundledError(f"{item.name} stands within an f-string")
        yield Edit(item.start, item.end, final)


def _meaning(read: _Read, name: str) -> object:
    """What a name stands for: the same import in two modules is one thing."""
    bindings = [item for item in read.seen.of(name) if item.binds]
    if len(bindings) == 1 and isinstance(bindings[0].node, ast.alias):
        node = read.script.parents[bindings[0].node]
        alias = bindings[0].node
        if isinstance(node, ast.ImportFrom):
            return ("from", imported_from(node, read.part.package), alias.name)
        return ("import", alias.name if alias.asname else name)
    return (read.part.name, name)
