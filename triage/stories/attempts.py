"""Which engines are tried on a failure, in which order, and what judges each of them."""

from __future__ import annotations

from dataclasses import replace

from triage.judge.asking import Budget
from triage.judge.comparison import ComparisonOracle, FirstComparisonOracle, PrintedOracle
from triage.judge.judgement import Oracle
from triage.judge.naming import one_line
from triage.judge.signature import place_of
from triage.locate.conclude import Conclusion
from triage.locate.outcomes import is_comparison, is_printed, is_script_check
from triage.model.rungs import UNCOMPILED
from triage.model.stage import Stage, Symptom, Verdict
from triage.reduce.choose import Attempt
from triage.reduce.failing_comparison import FailingComparison, PassingGraphs, comparison_of, forms_of
from triage.reduce.graph.engine import NativeEngine
from triage.reduce.interface import Engine, NoReduction, Problem, Reduction
from triage.reduce.minifier.engine import MINIFY_SECONDS, ReproAfterEngine
from triage.reduce.printing.printer import Form
from triage.reduce.text.engine import SECONDS, FailingRun, SourceEngine
from triage.reduce.torch_setup import ask_then_with_setup, below_own_backend
from triage.stories.findings import Findings, GraphAnswer
from triage.stories.known_cause import row_of
from triage.stories.limits import HANG_SECONDS, repeats_for, seconds_for, start_seconds
from triage.trial.driver import digest
from triage.trial.interface import Resources
from triage.trial.patience import Patience
from triage.trial.runner import ForkServerRunner

# Of one engine: each candidate that hangs costs its whole limit. A text has more that can go.
HANG_TEXT_SECONDS, HANG_GRAPH_SECONDS = 600.0, 300.0
FALLBACK_SECONDS = 120.0
# The script's own check lies outside the graph; the reproducer compares by itself.
CHECK_NOTE = "The reproducer compares compiled with eager itself, in the place of the script's own check."
VALUE_NOTE = (
    "The reproducer does not raise the script's own error: it shows what that comes of, a wrong result of a compiled graph, "
    "which it compares with eager itself."
)
PRINTED_NOTE = (
    "The reproducer compares one compiled call with the same call uncompiled; the script only prints what it gives."
)
PRINTED_TEXT_NOTE = (
    "The script only prints what is wrong: the reproducer is what is left of it, judged by those values."
)


class Uncompared:
    """An engine of texts. They show the failure by themselves, so the agent does not compare what their graphs compute.

    Where it does, Inductor draws random numbers as eager does, and what comes of its own way to draw them would be gone.
    """

    def __init__(self, engine: Engine, runner: ForkServerRunner) -> None:
        self._engine, self._runner, self.name, self.subject = engine, runner, engine.name, engine.subject

    def reduce(self, problem: Problem, resources: Resources) -> Reduction | NoReduction:
        """What the engine found."""
        with self._runner.comparing(None):
            return self._engine.reduce(problem, resources)


def attempts_for(
    found: Findings, conclusion: Conclusion, oracle: Oracle, patience: Patience | None = None
) -> list[Attempt]:
    """The engines to try, in order, each with its oracle: graphs first where there are any, then the program's text.

    PyTorch's minifier comes last: it has the graphs of which ours has found none that fails by itself, and takes the longest.
    """
    if conclusion.outcome is None or conclusion.signature is None:
        return []
    chosen = found.session.settings.engine
    if is_comparison(conclusion.outcome):  # the program's text never fails by itself: only its graphs can be reduced
        return (
            [Attempt(native_engine(conclusion, forms_of(conclusion.signature.wrong)[0]), oracle)] if found.cases else []
        )
    of_text = texts_for(found, conclusion, oracle, patience) if chosen in ("auto", "native") else []
    own_backend = conclusion.stage is Stage.BACKEND
    if own_backend and not below_own_backend(found.cases):
        return of_text
    traced = conclusion.stage is Stage.DYNAMO or conclusion.signature.is_of_tracing  # no graph was made of what failed
    row = row_of(conclusion, found.walk.start)
    if not found.cases or traced or (of_text and row is not None and row.outside_graph):
        return of_text
    judge, note = oracle, None
    if is_script_check(conclusion.outcome) or conclusion.wrong is not None:
        judge = ComparisonOracle(conclusion.signature, lenient=conclusion.wrong is None)
        raises = conclusion.wrong is not None and conclusion.symptom in (Symptom.EXCEPTION, Symptom.CRASH)
        note = VALUE_NOTE if raises else CHECK_NOTE
    attempts: list[Attempt] = []
    if chosen in ("auto", "native"):
        form = forms_of(conclusion.signature.wrong)[0] if note else None
        attempts.append(Attempt(native_engine(conclusion, form, patience), judge, note))
    attempts += of_text
    if chosen in ("auto", "repro_after") and not own_backend:
        engine = ReproAfterEngine(
            found.target,
            found.session.directory,
            neutral=found.session.neutral,
            # Last in line it must not cost more than the others were worth; asked for by name it may take its time.
            minify_seconds=FALLBACK_SECONDS if chosen == "auto" else MINIFY_SECONDS,
        )
        attempts.append(Attempt(engine, judge, note))
    return attempts


