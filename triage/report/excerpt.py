"""What a failing run says of itself, in few lines: the user's own line, and a traceback without its long middle."""

from __future__ import annotations

import linecache
import re
from collections.abc import Sequence
from dataclasses import replace

from triage.judge.naming import headline
from triage.judge.signature import is_program_frame, is_user_frame, torch_frame, user_frame
from triage.judge.stacks import program_thread
from triage.model.outcome import Frame, Outcome, RaisedException
from triage.model.places import in_packages
from triage.model.stage import OutcomeKind
from triage.model.syntax import function_at, parse

MOST = 6000  # characters
NO_FILE = ("<string>", "<stdin>")  # what a traceback calls the program of `python -c`, and that of `python -`
OWN_FRAMES, INNER_FRAMES, LAST_FRAMES, MOST_HINTS = 3, 6, 3, 3
# As torch._dynamo.exc.format_graph_break_message writes them (2.7 and later): a hint may go on in deeper lines.
_HINT = re.compile(r"^ *Hint: (.*(?:\n {4,}\S.*)*)", re.MULTILINE)
# `torch/_dynamo/graph_break_hints.py`, `USER_ERROR`.
_TRY_UNCOMPILED = re.compile(r"\berror when running in eager\b|\bremoving the `?torch\.compile`? call\b")
_FOR_A_LOG = re.compile(r"^torch/_logging/|:(?:print_readable|_?print_tabular|trace_structured)$")


def line_of(outcome: Outcome, typed: str | None = None) -> Frame | None:
    """The innermost line of the user's program; of a crash or a hang, from the stacks that it left.

    `typed`: the program's text, where it is no file.
    """
    if outcome.exception is not None:
        error = outcome.exception
        return _executed_line(error) or user_frame(error) or (_typed_line(error, typed) if typed else None)
    found = next(filter(is_user_frame, reversed(program_thread(outcome.stacks))), None)
    return replace(found, code=code_at(found)) if found is not None else None


def library_line_of(outcome: Outcome, raising: Frame | None = None) -> str | None:
    """The line of an installed package to which the program's own led Dynamo; None where it failed in the program's.

    Where Dynamo names no line (it calls what an object defines when it makes guards) it is the `raising` one.
    """
    levels = (outcome.exception, outcome.exception.innermost()) if outcome.exception is not None else ()
    traced = next((level.user_code for level in levels if level.user_code), ())
    found = next(filter(is_program_frame, reversed(traced)), None) if traced else raising
    if found is None or is_user_frame(found) or not is_program_frame(found):
        return None
    return found.told


def _executed_line(error: RaisedException) -> Frame | None:
    """The same of a program that runs texts as modules (cells of a notebook): its own line, the `exec`, tells nothing."""
    if not any(_named_text(frame) and frame.function == "<module>" for frame in error.frames):
        return None
    traced = [*error.user_code, *error.innermost().user_code]
    return next(filter(_named_text, reversed(traced)), None) if not any(map(is_user_frame, traced)) else None


def _named_text(frame: Frame) -> bool:
    return frame.file.startswith("<") and not frame.file.startswith("<frozen ") and frame.file not in NO_FILE


def _typed_line(error: RaisedException, text: str) -> Frame | None:
    """The same of a program that is no file. What a class generates has the name of one too: the line must be of its function."""
    try:
        tree, lines = parse(text), text.splitlines()
    except (SyntaxError, ValueError):
        return None

    def stands_there(frame: Frame) -> bool:
        named = frame.file in NO_FILE and 0 < frame.line <= len(lines)
        return named and frame.function == function_at(tree, frame.line)

    found = user_frame(error, stands_there)
    return replace(found, code=lines[found.line - 1].strip()) if found is not None else None


def code_at(frame: Frame) -> str:
    """What stands in the line: the frames of a stack have places alone. Empty where it cannot be read."""
    return linecache.getline(frame.file, frame.line).strip()


