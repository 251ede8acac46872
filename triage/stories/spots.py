"""Which lines of which files of the program a failure comes of, and where the program compiles.

The agent tells lines by the name of the file alone (`train.py:31 in forward: y = self.lin(x)`). The file is one that a
traceback names by its path, or lies around the program, and has that line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from triage.culprit.compile_arguments import uses_on
from triage.culprit.operation import operator_name, operators_in
from triage.culprit.ways_round.bodies import calls_around
from triage.culprit.ways_round.calls import lines_doing
from triage.culprit.ways_round.changes import Program, Spot
from triage.culprit.ways_round.library import folders_of_packages
from triage.culprit.ways_round.source import Source, functions_called
from triage.judge.signature import is_user_frame
from triage.locate.conclude import Conclusion
from triage.model.graphcase import GraphCase, GraphNode
from triage.model.outcome import CompileCall, Frame
from triage.model.places import PACKAGES, RUNS, line_told
from triage.stories.blamed_place import is_outside
from triage.stories.findings import Findings

MOST_FOLDERS = 2000
_NO_OPERATION = ("torch", "ops", "aten", "prims", "default", "nn", "functional", "operator", "_C", "_operator")


class Files:
    """The program's own files, read once."""

    def __init__(self, found: Findings) -> None:
        self._cwd = found.target.cwd
        self._script = found.target.script
        self._python = found.target.python
        self._known = list(dict.fromkeys(self._of_frames(found)))
        self._texts: dict[Path, Source | None] = {}
        self._around: dict[str, list[Path]] | None = None

    def read(self, path: Path) -> Source | None:
        if path not in self._texts:
            try:
                self._texts[path] = Source.read(path.read_bytes())
            except OSError:
                self._texts[path] = None
        return self._texts[path]

    def of_frame(self, frame: Frame) -> Path | None:
        """The file of a line of a traceback, where it is the program's."""
        path = self._cwd / frame.file
        own = is_user_frame(Frame(str(path), frame.line, frame.function)) and path.is_file()
        return path if own and self._has(path, frame.line, frame.code) else None

    def spot(self, place: str, names: tuple[str, ...], modules: tuple[str, ...] = ()) -> Spot | None:
        """The line that `train.py:31 in forward: y = self.lin(x)` tells."""
        told = line_told(place)
        if told is None:
            return None
        paths = self._named(told.file)
        return next(
            (Spot(path, told.line, names, modules) for path in paths if self._has(path, told.line, told.code)), None
        )

    def library_spot(self, place: str) -> Spot | None:
        """The line of an installed package that `pkg/nn.py:31 in forward: y = self.lin(x)` tells."""
        told = line_told(place)
        if told is None or "/" not in told.file:
            return None
        paths = (folder / told.file for folder in folders_of_packages(self._python))
        return next((Spot(path, told.line) for path in paths if self._has(path, told.line, told.code)), None)

    def compiling(self, call: CompileCall) -> Spot | None:
        """Where a use of torch.compile stands."""
        told = line_told(call.where)
        if told is None:
            return None
        read = ((path, self.read(path)) for path in self._named(told.file))
        found = (path for path, source in read if source is not None and uses_on(source, [told.line]))
        return next((Spot(path, told.line) for path in found), None)

    def _has(self, path: Path, line: int, code: str) -> bool:
        source = self.read(path)
        return source is not None and source.line_text(line).strip().startswith(code[:200].strip())

    def _named(self, name: str) -> Iterator[Path]:
        yield from (path for path in self._known if path.name == name)
        if self._around is None:
            self._around = {}
            for path in self._walk():
                self._around.setdefault(path.name, []).append(path)
        yield from (path for path in self._around.get(name, []) if path not in self._known)

    def _walk(self) -> Iterator[Path]:
        """Python files around the program, those of its own directory first."""
        roots = dict.fromkeys(filter(None, (self._script.parent if self._script else None, self._cwd)))
        for root in roots:
            for number, (folder, folders, files) in enumerate(os.walk(root)):
                if number > MOST_FOLDERS:
                    break
                folders[:] = [each for each in folders if not each.startswith((".", "__")) and each not in _NOT_OURS]
                yield from (Path(folder, each) for each in files if each.endswith(".py"))

    def _of_frames(self, found: Findings) -> Iterator[Path]:
        if self._script is not None:
            yield self._script
        probes = chain.from_iterable(found.walk.seen.values())
        errors = [level for probe in probes for raised in probe.notes.raised for level in raised.levels]
        for frame in chain.from_iterable((*error.frames, *error.user_code) for error in errors):
            path = self._cwd / frame.file
            if is_user_frame(Frame(str(path), frame.line, frame.function)):
                yield path


