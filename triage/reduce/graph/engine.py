"""The native engine: a captured graph becomes one guilty operation in a few lines, in seconds.

For each graph, bottom-up: small slices before the whole (`search`), then operations taken out (`removal`), then what is left
made plain (`shrink`), until each operation was removed alone and the failure went away. Whatever happens on the way, a
spent budget or an interrupt, the best candidate that was judged the same failure is the result, and says what it is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from triage.judge.asking import FailingCandidate
from triage.judge.comparison import ComparisonOracle
from triage.judge.judgement import Oracle, RefusedError
from triage.model.graphcase import GraphCase
from triage.model.rungs import BACKENDS, DEFAULT_BACKEND
from triage.model.stage import OutcomeKind, Stage, Verdict
from triage.reduce.graph.candidate import Candidate
from triage.reduce.graph.cropping import ground
from triage.reduce.graph.dials import Neighbour, nearest_passing
from triage.reduce.graph.evidence import suspects
from triage.reduce.graph.generated import made_up
from triage.reduce.graph.hidden import lacks
from triage.reduce.graph.observe import hangs_on_values, observed
from triage.reduce.graph.removal import removable, thinned
from triage.reduce.graph.search import every_kind, from_whole, small_first
from triage.reduce.graph.shrink import Shrinker
from triage.reduce.graph.starts import Start, lowered_first, starts
from triage.reduce.graph.wiring import Wiring
from triage.reduce.interface import Course, NoReduction, Problem, Reduction, SiblingScript, header_of
from triage.reduce.printing.literals import numbers_in
from triage.reduce.printing.printer import Form, Unprintable, code_lines, count_ops
from triage.trial.cutoff import focused
from triage.trial.driver import Driver, Repeats
from triage.trial.interface import CandidateRunner, Resources
from triage.trial.patience import Patience
from triage.trial.share import Limit

Render = Callable[[Candidate], str]
MOST_LARGER = 2
PREPARED = "It first does to torch what the program's own files did to it, as far as the failure needs that."
OWN_BACKEND = "It brings the program's own backend, as far as the failure needs that."


@dataclass(frozen=True, kw_only=True)
class NativeEngine:
    """Reduces captured graphs.

    `form` is how candidates are printed, by default from the problem; `repeats` is set where the failure is flaky, `patience`
    where it is a hang; `seconds` is the most it takes, less where the budget is. `render` stands in for the printer in tests and
    benchmarks.
    """

    name: ClassVar[str] = "native"
    subject: ClassVar[str] = "the captured graph"

    form: Form | None = None
    repeats: Repeats | None = None
    patience: Patience | None = None
    seconds: float | None = None
    render: Render | None = None

    def reduce(self, problem: Problem, resources: Resources) -> Reduction | NoReduction:
        """The smallest failing candidate. KeyboardInterrupt and a spent budget end it early, with the best so far."""
        runner, oracle = resources.runner, resources.oracle
        if self.seconds is not None:
            resources = replace(resources, budget=Limit(resources.budget, self.seconds))
        render = self.render or printed(header_of(problem))
        lacking = lacks(problem.cases, problem.signature)
        if lacking:
            return NoReduction(lacking)
        groups = starts(problem, self.form)
        driver: Driver[Candidate] = Driver(
            replace(resources, runner=focused(runner, problem.signature)),
            render,
            facts,
            rung=problem.rung or None,
            patience=self.patience,
            repeats=self.repeats,
            recalled=problem.recalled,
            otherwise=_otherwise(problem, runner, oracle, groups, render),
        )

        def passes(source: str) -> bool:
            # In full: the search for one failure may stop a candidate as soon as it is past it.
            result = runner.run(source, rung=problem.rung or None, timeout=driver.timeout())
            return oracle.judge(result).verdict is Verdict.NO_FAILURE

        def seen(candidate: Candidate) -> Candidate:
            return observed(candidate, runner) if hangs_on_values(candidate) else candidate

        course = Course("the time budget was spent" if self.seconds is None else "the time for it was spent")
        return _Reducing(problem, driver, render, groups, passes, seen, course).run()


def _otherwise(
    problem: Problem, runner: CandidateRunner, oracle: Oracle, groups: list[tuple[Start, ...]], render: Render
) -> Callable[[str], str] | None:
    """What says of a failure that it is met with the passing rung too: then it is another one.

    Of a wrong result, and of what no code of the failing stage raised, little but words is known, so a slice may fail by another.
    Not asked where a whole graph fails there itself, by what its slices have in common, nor where asking takes a build.
    """
    builds = problem.passing not in BACKENDS or problem.passing == DEFAULT_BACKEND
    if builds or not (isinstance(oracle, ComparisonOracle) or _from_elsewhere(problem)):
        return None

    def fails_below(source: str) -> bool:
        outcome = runner.run(source, rung=problem.passing).outcome
        # As a reproducer is verified: its own comparison counts.
        return outcome.kind not in (OutcomeKind.OK, OutcomeKind.INVALID) and outcome.exit_code != 0

    @functools.cache
    def whole_is_right_there() -> bool:
        try:
            return not any(fails_below(render(group[0].candidate)) for group in groups)
        except RefusedError:
            return False

    def otherwise(source: str) -> str:
        return f"fails with {problem.passing} too" if whole_is_right_there() and fails_below(source) else ""

    return otherwise


def _from_elsewhere(problem: Problem) -> bool:
    """Whether it ended in code that the passing rung runs as well, as what a backward pass raises does."""
    own = "torch/_inductor/" if problem.stage is Stage.INDUCTOR else "torch/_functorch/"
    raised = problem.signature.kind in (OutcomeKind.EXCEPTION, OutcomeKind.CRASH)
    return raised and not problem.signature.innermost_frame.startswith(own)


class _Reducing:
    """One reduction: what was found so far, also when it is cut short."""

    def __init__(
        self,
        problem: Problem,
        driver: Driver[Candidate],
        render: Render,
        groups: list[tuple[Start, ...]],
        passes: Callable[[str], bool],
        seen: Callable[[Candidate], Candidate],
        course: Course,
    ) -> None:
        self._problem, self._driver, self._render, self._groups = problem, driver, render, groups
        self._passes, self._seen = passes, seen
        self._course = course
        self._minimal = self._rough = self._enough = False
        self._neighbour: Neighbour | None = None

    def run(self) -> Reduction | NoReduction:
        with self._course.keeping():
            found = self._find()
            while found is not None and not self._reduced(found):
                found = self._find()
        return self._result()

    def _reduced(self, found: Candidate) -> bool:
        """Make it as small as it can be; not so where it turns out that it, or what it came to, does not fail."""
        if not self._driver.certain(found):
            return False
        self._reduce(found)
        if self._driver.certain(self._best()):
            return True
        self._minimal = self._rough = self._enough = False
        self._neighbour = None
        return False

    def _find(self) -> Candidate | None:
        """Some failing slice of some graph, small if possible."""
        beyond = False
        for starts_of_round in self._rounds():
            wholes = []
            for start in starts_of_round:
                whole = self._seen(start.candidate)
                self._driver.steady(whole)
                wiring = Wiring(whole.case)
                pointed_at = suspects(wiring, self._problem.evidence)
                beyond = beyond or (bool(pointed_at) and _reads_unwritten(wiring, pointed_at[0]))
                found = small_first(self._driver, whole, pointed_at)
                found = found or from_whole(self._driver, whole)
                if found is not None:
                    return found
                wholes.append(whole)
            # Where the error names what no script can be given, the other operations were asked for it in packs.
            for whole in wholes if not beyond else ():
                found = every_kind(self._driver, whole)
                if found is not None:
                    return found
        return None

    def _rounds(self) -> list[list[Start]]:
        """Where the script's own values come first, made-up ones come last: after all graphs, one operation at a time too."""
        first = [group[0] for group in self._groups if group[0].recorded]
        rest = [start for group in self._groups for start in group if start not in first]
        return [starts_of_round for starts_of_round in (first, rest) if starts_of_round]

    def _reduce(self, found: Candidate) -> None:
        self._driver.steady(found)
        thinned(self._driver, self._seen(found))
        if self._problem.operation_only and count_ops(self._best().case) == 1:
            self._enough = True
            return
        elsewhere = not self._problem.signature.is_of_gpu_alone
        shrinker = Shrinker(self._driver, searched=self._course.seconds(), elsewhere=elsewhere)
        while True:
            shrinker.shrunk(self._best())
            smaller = removable(self._driver, self._seen(self._best()))
            if smaller is None:
                break
            thinned(self._driver, self._seen(self._best()))
        self._minimal = True
        self._rough = shrinker.cut_short
        near = None if self._rough else nearest_passing(self._driver, self._best(), shrinker.needed)
        if near is not None and self._passes(self._render(near.candidate)):
            self._neighbour = near

    def _best(self) -> Candidate:
        assert self._driver.best is not None
        return self._driver.best.candidate

    def _result(self) -> Reduction | NoReduction:
        course, seconds, held = self._course, self._course.seconds(), self._driver.best
        if held is None:
            asked = bool(self._groups) and not course.stopped
            return NoReduction(self._reason(), self._siblings(), course.interrupted, course.bug, asked)
        return replace(
            self._as_reduction(held, seconds),
            minimal=self._minimal,
            enough=self._enough,
            larger=tuple(self._as_reduction(other, seconds) for other in self._larger(held)),
            passing=_passing(self._render(self._neighbour.candidate), self._neighbour) if self._neighbour else None,
            passing_difference=self._neighbour.difference if self._neighbour else None,
            siblings=self._siblings(),
            notes=tuple(self._notes(held.candidate)),
            interrupted=course.interrupted,
            bug=course.bug,
        )

    def _siblings(self) -> tuple[SiblingScript, ...]:
        return tuple(
            SiblingScript(signature, source, self._made_up(each)) for signature, source, each in self._driver.siblings
        )

    def _made_up(self, candidate: Candidate) -> tuple[str, ...] | None:
        """The same on values that are made up; None where the candidate has no others."""
        if not candidate.case.holds_values:
            return None
        texts = []
        for case in made_up(candidate.case):
            with suppress(RefusedError):
                texts.append(self._render(replace(candidate, case=case)))
        return tuple(texts)

    def _as_reduction(self, held: FailingCandidate[Candidate], seconds: float) -> Reduction:
        return Reduction(
            source=held.source,
            engine="native",
            case="graph",
            ops=count_ops(held.candidate.case),
            queries=self._driver.queries,
            seconds=seconds,
            minimal=False,
            complete=not self._course.stopped,
            graph=held.candidate.case,
            form=held.candidate.form,
        )

    def _larger(self, best: FailingCandidate[Candidate]) -> list[FailingCandidate[Candidate]]:
        """The last ones found that have more operations than what was found after them."""
        found, most = [], count_ops(best.candidate.case)
        for held in reversed(self._driver.history):
            if count_ops(held.candidate.case) > most:
                found.append(held)
                most = count_ops(held.candidate.case)
        return found[:MOST_LARGER]

    def _reason(self) -> str:
        if self._course.stopped:
            return f"nothing that fails the same way was found before {self._course.stopped}"
        if not self._groups:
            return "no graph was captured"
        others = len(self._driver.siblings)
        met = f"; {others} other failure{'s were' if others > 1 else ' was'} met" if others else ""
        return f"no captured graph, nor any part of one, fails the same way on its own{met}"

    def _notes(self, best: Candidate) -> list[str]:
        notes = []
        if self._course.stopped:
            undone = "Its nearest variant that passes was not looked for to the end"
            notes.append(f"{undone if self._minimal else 'Minimality was not shown'}: {self._course.stopped}.")
        if self._enough:
            notes.append("Which operation is to blame was all that was asked for, so it was made no smaller.")
        if self._rough:
            notes.append("Each candidate took long, so its sizes and arguments were not made as small as they go.")
        notes += filter(None, [told_of_values(best.case)])
        if best.case.prepared and best.case.preamble:
            notes.append(OWN_BACKEND if best.case.backend_code else PREPARED)
        if best.case.level != "dynamo":
            books = any(lowered_first(self._problem, case) for case in self._problem.cases)
            why = "keeps the books of `torch.func`, by private calls" if books else "did not fail alone"
            notes.append(f"Reduced from the graph of ATen operators; the graph of the user's own calls {why}.")
        return notes


