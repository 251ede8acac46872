"""How a reduction of a graph ends early, and what time and hangs cost it."""

from dataclasses import replace

from native_engine import model, problem, reduce, same, target
from stand_ins import Questions
from synthetic import FreeRunner, NoLimit, chain, contains, planted

from triage.judge.oracle import SignatureOracle
from triage.judge.signature import signature_of
from triage.model.graphcase import GraphCase
from triage.model.outcome import Outcome
from triage.model.stage import OutcomeKind
from triage.reduce.graph import shrink
from triage.reduce.graph.engine import NativeEngine
from triage.reduce.interface import NoReduction, Reduction
from triage.trial.driver import Repeats
from triage.trial.interface import Resources
from triage.trial.patience import Patience


def test_a_spent_budget_gives_the_best_so_far_and_says_so():
    found, _ = reduce(contains(3, 30), chain(40), budget=Questions(16))
    assert isinstance(found, Reduction)
    assert (found.complete, found.minimal) == (False, False)
    assert any("budget" in note for note in found.notes)
    nothing, _ = reduce(contains(3, 30), chain(40), budget=Questions(3))
    assert isinstance(nothing, NoReduction) and "budget" in nothing.reason


def test_a_flaky_failure_is_repeated():
    runs: dict[str, int] = {}

    def every_third(graph: GraphCase) -> Outcome | None:
        text = repr(graph)
        runs[text] = runs.get(text, 0) + 1
        return target("torch.lerp")(graph) if runs[text] % 3 == 0 else None

    runner = FreeRunner(every_third)
    engine = NativeEngine(render=runner.render, repeats=Repeats(3))
    found = engine.reduce(
        problem(model()), Resources(runner, SignatureOracle(planted()), NoLimit(), lambda kind, **facts: None)
    )
    assert isinstance(found, Reduction)
    assert [node.target for node in found.graph.nodes] == ["torch.lerp"]


def test_where_candidates_take_long_sizes_stay_and_the_report_says_so(monkeypatch):
    monkeypatch.setattr(shrink, "SECONDS", -1.0)
    monkeypatch.setattr(shrink, "SHARE", -1.0)
    found, _ = reduce(target("torch.lerp"), model())
    assert isinstance(found, Reduction)
    assert (found.ops, found.minimal, found.complete) == (1, True, True)
    rough = found.graph.inputs[0].meta.shape
    assert any("not made as small" in note for note in found.notes)
    monkeypatch.undo()
    found, _ = reduce(target("torch.lerp"), model())
    assert isinstance(found, Reduction)
    assert len(found.graph.inputs[0].meta.shape) < len(rough)
    assert not any("not made as small" in note for note in found.notes)


def test_larger_ones_that_were_found_on_the_way_are_kept():
    found, _ = reduce(contains(5, 30), chain(40))
    assert isinstance(found, Reduction) and found.larger
    ops = [found.ops, *(one.ops for one in found.larger)]
    assert ops == sorted(set(ops))
    assert not any(one.minimal for one in found.larger)


class SlowRunner(FreeRunner):
    """Each candidate compiles for so many seconds as `takes` says of its operations; what takes longer than its limit hangs."""

    def __init__(self, takes):
        super().__init__(lambda graph: None)
        self.takes, self.limits = takes, []

    def run(self, source, *, rung=None, timeout=None):
        seconds = self.takes(len(self.written[source].nodes))
        hangs = seconds > timeout
        self.limits += [timeout] if hangs else []
        outcome = replace(HANG, seconds=timeout) if hangs else Outcome(OutcomeKind.OK)
        return replace(
            super().run(source), outcome=outcome, signature=signature_of(outcome), seconds=min(seconds, timeout)
        )

    def run_many(self, sources, *, rung=None, timeout=None):
        yield from ((index, self.run(source, timeout=timeout)) for index, source in enumerate(sources))


HANG = Outcome(OutcomeKind.HANG, detail="inductor compiles forward graph 0/0")


def hung(takes, *cases):
    runner = SlowRunner(takes)
    engine = NativeEngine(render=runner.render, patience=Patience(30.0, script=120.0))
    asked = replace(problem(*cases), signature=signature_of(HANG))
    oracle = SignatureOracle(asked.signature)
    return engine.reduce(asked, Resources(runner, oracle, NoLimit(), lambda kind, **facts: None)), runner


def test_what_is_only_larger_than_what_passed_is_no_hang():
    """Three operations exceed the limit that one has taught, and end; four do not."""
    found, runner = hung(lambda ops: {0: 1.0, 1: 3.0, 2: 5.0, 3: 27.0}.get(ops, 1e6), same(8))
    assert isinstance(found, Reduction)
    assert (found.ops, found.minimal) == (4, True)
    assert max(runner.limits) <= 120.0


def test_what_hangs_however_long_it_is_waited_for_costs_few_long_limits():
    found, runner = hung(lambda ops: 1e6 if ops > 1 else 1.0, same(8))
    assert isinstance(found, Reduction)
    assert (found.ops, found.minimal) == (2, True)
    assert set(runner.limits) <= {10.0, 30.0, 60.0}


def test_a_reduction_has_so_many_seconds_of_its_own():
    found, runner = reduce(target("torch.lerp"), model(), seconds=0.0)
    assert isinstance(found, NoReduction) and not runner.asked
    assert found.reason == "nothing that fails the same way was found before the time for it was spent"