def excerpt(outcome: Outcome, *, caused: bool = False) -> str:
    """The error as a traceback: it begins in the user's code, ends with the error, and leaves out what lies between.

    With `caused` the traceback is that of the exception that torch raised this one from, where there is one.
    """
    error = outcome.exception
    if error is None:
        stack = _stack(program_thread(outcome.stacks)) or [outcome.stacks[: MOST // 2]]
        return "\n".join(filter(None, [*stack, _ending(outcome)]))[:MOST]
    cause = error.innermost().cause if caused else None
    lines = _traceback(error if cause is None else cause)
    if cause is not None:
        lines.append(f"{cause.type}: {cause.message}\n\nThe above exception was the direct cause of:\n")
    lines.append(f"{error.type}: {error.message}")
    if outcome.kind is OutcomeKind.CRASH and outcome.detail:
        lines.append(outcome.detail)
    return "\n".join(lines)[:MOST]


def function_of_stacks(outcome: Outcome) -> str | None:
    """Torch's innermost function in the thread of the program: `torch/fx/graph.py:python_code`.

    None where it prints a graph for a log: that is our doing, and not where the program hangs without us.
    """
    named = [torch_frame(frame) or "" for frame in reversed(program_thread(outcome.stacks))]
    if any(_FOR_A_LOG.search(name) for name in named):
        return None
    return next(filter(None, named), None)


def hints_of(outcome: Outcome, *, passes_uncompiled: bool) -> tuple[str, ...]:
    """What torch itself advises in the text of the error, each as one line; not to do what the ladder has done.

    Where it `passes_uncompiled`, nobody need try that.
    """
    error = outcome.exception
    texts = [] if error is None else [level.message for level in error.levels]
    found = [" ".join(hint.split()) for text in texts for hint in _HINT.findall(text)]
    if passes_uncompiled:
        found = [hint for hint in found if not _TRY_UNCOMPILED.search(hint)]
    return tuple(dict.fromkeys(found))[:MOST_HINTS]


def _ending(outcome: Outcome) -> str:
    if outcome.kind is not OutcomeKind.HANG:
        return outcome.detail
    return headline(f"No end within {outcome.seconds:.0f} s", outcome.detail)


def _stack(frames: Sequence[Frame]) -> list[str]:
    """From the user's line to where the process was: of what it called in torch the innermost, and what that had called last."""
    own = [place for place, frame in enumerate(frames) if is_user_frame(frame)][-OWN_FRAMES:]
    torch = [place for place, frame in enumerate(frames) if torch_frame(frame)][-INNER_FRAMES:]
    kept = sorted({*own, *torch, *range(max(0, len(frames) - LAST_FRAMES), len(frames))})
    lines = ["Stack when it ended (most recent call last):"] if kept else []
    for place, before in zip(kept, [kept[0] - 1 if kept else 0, *kept], strict=False):
        if place - before > 1:
            lines.append(f"  ... {place - before - 1} frame{'' if place - before == 2 else 's'} left out")
        lines += _lines(frames[place])
    return lines


def _traceback(error: RaisedException) -> list[str]:
    inner = error.innermost()
    last = list(inner.frames[-INNER_FRAMES:])
    before = [frame for frame in inner.frames[:-INNER_FRAMES] or error.frames if frame not in last]
    own = [frame for frame in before if is_user_frame(frame)]
    own = own or [frame for frame in error.frames if is_user_frame(frame) and frame not in last]
    own = own[-OWN_FRAMES:]
    left_out = len(before) - len(own)
    lines = ["Traceback (most recent call last):"] if own or last else []
    for frame in own:
        lines += _lines(frame)
    if left_out > 0:
        lines.append(f"  ... {left_out} frame{'' if left_out == 1 else 's'} left out")
    for frame in last:
        lines += _lines(frame)
    return lines


def _lines(frame: Frame) -> list[str]:
    head = f'  File "{in_packages(frame.file) or frame.file}", line {frame.line}, in {frame.function}'
    return [head, f"    {frame.code}"] if frame.code else [head]
