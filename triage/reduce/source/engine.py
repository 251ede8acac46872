"""The source engine: a failing program becomes a short script in one file, without the packages it does not need.

Run once more to see what it executes; find the shortest text that fails the same way; let the passes make it small; copy
out of installed packages what is left of them, and make that small. Whatever happens on the way, the best candidate that
was judged the same failure is the result, and says what it is.
"""

from __future__ import annotations

import ast
import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from triage.model.outcome import CompileCall, Frame, RaisedException
from triage.model.stage import Stage
from triage.probe.launch import Cancel
from triage.probe.target import Target
from triage.reduce.driver import Driver, Held, StopReductionError
from triage.reduce.interface import Budget, CandidateRunner, NoReduction, Oracle, Problem, Reduction
from triage.reduce.native import header_of
from triage.reduce.patience import Patience
from triage.reduce.printer import code_lines
from triage.reduce.source import evidence
from triage.reduce.source.checks import UNCOMPILED, PairedRunner, RoutingRunner
from triage.reduce.source.eager import eager_first
from triage.reduce.source.evidence import Trace
from triage.reduce.source.extract import closed, pumped
from triage.reduce.source.guards import own_frames, own_raise
from triage.reduce.source.line import without_the_rest
from triage.reduce.source.script import Script
from triage.reduce.source.search import Limit, Search
from triage.reduce.source.shape import shaped
from triage.reduce.source.starts import Request, starts, without_trace
from triage.reduce.source.tidy import imports_first, tidy
from triage.reduce.source.weight import foreign_imports

MOST_PUMPS = 30
MOST_IMPORTS = 8  # of packages, in a script that was to need none
SECONDS = 120.0
MOST_SECONDS = 300.0
MOST_LARGER = 3
RUNS = 10  # what a reduction may cost, in runs of the program


@dataclass(frozen=True)
class Seen:
    """What the run that failed told: the exception, in which call of compiled code, and how that was compiled.

    `own_check` is set where the program's own comparison failed: the failure then comes after the compiled calls.
    """

    exception: RaisedException | None
    calls: int
    compiled: tuple[CompileCall, ...]
    own_check: bool = False


class SourceEngine:
    """Reduces the program's text. `seconds` is the most it takes, less where the budget is; `header` the comment on top."""

    name = "native"
    subject = "the program's text"

    def __init__(
        self,
        target: Target,
        seen: Seen,
        *,
        timeout: float,
        patience: Patience | None = None,
        neutral: Path | None = None,
        header: str | None = None,
        seconds: float = SECONDS,
        cancel: Cancel | None = None,
    ) -> None:
        self._target, self._seen, self._timeout, self._neutral = target, seen, timeout, neutral
        self._patience = patience or Patience(timeout, least=timeout)
        self._header, self._seconds, self._cancel = header, seconds, cancel

    def reduce(
        self, problem: Problem, runner: CandidateRunner, oracle: Oracle, budget: Budget, emit: Callable[..., None]
    ) -> Reduction | NoReduction:
        """The smallest failing script. KeyboardInterrupt and a spent budget end it early, with the best so far."""
        header = header_of(problem) if self._header is None else self._header
        rung = None if problem.stage is Stage.BACKEND else problem.rung
        routed = RoutingRunner(runner, self._target.python, self._neutral)
        limit = Limit(budget, self._seconds)

        def render(script: Script) -> str:
            return shaped(script, rung, header)

        driver: Driver[Script] = Driver(
            self._paired(routed, problem),
            oracle,
            limit,
            emit,
            render,
            lambda script, source: {"lines": code_lines(source)},
            rung=rung,
            patience=self._patience,
            recalled=problem.recalled,
        )
        search = Search(driver, runner.jobs, limit)
        try:
            asked, frames = self._request(rung), evidence.failing_frames(self._seen.exception)
            return _Reducing(driver, search, render, lambda: self._trace(problem, limit), asked, frames).run()
        finally:
            routed.close()

    def _paired(self, runner: CandidateRunner, problem: Problem) -> PairedRunner:
        """Candidates must pass on the rung below; not with all of Inductor, which would cost more than it can show."""
        passing = UNCOMPILED if problem.stage is Stage.BACKEND else problem.passing
        own = own_raise(self._seen.exception, _texts(own_frames(self._seen.exception)))
        return PairedRunner(runner, problem.signature, passing, own, exchanges=not self._seen.own_check)

    def _trace(self, problem: Problem, limit: Limit) -> Trace | None:
        seen, began = self._seen, time.monotonic()
        frames = () if seen.own_check else evidence.failing_frames(seen.exception)
        outer = evidence.outer_frames(seen.exception, frames)
        calls = 0 if seen.own_check else seen.calls
        seconds = max(1.0, min(self._timeout, limit.left()))
        found = evidence.trace(
            self._target, frames, outer, calls, problem.workdir, seconds, self._neutral, self._cancel
        )
        # Where the program takes long to start, so do its candidates.
        limit.at_least(min(MOST_SECONDS, RUNS * (time.monotonic() - began)))
        if found is None and self._target.script is not None:
            return without_trace(self._target.script.read_text(encoding="utf-8"))
        return found

    def _request(self, rung: str | None) -> Request:
        folder = self._target.script.parent if self._target.script else self._target.cwd
        return Request(self._seen.calls, self._seen.compiled, rung, folder)


