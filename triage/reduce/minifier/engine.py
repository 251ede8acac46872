"""The engine `repro_after`: PyTorch's own minifier, driven for the person, and never taken at its word.

The story: choose how to ask, run the program once more so that PyTorch writes its launcher, run the launcher within a time
limit, then judge. Each script that it left is run by itself in a fresh process; the smallest that fails the same way is
traced and printed as plain PyTorch, and that print is judged again. Only a print that was judged the same failure is ever
returned; whatever went wrong instead becomes a sentence.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from triage.judge.boundary import boundary, gallop
from triage.judge.comparison import CheckOracle, ComparisonOracle
from triage.judge.device import is_asynchronous
from triage.judge.judgement import Oracle
from triage.judge.likeness import same_failure
from triage.model.graphcase import GraphCase
from triage.model.stage import OutcomeKind, Verdict
from triage.probe.target import Target
from triage.reduce.interface import NoReduction, Problem, Reduction, SiblingScript, header_of, told_as_ours
from triage.reduce.minifier.checkpoints import Checkpoint, queries_made
from triage.reduce.minifier.choice import (
    Minifier,
    check_string,
    choose_minifier,
    lost_input,
    lost_operator,
    minify_arguments,
)
from triage.reduce.minifier.ending import dump_sentence, judge_script, launcher_sentence, refuses_options
from triage.reduce.minifier.launcher import Minified, Workbench
from triage.reduce.printing.printer import Form, Unprintable, count_ops, print_case
from triage.trial.interface import Resources

PROGRAM_SECONDS = 300.0
MINIFY_SECONDS = 600.0
SCRIPT_SECONDS = 120.0
# Of the time that is left, what the launcher may take: its scripts must still be judged.
MINIFY_SHARE = 0.6
LEAST_SECONDS = 20.0


@dataclass(frozen=True)
class ReproAfterEngine:
    """`minify_seconds` are those of the launcher (a part of the budget, if that is less); `directory` is the run's."""

    name: ClassVar[str] = "repro_after"
    subject: ClassVar[str] = "the captured graph (with PyTorch's minifier)"
    target: Target
    directory: Path
    neutral: Path | None = field(default=None, kw_only=True)
    minify_seconds: float = field(default=MINIFY_SECONDS, kw_only=True)

    def reduce(self, problem: Problem, resources: Resources) -> Reduction | NoReduction:
        """Drive the minifier. A KeyboardInterrupt ends in the best print so far; without one it goes on to the caller."""
        chosen = choose_minifier(problem.stage, problem.signature, compares=_compares(problem, resources.oracle))
        if isinstance(chosen, str):
            return NoReduction(chosen)
        lost = lost_input(chosen, problem.cases) or lost_operator(problem.cases)
        if lost:
            return NoReduction(lost)
        with Workbench(self.target, self.directory, problem.workdir / self.name, self.neutral) as bench:
            attempt = MinifierRun(problem, chosen, bench, resources)
            try:
                attempt.go(PROGRAM_SECONDS, self.minify_seconds)
            except KeyboardInterrupt:
                if attempt.best is None:
                    raise
                attempt.interrupted = True
                attempt.cut("It was interrupted while its larger scripts were being compared.")
            except _SpentError:
                attempt.cut("The budget ended before all of its scripts could be judged.")
            except Exception as error:  # noqa: BLE001  what was found until then is not lost by it
                attempt.bug = error
                attempt.cut(f"Then {told_as_ours(error)}.")
            return attempt.result()


class _SpentError(Exception):
    """The budget has ended."""


@dataclass(frozen=True)
class PrintedGraph:
    """A script of ours that was judged the same failure."""

    source: str
    case: GraphCase
    ops: int