def _reads_unwritten(wiring: Wiring, unit: str) -> bool:
    """Whether an operation is given an input that no script can make, such as a tensor of a subclass."""
    opaque = {item.name for item in wiring.case.inputs if item.kind == "opaque"}
    return any(name in opaque for member in wiring.members[unit] for name in wiring.reads[member])


def _passing(source: str, neighbour: Neighbour) -> str:
    """The text that passes, saying so on top where the reproducer says what fails."""
    _, _, code = source.partition("\nimport ")
    return f"# The nearest variant that passes. {neighbour.difference}\nimport {code}" if code else source


def told_of_values(case: GraphCase) -> str:
    """How much of the program's data is in the reproducer; empty where nothing is."""
    tables = [list(numbers_in(item.data)) for item in case.inputs if item.recorded]
    kept = 0
    for flat in tables:
        one = ground(flat)  # counts all of them: once
        kept += sum(repr(number) != repr(one) for number in flat) + (one not in (0, 1))
    kept += sum(item.fill.startswith("full:") and "float(" not in item.fill for item in case.inputs)
    return (
        f"Its inputs hold {kept} value{'s' if kept != 1 else ''} that the script had, perhaps rounded." if kept else ""
    )


def printed(header: str) -> Render:
    """The printer as the driver wants it: it refuses what cannot be printed.

    What it stumbles over is one candidate of hundreds, and no reason to lose the reproducer that was found by then.
    """

    def render(candidate: Candidate) -> str:
        try:
            return candidate.source(header)
        except Unprintable as error:
            raise RefusedError(str(error)) from None
        except Exception as error:  # the fault is ours, or an edit's
            raise RefusedError(f"the printer failed: {type(error).__name__}: {error}") from error

    return render


def facts(candidate: Candidate, source: str) -> dict[str, Any]:
    """What listeners are told of an accepted candidate."""
    return {"ops": count_ops(candidate.case), "lines": code_lines(source)}
