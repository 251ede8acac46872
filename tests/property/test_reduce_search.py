"""Laws of a reduction, on random graphs with planted failures.

The result is verified, 1-minimal, never larger and never another failure, whatever the graph, the number of jobs, the
flakiness of the oracle and the moment of an interrupt.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from stand_ins import Questions
from synthetic import META, FreeRunner, NoLimit, connected, contains, failure, graph, planted

from triage.judge.oracle import SignatureOracle
from triage.model.graphcase import GraphCase
from triage.model.stage import Stage
from triage.reduce.graph.candidate import Candidate
from triage.reduce.graph.engine import NativeEngine
from triage.reduce.graph.removal import lighter, removals
from triage.reduce.graph.weight import weight
from triage.reduce.graph.wellformed import flaw
from triage.reduce.graph.wiring import Wiring
from triage.reduce.interface import NoReduction, Problem, Reduction
from triage.trial.driver import Repeats
from triage.trial.interface import Resources

MATRIX = replace(META, shape=(4, 4), stride=(4, 1))
PATIENT = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def graphs(draw, most: int = 40) -> GraphCase:
    """A random graph: each operation reads one to three earlier values; some change the shape, some targets repeat."""
    size = draw(st.integers(2, most))
    reads = [
        draw(st.lists(st.integers(-1, k - 1), min_size=1, max_size=3, unique=True)) if k else [-1] for k in range(size)
    ]
    kinds = draw(st.one_of(st.none(), st.integers(2, 6)))
    whole = graph(reads)
    plain = draw(st.sets(st.integers(0, size - 1)))
    square = draw(st.sets(st.integers(0, size - 1)))
    nodes = [
        replace(
            node,
            target=f"torch.ops.demo.common_{k % kinds}" if kinds and k in plain else node.target,
            out=[MATRIX] if k in square else node.out,
        )
        for k, node in enumerate(whole.nodes)
    ]
    return replace(whole, nodes=tuple(nodes))


@st.composite
def planted_graphs(draw, triggers: int = 3, most: int = 40):
    """(graph, numbers of the operations that must all be there)."""
    whole = draw(graphs(most))
    unique = [k for k, node in enumerate(whole.nodes) if node.target == f"torch.ops.demo.op_{k}"]
    chosen = draw(st.lists(st.sampled_from(unique or [0]), min_size=1, max_size=triggers, unique=True))
    nodes = tuple(
        replace(node, target=f"torch.ops.demo.op_{k}") if k in chosen else node for k, node in enumerate(whole.nodes)
    )
    return replace(whole, nodes=nodes), tuple(sorted(chosen))


def reduce(case, judge, *, jobs=1, repeats=None, runner=None, budget=None):
    runner = runner or FreeRunner(judge, jobs)
    problem = Problem(planted(), Stage.INDUCTOR, "inductor", "forward", (case,), Path())
    engine = NativeEngine(render=runner.render, repeats=repeats)
    found = engine.reduce(
        problem, Resources(runner, SignatureOracle(planted()), budget or NoLimit(), lambda kind, **facts: None)
    )
    return found, runner


def is_ours(outcome) -> bool:
    return outcome is not None and outcome.exception.message == "the planted failure"


def assert_minimal(case: GraphCase, judge) -> None:
    """Taking out any single operation, in any way, makes the failure go away."""
    current = Candidate(case)
    edits = [edit for unit in Wiring(case).units for edit in removals([unit])]
    assert not [candidate for _, candidate in lighter(current, edits) if is_ours(judge(candidate.case))]


@PATIENT
@given(planted_graphs())
def test_exactly_the_needed_operations_are_left(planted_graph):
    case, triggers = planted_graph
    found, _ = reduce(case, contains(*triggers))
    assert isinstance(found, Reduction)
    assert {node.target for node in found.graph.nodes} == {f"torch.ops.demo.op_{k}" for k in triggers}
    assert len(found.graph.nodes) == len(triggers)
    assert found.minimal and found.complete
    assert flaw(found.graph) == ""


@PATIENT
@given(graphs(), st.data())
def test_what_depends_on_a_path_ends_one_minimal(case, data):
    unique = [k for k, node in enumerate(case.nodes) if node.target == f"torch.ops.demo.op_{k}"]
    if len(unique) < 2:
        return
    first, last = sorted(data.draw(st.lists(st.sampled_from(unique), min_size=2, max_size=2, unique=True)))
    judge = connected(first, last)
    found, _ = reduce(case, judge)
    if judge(case) is None:
        assert isinstance(found, NoReduction)
        return
    assert isinstance(found, Reduction) and found.graph is not None
    assert is_ours(judge(found.graph))
    assert weight(found.graph) <= weight(case)
    assert_minimal(found.graph, judge)


@PATIENT
@given(planted_graphs(), st.integers(0, 2**16))
def test_whatever_the_failure_needs_the_result_fails_and_is_minimal(planted_graph, salt):
    """A predicate with no order in it: the triggers, and an arbitrary condition on how many operations there are."""
    case, triggers = planted_graph
    wanted = contains(*triggers)

    def judge(asked: GraphCase):
        arbitrary = len(asked.nodes) == len(case.nodes) or (salt >> (len(asked.nodes) % 16)) & 1
        return wanted(asked) if arbitrary else None

    found, _ = reduce(case, judge)
    assert isinstance(found, Reduction) and found.graph is not None
    assert is_ours(judge(found.graph))
    assert weight(found.graph) <= weight(case)
    assert_minimal(found.graph, judge)


@PATIENT
@given(planted_graphs(), st.data())
def test_an_easier_failure_is_a_sibling_and_never_the_result(planted_graph, data):
    case, triggers = planted_graph
    others = [k for k, node in enumerate(case.nodes) if k not in triggers and node.target == f"torch.ops.demo.op_{k}"]
    easier = data.draw(st.sampled_from(others)) if others else None
    hides = data.draw(st.booleans())
    ours, theirs = contains(*triggers), contains(easier if easier is not None else -1)

    def judge(asked: GraphCase):
        other = failure("an easier failure") if theirs(asked) else None
        mine = ours(asked)
        whole = len(asked.nodes) == len(case.nodes)
        return (other or mine) if hides and not whole else (mine or other)

    found, runner = reduce(case, judge)
    assert isinstance(found, Reduction) and found.graph is not None
    assert is_ours(judge(found.graph))
    assert_minimal(found.graph, judge)
    for signature, source in ((met.signature, met.source) for met in found.siblings):
        assert signature.message == "an easier failure"
        assert not is_ours(judge(runner.written[source]))


@PATIENT
@given(planted_graphs(most=25))
@example((graph([[-1], [0], [1], [2], [3], [0]]), (2, 5)))
def test_the_result_does_not_depend_on_the_number_of_jobs(planted_graph):
    case, triggers = planted_graph
    sources = set()
    for jobs in (1, 2, 4):
        found, _ = reduce(case, contains(*triggers), jobs=jobs)
        assert isinstance(found, Reduction)
        sources.add((found.source, found.passing, found.minimal))
    assert len(sources) == 1


@dataclass
class Flaky(FreeRunner):
    """Fails only in some runs of a candidate that can fail; in which of its runs, `pattern` says."""

    pattern: tuple[bool, ...] = (True,)
    counts: Counter[str] = field(default_factory=Counter)

    def run(self, source, *, rung=None, timeout=None):
        result = super().run(source)
        self.counts[source] += 1
        if self.pattern[self.counts[source] % len(self.pattern)]:
            return result
        fine = FreeRunner(lambda case: None, written=self.written)
        return fine.run(source)


@PATIENT
@given(planted_graphs(most=20), st.lists(st.booleans(), min_size=1, max_size=7), st.integers(1, 4))
def test_a_flaky_oracle_never_leads_to_something_that_does_not_fail(planted_graph, pattern, runs):
    case, triggers = planted_graph
    judge = contains(*triggers)
    runner = Flaky(judge, pattern=tuple(pattern))
    found, _ = reduce(case, judge, runner=runner, repeats=Repeats(runs))
    if isinstance(found, Reduction):
        assert found.graph is not None
        assert is_ours(judge(found.graph))
        assert weight(found.graph) <= weight(case)
    if runs >= len(pattern) and any(pattern):
        assert isinstance(found, Reduction), "every candidate fails in at least one of its runs"
        assert len(found.graph.nodes) == len(triggers)


class Interrupted(FreeRunner):
    """Ctrl-C at the given question."""

    stop_at = 0
    stopped = False

    def run(self, source, *, rung=None, timeout=None):
        if len(self.asked) == self.stop_at:
            self.stopped = True
            raise KeyboardInterrupt
        return super().run(source)


@PATIENT
@given(planted_graphs(most=20), st.integers(0, 40), st.sampled_from([1, 3]))
def test_an_interrupt_at_any_question_leaves_the_best_verified_candidate(planted_graph, question, jobs):
    case, triggers = planted_graph
    judge = contains(*triggers)
    runner = Interrupted(judge, jobs)
    runner.stop_at = question
    found, _ = reduce(case, judge, runner=runner)
    failed = [asked for asked in runner.asked if is_ours(judge(asked))]
    if isinstance(found, NoReduction):
        assert jobs > 1 or not failed
        return
    assert found.graph is not None
    assert runner.written[found.source] in runner.asked
    assert is_ours(judge(found.graph))
    assert found.complete is not runner.stopped
    assert found.passing is None or found.complete


@PATIENT
@given(planted_graphs(most=20), st.integers(0, 60))
def test_more_budget_never_gives_a_larger_result(planted_graph, questions):
    case, triggers = planted_graph
    judge = contains(*triggers)
    less, _ = reduce(case, judge, budget=Questions(questions))
    more, _ = reduce(case, judge, budget=Questions(questions + 5))
    if isinstance(less, Reduction):
        assert isinstance(more, Reduction)
        assert less.graph is not None and more.graph is not None
        assert weight(more.graph) <= weight(less.graph)


@PATIENT
@given(graphs(most=25), st.data())
def test_every_slice_is_well_formed_and_holds_what_was_asked_for(case, data):
    units = Wiring(case).units
    chosen = data.draw(st.sets(st.sampled_from(units), min_size=1))
    candidate = Candidate(case).kept(chosen)
    if candidate is not None:
        assert {node.name for node in candidate.case.nodes} == chosen
        assert flaw(candidate.case) == ""
        assert Candidate(candidate.case).key() == candidate.key()


@PATIENT
@given(graphs(most=25))
def test_every_removal_takes_something_out_and_is_well_formed(case):
    current = Candidate(case)
    for unit in Wiring(case).units:
        for _, candidate in lighter(current, removals([unit])):
            assert unit not in {node.name for node in candidate.case.nodes}
            assert flaw(candidate.case) == ""