@dataclass
class MinifierRun:
    """One use of the minifier, and what is known so far."""

    problem: Problem
    minifier: Minifier
    bench: Workbench
    resources: Resources
    began: float = field(default_factory=time.monotonic)
    queries: int = 0
    complete: bool = True
    interrupted: bool = False
    bug: Exception | None = None
    notes: list[str] = field(default_factory=list)
    siblings: dict[str, SiblingScript] = field(default_factory=dict)
    best: PrintedGraph | None = None

    def go(self, program_seconds: float, minify_seconds: float) -> None:
        """Raises _SpentError where the budget ends."""
        self._say(f"running the program once more with {self.minifier}")
        dumped = self.bench.dump(self.minifier, self.problem.rung, self._limit(program_seconds))
        if dumped.launcher is None:
            same = same_failure(dumped.signature, self.problem.signature)
            self.notes.append(dump_sentence(dumped.outcome, same, str(self.minifier)))
            return
        minified = self._minify(dumped.launcher, minify_seconds)
        if not minified.checkpoints:
            self.notes.append(
                launcher_sentence(minified.output, timed_out=minified.timed_out, seconds=minified.seconds)
            )
            return
        if minified.timed_out:
            self.cut(
                f"PyTorch's minifier was ended after {minified.seconds:.0f} s; its scripts until then were judged."
            )
        self._smallest(minified.checkpoints)

    def _minify(self, launcher: str, seconds: float) -> Minified:
        arguments = minify_arguments(self.minifier, check_string(self.problem.signature))
        limit = min(seconds, self._limit(seconds) * MINIFY_SHARE)
        self._say(f"PyTorch's minifier runs (at most {limit:.0f} s)")
        minified = self.bench.minify(launcher, arguments, limit)
        if refuses_options(minified.output, minified.code):
            minified = self.bench.minify(launcher, ("minify",), limit)
        self.queries += queries_made(minified.output)
        self._say(f"PyTorch's minifier left {len(minified.checkpoints)} scripts in {minified.seconds:.0f} s")
        return minified

    def _smallest(self, checkpoints: tuple[Checkpoint, ...]) -> None:
        """The smallest script that holds: the smaller ones are those written after it began to drift."""
        known: dict[int, bool] = {}

        def holds(index: int) -> bool:
            if index not in known:
                known[index] = self._hold(checkpoints[index])
            return known[index]

        failing = -1
        for index in _trials(len(checkpoints)):
            if holds(index):
                boundary(failing, index, holds)
                return
            failing = index

    def _hold(self, checkpoint: Checkpoint) -> bool:
        """Whether a script fails the same way, as PyTorch wrote it and as we print it."""
        self._say(f"judging the script of {checkpoint.operations} operations")
        self.queries += 1
        result = self.bench.run(checkpoint, self._limit(SCRIPT_SECONDS))
        judgement = self.resources.oracle.judge(result)
        seen = judge_script(result, judgement, self.problem.signature, compares=self._wrong_result)
        if not seen.same:
            self._note(checkpoint, seen.sentence)
            if seen.sibling is not None:
                self.siblings.setdefault(seen.sibling.fingerprint, SiblingScript(seen.sibling, checkpoint.source))
            return False
        # The values that the program had are only shown where values of the same kind do not do.
        for record_values in (False, True) if self._wrong_result else (False,):
            case = self._describe(checkpoint, record_values)
            reason = f"cannot be written as plain PyTorch ({case})" if isinstance(case, str) else self._print(case)
            if not reason:
                return True
        self._note(checkpoint, f"{seen.sentence}, but {reason}")
        return False

    def _describe(self, checkpoint: Checkpoint, record_values: bool) -> GraphCase | str:
        options = {"backend": self.problem.rung, "direction": self.problem.direction, "record_values": record_values}
        return self.bench.describe(checkpoint, options, self._limit(SCRIPT_SECONDS))

    def _print(self, case: GraphCase) -> str:
        """Print in ordinary torch, else with the recorded operators; keep the first print that fails the same way.

        Empty where one did, else why none does.
        """
        reason = ""
        for form in self._forms():
            try:
                reason = self._try(case, form)
            except Unprintable as problem:
                reason = str(problem)
            if not reason:
                self._shorten_config(case, form)
                return ""
        return f"only as PyTorch wrote it, not as plain PyTorch ({reason})"

    def _shorten_config(self, case: GraphCase, form: Form) -> None:
        """Leave out the settings that the failure does not need: PyTorch dumps all that are not at their defaults."""
        lines = case.context.config
        if lines and self._try(_with_config(case, ()), form):
            for line in lines if len(lines) > 1 else ():
                shorter = tuple(item for item in case.context.config if item != line)
                if not self._try(_with_config(case, shorter), form):
                    case = _with_config(case, shorter)

    def _try(self, case: GraphCase, form: Form) -> str:
        """Print and judge: empty where it is the same failure, else what it is instead. Raises Unprintable."""
        source = print_case(case, header=header_of(self.problem), form=form)
        reason = self._judge(source)
        if not reason:
            self.best = PrintedGraph(source, case, count_ops(case))
        return reason

    def _judge(self, source: str) -> str:
        limit = self._limit(SCRIPT_SECONDS)
        self.queries += 1
        result = self.resources.runner.run(source, timeout=limit)
        # Our print compares by itself; the program's own check lies outside of the graph.
        oracle = CheckOracle(self.problem.signature) if self._wrong_result else self.resources.oracle
        judgement = oracle.judge(result)
        if judgement.verdict is Verdict.SAME_FAILURE:
            return ""
        if judgement.sibling is not None:
            self.siblings.setdefault(judgement.sibling.fingerprint, SiblingScript(judgement.sibling, source))
        return judgement.reason or judgement.verdict.value

    def _forms(self) -> tuple[Form, ...]:
        plain = Form(
            check="values" if self._wrong_result else "exception",
            waits=is_asynchronous(self.problem.signature.message),
        )
        return (plain, replace(plain, nice=False))

    @property
    def _wrong_result(self) -> bool:
        return _compares(self.problem, self.resources.oracle)

    def _limit(self, seconds: float) -> float:
        left = self.resources.budget.left()
        if left < LEAST_SECONDS:
            raise _SpentError
        return min(seconds, left)

    def _say(self, text: str) -> None:
        self.resources.emit("engine_step", text=text)

    def _note(self, checkpoint: Checkpoint, sentence: str) -> None:
        what = f"{checkpoint.operations} operation{'' if checkpoint.operations == 1 else 's'}"
        self.notes.append(f"The script of {what} that PyTorch's minifier left {sentence}.")

    def cut(self, sentence: str) -> None:
        """Something ended early."""
        self.complete = False
        self.notes.append(sentence)

    def result(self) -> Reduction | NoReduction:
        """What is known now."""
        seconds = time.monotonic() - self.began
        siblings = tuple(self.siblings.values())
        if self.best is None:
            reason = " ".join(dict.fromkeys(self.notes)) or "PyTorch's minifier left nothing that fails the same way."
            return NoReduction(reason, siblings, bug=self.bug)
        return Reduction(
            source=self.best.source,
            engine=ReproAfterEngine.name,
            case="graph",
            ops=self.best.ops,
            queries=self.queries,
            seconds=seconds,
            minimal=False,  # PyTorch's minifier does not check that nothing more can go
            complete=self.complete,
            interrupted=self.interrupted,
            bug=self.bug,
            graph=self.best.case,
            siblings=siblings,
            notes=(f"Reduced by PyTorch's minifier ({self.minifier}).", *dict.fromkeys(self.notes)),
        )


def _compares(problem: Problem, oracle: Oracle) -> bool:
    return problem.signature.kind is OutcomeKind.WRONG_RESULT or isinstance(oracle, CheckOracle | ComparisonOracle)


def _trials(count: int) -> Iterator[int]:
    """Which of the scripts to try, smallest first, with growing steps; always the largest too."""
    yield from gallop(-1, count)
    if count - 1 not in gallop(-1, count):
        yield count - 1


def _with_config(case: GraphCase, lines: tuple[str, ...]) -> GraphCase:
    return replace(case, context=replace(case.context, config=lines))
