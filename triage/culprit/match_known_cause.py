"""Which row of the table of known causes a failure has, and what is told of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from triage.culprit.known_causes import TABLE, Row
from triage.model.outcome import CompileCall, Outcome, RaisedException
from triage.model.report import KnownCause
from triage.model.stage import Stage

# As torch/_inductor/exc.py and the operating system name the compiler that is not there.
_COMPILER = re.compile(
    r"cpp\.cxx: \((?:None, )?'([^'\n]+)'|Compiler: (\S+) is not found|No such file or directory: '([^'\n]+)'"
)
_DEFAULT_COMPILERS = ("g++", "clang++", "cl")


def told_cause(row: Row, outcome: Outcome) -> KnownCause:
    """What the row says of this failure."""
    return KnownCause(row.id, row.explanation, f"{row.cure}{_sought(row, outcome)}", _page(outcome) or row.reference)


def lies_in_environment(outcome: Outcome | None, stage: Stage) -> bool:
    """Whether the compiler fails there whatever it is given. What the script does by itself has a line, whatever it meets."""
    row = known_row(outcome, stage) if stage is not Stage.SCRIPT else None
    return row is not None and row.environment


def known_row(
    outcome: Outcome | None, stage: Stage, calls: Sequence[CompileCall] = (), printed: str = ""
) -> Row | None:
    """The first row of the table that holds."""
    if outcome is None:
        return None
    return next((row for row in TABLE if _holds(row, outcome, stage, calls, printed)), None)


def _holds(row: Row, outcome: Outcome, stage: Stage, calls: Sequence[CompileCall], printed: str) -> bool:
    if outcome.kind not in row.kinds or (row.stages and stage not in row.stages):
        return False
    if row.fullgraph and calls and not any(call.fullgraph for call in calls):
        return False
    if row.through and not any(re.search(row.through, file) for file in _files(outcome)):
        return False
    texts = list(_texts(outcome, printed))
    if row.unless and any(re.search(row.unless, text) for _, text in texts):
        return False
    return any((not row.types or name in row.types) and re.search(row.says, text) for name, text in texts)


def _texts(outcome: Outcome, printed: str) -> Iterator[tuple[str, str]]:
    """(class name, text) of the exception, of what it wraps and of what those were raised from; then what was printed."""
    for error in _chain(outcome):
        yield error.type.rsplit(".", 1)[-1], error.message
        wrapped = re.match(r"(?:backend='\w+' raised:\s*)?(\w+): ", error.message)
        if wrapped is not None:  # a wrapper whose inner exception was not kept: its text begins with the type
            yield wrapped.group(1), error.message[wrapped.end() :]
    yield "", outcome.detail
    yield "", printed


def _files(outcome: Outcome) -> Iterator[str]:
    return (frame.file for error in _chain(outcome) for frame in error.frames)


def _chain(outcome: Outcome) -> Iterator[RaisedException]:
    """The exception, what it wraps and what those were raised from."""
    waiting: list[RaisedException | None] = [outcome.exception]
    while waiting:
        error = waiting.pop(0)
        if error is not None:
            yield error
            waiting += [error.inner, error.cause]


def _sought(row: Row, outcome: Outcome) -> str:
    """Which compiler torch looked for, as a sentence, where the error names it."""
    texts = [text for _, text in _texts(outcome, "")] if row.id == "no_cxx_compiler" else []
    found = next(filter(None, (_COMPILER.search(text) for text in texts)), None)
    if found is None:
        return ""
    name = next(filter(None, found.groups()))
    told = "" if name in _DEFAULT_COMPILERS else ", which $CXX or `torch._inductor.config.cpp.cxx` says"
    return f" Torch looked for `{name}`{told}."


def _page(outcome: Outcome) -> str | None:
    """The page of torch's registry of graph breaks that the error itself names."""
    error = outcome.exception
    texts = [] if error is None else [error.message, error.innermost().message]
    found = next(filter(None, (re.search(r"https://\S+/gb/gb\d+\.html", text) for text in texts)), None)
    return found.group(0) if found is not None else None
