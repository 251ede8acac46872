"""Synthetic failing graphs with a free oracle, so that the search alone is measured: no torch, no processes.

A graph "fails" when it contains given operations, known by their targets. `FreeRunner` judges the case that a text was made
from, so that not even printing is needed.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from triage.judge.judgement import CandidateResult
from triage.judge.signature import FailureSignature, signature_of
from triage.model import trees
from triage.model.graphcase import GraphCase, GraphInput, GraphNode, TensorMeta
from triage.model.outcome import AgentNotes, Outcome, RaisedException
from triage.model.stage import OutcomeKind
from triage.reduce.graph.candidate import Candidate

META = TensorMeta(shape=(4,), stride=(1,), dtype="float32")


def failure(message: str) -> Outcome:
    """An exception that is known by its message."""
    return Outcome(OutcomeKind.EXCEPTION, exception=RaisedException("demo.PlantedError", message))


def planted(message: str = "the planted failure") -> FailureSignature:
    found = signature_of(failure(message))
    assert found is not None
    return found


def chain(length: int, kinds: int | None = None) -> GraphCase:
    """op_0(x), op_1 of that, and so on. With `kinds`, targets repeat; otherwise each is different."""
    return graph([[index - 1] for index in range(length)], kinds)


def branchy(length: int, seed: int, kinds: int | None = None) -> GraphCase:
    """Each operation reads one to three values, mostly recent ones, some from far back."""
    rng = random.Random(seed)
    reads = []
    for index in range(length):
        near = [max(-1, index - 1 - int(rng.expovariate(0.4))) for _ in range(rng.randint(1, 2))]
        far = [rng.randrange(-1, index)] if index and rng.random() < 0.15 else []
        reads.append(list(dict.fromkeys(near + far)))
    return graph(reads, kinds)


def graph(reads: Sequence[Sequence[int]], kinds: int | None = None) -> GraphCase:
    """The graph in which operation k reads the operations `reads[k]`; -1 is the input. What nobody reads is returned."""
    nodes = [
        GraphNode(
            name=f"n{index}",
            kind="call_function",
            target=f"torch.ops.demo.op_{index % kinds if kinds else index}",
            args=[{"ref": f"n{source}" if source >= 0 else "x"} for source in sources],
            out=[META],
        )
        for index, sources in enumerate(reads)
    ]
    read = {source for sources in reads for source in sources}
    outputs = tuple({"ref": f"n{index}"} for index in range(len(reads)) if index not in read)
    return GraphCase("aten", (GraphInput("x", meta=META),), tuple(nodes), outputs)


def contains(*targets: int) -> Callable[[GraphCase], Outcome | None]:
    """Fails where operations with all of these numbers are there."""
    wanted = {f"torch.ops.demo.op_{number}" for number in targets}

    def judge(case: GraphCase) -> Outcome | None:
        return failure("the planted failure") if wanted <= {node.target for node in case.nodes} else None

    return judge


def connected(first: int, last: int) -> Callable[[GraphCase], Outcome | None]:
    """Fails where the operation `last` depends, through however many others, on the operation `first`."""
    from_target, to_target = f"torch.ops.demo.op_{first}", f"torch.ops.demo.op_{last}"

    def judge(case: GraphCase) -> Outcome | None:
        reached: set[str] = set()
        for node in case.nodes:
            if node.target == from_target or reached.intersection(trees.refs(node.args)):
                reached.add(node.name)
                if node.target == to_target:
                    return failure("the planted failure")
        return None

    return judge


@dataclass
class FreeRunner:
    """Runs nothing: `judge` says how a case ends, None meaning that it passes."""

    judge: Callable[[GraphCase], Outcome | None]
    jobs: int = 1
    asked: list[GraphCase] = field(default_factory=list)
    written: dict[str, GraphCase] = field(default_factory=dict)

    def render(self, candidate: Candidate) -> str:
        """A text that stands for everything in the case; it takes the printer's place."""
        text = "# " + hashlib.sha256(repr(candidate).encode()).hexdigest()
        self.written[text] = candidate.case
        return text

    def run(self, source: str, *, rung: str | None = None, timeout: float | None = None) -> CandidateResult:
        case = self.written[source]
        self.asked.append(case)
        outcome = self.judge(case) or Outcome(OutcomeKind.OK)
        compiled = outcome.kind is not OutcomeKind.INVALID
        return CandidateResult(outcome, AgentNotes(), signature_of(outcome), compiled)

    def run_many(
        self, sources: Sequence[str], *, rung: str | None = None, timeout: float | None = None
    ) -> Iterator[tuple[int, CandidateResult]]:
        """Finishes in an unhelpful order: the last of each batch of `jobs` first."""
        for start in range(0, len(sources), self.jobs):
            batch = list(range(start, min(start + self.jobs, len(sources))))
            for index in reversed(batch):
                yield index, self.run(sources[index])

    def close(self) -> None:
        pass


class NoLimit:
    def left(self) -> float:
        return float("inf")

    def spent(self) -> bool:
        return False