_NOT_OURS = (*PACKAGES, "node_modules", RUNS)


def program_of(found: Findings, files: Files) -> Program:
    """The program as the first run saw it."""
    compiled: dict[Path, tuple[int, ...]] = {}
    calls = found.walk.start.notes.compile_calls
    for call in calls:
        spot = files.compiling(call)
        if spot is not None and spot.line not in compiled.get(spot.path, ()):
            compiled[spot.path] = (*compiled.get(spot.path, ()), spot.line)
    names = frozenset(_own_name(call.name) for call in calls)
    return Program(files.read, found.target.script, compiled, any(call.fullgraph for call in calls), names)


def left_compiled(found: Findings) -> list[str]:
    """Where the program compiles (`train.py:12`) what has kept its name in the reproducer: what went from it is not to blame."""
    words = set(re.findall(r"\w+", found.reproduced.source)) if found.reproduced is not None else set()
    calls = found.walk.start.notes.compile_calls
    return [call.where for call in calls if call.name.rpartition(".")[2] in words]


def _own_name(qualified: str) -> str:
    """`Net.loss` of `make.<locals>.Net.loss`."""
    return qualified.rpartition("<locals>.")[2]


def guilty_lines(found: Findings, conclusion: Conclusion, files: Files) -> list[Spot]:
    """The lines to blame, the surest first: of the operation that the reduction left, then what the error says."""
    return list(dict.fromkeys(filter(None, _guilty(found, conclusion, files))))


def outer_lines(conclusion: Conclusion, files: Files) -> list[Spot]:
    """The calls in the program through which the compiler came to the guilty line, innermost first."""
    return list(dict.fromkeys(filter(None, _of_error(conclusion, files, every=True))))


def traced_lines(found: Findings, files: Files) -> list[Spot]:
    """Where nothing names a line: those of the functions that Dynamo went into, as far as they are known; innermost first.

    They are known by the operations of the captured graphs, and by the calls in the function that is compiled.
    """
    nodes = [node for case in found.cases for node in case.nodes]
    spots = [*_of_calls(found, files), *(_of_node(node, files) for node in nodes)]
    return list(dict.fromkeys(Spot(spot.path, spot.line) for spot in spots if spot is not None))


def bodies_of(found: Findings, files: Files) -> dict[Spot, Spot]:
    """By lines that are compiled as one with a call around them, that call; neither with operations."""
    told = ((files.spot(line, ()), files.spot(call, ())) for line, call in calls_around(found.cases).items())
    return {line: call for line, call in told if line is not None and call is not None}


def is_within(spot: Spot, bodies: Mapping[Spot, Spot]) -> bool:
    """Whether nothing on this line can be left uncompiled by itself."""
    return replace(spot, names=()) in bodies


def outside(spots: Sequence[Spot], bodies: Mapping[Spot, Spot]) -> list[Spot]:
    """These lines, the innermost first, with the call around a body in the place of all that is within it."""
    lines = [replace(spot, names=()) for spot in spots]
    call = bodies.get(lines[0]) if lines else None
    begin = lines.index(call) if call in lines else 0
    around = [bodies.get(line, spot) for line, spot in zip(lines, spots, strict=True)]
    return list(dict.fromkeys(around[begin:]))


def _of_calls(found: Findings, files: Files) -> Iterator[Spot]:
    for call in found.walk.start.notes.compile_calls:
        spot = files.compiling(call)
        source = files.read(spot.path) if spot is not None else None
        if spot is not None and source is not None:
            functions = functions_called(source, _own_name(call.name))
            yield from (Spot(spot.path, function.body[0].lineno) for function in functions)


