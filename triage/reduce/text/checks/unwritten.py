"""Whether what a candidate shows hangs on memory that nobody wrote: asked of an uncompiled run in which none of it is alike.

An edit may leave `torch.Tensor(3)` without the line that filled it. What the call gives then is what lay there before, and two
calls of one function need not agree, compiled or not. So a candidate that asks for such memory and fails the same way is run
once more, uncompiled, with another number in each: it must end well, and print the same results, as the program does.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import replace

from triage.judge.judgement import CandidateResult
from triage.model.rungs import UNCOMPILED
from triage.model.stage import OutcomeKind
from triage.probe.launch import Cancel
from triage.reduce.text.code.script import Script, after_future
from triage.trial.interface import CandidateRunner
from triage.trial.pool import Query, ask

_ASKS = re.compile(r"\b(?:new_)?empty(?:_like|_permuted|_strided)?\(|\b[A-Z]?[a-z]*Tensor\(|\.new\(")
# Names that no script has. No two that follow each other are alike in any dtype, nor in proportion.
_PRELUDE = """\
def _triage_vary():
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Varied(TorchDispatchMode):
        made = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            if func.__name__.split(".")[0].replace("new_", "").split("_")[0] == "empty":
                Varied.made += 1
                numbers = torch.arange(result.numel(), device=result.device) + Varied.made
                result.copy_((1 + numbers % (2 if result.dtype is torch.bool else 97)).reshape(result.shape))
            return result

    Varied().__enter__()


_triage_vary()
"""


def with_varied_memory(text: str) -> str:
    """The script, for which memory that nobody wrote holds another number each time."""
    return after_future(Script(text), _PRELUDE)


class UnwrittenMemory:
    """Only what the first script that was asked bears is asked of others. By several threads."""

    def __init__(self) -> None:
        self._asking: bool | None = None
        self._lock = threading.Lock()

    def decides(
        self,
        runner: CandidateRunner,
        query: Query,
        cancel: Cancel,
        holds: Callable[[CandidateResult], bool] = lambda result: result.outcome.kind is OutcomeKind.OK,
    ) -> bool:
        """Whether `holds` is not true of it where such memory holds other numbers, though it is of the program."""
        if self._asking is False or not _ASKS.search(query.source):
            return False
        varied = replace(query, source=with_varied_memory(query.source), rung=UNCOMPILED.name)
        borne = holds(ask(runner, varied, cancel))
        with self._lock:
            if self._asking is None and not cancel.is_set():
                self._asking = borne
            return bool(self._asking) and not borne
