"""How many questions the search asks: synthetic graphs, a free oracle, no torch.

    python benchmarks/minify_synthetic.py [--sizes 50,100,200,400,800] [--samples 10]

A graph of n operations fails when two of them, anywhere, are there; or, harder, only when the second also depends on the
first. The table counts queries from the whole graph to the result, for chains and for branchy graphs: the native engine
(with its shrinking passes and its proof of minimality) against plain delta debugging over the same slices (Zeller and
Hildebrandt, "Simplifying and isolating failure-inducing input", 2002), which stops at a 1-minimal set of operations.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from synthetic import FreeRunner, NoLimit, branchy, chain, connected, contains, planted

from triage.judge.oracle import SignatureOracle
from triage.model.graphcase import GraphCase
from triage.model.outcome import Outcome
from triage.model.stage import Stage
from triage.reduce.graph.candidate import Candidate
from triage.reduce.graph.engine import NativeEngine
from triage.reduce.graph.wiring import Wiring
from triage.reduce.interface import Problem, Reduction
from triage.trial.interface import Resources

SHAPES: dict[str, Callable[[int, int], GraphCase]] = {
    "chain": lambda size, seed: chain(size),
    "branchy": branchy,
}

Judge = Callable[[GraphCase], Outcome | None]
NEEDS: dict[str, Callable[[int, int], Judge]] = {"both": contains, "second depends on first": connected}


@dataclass(frozen=True)
class Count:
    """Queries asked, operations in all of their graphs together, and operations left."""

    queries: int
    run: int
    ops: int


def native(case: GraphCase, judge: Judge) -> Count:
    runner = FreeRunner(judge)
    problem = Problem(planted(), Stage.INDUCTOR, "inductor", "forward", (case,), Path())
    found = NativeEngine(render=runner.render).reduce(
        problem, Resources(runner, SignatureOracle(planted()), NoLimit(), lambda kind, **facts: None)
    )
    assert isinstance(found, Reduction) and found.graph is not None
    return Count(found.queries, sum(len(asked.nodes) for asked in runner.asked), len(found.graph.nodes))


def plain_ddmin(case: GraphCase, judge: Judge) -> Count:
    """ddmin: subsets, then complements, of ever finer partitions of the operations."""
    asked: list[int] = []

    def fails(units: Sequence[str]) -> bool:
        candidate = Candidate(case).kept(units)
        if candidate is None:
            return False
        asked.append(len(candidate.case.nodes))
        return judge(candidate.case) is not None

    left = list(Wiring(case).units)
    parts = 2
    while len(left) >= 2:
        chunks = [left[len(left) * k // parts : len(left) * (k + 1) // parts] for k in range(parts)]
        subset = next((chunk for chunk in chunks if fails(chunk)), None)
        if subset is not None:
            left, parts = subset, 2
            continue
        complements = ([unit for unit in left if unit not in chunk] for chunk in chunks) if parts > 2 else iter(())
        complement = next((units for units in complements if fails(units)), None)
        if complement is not None:
            left, parts = complement, max(parts - 1, 2)
        elif parts < len(left):
            parts = min(len(left), parts * 2)
        else:
            break
    return Count(len(asked), sum(asked), len(left))


def measure(shape: str, needs: str, size: int, samples: int) -> tuple[list[Count], list[Count]]:
    """(native, ddmin), one count per pair of triggers. Pairs that do not make the whole graph fail are left out."""
    rng = random.Random(size)
    ours, theirs = [], []
    for seed in range(samples):
        case = SHAPES[shape](size, seed)
        judge = NEEDS[needs](*sorted(rng.sample(range(size), 2)))
        if judge(case) is not None:
            ours.append(native(case, judge))
            theirs.append(plain_ddmin(case, judge))
    return ours, theirs


def table(sizes: Sequence[int], samples: int) -> str:
    """The Markdown table."""
    lines = [
        "| graph | needs | n | native: queries (most) | operations run | left "
        "| plain ddmin: queries (most) | operations run | left |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for shape in SHAPES:
        for needs in NEEDS:
            for size in sizes:
                ours, theirs = measure(shape, needs, size, samples)
                lines.append(f"| {shape} | {needs} | {size} | {_cells(ours)} | {_cells(theirs)} |")
    return "\n".join(lines)


def _cells(counts: Sequence[Count]) -> str:
    if not counts:
        return "- | - | -"
    queries = [count.queries for count in counts]
    run = statistics.median(count.run for count in counts)
    return f"{statistics.median(queries):.0f} ({max(queries)}) | {run:.0f} | {max(count.ops for count in counts)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="50,100,200,400,800", help="operations, separated by commas")
    parser.add_argument("--samples", type=int, default=10, help="pairs of triggers per size")
    arguments = parser.parse_args()
    print(f"Two triggers anywhere, {arguments.samples} random pairs per size; medians, the most queries in brackets.\n")
    print(table([int(size) for size in arguments.sizes.split(",")], arguments.samples))


if __name__ == "__main__":
    main()