def _guilty(found: Findings, conclusion: Conclusion, files: Files) -> Iterator[Spot | None]:
    named = _names(operators_in(conclusion.error))
    yield from (_of_node(node, files) for node in _where_wrong(found))
    if found.fake_wrong is not None:
        yield from _doing(found, conclusion, files, found.fake_wrong.operation)
    made = found.reproduced
    if made is not None and made.graph is not None:
        yield from (_of_node(node, files) for node in _ordered(made.graph, named))
        yield from _of_error(conclusion, files)
        return
    left = _left_in_text(found) if is_outside(conclusion) else set()
    for case in found.cases[:1] if left else ():
        yield from (_of_node(node, files) for node in _ordered(case, left) if left <= _names((operator_name(node),)))
    yield from _of_error(conclusion, files)
    for case in found.cases[:1]:
        if named:
            yield from (_of_node(node, files) for node in _ordered(case, named) if _names((node.target,)) & named)


def _left_in_text(found: Findings) -> set[str]:
    """The words of the only operation that a verified text compiles."""
    made = found.reproduced
    nodes = made.seen_graph.nodes if made is not None and made.verified and made.seen_graph is not None else ()
    return _names((operator_name(nodes[0]),)) if len(nodes) == 1 else set()


def library_lines(found: Findings, files: Files) -> list[Spot]:
    """The lines of installed packages where the guilty operations are done, as the graphs say; the surest first."""
    made = found.reproduced
    left = _ordered(made.graph, set()) if made is not None and made.graph is not None else []
    spots = (files.library_spot(node.where) for node in (*_where_wrong(found), *left))
    return list(dict.fromkeys(filter(None, spots)))


def _where_wrong(found: Findings) -> list[GraphNode]:
    """The operations where values go wrong, the surest first."""
    told = (found.diverging, found.given_wrong)
    diverging, given = (each.node if each is not None else None for each in told)
    return [node for node in (diverging, found.first_wrong, given) if node is not None]


def _doing(found: Findings, conclusion: Conclusion, files: Files, operation: str) -> Iterator[Spot | None]:
    """Where an operation is done that fails by nothing itself: as the graph says, else in the functions that fail after it."""
    names = _names((operation,))
    made = found.reproduced
    for node in made.graph.nodes if made is not None and made.graph is not None else ():
        if names <= _names((operator_name(node),)):
            yield _of_node(node, files)
    for spot in outer_lines(conclusion, files) or traced_lines(found, files):
        source = files.read(spot.path)
        for line in lines_doing(source, spot.line, names) if source is not None else ():
            yield Spot(spot.path, line, tuple(sorted(names)))


def _ordered(case: GraphCase, named: set[str]) -> list[GraphNode]:
    """What the error names first, then what comes late: earlier operations often only make its input."""
    nodes = [*case.nodes, *case.nested_nodes]
    nodes.reverse()
    return sorted(nodes, key=lambda node: not _names((node.target,)) & named)


def _of_node(node: GraphNode, files: Files) -> Spot | None:
    names = tuple(sorted(_names((node.target,))))
    return files.spot(node.where, names, node.module_names) if node.where else None


def _of_error(conclusion: Conclusion, files: Files, *, every: bool = False) -> Iterator[Spot | None]:
    """The innermost line that the compiler itself names, or every one on the way there."""
    error = conclusion.error
    names = tuple(sorted(_names(operators_in(error))))
    frames = next((level.user_code for level in error.levels if level.user_code), ()) if error is not None else ()
    for frame in reversed(frames):
        path = files.of_frame(frame)
        if path is not None:
            yield Spot(path, frame.line, names)
            if not every:
                return


def _names(targets: tuple[str, ...]) -> set[str]:
    """The words of operators that may stand in a program: `cumsum` of aten.cumsum.default."""
    return {word for target in targets for word in re.split(r"\.|::", target)} - set(_NO_OPERATION)
