"""The same failure, and only compiled: a candidate must also run to its end where the program does.

A script is not like a graph, whose printed form runs eager first: what the passes make of it may be broken in itself, or
fail for a reason of its own. So whoever fails the same way is run once more with the backend of the rung that passes.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from triage.judge.handled import handled, unexpected
from triage.judge.judgement import CandidateResult
from triage.judge.likeness import same_failure
from triage.judge.lines import results_in
from triage.judge.printed import REPEATS, as_wrong, differing, steadied, words_of
from triage.judge.signature import FailureSignature
from triage.model.rungs import UNCOMPILED
from triage.model.stage import OutcomeKind
from triage.probe.launch import Cancel
from triage.reduce.text.checks.contract import Contracts
from triage.reduce.text.checks.left_files import LeftFiles
from triage.reduce.text.checks.own_process import needs_own_process
from triage.reduce.text.checks.reached import OwnFailure, with_harmless
from triage.reduce.text.checks.unwritten import UnwrittenMemory
from triage.trial.facts import not_run
from triage.trial.fresh import ONE_THREAD, FreshProcessRunner, run_fresh
from triage.trial.interface import CandidateRunner
from triage.trial.limits import meets_others
from triage.trial.pool import Query, RunnerView, ask

CONFINE = "TRIAGE_CONFINE"


def _fails_with(signature: FailureSignature, result: CandidateResult) -> bool:
    return same_failure(result.signature, signature)


class PairedRunner(RunnerView):
    """A view of a runner. What fails with `signature` (or as it says) fails on the passing rung as well, or is a result.

    With `own`, where a statement of the program's own failed, its conditions must be there, and decide: once a candidate
    did not fail with a harmless function in the place of the compiled one, none may. Unless `recompiles`, none may compile
    a graph again: what goes wrong with the first one is another failure than what goes wrong with the second. Close the
    runner alone.
    """

    def __init__(
        self,
        runner: CandidateRunner,
        signature: FailureSignature | Callable[[CandidateResult], bool],
        passing: str = UNCOMPILED.name,
        own: OwnFailure | None = None,
        *,
        exchanges: bool = True,
        recompiles: bool = True,
        files: LeftFiles | None = None,
    ) -> None:
        super().__init__(runner)
        self._passing, self._own = passing, own
        self._fails = signature if callable(signature) else partial(_fails_with, signature)
        self._exchanges = exchanges and own is not None  # a program's own check comes after what is compiled
        self._recompiles = recompiles
        self._files = files or LeftFiles()
        self._decides = False
        self._contracts, self._unwritten = Contracts(), UnwrittenMemory()
        self._warned: frozenset[str] | None = None  # by the first script that was run on the passing rung

    def _run_one(self, query: Query, cancel: Cancel) -> CandidateResult:
        result = self._ask(query, cancel)
        if not self._fails(result) or cancel.is_set():
            return result
        flaw = self._flaw(query, result, cancel)
        if flaw:
            return not_run(flaw)
        self._files.accept(query.source, result.left)
        return result

    def _flaw(self, query: Query, result: CandidateResult, cancel: Cancel) -> str:
        flaw = self._wrong_way(query, result, cancel) or self._contracts.flaw(self._runner, query, cancel)
        if not flaw and self._unwritten.decides(self._runner, query, cancel):
            return "it hangs on memory that nobody wrote"
        return flaw

    def _wrong_way(self, query: Query, result: CandidateResult, cancel: Cancel) -> str:
        """Why a candidate that fails the same way is none; empty where it is one."""
        if flaw := self._files.flaw(result.left):
            return flaw
        if result.notes.recompiles and not self._recompiles:
            return "it compiles a graph again, which the program does not"
        if self._own is not None and self._own.is_reached_anyway(query.source, result.outcome):
            return "nothing decides whether its own statement fails"
        if self._exchanges:
            harmless = self._ask(replace(query, source=with_harmless(query.source)), cancel)
            if harmless.outcome.kind is OutcomeKind.OK:
                self._decides = True
                if self._passing == UNCOMPILED.name:  # the script's own functions ran so
                    return ""
            elif self._decides:
                return "its own statement fails whatever is compiled"
        below = self._ask(replace(query, rung=self._passing), cancel)
        if below.outcome.kind is not OutcomeKind.OK and not self._only_expected(query, below, cancel):
            return f"{_without(self._passing)}: {below.outcome.kind.value}"
        return self._warnings(below)

    def _only_expected(self, query: Query, below: CandidateResult, cancel: Cancel) -> bool:
        """Whether it ends well, and handles nothing but what it handles uncompiled too."""
        error = below.outcome.exception
        if error is None or not error.swallowed or below.outcome.exit_code != 0:
            return False
        plain = self._ask(replace(query, rung=UNCOMPILED.name), cancel)
        news = unexpected(handled(below.notes.raised), handled(plain.notes.raised))
        return plain.outcome.kind is OutcomeKind.OK and not news

    def _warnings(self, below: CandidateResult) -> str:
        """Kinds of warnings that the program does not give: with warnings as errors a candidate must pass where it does."""
        with self._lock:
            if self._warned is None:
                self._warned = frozenset(below.warned)
            more = sorted(set(below.warned) - self._warned)
        return f"{self._passing} warns: {more[0]}" if more else ""


def _without(passing: str) -> str:
    return "it fails without a compiler too" if passing == UNCOMPILED.name else f"it fails with {passing} too"


class PrintedRunner(RunnerView):
    """A view of a runner. A run that passes, and prints numbers that are others uncompiled, is a wrong result.

    Only those that two uncompiled runs print alike count: what is random, or a time, is another in each.
    """

    def __init__(self, runner: CandidateRunner) -> None:
        super().__init__(runner)
        self._unwritten = UnwrittenMemory()

    def _run_one(self, query: Query, cancel: Cancel) -> CandidateResult:
        result = self._ask(query, cancel)
        mine = results_in(result)
        if result.outcome.kind is not OutcomeKind.OK or not result.compiled or not mine:
            return result
        below = replace(query, rung=UNCOMPILED.name)
        one = self._ask(below, cancel)
        right = results_in(one)
        others = differing(right, mine)
        if one.outcome.kind is not OutcomeKind.OK or not others:
            return result
        steady = steadied(right, results_in(self._ask(below, cancel)), REPEATS)
        others = differing(steady, mine)

        def holds(varied: CandidateResult) -> bool:
            return bool(differing(steadied(steady, results_in(varied), REPEATS), mine))

        if not others or self._unwritten.decides(self._runner, query, cancel, holds):
            return result
        return as_wrong(result, words_of(steady, mine, others[0]))


class RoutingRunner(RunnerView):
    """Runs a script that must not share a process in one of its own, others where they always run."""

    def __init__(self, runner: CandidateRunner, python: str, neutral: Path | None) -> None:
        super().__init__(runner)
        self._fresh = _ConfinedRunner(python, jobs=runner.jobs, neutral=neutral)
        self._meeting = threading.Lock()

    def close(self) -> None:
        """End what this view started; the runner itself stays open."""
        self._fresh.close()
        super().close()

    def _run_one(self, query: Query, cancel: Cancel) -> CandidateResult:
        if not needs_own_process(query.source):
            return self._ask(query, cancel)
        with self._meeting if meets_others(query.source) else nullcontext():
            return ask(self._fresh, query, cancel)


class _ConfinedRunner(FreshProcessRunner):
    """Fresh processes that may write in their own directory only, as forked ones may."""

    def _run_one(self, query: Query, cancel: Cancel) -> CandidateResult:
        directory = self._new_directory()
        env = {**ONE_THREAD, CONFINE: str(directory)}
        try:
            return run_fresh(query, self.python, directory, cancel, extra_env=env, neutral=self.neutral)
        finally:
            shutil.rmtree(directory, ignore_errors=True)
