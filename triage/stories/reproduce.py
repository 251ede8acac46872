"""From a located failure to a small, verified reproducer and its ablation: the engines, runner and oracle put together."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from triage.culprit.match_known_cause import lies_in_environment
from triage.judge.asking import Budget
from triage.judge.comparison import ComparisonOracle, PrintedOracle
from triage.judge.judgement import Oracle
from triage.judge.oracle import SignatureOracle
from triage.judge.printed import judged_beside
from triage.judge.signature import FailureSignature
from triage.judge.stacks import part_of_hang
from triage.locate.conclude import Conclusion
from triage.locate.graphs_compared import nothing_differs
from triage.locate.outcomes import is_comparison, is_printed, is_script_check
from triage.model.stage import Stage
from triage.reduce.choose import Attempt, BrokenReductionError, InterruptedReductionError, Unreduced, choose
from triage.reduce.failing_comparison import forms_of
from triage.reduce.interface import Engine, NoReduction, Problem, Reduction, SafeEngine
from triage.reduce.text.checks.runners import PrintedRunner
from triage.reduce.text.polish import Polished
from triage.reduce.torch_setup import ask_then_with_setup, below_own_backend, failing_source
from triage.reduce.verifying import FreshRuns
from triage.session.clock import BudgetSpentError
from triage.stories import given_up, threads
from triage.stories.attempts import Uncompared, as_asked, attempts_for, comparing, full_header
from triage.stories.blame import blame
from triage.stories.captured import passes_alone
from triage.stories.early import EarlyNews
from triage.stories.findings import Findings, candidate_runner
from triage.stories.limits import patience_for, repeats_for, seconds_for, seconds_to_show, seconds_to_verify
from triage.stories.problem import compares, comparison_for, problem_of
from triage.stories.run_files import report_beforehand
from triage.stories.several_wrong import told_apart
from triage.stories.ways_round import begin_ways_round
from triage.trial.driver import Repeats
from triage.trial.fresh import Fresh, verify, verify_with_control
from triage.trial.interface import Resources
from triage.trial.runner import ForkServerRunner
from triage.trial.share import Limit

SCRIPT_ALONE = "The script itself is what reproduces the failure."
PRINTED_ALONE = "What is wrong is what the whole script prints: it is the script that reproduces it."


def reproduce_small(found: Findings, conclusion: Conclusion) -> None:
    """Reduce, verify, ablate; fills `reproduced`, `reproducer_note`, `ablation` and `workarounds` of the findings."""
    runner = found.runner or candidate_runner(found)
    if compares(conclusion):
        runner.compare(comparison_for(conclusion))
        conclusion = told_apart(found, conclusion, runner, seconds_for(found))
        runner.compare(comparison_for(conclusion))
    runner.stands_still(conclusion.outcome is not None and conclusion.outcome.still)
    reproduction = _Reproduction(found, conclusion, runner)
    if reproduction.compared and given_up.recall(found, reproduction.problem):
        return
    try:
        with found.session.timed("reduce"):
            reproduction.reduce()
            reproduction = _with_threads(found, conclusion, runner, reproduction)
        reproduction.ask_what_is_to_blame()
    except InterruptedReductionError as interrupt:
        found.reproduced = interrupt.best
        raise
    except BrokenReductionError as broken:
        found.reproduced = broken.best
        raise broken.__cause__ or broken from None
    except RefutedError:
        return  # `agrees` walks the script's own ladder
    given_up.keep(found, reproduction.problem)
    if found.session.clock.spent():
        raise BudgetSpentError


class RefutedError(Exception):
    """The script has told otherwise than its graph: what is reduced is no failure of the stage that is blamed."""


class WhileItStands:
    """The time of the run, until the script tells otherwise than its graph: none of it is to be spent on that any more."""

    def __init__(self, found: Findings) -> None:
        self._found = found

    def left(self) -> float:
        return 0.0 if self._found.walk.refuted else self._found.session.clock.left()

    def spent(self) -> bool:
        return self.left() <= 0


class StandingEngine:
    """An engine that raises RefutedError where the script has told otherwise than its graph by the time it ends."""

    def __init__(self, engine: Engine, found: Findings) -> None:
        self._engine, self._found, self.name, self.subject = engine, found, engine.name, engine.subject

    def reduce(self, problem: Problem, resources: Resources) -> Reduction | NoReduction:
        """What the engine found."""
        ended = self._engine.reduce(problem, resources)
        if self._found.walk.refuted and not ended.interrupted:
            raise RefutedError
        return ended


class _Reproduction:
    """One failure on its way to a verified reproducer, with what judges its candidates and how long they may take."""

    def __init__(self, found: Findings, conclusion: Conclusion, runner: ForkServerRunner) -> None:
        assert conclusion.outcome is not None and conclusion.signature is not None
        self.found, self.conclusion, self.runner = found, conclusion, runner
        self.problem = problem_of(found, conclusion)
        self.compared = is_comparison(conclusion.outcome)
        self.prints = is_printed(conclusion.outcome)
        self.oracle = self._oracle(conclusion.signature)
        self.patience = patience_for(found, conclusion)
        self.news = EarlyNews(found)

    def _oracle(self, signature: FailureSignature) -> Oracle:
        if self.prints:
            return PrintedOracle(signature)
        if self.compared:
            return ComparisonOracle(signature)
        outcome = self.conclusion.outcome
        stood = outcome is not None and outcome.late  # else it may be one compile after the other that has no end
        part = part_of_hang(outcome) if outcome is not None and stood else ""
        return SignatureOracle(signature, compiled=self.conclusion.door is None, part=part)

    def reduce(self) -> None:
        """Let the engines reduce, and keep what holds in fresh processes; else a note says what is left to the reader."""
        found, conclusion = self.found, self.conclusion
        assert conclusion.signature is not None
        # A reproducer that was not verified is worth little.
        searching = Limit(WhileItStands(found), kept=seconds_to_verify(found))
        problem, attempts = self._planned(searching)
        self.problem = problem
        found.reproduced, notes = choose(
            problem,
            [replace(attempt, engine=self._ready(attempt)) for attempt in attempts],
            Resources(self.runner, self.oracle, searching, self.news.emit),
            self._verified,
            Unreduced(
                script=None if self.compared else _single_file(found),
                header=full_header(found, conclusion),
                form=forms_of(conclusion.signature.wrong)[0] if self.compared else None,
            ),
            self.news.reduced,
        )
        if found.reproduced is None:
            last = "Run triage on the script to see it again." if self.compared else SCRIPT_ALONE
            last = PRINTED_ALONE if self.prints else last
            found.reproducer_note = " ".join(filter(None, [*notes, found.capture_note, last]))

    def ask_what_is_to_blame(self) -> None:
        """Of a reproducer that was verified: which settings and which part of the compiler decide."""
        found, made = self.found, self.found.reproduced
        if found.walk.refuted:
            raise RefutedError
        if made is None or not made.verified:
            return
        self.news.verified(made.source)
        if found.session.settings.reproducer_only or self.problem.door:  # the settings are those of torch.compile
            return
        if made.prints or lies_in_environment(self.conclusion.outcome, self.conclusion.stage):
            return  # of what only prints nothing can be asked
        begin_ways_round(found)
        report_beforehand(found, made)
        with self.runner.comparing(None) if made.case == "source" else nullcontext():  # as it was reduced
            blame(found, made, self.problem, self.runner, made.oracle or self.oracle, self.patience)

    def _planned(self, budget: Budget) -> tuple[Problem, list[Attempt]]:
        """The engines to try, in order, on the graphs and the comparison that are known to show the failure."""
        found, conclusion, problem = self.found, self.conclusion, self.problem
        attempts = attempts_for(found, conclusion, self.oracle, self.patience)
        if conclusion.stage is Stage.BACKEND and problem.cases:
            problem = _with_backend(problem, compares(conclusion))
        own_check = conclusion.outcome is not None and is_script_check(conclusion.outcome)
        if found.graph_answer is not None and found.walk.on_graph:
            return as_asked(problem, attempts, found.graph_answer)
        if self.compared or conclusion.wrong or own_check:
            steady = repeats_for(conclusion) == Repeats()
            if_none = passes_alone(conclusion.wrong, found.also_wrong)
            agrees = own_check and nothing_differs(found.walk.checked, conclusion.signature)
            return comparing(problem, attempts, self.runner, budget, found.passing_graphs, steady, if_none, agrees)
        if any(case.setup for case in problem.cases):
            found.session.emit("engine_step", text="asking whether the graph needs what the program did to torch")
            limit = seconds_for(found) if self.patience is None else self.patience.seconds()
            problem, _ = ask_then_with_setup(problem, failing_source(self.runner, self.oracle, budget, limit))
        return problem, attempts

    def _ready(self, attempt: Attempt) -> Engine:
        engine = Uncompared(attempt.engine, self.runner) if attempt.of_text else attempt.engine
        return StandingEngine(SafeEngine(Polished(engine), self.found.met_bug, self._late), self.found)

    def _late(self) -> None:
        if not self.found.walk.refuted:
            self.found.shorten("the reproducer was as small as it can be")

    def _verified(self, source: str, runs: int) -> FreshRuns:
        """What fresh processes show of a script. One that fails by chance is run more often, until it has failed `runs` times."""
        found, problem, session = self.found, self.problem, self.found.session
        limit = seconds_to_show(found, self.patience)
        outcome = self.conclusion.outcome
        still = outcome is not None and outcome.still
        fresh = Fresh(limit, session.neutral, session.kernels, session.clock.end(), still)
        python = found.target.python
        warm = None if self.prints else self.runner  # its random numbers may be others than those of a fresh process
        results, control = verify_with_control(source, python, problem.passing, fresh, runs=runs, warm=warm)
        results = judged_beside(results, control) if self.prints else results
        own = None
        if problem.own_rung is not None and all(each.outcome.failed for each in results):
            runner = PrintedRunner(self.runner) if self.prints else self.runner
            own = runner.run(source, rung=problem.own_rung, timeout=limit)
        allowed = runs * repeats_for(self.conclusion).runs
        while len(results) < allowed and sum(each.outcome.failed for each in results) < runs:
            if session.clock.spent():
                break
            results += verify(source, python, fresh, runs=2)
        return FreshRuns(results, control, own)


def _with_threads(
    found: Findings, conclusion: Conclusion, runner: ForkServerRunner, first: _Reproduction
) -> _Reproduction:
    """Once more with as many threads as the script has, where what could not be reduced needs them; the better of the two."""
    if first.patience is not None or not threads.needed(found, first.problem, runner, first.oracle):
        return first
    made, again = found.reproduced, _Reproduction(found, conclusion, runner)
    assert made is not None
    first.news.verified(made.source)  # it is one, if a long one
    try:
        again.reduce()
    except (InterruptedReductionError, BrokenReductionError) as ended:
        if ended.best is None or not ended.best.verified:
            ended.best = made
        raise
    if found.reproduced is not None and found.reproduced.verified:
        return again
    found.reproduced, found.reproducer_note = made, None
    return first


def _with_backend(problem: Problem, compared: bool) -> Problem:
    """With the graphs below the source of the program's own backend; where none has it, on the one that torch knows by name."""
    cases = below_own_backend(problem.cases)
    if cases:
        return replace(problem, cases=cases, rung="")
    return replace(problem, rung=problem.cases[0].backend) if compared else problem


def _single_file(found: Findings) -> str | None:
    script: Path | None = found.target.script
    if script is None or script.suffix != ".py" or len(found.target.command) > 2:
        return None  # it has arguments, or is started by something else: alone it is not the same program
    try:
        return script.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
