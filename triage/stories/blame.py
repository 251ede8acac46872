"""What is to blame inside the stage, asked of the verified reproducer.

The settings, the part of the compiler and its application, the first wrong value (of the reproducer, and of the program's own
graph), and what the failure cannot do without.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import replace
from functools import partial
from pathlib import Path

from triage.culprit import conditions
from triage.culprit.ablation import Variant, ablate, cures_of, variants_of_graph, variants_of_text
from triage.culprit.another_function import fails_with_another
from triage.culprit.compiler_parts import AFTER, BEFORE
from triage.culprit.eager_backward import raised_by_eager_too
from triage.culprit.fake_results import fake_wrong
from triage.culprit.first_diverging import first_diverging, in_its_body
from triage.culprit.first_wrong import FirstWrong, first_wrong
from triage.culprit.given_wrong import comes_of, comes_of_another, given_wrong
from triage.culprit.guards import does_not_matter, search_guards
from triage.culprit.inquiry import Inquiry, seconds_of
from triage.culprit.operation import operator_name, operators_of
from triage.culprit.subsystem import Searched, search_parts
from triage.culprit.undefined import undefined_conversion
from triage.environments.files import write_whole
from triage.judge.comparison import AnyWrongOracle, ComparisonOracle, SameKindOracle
from triage.judge.judgement import Oracle
from triage.judge.signature import is_refused
from triage.locate.conclude import Conclusion
from triage.locate.outcomes import is_script_check
from triage.model.graphcase import GraphCase, GraphNode
from triage.model.report import Condition, SubsystemSearch
from triage.model.rungs import DYNAMO_ALONE
from triage.model.stage import Stage, Symptom, Verdict
from triage.reduce.graph.candidate import Candidate
from triage.reduce.graph.observe import hangs_on_values, observed
from triage.reduce.graph.starts import starts
from triage.reduce.interface import UNREDUCED, Problem
from triage.reduce.printing.printer import Form
from triage.reduce.verifying import Reproduced
from triage.stories.findings import Findings
from triage.stories.reproducer_facts import own_check_alone
from triage.trial.interface import CandidateRunner
from triage.trial.patience import Patience
from triage.trial.runner import ForkServerRunner
from triage.trial.share import share_of

MOST_WHOLES = 2  # graphs that are asked where in them values go wrong
MOST_CURES = 4  # workarounds that a report names
FRESH_ONLY = (
    "The reproducer fails in fresh processes, and passes in the interpreter in which settings are tried, which has one thread "
    "(OMP_NUM_THREADS=1): no setting was asked."
)
GRAPHS = "subsystem"  # the folder of the run directory with the graph before and after the guilty pass


def blame(
    found: Findings,
    made: Reproduced,
    problem: Problem,
    runner: ForkServerRunner,
    oracle: Oracle,
    patience: Patience | None,
) -> None:
    """Fill what the findings say of the culprit. `oracle` is the one that judged `made`, reduced from the `problem`."""
    session, rung = found.session, problem.rung
    limit = seconds_of(made.slowest) if patience is None else patience.seconds()
    error = found.walk.conclusion().error
    ends = error is not None and not error.swallowed
    share = share_of(session.clock, made.seconds, made.slowest)
    inquiry = Inquiry(rung, runner, oracle, share, session.emit, limit, ends)
    hangs, by_sign = patience is not None, False
    if not hangs and passes_here(made, inquiry):
        found.notes.append(FRESH_ONLY)
        return
    with session.timed("ablate"):
        # A hang is told by a limit that a compile which explodes comes near to with and without a part: that shows nothing.
        parts = None if hangs else _Parts(found, made, replace(inquiry, runner=runner.beside()))
        settings = settings_of(made, rung, own_backend=problem.stage is Stage.BACKEND)
        found.ablation, found.cures = ablate(settings, inquiry, hung=made.slowest if hangs else None)
        found.workarounds = tuple(cure.text for cure in cures_of(settings, found.ablation)[:MOST_CURES])
        if parts is not None:
            parts.take()
        if made.form is not None and made.graph is not None:
            wrong = _first_wrong(made.graph, made.form, inquiry, runner)
            found.first_wrong, by_sign = wrong or (None, False)
    inquiry = replace(inquiry, budget=share_of(session.clock, made.seconds))
    if made.case == "graph":
        found.raised_by_eager = raised_by_eager_too(problem.signature, made.source, inquiry)
    if not hangs and problem.stage is not Stage.BACKEND:
        with session.timed("fakes"):
            found.fake_wrong = fake_wrong(made.source, inquiry)
    if patience is None and made.form is not None and made.form.check != "exception" and made.graph is not None:
        with session.timed("diverge"), runner.comparing_finely(signs=by_sign):
            _diverging(found, made, problem, inquiry)
        found.conversion = undefined_conversion(made.graph, made.form, inquiry)
    elif patience is None and made.form is not None and made.case == "graph" and found.walk.values_matter():
        assert made.graph is not None
        with session.timed("diverge"):
            found.given_wrong = given_wrong(made.graph, made.form, inquiry, runner)
    _conditions(found, made, inquiry, patience is None)


def passes_here(made: Reproduced, inquiry: Inquiry) -> bool:
    """Whether what fails in fresh processes passes where settings are tried: then that it passes with one shows nothing.

    What was reduced was found to fail there.
    """
    return made.engine == UNREDUCED and inquiry.verdict(made.source) is Verdict.NO_FAILURE


def _first_wrong(case: GraphCase, form: Form, inquiry: Inquiry, runner: ForkServerRunner) -> FirstWrong | None:
    """Of the reproducer, small values too: its own check, which need not see these, does not count."""
    oracle = inquiry.oracle
    if isinstance(oracle, ComparisonOracle):
        inquiry = replace(inquiry, oracle=SameKindOracle(oracle.signature))
    with runner.comparing_finely(signs=False):
        return first_wrong(case, form, inquiry)


def settings_of(made: Reproduced, rung: str, *, own_backend: bool = False) -> list[Variant]:
    """The rows of the table for what was found: printed anew from its graph, else written into its text."""
    if made.graph is not None and made.case == "graph":
        return list(variants_of_graph(made.graph, made.form, rung))
    return list(variants_of_text(made.source, rung, own_backend=own_backend))


class _Parts:
    """The search for the guilty part, beside the table of settings: each of its questions waits for the one before.

    The findings are filled by whoever asks for the answer, so an interrupt finds them whole.
    """

    def __init__(self, found: Findings, made: Reproduced, inquiry: Inquiry) -> None:
        self._found = found
        conclusion = found.walk.conclusion()
        search: Callable[..., Searched | None] = partial(search_parts, refused=is_refused(conclusion.signature))
        if made.case == "source" and _may_be_used_again(conclusion, inquiry.rung):
            search = partial(_guards_else, search)
        self._answer: Future[Searched | None] = Future()
        threading.Thread(target=self._work, args=(search, made.source, inquiry), name="parts", daemon=True).start()

    def _work(self, search: Callable[..., Searched | None], source: str, inquiry: Inquiry) -> None:
        try:
            self._answer.set_result(search(source, inquiry))
        except BaseException as error:  # noqa: BLE001  raised where it is asked for
            self._answer.set_exception(error)

    def take(self) -> None:
        """Wait for it, and fill the findings."""
        found = self._found
        while not wait([self._answer], timeout=0.2).done:
            pass  # in pieces: ctrl-C is seen between them
        searched = self._answer.result()
        if searched is None:
            return
        found.subsystem = _with_graphs(searched, found.session.directory)
        found.lowered = searched.lowered
        found.ablation += searched.rows
        found.cures = tuple(sorted((*found.cures, *searched.cures), key=lambda cure: cure.cost))
        found.workarounds = tuple(cure.text for cure in found.cures[:MOST_CURES])


def _may_be_used_again(conclusion: Conclusion, rung: str) -> bool:
    """Whether the wrong value may come of a graph that was compiled for an earlier call, and should not be used in this one."""
    checked = conclusion.outcome is not None and is_script_check(conclusion.outcome)  # by an `assert`, a `sys.exit`
    if conclusion.symptom is not Symptom.WRONG_RESULT and not checked:
        return False
    return rung == DYNAMO_ALONE or (conclusion.wrong is not None and conclusion.wrong.call > 1)


def _guards_else(parts: Callable[..., Searched | None], source: str, inquiry: Inquiry) -> Searched | None:
    """A missing guard, or what the search for a part tells."""
    again = search_guards(source, inquiry)
    return again if again is not None and again.search.names else parts(source, inquiry) or again


def _with_graphs(searched: Searched, directory: Path) -> SubsystemSearch:
    """What was found, with the graphs before and after the guilty pass as files."""
    names: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for name, text in searched.graphs.items():
            (directory / GRAPHS).mkdir(exist_ok=True)
            write_whole(directory / GRAPHS / name, text)
            names[name] = f"{GRAPHS}/{name}"
    return replace(searched.search, before=names.get(BEFORE), after=names.get(AFTER))


def _diverging(found: Findings, made: Reproduced, problem: Problem, inquiry: Inquiry) -> None:
    """Of the program's own graph with the program's own values; the reproducer's operations are where to look first."""
    assert made.graph is not None
    first = [found.first_wrong] if found.first_wrong is not None else []
    likely = list(dict.fromkeys((*(node.name for node in first), *(node.name for node in made.graph.nodes))))
    nodes = {node.name: node for node in (*made.graph.nodes, *first)}
    wholes = [start for group in starts(problem, made.form) for start in group]
    wholes.sort(key=lambda start: not start.recorded)
    oracle = inquiry.oracle
    found.diverging = first_diverging(
        (_seen(start.candidate, inquiry.runner) for start in wholes[:MOST_WHOLES]),
        [nodes[name] for name in likely],
        replace(inquiry, oracle=AnyWrongOracle(oracle.signature) if isinstance(oracle, ComparisonOracle) else oracle),
    )
    if found.diverging is None:
        return
    diverging = found.diverging.node
    whole = next((start.candidate for start in wholes if diverging in start.candidate.case.nodes), None)
    if first and given_to(diverging, first[0], made, inquiry):
        found.diverging = None  # among the program's own values the wrong one is too small to be seen by itself
    elif first and whole is not None and comes_of_another(whole, diverging, first[0], inquiry):
        found.diverging = None
    elif whole is not None:
        found.diverging = in_its_body(found.diverging, whole.case, list(nodes.values()))