def texts_for(found: Findings, conclusion: Conclusion, oracle: Oracle, patience: Patience | None) -> list[Attempt]:
    """The reducer of the program's text. Where Dynamo makes a check of the program's fail, first one call, which is compared.

    A program that only prints other numbers does not fail by itself: what its text prints is compared.
    """
    assert conclusion.outcome is not None
    prints = is_printed(conclusion.outcome)
    engine = source_engine(found, conclusion, patience)
    attempts = [Attempt(engine, oracle, of_text=True)]
    if isinstance(oracle, PrintedOracle):
        attempts = [Attempt(replace(engine, compared=oracle), oracle, PRINTED_TEXT_NOTE, of_text=True)]
    if conclusion.stage is Stage.DYNAMO and (prints or is_script_check(conclusion.outcome)) and patience is None:
        comparison = FirstComparisonOracle()
        note = PRINTED_NOTE if prints else CHECK_NOTE
        attempts.insert(0, Attempt(replace(engine, compared=comparison), comparison, note, of_text=True))
    return attempts


def native_engine(conclusion: Conclusion, form: Form | None, patience: Patience | None = None) -> NativeEngine:
    """The reducer of graphs, with the repetitions and the patience that this failure asks for."""
    seconds = None if patience is None else HANG_GRAPH_SECONDS
    return NativeEngine(form=form, repeats=repeats_for(conclusion), patience=patience, seconds=seconds)


def source_engine(found: Findings, conclusion: Conclusion, patience: Patience | None) -> SourceEngine:
    """The reducer of the program's text, with what the failing run told."""
    assert conclusion.outcome is not None and conclusion.failing is not None
    of_rung = found.walk.seen.get(conclusion.failing.name, [])  # empty where only the graph was asked there
    failing = next((probe for probe in of_rung if probe.outcome.failed), found.walk.start)
    timeout = seconds_for(found) if patience is None else HANG_SECONDS + start_seconds(found)
    return SourceEngine(
        found.target,
        FailingRun(
            outcome=failing.outcome,
            calls=failing.notes.point.calls,
            compiled=failing.notes.compile_calls,
            own_check=is_script_check(conclusion.outcome) or is_printed(conclusion.outcome),
            recompiles=failing.notes.recompiles,
        ),
        timeout=timeout,
        patience=patience or Patience(timeout, hangs=False),
        seconds=SECONDS if patience is None else HANG_TEXT_SECONDS,
        neutral=found.session.neutral,
        header=full_header(found, conclusion),
        cancel=found.session.cancel,
        include_data=found.session.settings.include_data,
    )


def comparing(
    problem: Problem,
    attempts: list[Attempt],
    runner: ForkServerRunner,
    budget: Budget,
    passing: PassingGraphs,
    steady: bool,
    if_none: str,
    agrees: bool = False,
) -> tuple[Problem, list[Attempt]]:
    """For a check of the script's own: the graph and the comparison that show the same, if one is found, come first.

    Where each graph gives what eager gives, on the script's own values, and the failure is a steady one, no graph is reduced:
    what one operation of it does on made-up values is another failure. `if_none` is what is said then. `agrees`: the agent saw
    that in a run of the script.
    """
    first = next((attempt for attempt in attempts if isinstance(attempt.engine, NativeEngine)), None)
    if first is None:
        return problem, attempts
    oracle = first.oracle
    _, found = ask_then_with_setup(problem, lambda problem: comparison_of(problem, runner, oracle, budget, passing))
    if found is not None:
        return _showing(problem, attempts, found)
    of_text = [replace(attempt, note=if_none) for attempt in attempts if attempt.of_text]
    return problem, of_text if of_text and steady and (agrees or passing.all_of_them) else attempts


def as_asked(problem: Problem, attempts: list[Attempt], asked: GraphAnswer) -> tuple[Problem, list[Attempt]]:
    """With the graphs that answered for the rungs, as they were asked, and the answer."""
    known = {digest(asked.problem.rung, asked.source): Verdict.SAME_FAILURE}
    problem = replace(problem, recalled={**problem.recalled, **known})
    if asked.shows is None:
        return replace(problem, cases=asked.problem.cases), attempts
    return _showing(problem, attempts, asked.shows)


def _showing(problem: Problem, attempts: list[Attempt], shows: FailingComparison) -> tuple[Problem, list[Attempt]]:
    """The graph and the comparison that show it come first."""
    chosen: list[Attempt] = []
    for attempt in attempts:
        if isinstance(attempt.engine, NativeEngine):
            chosen.insert(0, replace(attempt, engine=replace(attempt.engine, form=shows.form)))
        else:
            chosen.append(attempt)
    return replace(problem, cases=(shows.case,)), chosen


def full_header(found: Findings, conclusion: Conclusion) -> str:
    """The comment at the top of a text, and of a graph as it is: what fails, where in torch, and what passes."""
    signature = conclusion.signature
    assert signature is not None
    version = found.walk.start.notes.torch_version or "unknown"
    where = _place(conclusion)
    if conclusion.door is not None:
        return f"{one_line(signature)}\nFails in {conclusion.door.name}{where}. Seen on torch {version}."
    passing = conclusion.passing.name if conclusion.passing else "eager"
    passes = "passes uncompiled" if conclusion.passing is UNCOMPILED else f"passes with {passing}"
    graph_is_wrong = signature.wrong is not None and conclusion.stage is not Stage.DYNAMO
    what = f"Wrong result: {signature.wrong.words()}." if graph_is_wrong and signature.wrong else one_line(signature)
    return f"{what}\nStage {conclusion.stage.value}{where}; {passes}. Seen on torch {version}."


def _place(conclusion: Conclusion) -> str:
    """` in torch/_inductor/ir.py:realize`; empty where it was raised by a check, or a backend, of the program's own."""
    signature, outcome = conclusion.signature, conclusion.outcome
    if signature is None or outcome is None or is_script_check(outcome) or conclusion.stage is Stage.BACKEND:
        return ""
    place = place_of(signature, outcome.exception)
    return f" in {place}" if place else ""
