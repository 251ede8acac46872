"""Where in the program's own graph values go wrong: found by bisection, on stand-ins for the runner."""

from dataclasses import replace

from stand_ins import inquiry

from triage.culprit.first_diverging import Diverging, first_diverging
from triage.judge.comparison import AnyWrongOracle
from triage.judge.judgement import CandidateResult
from triage.judge.signature import FailureSignature
from triage.model.accuracy import Wrongness, WrongResult
from triage.model.graphcase import GraphCase, GraphInput, GraphNode, TensorMeta
from triage.model.outcome import AgentNotes, Outcome
from triage.model.stage import OutcomeKind
from triage.reduce.graph.candidate import Candidate
from triage.reduce.printing.printer import Form
from triage.report.facts import diverging
from triage.session.clock import Clock
from triage.stories.accuracy_notes import diverging_facts

META = TensorMeta((4,), (1,), "float32")
SIGNATURE = FailureSignature(OutcomeKind.WRONG_RESULT, "AssertionError", "wrong", "wrong", (), None)


def chain(*targets: str) -> GraphCase:
    nodes, last = [], "x"
    for number, target in enumerate(targets):
        nodes.append(
            GraphNode(f"n{number}", "call_function", target, [{"ref": last}], {}, [META], where=f"a.py:{number}")
        )
        last = f"n{number}"
    return GraphCase("dynamo", (GraphInput("x", meta=META),), tuple(nodes), ({"ref": last},))


class WrongWith:
    """Candidates are wrong once they hold the word; those that hold `odd` crash. `asked` are the texts."""

    jobs = 1

    def __init__(self, word: str, odd: str = "nothing like it") -> None:
        self.word, self.odd, self.asked = word, odd, list[str]()

    def run(self, source: str, *, rung: str | None = None, timeout: float | None = None) -> CandidateResult:
        self.asked.append(source)
        if self.odd in source:
            return CandidateResult(Outcome(OutcomeKind.CRASH, 1.0, -11), AgentNotes(), None, True)
        wrong = (WrongResult("0/0", 1, "output 0", "forward"),) if self.word in source else ()
        return CandidateResult(Outcome(OutcomeKind.OK, 1.0, 0), AgentNotes(compared=1, wrongs=wrong), None, True)


def asked(case: GraphCase, runner: WrongWith, *likely: GraphNode, seconds: float = 0.0) -> Diverging | None:
    asking = inquiry(runner, oracle=AnyWrongOracle(SIGNATURE), budget=Clock(seconds))
    return first_diverging([Candidate(case, Form(check="values"))], likely, asking)


LONG = chain(*["torch.sin"] * 20, "torch.relu", *["torch.cos"] * 43)


def test_it_is_found_among_many_by_bisection() -> None:
    runner = WrongWith("relu")
    found = asked(LONG, runner)
    assert (found.node.target, found.place, found.operations) == ("torch.relu", 21, 64)
    assert found.questions == len(runner.asked) <= 7
    assert found.wrong.item == "output 0"  # of the graph up to it: its own result


def test_what_another_operation_gives_is_not_told_as_its_result() -> None:
    nodes = (
        GraphNode("early", "call_function", "torch.sin", [{"ref": "x"}], {}, [META]),
        GraphNode("guilty", "call_function", "torch.relu", [{"ref": "early"}], {}, [META]),
        GraphNode("late", "call_function", "torch.add", [{"ref": "early"}, {"ref": "guilty"}], {}, [META]),
    )
    found = asked(GraphCase("dynamo", (GraphInput("x", meta=META),), nodes, ({"ref": "late"},)), WrongWith("relu"))
    assert found.node.name == "guilty"
    assert found.wrong is None  # the first output is that of `early`


def overwriting(*views: str) -> GraphCase:
    """`wrong` is made of `x`, then `x` (or what is a view of `wrong`) is zeroed."""
    nodes = [GraphNode("wrong", "call_function", "torch.slice_scatter", [{"ref": "x"}, {"ref": "y"}], {}, [META])]
    last = "wrong" if views else "x"
    for view in views:
        nodes.append(GraphNode(view, "call_method", view, [{"ref": last}], {}, [META]))
        last = view
    nodes.append(GraphNode("zeroed", "call_method", "zero_", [{"ref": last}], {}, [META], where="a.py:3"))
    inputs = (GraphInput("x", meta=META), GraphInput("y", meta=META))
    return GraphCase("dynamo", inputs, tuple(nodes), ({"ref": "wrong"},))


