"""What one more run of the program shows: the lines it executed, its modules, and what the failing functions were called on.

How that run is made is `tracing`'s affair; here is what it showed, and which frames of a failure to ask it about.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from triage.judge.signature import is_program_frame, is_user_frame, torch_frame
from triage.model.outcome import Frame, RaisedException
from triage.model.places import in_packages, package_of

LARGEST_TEXT = 400_000
MOST_OUTER = 6
# By which a program comes to its compiled functions, and to their backward passes: what a traceback names above is not compiled.
_ENTRANCE = re.compile(r"/torch/(?:_dynamo/eval_frame|autograd/__init__|autograd/graph)\.py\Z")


@dataclass(frozen=True)
class Module:
    """A file of Python that the program imported, or is. `lines` are those executed, None where that is not known."""

    name: str
    text: str
    package: bool = False
    local: bool = True
    lines: frozenset[int] | None = None
    origins: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # names defined in another module


@dataclass(frozen=True)
class Call:
    """What a failing function was called on, as text. `made` is the object a method belongs to, else None.

    `<<module:name>>` in the texts stands for a class or function of the program's.
    """

    at: int  # in which call of compiled code
    function: str
    made: str | None
    method: str | None
    arguments: str
    is_module_call: bool = False
    grad: bool = True
    place: tuple[str, int] = ("", 0)  # module and failing line: what tells two functions of one name apart
    flat: bool = False  # objects are given by their attributes, not as they were made
    compiled: bool = True  # False for a function around the compiled one: it is called as it is
    before: tuple[str, ...] = ()  # statements it needs: functions that others define, below what these read of them


@dataclass(frozen=True)
class Moment:
    """A failing function when it came to its failing line: its local names, as text like that of a `Call`."""

    at: int  # in which call of compiled code
    function: str
    place: tuple[str, int]  # module and failing line
    names: Mapping[str, str]
    grad: bool = True


@dataclass(frozen=True)
class Trace:
    """The program: its modules by name (`__main__` is the script), arguments, data files, and what was recorded of it."""

    modules: Mapping[str, Module]
    argv: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    calls: tuple[Call, ...] = ()
    moments: tuple[Moment, ...] = ()  # in the order they were reached: outer functions first
    main_name: str | None = None  # the module's own name, where it was started with -m
    names: frozenset[str] = frozenset()  # what torch calls its own functions and classes
    # What it executed that is the text of no module, a program each: the cells of a notebook.
    texts: tuple[str, ...] = ()


def failing_frames(exception: RaisedException | None) -> tuple[Frame, ...]:
    """The frames of the program that fail, outermost first: as the compiler names them, else from the traceback."""
    if exception is None:
        return ()
    for level in (exception, exception.innermost()):
        if level.user_code:
            return level.user_code
    return tuple(frame for frame in _below_pytest(exception.frames) if is_program_frame(frame))


def names_no_compiled_line(exception: RaisedException | None) -> bool:
    """Whether it left a compiled call and the compiler names no line in it: its frames are those around the compiled function."""
    if exception is None or exception.phase not in ("compile", "call"):
        return False
    return not (exception.user_code or exception.innermost().user_code)


def _below_pytest(frames: Sequence[Frame]) -> Sequence[Frame]:
    """Without what runs a test: to watch all of pytest takes minutes, and none of it is the program's."""
    own = max((place for place, frame in enumerate(frames) if is_user_frame(frame)), default=0)
    runner = [place for place, frame in enumerate(frames[:own]) if "/_pytest/" in frame.file.replace("\\", "/")]
    return frames[runner[-1] + 1 :] if runner else frames


def frames_of_test(exception: RaisedException | None) -> tuple[Frame, ...]:
    """The test whose own check failed, where a test runner called it: nothing else in the program does."""
    if exception is None or not exception.test:
        return ()
    own = (frame for frame in _below_pytest(exception.frames) if is_user_frame(frame) and frame.function != "<module>")
    return tuple(own)[:1]


def outer_frames(exception: RaisedException | None, compiled: Sequence[Frame]) -> tuple[Frame, ...]:
    """The program's functions around the compiled ones, outermost first: a test, a training step.

    Where the compiler names no line, the `compiled` ones are those of the traceback: around it are all above its entrance.
    """
    if exception is None:
        return ()
    above = exception.frames
    inner = {(frame.function, frame.line) for frame in compiled}
    if not (exception.user_code or exception.innermost().user_code):
        entered = [place for place, frame in enumerate(above) if _ENTRANCE.search(frame.file.replace("\\", "/"))]
        above, inner = above[: entered[-1]] if entered else (), set()
    return tuple(
        frame
        for frame in above
        if is_user_frame(frame) and frame.function != "<module>" and (frame.function, frame.line) not in inner
    )[:MOST_OUTER]


def packages_of(frames: Sequence[Frame]) -> tuple[str, ...]:
    """Installed packages with failing frames: their classes may be copied out."""
    found = (package_of(frame.file) for frame in frames if torch_frame(frame) is None)
    return tuple(dict.fromkeys(filter(None, found)))


def read(facts: Mapping[str, Any], roots: Sequence[Path], around: Collection[tuple[str, int]] = ()) -> Trace:
    """From what the agent wrote, and the files that it names. `around` are functions that are not compiled themselves."""
    lines = {file: frozenset(numbers) for file, numbers in facts["lines"].items()}
    modules: dict[str, Module] = {}
    for name, (file, package) in facts["modules"].items():
        path = Path(file)
        with contextlib.suppress(OSError, UnicodeDecodeError):
            text = path.read_text(encoding="utf-8")
            if len(text) <= LARGEST_TEXT:
                origins = {key: (home, own) for key, (home, own) in facts["origins"].get(name, {}).items()}
                local = in_packages(file) is None and any(path.is_relative_to(root) for root in roots)
                modules[name] = Module(name, text, package, local, lines.get(file), origins)
    main_file, main_name = facts["main"]
    return Trace(
        modules=modules,
        argv=tuple(facts["argv"]),
        files=tuple(Path(file) for file in facts["files"] if file != main_file),
        calls=tuple(_call(item, around) for item in facts["calls"] if "args" in item),
        moments=tuple(
            Moment(item["at"], item["function"], (item["module"] or "", item["line"]), item["locals"], item["grad"])
            for item in facts.get("moments", ())
            if (item["function"], item["line"]) not in around
        ),
        main_name=main_name,
        names=frozenset(facts.get("names", ())),
        texts=tuple(facts.get("texts", ())),
    )


def _call(item: Mapping[str, Any], around: Collection[tuple[str, int]]) -> Call:
    return Call(
        at=item["at"],
        function=item.get("call") or item["function"],
        made=item["self"],
        method=item.get("method"),
        arguments=item["args"],
        is_module_call=bool(item.get("module_call")),
        grad=bool(item.get("grad", True)),
        place=(item.get("module") or "", item["line"]),
        flat=bool(item.get("flat")),
        compiled=(item["function"], item["line"]) not in around,
        before=tuple(item.get("before", ())),
    )