class _Reducing:
    """One reduction: what was found so far, also when it is cut short."""

    def __init__(
        self,
        driver: Driver[Script],
        search: Search,
        render: Callable[[Script], str],
        learn: Callable[[], Trace | None],
        asked: Request,
        frames: Sequence[Frame],
    ) -> None:
        self._driver, self._search, self._render = driver, search, render
        self._learn, self._asked, self._frames = learn, asked, frames
        self._shown: str | None = None
        self._began = time.monotonic()
        self._stopped = self._reason = ""
        self._interrupted = False
        self._minimal = False
        self._tried = 0

    def run(self) -> Reduction | NoReduction:
        try:
            trace = self._learn()
            if trace is None:
                self._reason = "the program's run could not be watched"
            else:
                self._reduce(trace)
        except StopReductionError:
            self._stopped = "the time for it was spent"
        except KeyboardInterrupt:
            self._stopped, self._interrupted = "it was interrupted", True
        return self._result()

    def _reduce(self, trace: Trace) -> None:
        self._driver.begin("one file")
        texts = starts(trace, self._asked)
        self._tried = len(texts)
        found = self._driver.first(texts)
        if found is None:
            return
        found = self._without_the_rest(found)
        if list(foreign_imports(found)):
            found = self._without_packages(found, trace)
        self._minimal = self._search.reduce(found)
        self._search.polish()
        self._show_eager()

    def _without_the_rest(self, found: Script) -> Script:
        """In one step what a pass over statements would find in many: nothing below the failing lines is needed."""
        less = without_the_rest(found, self._frames)
        return less if less.weight() < found.weight() and self._driver.fails(less) else found

    def _show_eager(self) -> None:
        """The final text with an eager call first, where it fails the same way."""
        self._driver.begin("eager first")
        with contextlib.suppress(StopReductionError):
            found = self._driver.first(eager_first(self._search.current))
            if found is not None:
                self._shown = self._render(found)

    def _without_packages(self, found: Script, trace: Trace) -> Script:
        """Copy out what is imported of installed packages: all at once, or one definition at a time.

        Each candidate imports the package, which is slow, and what is taken from it can become small only once it is
        copied: so until then only statements go.
        """
        self._driver.begin("packages")
        copied = (text for text in closed(found, trace.modules) if len(list(foreign_imports(text))) <= MOST_IMPORTS)
        found = self._without_the_rest(next((text for text in copied if self._driver.fails(text)), found))
        for _ in range(MOST_PUMPS):
            self._search.fewer_statements(found)
            found = self._search.current
            self._driver.begin("packages")
            grown = self._driver.first([Script(tidy(imports_first(text))) for text in pumped(found, trace.modules)])
            if grown is None:
                break
            found = grown
        return found

    def _result(self) -> Reduction | NoReduction:
        driver, seconds = self._driver, time.monotonic() - self._began
        held = driver.best
        if held is None:
            return NoReduction("native", self._why(), driver.queries, seconds, driver.siblings, self._interrupted)
        found = Reduction(
            source=self._shown or held.source,
            engine="native",
            case="source",
            ops=None,
            queries=driver.queries,
            seconds=seconds,
            minimal=self._minimal,
            complete=not self._stopped,
            siblings=driver.siblings,
            notes=tuple(self._notes(held.candidate)),
            statistics=driver.statistics.as_data(),
            interrupted=self._interrupted,
        )
        return replace(found, larger=tuple(replace(found, source=text, minimal=False) for text in self._larger(held)))

    def _larger(self, best: Held[Script]) -> list[str]:
        """The final text without its eager call, and the last ones found that are noticeably longer than what followed."""
        found = [best.source] if self._shown is not None else []
        least = code_lines(best.source)
        for held in reversed(self._driver.history):
            if code_lines(held.source) > 1.5 * least:
                found.append(held.source)
                least = code_lines(held.source)
        return found[:MOST_LARGER]

    def _why(self) -> str:
        if self._stopped:
            return f"no script that fails the same way was found before {self._stopped}"
        if self._reason:
            return self._reason
        return (
            "neither the failing function by itself nor the whole program in one file fails the same way in an empty "
            f"directory ({self._tried} texts were tried)"
        )

    def _notes(self, best: Script) -> list[str]:
        notes = []
        if self._stopped:
            notes.append(f"Minimality was not shown: {self._stopped}.")
        names = sorted({_package(node) for node, _ in foreign_imports(best)})
        if names:
            notes.append(f"It still imports {', '.join(names)}.")
        return notes


def _texts(frames: Sequence[Frame]) -> dict[str, str]:
    """The files of these frames that can be read and parsed."""
    found: dict[str, str] = {}
    for file in {frame.file for frame in frames}:
        with contextlib.suppress(OSError, ValueError, SyntaxError):
            text = Path(file).read_text(encoding="utf-8")
            ast.parse(text)
            found[file] = text
    return found


def _package(node: Any) -> str:
    return str(getattr(node, "module", None) or node.names[0].name).split(".")[0]
