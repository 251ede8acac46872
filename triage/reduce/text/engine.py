"""The source engine: a failing program becomes a short script in one file, without the packages it does not need.

Run once more to see what it executes; find the shortest text that fails the same way; let the passes make it small; copy
out of installed packages what is left of them, and make that small. Whatever happens on the way, the best candidate that
was judged the same failure is the result, and says what it is.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from triage.judge.asking import Budget
from triage.judge.comparison import FirstComparisonOracle, PrintedOracle, SameNumbers
from triage.judge.dimensions import SameDimensions, differences
from triage.judge.judgement import Oracle, RefusedError
from triage.model.outcome import CompileCall, Frame, Outcome, RaisedException
from triage.model.rungs import UNCOMPILED
from triage.model.stage import OutcomeKind, Stage
from triage.model.syntax import parse
from triage.probe.launch import Cancel
from triage.probe.target import Target
from triage.reduce.interface import NoReduction, Problem, Reduction
from triage.reduce.printing.printer import code_lines
from triage.reduce.text.checks.left_files import LeftFiles
from triage.reduce.text.checks.reached import own_failure, own_frames
from triage.reduce.text.checks.runners import PairedRunner, PrintedRunner, RoutingRunner
from triage.reduce.text.code.script import Script, after_future
from triage.reduce.text.code.shape import shaped
from triage.reduce.text.finish.eager_first import eager_first
from triage.reduce.text.finish.prints import compared_at_the_end
from triage.reduce.text.leftovers import without_leftovers
from triage.reduce.text.reducing import Around, Bench, Reducing
from triage.reduce.text.search import Search
from triage.reduce.text.starts.texts import KnownFailure, with_text
from triage.reduce.text.validity import RULES, SEEDED, Validity
from triage.reduce.text.watching import evidence
from triage.reduce.text.watching.evidence import Trace
from triage.reduce.text.watching.tracing import Wanted, trace
from triage.trial.driver import Driver
from triage.trial.interface import CandidateRunner, Resources
from triage.trial.patience import Patience
from triage.trial.share import MOST_KEPT_SECONDS, Limit

SECONDS = 120.0
MOST_SECONDS = 300.0
SHARE_OF_LAST_STEPS = 0.1  # of the time, for what makes the result readable
RUNS = 10  # what a reduction may cost, in runs of the program
SLOWED = 4  # as many times as long a run may take that is watched line by line


@dataclass(frozen=True)
class FailingRun:
    """What the run that failed told: how it ended, in which call of compiled code, and how that was compiled.

    `own_check` is set where the program's own comparison failed: the failure then comes after the compiled calls, and
    little but its words tells it from others. `recompiles`: how often a graph was compiled again.
    """

    outcome: Outcome
    calls: int
    compiled: tuple[CompileCall, ...]
    own_check: bool = False
    recompiles: int = 0

    @property
    def exception(self) -> RaisedException | None:
        return self.outcome.exception


@dataclass(frozen=True)
class SourceEngine:
    """Reduces the program's text. `seconds` is the most it takes, less where the budget is; `header` the comment on top.

    Words of the program's data that the failure needs are only part of the result with `include_data`. With a
    `FirstComparisonOracle` as `compared` it begins with a compiled call by itself, compared with the same call uncompiled; with a
    `PrintedOracle` what candidates print is compared. A second engine is made of the first: it knows what `patience` has
    learned, and need not make the run that is `traced` (what it showed, and its seconds).
    """

    name: ClassVar[str] = "native"
    target: Target
    seen: FailingRun
    timeout: float = field(kw_only=True)
    patience: Patience = field(kw_only=True)
    neutral: Path | None = field(default=None, kw_only=True)
    header: str = field(kw_only=True)
    seconds: float = field(default=SECONDS, kw_only=True)
    cancel: Cancel | None = field(default=None, kw_only=True)
    include_data: bool = field(default=False, kw_only=True)
    compared: FirstComparisonOracle | PrintedOracle | None = field(default=None, kw_only=True)
    traced: list[tuple[Trace | None, float]] = field(default_factory=list, kw_only=True)

    @property
    def subject(self) -> str:
        return "a compiled call beside the same call uncompiled" if self._of_a_call else "the program's text"

    @property
    def _of_a_call(self) -> bool:
        return isinstance(self.compared, FirstComparisonOracle)

    def reduce(self, problem: Problem, resources: Resources) -> Reduction | NoReduction:
        """The smallest failing script. KeyboardInterrupt and a spent budget end it early, with the best so far."""
        rung = None if problem.stage is Stage.BACKEND or problem.door else problem.rung
        routed = RoutingRunner(resources.runner, self.target.python, self.neutral)
        kept = min(MOST_KEPT_SECONDS, SHARE_OF_LAST_STEPS * min(self.seconds, resources.budget.left()))
        limit = Limit(resources.budget, self.seconds, kept=kept)

        files, valid = LeftFiles(), Validity((*RULES, SEEDED) if self.seen.own_check else RULES)
        paired = self._paired(routed, problem, files)

        def shown(script: Script) -> str:
            return shaped(script, rung, self.header, door=problem.door)

        def bench(prelude: str = "", *, private: bool = False) -> Bench:
            def render(script: Script) -> str:
                valid.check(script)
                return shown(Script(after_future(script, prelude)) if prelude else script)

            hidden = [*(["source"] if prelude or private else []), *(["digest"] if files.tolerated else [])]
            oracle: Oracle = SameDimensions(resources.oracle, differences(problem.signature))
            oracle = SameNumbers(oracle, problem.signature) if self.seen.own_check else oracle
            driver: Driver[Script] = Driver(
                Resources(paired, oracle, limit, _without(resources.emit, *hidden)),
                render,
                lambda script, source: {"lines": code_lines(source)},
                rung=rung,
                patience=self.patience,
                recalled={} if files.tolerated else problem.recalled,
            )
            return Bench(driver, Search(driver, resources.runner.jobs, limit), render, shown)

        try:
            frames = evidence.failing_frames(self.seen.exception)
            known = KnownFailure(self.seen.calls, self.seen.compiled, rung, self._of_a_call, frames)
            ending: Callable[[Script], Iterable[Script]] = eager_first
            if isinstance(self.compared, PrintedOracle):
                told = partial(compared_at_the_end, uncompiled=partial(_uncompiled, routed, shown, self.patience))
                ending = partial(_lightest_first, told)
            folder = self.target.script.parent if self.target.script else self.target.cwd
            around = Around(folder, self.target.cwd, self.target.stdin, self.include_data, resources.emit)
            learn = partial(self._evidence, problem, limit, resources)
            rough = problem.operation_only
            return Reducing(bench, valid, learn, known, around, limit.release, files, ending, outline_only=rough).run()
        finally:
            routed.close()

    def _paired(self, runner: CandidateRunner, problem: Problem, files: LeftFiles) -> PairedRunner:
        """Candidates must pass on the rung below; not with all of Inductor, which would cost more than it can show."""
        passing = UNCOMPILED.name if problem.stage is Stage.BACKEND else problem.passing
        own_check = self.seen.own_check
        again = self.seen.recompiles > 0 or not own_check
        if self.compared is not None:
            runner = runner if self._of_a_call else PrintedRunner(runner)
            return PairedRunner(runner, self.compared.fails, passing, recompiles=again, files=files)
        own = own_failure(self.seen.outcome, _texts(own_frames(self.seen.outcome)))
        return PairedRunner(
            runner, problem.signature, passing, own, exchanges=not own_check, recompiles=again, files=files
        )

    def _evidence(self, problem: Problem, limit: Limit, resources: Resources) -> Trace | None:
        """What one run of the program shows.

        Of a check of its own no compiled call is known to fail, so none is a start by itself; the test that it stands in is.
        """
        if not self.traced:
            seconds = watched_for(self.seen.outcome, limit, resources.budget, self.timeout)
            self.traced.append(self._trace(problem, seconds, resources.emit))
        found, seconds = self.traced[0]
        # Where the program takes long to start, so do its candidates.
        limit.at_least(min(MOST_SECONDS, RUNS * seconds))
        if found is None or not self.seen.own_check or self._of_a_call:
            return found
        return replace(found, calls=tuple(call for call in found.calls if not call.compiled))

    def _trace(self, problem: Problem, seconds: float, emit: Callable[..., None]) -> tuple[Trace | None, float]:
        seen, began = self.seen, time.monotonic()
        frames = () if seen.own_check else evidence.failing_frames(seen.exception)
        unnamed = problem.stage is Stage.DYNAMO if seen.own_check else evidence.names_no_compiled_line(seen.exception)
        around = (
            evidence.frames_of_test(seen.exception) if seen.own_check else evidence.outer_frames(seen.exception, frames)
        )
        wanted = Wanted(
            frames,
            around,
            calls=0 if seen.own_check else seen.calls,
            rank=seen.exception.rank if seen.exception else None,
            compiled=unnamed,
        )
        emit("engine_step", text=f"running the program once more, to see what it executes (limit {seconds:.0f} s)")
        found = trace(self.target, wanted, problem.workdir, seconds, self.neutral, self.cancel)
        seconds = time.monotonic() - began
        if found is None or self.target.script is None:
            text = self.target.text()
            found = with_text(found, text) if text is not None else found
        return found, seconds


def watched_for(failed: Outcome, limit: Limit, budget: Budget, timeout: float) -> float:
    """The limit of a run that is watched, in seconds: a program that takes long to start must come to where it failed."""
    slowed = SLOWED * failed.seconds if failed.kind is not OutcomeKind.HANG else 0.0
    return max(1.0, min(timeout, max(limit.left(), min(budget.left(), slowed))))


def _uncompiled(runner: RoutingRunner, shown: Callable[[Script], str], patience: Patience, text: str) -> str | None:
    """What a text prints without a compiler; None where it fails."""
    with contextlib.suppress(RefusedError):
        result = runner.run(shown(Script(text)), rung=UNCOMPILED.name, timeout=patience.seconds())
        return result.printed if result.outcome.kind is OutcomeKind.OK else None
    return None


def _lightest_first(ending: Callable[[Script], Iterable[Script]], script: Script) -> Iterator[Script]:
    """The script with this ending, and before it without what nothing reads any more."""
    for ended in ending(script):
        yield from without_leftovers(ended)
        yield ended


def _without(emit: Callable[..., None], *names: str) -> Callable[..., None]:
    """What is told of candidates, less some of it: their text where it holds the program's data, and by what a run that goes on
    would know them where the answer holds for this search alone.
    """

    def told(kind: str, **facts: Any) -> None:
        emit(kind, **{name: fact for name, fact in facts.items() if name not in names})

    return told


def _texts(frames: Sequence[Frame]) -> dict[str, str]:
    """The files of these frames that can be read and parsed."""
    found: dict[str, str] = {}
    for file in {frame.file for frame in frames}:
        with contextlib.suppress(OSError, ValueError, SyntaxError):
            text = Path(file).read_text(encoding="utf-8")
            parse(text)
            found[file] = text
    return found
