"""The native engine on cases whose failure is a predicate: questions for its tests."""

from dataclasses import replace
from pathlib import Path

from reduce_cases import case, meta, op, tensor
from synthetic import FreeRunner, NoLimit, failure, planted

from triage.judge.oracle import SignatureOracle
from triage.model.stage import OutcomeKind, Stage
from triage.reduce.graph.engine import NativeEngine
from triage.reduce.interface import Problem
from triage.trial.interface import Resources

M = meta(4)


def problem(*cases, evidence=(), rung="inductor", kind=OutcomeKind.EXCEPTION):
    signature = replace(planted(), kind=kind)
    return Problem(signature, Stage.INDUCTOR, rung, "forward", cases, Path(), tuple(evidence), "2.13.0")


def reduce(judge, *cases, jobs=1, budget=None, events=None, engine=None, seconds=None, operation_only=False, **about):
    runner = FreeRunner(judge, jobs)

    def emit(kind, **facts):
        if events is not None:
            events.append((kind, facts))

    engine = engine or NativeEngine(render=runner.render, seconds=seconds)
    asked = replace(problem(*cases, **about), operation_only=operation_only)
    found = engine.reduce(asked, Resources(runner, SignatureOracle(planted()), budget or NoLimit(), emit))
    return found, runner


def target(*targets):
    """Fails where one operation calls one of these."""
    return lambda graph: failure("the planted failure") if {n.target for n in graph.nodes} & set(targets) else None


def model(size=40):
    """Many operations of a few kinds, one of them guilty, on shapes that are not small."""
    wide = meta(8, 64)
    nodes = [op("n0", "torch.relu", "%x", out=wide)]
    for k in range(1, size):
        name = "torch.lerp" if k == size // 2 else ("torch.sin", "torch.cos", "torch.relu")[k % 3]
        nodes.append(op(f"n{k}", name, f"%n{k - 1}", out=wide))
    return case([tensor("x", 8, 64)], nodes, f"n{size - 1}")


def same(size):
    """A chain of one operation."""
    nodes = [op(f"n{k}", "torch.relu", f"%n{k - 1}" if k else "%x", out=M) for k in range(size)]
    return case([tensor("x", 4)], nodes, f"n{size - 1}")


class Written(FreeRunner):
    """Is given the texts that are printed; one that has the word fails as the graph does."""

    def __init__(self, judge, graph, word):
        super().__init__(judge)
        self.graph, self.word = graph, word

    def run(self, source, *, rung=None, timeout=None):
        self.asked.append(source)
        self.written[source] = self.graph if self.word in source else replace(self.graph, nodes=())
        return super().run(source)

    def resources(self):
        return Resources(self, SignatureOracle(planted()), NoLimit(), lambda kind, **facts: None)
