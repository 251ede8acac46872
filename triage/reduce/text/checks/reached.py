"""A statement of the program's own that fails: it must hang on something in a candidate, as it did in the program.

What the program gave to the compiler (a pass, a backend, a kernel, a hook) may raise, or go round in a loop for ever. A
candidate in which it does so for every program is none. Where that is, is told by the traceback, or by the stacks of a
process that ran into its limit; whether anything decides over it is read off the text (`guards`).

A candidate is also run with a harmless function in the place of each one that it compiles: `raise` behind `if node:` fails for
every program. Each `torch.compile` then compiles and calls a function with one operation, spelled as a function and as a
method, and gives back the script's function as it is.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from triage.judge.signature import is_user_frame, torch_frame
from triage.judge.stacks import program_thread
from triage.model.outcome import Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind
from triage.reduce.text.checks.guards import Place, guarded, statement_at, words_of
from triage.reduce.text.code.nodes import FUNCTIONS
from triage.reduce.text.code.script import Script, after_future


@dataclass(frozen=True)
class OwnFailure:
    """A statement of the program's own that failed under a condition, and what the program asks for being true."""

    words: frozenset[str]

    def is_reached_anyway(self, candidate: str, outcome: Outcome) -> bool:
        """Whether what failed in a candidate is a statement of its own, under no condition that is one."""
        script = Script(candidate)
        places = [(script, frame.line) for frame in own_frames(outcome)]
        return fails_itself(places, outcome.kind) and not guarded(places, self.words)


def own_failure(outcome: Outcome, texts: Mapping[str, str]) -> OwnFailure | None:
    """What must stay, where a statement of the program's own failed under a condition. `texts` are its files by path."""
    scripts = {file: Script(text) for file, text in texts.items()}
    places = [(scripts[frame.file], frame.line) for frame in own_frames(outcome) if frame.file in scripts]
    if not fails_itself(places, outcome.kind) or not guarded(places):
        return None
    return OwnFailure(words_of(list(scripts.values())))


def own_frames(outcome: Outcome) -> tuple[Frame, ...]:
    """The calls within the program that ended in the failure, outermost first; none where it is not the program's own."""
    if outcome.kind is OutcomeKind.HANG:
        return _within_torch(program_thread(outcome.stacks))
    return _raised_by(outcome.exception)


def fails_itself(places: Sequence[Place], kind: OutcomeKind) -> bool:
    """Whether the last of these lines is a `raise` or an `assert`; of a hang, whether one of them is in a loop."""
    if kind is OutcomeKind.HANG:
        return any(_in_loop(*place) for place in places)
    return bool(places) and isinstance(statement_at(*places[-1]), ast.Raise | ast.Assert)


def _raised_by(exception: RaisedException | None) -> tuple[Frame, ...]:
    frames = exception.innermost().frames if exception is not None else ()
    return tuple(itertools.takewhile(is_user_frame, reversed(frames)))[::-1]


def _within_torch(frames: Sequence[Frame]) -> tuple[Frame, ...]:
    """The innermost frames of the program that torch called, whatever they called in turn."""
    below = itertools.dropwhile(lambda frame: not is_user_frame(frame), reversed(frames))
    own = tuple(itertools.takewhile(is_user_frame, below))[::-1]
    around = frames[: frames.index(own[0])] if own else ()
    return own if any(torch_frame(frame) is not None for frame in around) else ()


def _in_loop(script: Script, line: int) -> bool:
    statement = statement_at(script, line)
    around = () if statement is None else (statement, *script.above(statement))
    here = itertools.takewhile(lambda node: not isinstance(node, FUNCTIONS), around)
    return any(isinstance(node, ast.While | ast.For) for node in here)


# Indented as one statement, with names that no script has.
_PRELUDE = """\
def _triage_harmless():
    import torch

    compile = torch.compile

    def harmless(model=None, **options):
        if model is None:
            return lambda model: harmless(model, **options)
        compile(lambda x: torch.neg(x).neg(), **options)(torch.ones(2, requires_grad=True)).sum().backward()
        return model

    torch.compile = harmless


_triage_harmless()
"""


def with_harmless(text: str) -> str:
    """The script, preceded by what exchanges the functions it compiles."""
    return after_future(Script(text), _PRELUDE)