def test_what_a_later_operation_overwrites_is_to_blame_by_its_own_name() -> None:
    found = asked(overwriting(), WrongWith("zero_"))
    assert (found.node.name, found.before.name, found.place) == ("wrong", "zeroed", 2)
    assert found.wrong is not None


def test_what_an_operation_changes_through_views_is_its_own() -> None:
    found = asked(overwriting("view", "select"), WrongWith("zero_"))
    assert found.node.name == "zeroed" and found.before is None


def test_the_likely_one_takes_two_questions() -> None:
    found = asked(LONG, WrongWith("relu"), LONG.nodes[20])
    assert (found.place, found.questions) == (21, 2)


def test_a_likely_one_that_is_innocent_only_costs() -> None:
    found = asked(LONG, WrongWith("relu"), LONG.nodes[40])
    assert found.place == 21


def test_what_only_its_kind_tells_is_looked_for_at_the_first_of_that_kind() -> None:
    elsewhere = replace(LONG.nodes[20], where="another.py:1")
    found = asked(LONG, WrongWith("relu"), elsewhere)
    assert (found.place, found.questions) == (21, 2)


def test_prefixes_that_tell_nothing_are_stepped_over_and_never_claimed() -> None:
    class Crashing(WrongWith):
        def run(self, source: str, *, rung: str | None = None, timeout: float | None = None) -> CandidateResult:
            crash = source.count("torch.sin") == 20 and "relu" not in source  # right before the guilty one
            self.odd = "torch" if crash else "nothing like it"
            return super().run(source, rung=rung, timeout=timeout)

    assert asked(LONG, Crashing("relu")) is None


def test_nothing_is_claimed_where_the_graph_is_right_or_has_one_operation() -> None:
    assert asked(LONG, WrongWith("tanh")) is None
    runner = WrongWith("relu")
    assert asked(chain("torch.relu"), runner) is None and runner.asked == []


def test_a_prefix_returns_what_the_rest_reads() -> None:
    """The wrong value is read inside of the prefix by what hides it, and outside."""
    nodes = (
        GraphNode("wrong", "call_function", "torch.relu", [{"ref": "x"}], {}, [META]),
        GraphNode("hides", "call_function", "torch.isnan", [{"ref": "wrong"}], {}, [replace(META, dtype="bool")]),
        GraphNode("late", "call_function", "torch.sin", [{"ref": "wrong"}], {}, [META]),
    )
    case = GraphCase("dynamo", (GraphInput("x", meta=META),), nodes, ({"ref": "hides"}, {"ref": "late"}))
    runner = WrongWith("relu")
    asked(case, runner, nodes[1])
    two = next(text for text in runner.asked if "sin" not in text and "isnan" in text)
    assert "return torch.isnan(a), a\n" in two


def test_the_oracle_takes_any_kind_and_believes_the_agent() -> None:
    oracle = AnyWrongOracle(SIGNATURE)
    ended = WrongWith("x").run("x")
    assert oracle.judge(ended).verdict.value == "same_failure"
    assert oracle.judge(WrongWith("y").run("x")).verdict.value == "no_failure"
    crashed = WrongWith("x", "x").run("x")
    assert oracle.judge(crashed).verdict.value == "unresolved"


def test_no_wrong_number_comes_of_memory_that_is_shared() -> None:
    shared = WrongResult("0/0", 1, "output 0", "forward", kind="aliasing")
    ended = WrongWith("x").run("x")
    ended = replace(ended, notes=replace(ended.notes, wrongs=(shared,)))
    numbers = replace(SIGNATURE, wrong=Wrongness("values", "output 0"))
    assert AnyWrongOracle(numbers).judge(ended).verdict.value == "no_failure"
    both = replace(ended, notes=replace(ended.notes, wrongs=(shared, replace(shared, kind="strides"))))
    assert AnyWrongOracle(numbers).judge(both).verdict.value == "same_failure"
    memory = replace(SIGNATURE, wrong=Wrongness("aliasing", "output 0"))
    assert AnyWrongOracle(memory).judge(ended).verdict.value == "same_failure"


def test_what_is_overwritten_is_told_with_what_does_so() -> None:
    facts = diverging_facts(asked(overwriting(), WrongWith("zero_")))
    assert facts is not None
    assert diverging(facts) == (
        "the result of `aten.slice_scatter` is not eager's as soon as operation 2 of 2, `aten.zero_ (a.py:3)`, comes after it "
        "(2 runs of parts of that graph)"
    )
