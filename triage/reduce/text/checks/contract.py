"""Whether the custom operators of a candidate still keep what their schemas promise: asked of torch, in the candidate itself.

A kernel that returns its own argument, or nothing, breaks the promise that a compiler builds on; whatever it then makes of
it is no bug of its own. So a candidate that defines operators and fails the same way is run once more, uncompiled, with
what watches the calls of its operators and puts each to `torch.library.opcheck` (2.5 and newer; before that nothing is
asked). What fails there must have failed with the program's own operators too.
"""

from __future__ import annotations

import re
import threading
from dataclasses import replace

from triage.judge.judgement import CandidateResult
from triage.judge.likeness import same_failure
from triage.judge.signature import FailureSignature
from triage.model.effects import REGISTERED_NAMESPACES
from triage.model.rungs import UNCOMPILED
from triage.probe.launch import Cancel
from triage.reduce.text.code.script import Script, after_future
from triage.trial.facts import not_run
from triage.trial.interface import CandidateRunner
from triage.trial.pool import Query, RunnerView, ask

_DEFINES = re.compile(
    r"\b(?:custom_op|triton_op|Library|load_library|load_inline)\(|torch\.library\b|\bcpp_extension\b"
)
_ANSWER = re.compile(r"triage asked opcheck: \[(.*?)\]")
# Names that no script has. The tests are those that need no compiler and no gradients.
_PRELUDE = """\
def _triage_watch():
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_map

    known, seen = REGISTERED_NAMESPACES, {}

    def copied(value):
        return value.detach().clone() if isinstance(value, torch.Tensor) else value

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if getattr(func, "namespace", "aten") not in known and len(seen.setdefault(func, [])) < 2:
                seen[func].append(tree_map(copied, (args, kwargs or {})))
            return func(*args, **(kwargs or {}))

    watch = Watch()
    watch.__enter__()

    def asked():
        watch.__exit__(None, None, None)
        failed = set()
        for func, calls in seen.items():
            for args, kwargs in calls:
                found = torch.library.opcheck(
                    func, args, kwargs, test_utils=("test_schema", "test_faketensor"), raise_exception=False
                )
                failed.update(test for test, answer in found.items() if answer != "SUCCESS")
        raise RuntimeError("triage asked opcheck: [%s]" % " ".join(sorted(failed)))

    return asked


_triage_asked = _triage_watch()
""".replace("REGISTERED_NAMESPACES", repr(sorted(REGISTERED_NAMESPACES)))
_QUESTION = "\n_triage_asked()\n"


def with_question(text: str) -> str:
    """The script, which ends by raising what `opcheck` finds of its operators."""
    return after_future(Script(text), _PRELUDE) + _QUESTION


class Contracts:
    """What failed of the first script that was asked may fail of others, and nothing else. Asked by several threads."""

    def __init__(self) -> None:
        self._allowed: frozenset[str] | None = None
        self._lock = threading.Lock()

    def flaw(self, runner: CandidateRunner, query: Query, cancel: Cancel) -> str:
        """What its operators break that the program's own did not; empty where nothing does, or nothing can be asked."""
        if not _DEFINES.search(query.source):
            return ""
        asked = replace(query, source=with_question(query.source), rung=UNCOMPILED.name)
        failed = _answer(ask(runner, asked, cancel))
        if failed is None:
            return ""
        with self._lock:
            if self._allowed is None:
                self._allowed = failed
            more = sorted(failed - self._allowed)
        return f"a custom operator breaks its contract: opcheck fails in {', '.join(more)}" if more else ""


class ContractRunner(RunnerView):
    """A view of a runner: what fails with `signature` though its operators break their contract was not run."""

    def __init__(self, runner: CandidateRunner, signature: FailureSignature) -> None:
        super().__init__(runner)
        self._signature, self._contracts = signature, Contracts()

    def _run_one(self, query: Query, cancel: Cancel) -> CandidateResult:
        result = self._ask(query, cancel)
        if not same_failure(result.signature, self._signature) or cancel.is_set():
            return result
        flaw = self._contracts.flaw(self._runner, query, cancel)
        return not_run(flaw) if flaw else result


def _answer(result: CandidateResult) -> frozenset[str] | None:
    error = result.outcome.exception
    found = _ANSWER.search(error.innermost().message) if error is not None else None
    return frozenset(found.group(1).split()) if found is not None else None
