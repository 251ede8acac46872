"""The changes to try, each a set of files with their new text and the sentence that a person reads: the cheapest kinds first."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path

from triage.culprit.compile_arguments import (
    Use,
    replaced_by,
    uses_on,
    with_argument,
    with_backend,
    without_fullgraph,
    without_option,
)
from triage.culprit.known_causes import CureStatement
from triage.culprit.settings import Setting
from triage.culprit.ways_round.calls import Respelled, respelled_calls
from triage.culprit.ways_round.functions import disabled_functions
from triage.culprit.ways_round.library import uncompiled_in_library
from triage.culprit.ways_round.regions import REGION, without_regions
from triage.culprit.ways_round.source import Source, above, after_imports
from triage.culprit.ways_round.spellings import UNCOMPILED, Spelling
from triage.reduce.text.code.nodes import bound_name, imported_modules
from triage.reduce.text.code.script import Edit

KINDS = ("setting", "argument", "spelling", "call", "function", "backend")  # what costs a program least comes first
CALLS_OF_A_LINE = 2
_SEVERAL = "fullgraph=False"
# In the words of torch/fx/experimental/symbolic_shapes.py.
_MARKED = re.compile(r"You marked \S+ as dynamic but your code specialized it")

Edits = Mapping[Path, tuple[Edit, ...]]


@dataclass(frozen=True)
class Spot:
    """A line that the failure comes of, and the operations of the graph that are to blame there.

    `modules` are the names on the way to the module that does them (`layers`, `ff` of `layers.1.ff.1`), outermost first.
    """

    path: Path
    line: int
    names: tuple[str, ...] = ()
    modules: tuple[str, ...] = field(default=(), compare=False)

    @property
    def told(self) -> str:
        return f"{self.path.name}:{self.line}"


@dataclass(frozen=True)
class Change:
    """One way round to try. `texts` are whole files; `before` is what they hold on disk.

    `awaited`: what comes after it is for where it fails, and is not run beside it. Others have it in them (it only takes
    back that there is to be one graph), or it is the call that does the guilty operation: that led round in 20 runs of 21.
    """

    kind: str
    words: str
    where: str | None
    texts: Mapping[Path, bytes] = field(repr=False)
    before: Mapping[Path, bytes] = field(repr=False)
    awaited: bool = False


@dataclass(frozen=True)
class Program:
    """The files of a program as they are. `compiled` are the places where it uses torch.compile, by file."""

    read: Callable[[Path], Source | None]
    main: Path | None
    compiled: Mapping[Path, tuple[int, ...]]
    one_graph: bool = False  # a use asks for fullgraph=True
    names: frozenset[str] = frozenset()  # of the functions that torch.compile is given: `Net.loss`

    @property
    def use(self) -> str | None:
        """Where it compiles, `train.py:12`; None where that is not one place."""
        places = [f"{path.name}:{line}" for path, lines in self.compiled.items() for line in lines]
        return places[0] if len(places) == 1 else None

    def uses(self) -> Iterator[tuple[Path, Source | None, tuple[Use, ...]]]:
        """The files in which it compiles, with the uses of torch.compile; None of one that cannot be read."""
        for path, lines in self.compiled.items():
            source = self.read(path)
            yield path, source, uses_on(source, lines) if source is not None else ()


def of_cure(program: Program, cure: CureStatement | None) -> Iterator[Change]:
    """The line that cures a known cause, if there is one."""
    if cure is None:
        return
    if not cure.above_compile:
        yield from _below_imports(program, cure.text, cure.module)
        return
    found = {}
    for path, source, uses in program.uses():
        if source is None:
            return
        known = cure.module in map(bound_name, imported_modules(source.tree.body))
        places = [above(source, use, cure.text) for use in uses]
        found[path] = (*(() if known else [after_imports(source, [f"import {cure.module}"])]), *places)
    words = f"Put `{cure.text}` above {program.use or 'each use of torch.compile'}"
    yield from _change(program, "setting", words, program.use, found)


def of_settings(program: Program, cures: Iterable[Setting], error: str = "") -> Iterator[Change]:
    """What made the reproducer pass: a line of configuration, or an argument of torch.compile. Not another backend.

    An argument that the error itself names (`fullgraph=True`) comes first: the reproducer may need less than the program.
    Nor is `dynamic=` taken away where `dynamic=False` does it: left to torch, sizes become dynamic with the second one, and
    the program may have more of them than the reproducer.
    """
    cures = tuple(cures)
    static = any((cure.name, cure.value) == ("dynamic", False) for cure in cures)
    for cure in sorted(cures, key=lambda cure: (f"{cure.name}=" not in error, cure.cost)):
        if static and (cure.name, cure.value) == ("dynamic", None):
            continue
        if cure.kind == "config":
            yield from _configured(program, cure)
        elif cure.kind == "argument" and cure.name == "fullgraph" and cure.value is False:
            yield from of_several_graphs(program)
        elif cure.kind == "argument":
            value = None if cure.value is None else repr(cure.value)
            words = f"Compile {cure.how}{_replaced(program, cure.name) if value is not None else ''}"
            yield from _compiled(program, "argument", words, partial(with_argument, name=cure.name, value=value))
        elif cure.kind == "option":
            yield from _compiled(program, "argument", f"Compile {cure.how}", partial(without_option, name=cure.name))


def of_several_graphs(program: Program) -> Iterator[Change]:
    """`fullgraph=False` where a use asks for one graph, and nothing else: what Dynamo cannot trace runs uncompiled then."""
    words = f"Compile with `{_SEVERAL}`{_place(program)}"
    for change in _change(program, "argument", words, program.use, _full_graphs(program)):
        yield replace(change, awaited=True)


def of_backend(program: Program, backend: str) -> Iterator[Change]:
    """The backend of a rung that passes."""
    words = f'Compile with `backend="{backend}"`'
    yield from _compiled(program, "backend", words, lambda source, uses: with_backend(source, uses, backend))


def of_uses(program: Program, likely: Collection[str] = ()) -> Iterator[Change]:
    """What one use of torch.compile compiles, left uncompiled: torch.compile takes `@torch.compiler.disable` off its argument.

    Those at the `likely` places (`train.py:12`) come first.
    """
    changes: list[Change] = []
    for path, source, uses in program.uses():
        for use in sorted(uses, key=lambda use: use.lineno):
            edits = with_argument(source, [use], "disable", "True") if source is not None else None
            if edits is not None:
                where = f"{path.name}:{use.lineno}"
                words = f"Leave uncompiled what {where} compiles, with `disable=True`"
                changes += _change(program, "function", words, where, {path: edits})
    yield from sorted(changes, key=lambda change: change.where not in likely)


def of_calls(program: Program, spots: Iterable[Spot]) -> Iterator[Change]:
    """The call on a guilty line, uncompiled."""
    for spot in spots:
        for call in _respelled(program, spot, UNCOMPILED, CALLS_OF_A_LINE):
            words = f"{UNCOMPILED.words.format(call.what)} in {spot.told} (helper `{call.helper}`)"
            for change in _in_parts(program, "call", words, spot.told, {spot.path: call.edits}):
                yield replace(change, awaited=call.named)


def of_spellings(program: Program, spots: Iterable[Spot], spellings: Sequence[Spelling]) -> Iterator[Change]:
    """The call on a guilty line spelled as the reproducer passes: it stays compiled."""
    for spot in spots:
        for spelling in spellings:
            for call in _respelled(program, spot, spelling, 1):
                words = f"{spelling.words.format(call.what)} in {spot.told} (helper `{call.helper}`)"
                yield from _change(program, "spelling", words, spot.told, {spot.path: call.edits})


def of_marks(program: Program, error: str) -> Iterator[Change]:
    """Where the error says that a dimension which is marked as dynamic is none: the marks as a wish, and no longer an order."""
    if not _MARKED.search(error):
        return
    edits: dict[Path, tuple[Edit, ...]] = {}
    for path in dict.fromkeys([*program.compiled, *([program.main] if program.main is not None else [])]):
        source = program.read(path)
        for node in source.nodes if source is not None else ():
            if source is not None and isinstance(node, ast.Attribute) and node.attr == "mark_dynamic":
                end = source.span(node)[1]
                edits[path] = (*edits.get(path, ()), Edit(end - len(node.attr), end, "maybe_mark_dynamic"))
    words = "Mark dimensions with `maybe_mark_dynamic` in the place of `mark_dynamic`"
    yield from _change(program, "spelling", words, None, edits)


def of_regions(program: Program, reproducer: str) -> Iterator[Change]:
    """Where the reproducer needs a region that is compiled once for all calls: without it, which changes no value."""
    if REGION not in reproducer:
        return
    edits: dict[Path, tuple[Edit, ...]] = {}
    for path in dict.fromkeys([*program.compiled, *([program.main] if program.main is not None else [])]):
        source = program.read(path)
        if source is not None and (found := tuple(without_regions(source))):
            edits[path] = found
    words = f"Leave out `{REGION}`: what it marks is compiled with what calls it"
    yield from _change(program, "spelling", words, None, edits)


def _respelled(program: Program, spot: Spot, spelling: Spelling, most: int) -> Iterator[Respelled]:
    source = program.read(spot.path)
    if source is not None:
        modules = spot.modules if spelling is UNCOMPILED else ()
        yield from islice(respelled_calls(source, spot.line, spot.names, spelling, modules), most)


def of_functions(program: Program, spots: Iterable[Spot]) -> Iterator[Change]:
    """The functions around the guilty lines, uncompiled: first the innermost of each.

    Not one that torch.compile itself is given: it takes the decorator off.
    """
    depth = 0
    while True:
        found = False
        for spot in spots:
            source = program.read(spot.path)
            around = list(disabled_functions(source, spot.line)) if source is not None else []
            if depth < len(around):
                found, each = True, around[depth]
                if each.name in program.names:
                    continue
                where = f"{spot.path.name}:{each.line}"
                words = f"Decorate `{each.name}` ({where}) with `@torch.compiler.disable`"
                yield from _in_parts(program, "function", words, where, {spot.path: each.edits})
        if not found:
            return
        depth += 1


def of_libraries(program: Program, spots: Iterable[Spot]) -> Iterator[Change]:
    """The functions of installed packages around the guilty lines there, uncompiled by a line of the program."""
    source = program.read(program.main) if program.main is not None else None
    if program.main is None or source is None:
        return
    for spot in spots:
        library = program.read(spot.path)
        for each in uncompiled_in_library(spot.path, library, spot.line) if library is not None else ():
            edit = after_imports(source, each.lines)
            words = (
                f"Leave `{each.name}` of {each.module} uncompiled, by a line after the imports of {program.main.name}"
            )
            yield from _in_parts(program, "function", words, program.main.name, {program.main: (edit,)})


def _configured(program: Program, cure: Setting) -> Iterator[Change]:
    module = cure.name.rpartition(".")[0]
    while not module.endswith("config") and "." in module:  # config.triton.cudagraphs is an option of config
        module = module.rpartition(".")[0]
    yield from _below_imports(program, f"{cure.name} = {cure.value!r}", module)


def _below_imports(program: Program, line: str, module: str) -> Iterator[Change]:
    path = program.main or next(iter(program.compiled), None)
    source = program.read(path) if path is not None else None
    if path is not None and source is not None:
        edit = after_imports(source, [f"import {module}", "", line])
        words = f"Put `{line}` after the imports of {path.name}"
        yield from _change(program, "setting", words, path.name, {path: (edit,)})


def _replaced(program: Program, name: str) -> str:
    """What an argument takes the place of in the program, as the end of a sentence."""
    gone = replaced_by([use for _, _, uses in program.uses() for use in uses], name)
    return f" in place of `{gone}=`" if gone else ""


def _compiled(
    program: Program, kind: str, words: str, edit: Callable[[Source, tuple[Use, ...]], tuple[Edit, ...] | None]
) -> Iterator[Change]:
    """An edit of every use of torch.compile; nothing where one of them cannot be changed."""
    found = {}
    for path, source, uses in program.uses():
        edits = edit(source, uses) if source is not None and uses else None
        if edits is None:
            return
        found[path] = edits
    yield from _change(program, kind, words + _place(program), program.use, found)


def _place(program: Program) -> str:
    return f" ({program.use})" if program.use else ""


def _in_parts(program: Program, kind: str, words: str, where: str, edits: Edits) -> Iterator[Change]:
    """A part that runs uncompiled, where the program may ask for one graph: then it must not any more."""
    whole = _full_graphs(program) if program.one_graph else {}
    told = f"{words}, and compile with `{_SEVERAL}`" if whole else words
    yield from _change(program, kind, told, where, _merged(edits, whole))


def _full_graphs(program: Program) -> Edits:
    found = {}
    for path, source, uses in program.uses():
        edits = tuple(without_fullgraph(source, uses)) if source is not None else ()
        if edits:
            found[path] = edits
    return found


def _merged(*parts: Edits) -> dict[Path, tuple[Edit, ...]]:
    paths: Collection[Path] = dict.fromkeys(path for part in parts for path in part)
    return {path: tuple(edit for part in parts for edit in part.get(path, ())) for path in paths}


def _change(program: Program, kind: str, words: str, where: str | None, edits: Edits) -> Iterator[Change]:
    """The change, if every file is still Python with it."""
    texts, before = {}, {}
    for path, wanted in edits.items():
        source = program.read(path)
        changed = source.changed(dict.fromkeys(wanted)) if source is not None and wanted else None
        if wanted and (source is None or changed is None):
            return
        if source is not None and changed is not None and changed.data != source.data:
            texts[path], before[path] = changed.data, source.data
    if texts:
        yield Change(kind, words, where, texts, before)