def given_to(diverging: GraphNode, first: GraphNode, made: Reproduced, inquiry: Inquiry) -> bool:
    """Whether this operation of the reproducer only makes more of a wrong value, the result of its `first` that is wrong."""
    assert made.graph is not None and made.form is not None
    operators = [operator_name(node) for node in made.graph.nodes]
    name, after = operator_name(diverging), made.graph.nodes.index(first) + 1
    if name in operators[:after] or name not in operators[after:]:
        return False  # what is wrong before `first` may be what that was given
    return comes_of(made.graph, made.form, first, inquiry)


def _seen(whole: Candidate, runner: CandidateRunner) -> Candidate:
    """With the gradients that were seen to arrive inside, where the failure needs a backward pass."""
    return observed(whole, runner) if whole.case.backward and hangs_on_values(whole) else whole


def _raises_with_operations(found: Findings, made: Reproduced) -> bool:
    """Whether a text is left that has operations and raises: others in their place would be told from them by what it raises.

    By a comparison they are not: the other side of that stays as it was.
    """
    raises = found.walk.conclusion().symptom is Symptom.EXCEPTION and not own_check_alone(found)
    return raises and made.seen_graph is not None and bool(operators_of(made.seen_graph))


def _conditions(found: Findings, made: Reproduced, inquiry: Inquiry, asks: bool) -> None:
    """Fill `conditions` and `indifferent`; questions about the data only of a graph, and where `asks`."""
    graph = made.graph if made.case == "graph" else None
    shown, indifferent = conditions.of_settings(graph, found.ablation)
    parts = conditions.of_parts(found.subsystem)
    indifferent += does_not_matter(found.subsystem)
    data: tuple[Condition, ...] = ()
    if graph is not None and asks:
        with found.session.timed("conditions"):
            told = conditions.ask(graph, made.form, inquiry)
        found.ablation += told.rows
        found.spellings, data, found.any_operation = told.spellings, told.conditions, told.any_operation
        indifferent += told.indifferent
    elif asks and _raises_with_operations(found, made):
        row = fails_with_another(made.source, conditions.ANOTHER, conditions.OTHERS, inquiry)
        if row is not None:
            found.any_operation = True
            found.ablation += (row,)
            indifferent += (conditions.ANY_OPERATION,)
    neighbour = conditions.of_neighbour(made.passing_difference, (*data, *shown))
    found.conditions = conditions.merged(data, shown, parts, neighbour)
    found.indifferent = tuple(dict.fromkeys(indifferent))
