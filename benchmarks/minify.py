"""Measure the native reducer against PyTorch's own minifier, on the graph-level failures of a folder of cases.

For each case that must fail in AOTAutograd, in a decomposition or in Inductor: locate the failure and capture its graph (as
`triage run` does), let both reducers loose on it one after the other with the same time limit, and run both final scripts
by themselves in fresh processes. A case is a folder as benchmarks/corpus.py reads it. To be run by hand on a quiet machine,
for example: `python benchmarks/minify.py reproducers --filter buried --limit 300`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from bars import Bar, Chart, Group, svg
from corpus import Case, read_case
from measured import NATIVE, TORCH, Contest, Measured, table
from stopwatch import Stopwatch
from torch_minifier import measure as measure_torch

from triage.judge.judgement import CandidateResult, Oracle
from triage.judge.oracle import SignatureOracle
from triage.locate.conclude import Conclusion
from triage.locate.walk import Walk
from triage.model.stage import Stage
from triage.probe.target import Target, find_python, make_target
from triage.reduce.choose import verified
from triage.reduce.graph.engine import NativeEngine
from triage.reduce.interface import NoReduction, Problem, Reduction
from triage.reduce.printing.printer import code_lines, count_ops
from triage.session.clock import Clock
from triage.session.events import Emitter
from triage.session.session import open_session
from triage.session.settings import Settings
from triage.stories.captured import captured
from triage.stories.findings import Findings, candidate_runner
from triage.stories.problem import problem_of
from triage.trial.fresh import Fresh, verify
from triage.trial.interface import Resources

GRAPH_STAGES = frozenset({Stage.AOT_AUTOGRAD.value, Stage.DECOMP_PARTITION.value, Stage.INDUCTOR.value})
PROGRAM_SECONDS = 300.0
RUNS = 3
COLOURS = ((NATIVE, "#1f6fb2"), (TORCH, "#d9822b"))


def contest(case: Case, kept: Path, *, limit: float, jobs: int) -> Contest:
    """Both reducers on one case, in a copy of it; its run directory is kept in `kept`."""
    with tempfile.TemporaryDirectory(prefix=f"{case.name}-") as scratch:
        work = Path(scratch) / case.name
        shutil.copytree(case.folder, work, ignore=shutil.ignore_patterns("case.json", "meta.json", "__pycache__"))
        found = _located(target_of(case, work), kept, jobs)
        try:
            conclusion = found.walk.conclusion()
            stage = conclusion.stage.value
            if stage not in GRAPH_STAGES or conclusion.signature is None or not conclusion.settled:
                return Contest(case.name, stage, remark=f"located in stage {stage}, where there is no graph to reduce")
            found.cases, found.capture_note = captured(found.walk, conclusion)
            results = _both(found, conclusion, limit)
        finally:
            found.release()
    return Contest(case.name, stage, results)


def target_of(case: Case, work: Path) -> Target:
    """What is run: the words of `triage run`, in a copy of the case."""
    raw = case.words[0] == "--"
    return make_target(case.words[raw:], module=None, raw=raw, python=find_python(sys.executable), cwd=work)


def _located(target: Target, kept: Path, jobs: int) -> Findings:
    """What is known after the walk along the ladder, beside which the warm interpreter starts, as in `triage run`."""
    settings = Settings(out=kept / "run", jobs=jobs, timeout=PROGRAM_SECONDS)
    session = open_session(settings, target.label, target.cwd, Emitter())
    found = Findings(session, target, target.command, Walk(session, target))
    found.walk.first()
    candidate_runner(found).warm()
    found.walk.settle()
    return found


def _both(found: Findings, conclusion: Conclusion, limit: float) -> tuple[Measured, Measured]:
    problem = problem_of(found, conclusion)
    oracle = SignatureOracle(problem.signature)
    native = measure_native(found, problem, oracle, limit)
    print(f"  {native}", file=sys.stderr, flush=True)
    torch = measure_torch(
        found.target,
        problem,
        oracle,
        found.session.directory,
        found.session.neutral,
        limit=limit,
        program_limit=PROGRAM_SECONDS,
        runs=RUNS,
    )
    print(f"  {torch}", file=sys.stderr, flush=True)
    return native, torch


def measure_native(found: Findings, problem: Problem, oracle: Oracle, limit: float) -> Measured:
    """The native engine on the captured graphs, and its final script in fresh processes."""
    if not problem.cases:
        return Measured(NATIVE, remark=found.capture_note or "no graph was captured")
    session, python = found.session, found.target.python
    runner = found.runner or candidate_runner(found)
    with Stopwatch() as watch:
        try:
            ended = NativeEngine().reduce(problem, Resources(runner, oracle, Clock(limit), session.emit))
        finally:
            watch.lap()
            found.release()
    _go_on(ended)
    before = count_ops(problem.cases[0])
    if isinstance(ended, NoReduction):
        return Measured(NATIVE, watch.seconds, watch.cpu, queries=ended.queries, ops_before=before, remark=ended.reason)

    def judge(source: str, runs: int) -> Sequence[CandidateResult]:
        return verify(source, python, Fresh(PROGRAM_SECONDS, session.neutral), runs=runs)

    made = verified(ended, oracle, judge, session.emit)
    (problem.workdir / "native.py").write_text(made.source, encoding="utf-8")
    return Measured(
        NATIVE,
        watch.seconds,
        watch.cpu,
        queries=ended.queries,
        ops_before=before,
        ops=ended.ops,
        lines=code_lines(ended.source),
        verified=made.verified_runs,
        runs=made.runs,
        timed_out=not ended.complete,
        remark="each operation is needed" if ended.minimal else "",
    )


def _go_on(ended: Reduction | NoReduction) -> None:
    """An engine answers an interrupt with its best so far; here it is the whole benchmark that was meant."""
    if ended.interrupted:
        raise KeyboardInterrupt


def plot(contests: Sequence[Contest], limit: float) -> str:
    """Seconds per case and reducer; hollow where the final script does not fail the same way."""
    groups = tuple(
        Group(one.case, tuple(_bar(number, one.of(name)) for number, (name, _) in enumerate(COLOURS)))
        for one in contests
        if one.results
    )
    return svg(
        Chart(
            "From a captured graph to a verified script",
            "seconds (hollow: the final script does not fail the same way)",
            COLOURS,
            groups,
            mark=(limit, f"limit {limit:.0f} s"),
        )
    )


def _bar(series: int, result: Measured | None) -> Bar:
    if result is None or result.seconds is None:
        return Bar(series, None, "no graph to start from")
    ops = "no script" if result.ops is None else f"{result.ops} op{'' if result.ops == 1 else 's'}"
    return Bar(series, result.seconds, f"{result.seconds:.0f} s, {ops}", filled=result.success)


def write(out: Path, contests: Sequence[Contest], limit: float) -> None:
    """Table, plot and data so far: also what an interrupted benchmark has measured is kept."""
    (out / "table.md").write_text(table(contests, limit), encoding="utf-8")
    (out / "plot.svg").write_text(plot(contests, limit), encoding="utf-8")
    data = {"limit": limit, "contests": [asdict(one) for one in contests]}
    (out / "results.json").write_text(json.dumps(data, indent=1), encoding="utf-8")


def parse_arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR", help="holds one folder per case, or is a case")
    parser.add_argument(
        "--filter", action="append", default=[], metavar="TEXT", help="only cases with TEXT in the name"
    )
    parser.add_argument("--limit", type=float, default=300.0, metavar="SECONDS", help="of each reducer (default: 300)")
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="candidates side by side (default: as triage)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="keeps all (default: benchmarks/out/minify-TIME)")
    return parser.parse_args(words)


def cases_in(folders: Sequence[Path], texts: Sequence[str]) -> list[Case]:
    """The cases that must fail at a graph, and whose name holds one of the texts (all of them where there are none)."""
    scripts = sorted({path for folder in folders for path in (*folder.glob("script.py"), *folder.glob("*/script.py"))})
    cases = [read_case(path.parent.resolve()) for path in scripts]
    named = [case for case in cases if not texts or any(text in case.name for text in texts)]
    return [case for case in named if case.stages & GRAPH_STAGES]


def main() -> int:
    arguments = parse_arguments()
    cases = cases_in(arguments.folders, arguments.filter)
    if not cases:
        print("No case there fails at a graph and matches; a case is a folder with script.py.", file=sys.stderr)
        return 2
    out = (arguments.out or Path(__file__).parent / "out" / time.strftime("minify-%Y%m%d-%H%M%S")).resolve()
    contests: list[Contest] = []
    try:
        for case in cases:
            print(case.name, file=sys.stderr, flush=True)
            kept = out / case.name
            kept.mkdir(parents=True)
            try:
                contests.append(contest(case, kept, limit=arguments.limit, jobs=arguments.jobs))
            except Exception as error:  # noqa: BLE001  one case that breaks must not lose the hours of the others
                contests.append(Contest(case.name, "-", remark=f"{type(error).__name__}: {error}"))
            print(f"  load: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", file=sys.stderr, flush=True)
            write(out, contests, arguments.limit)
    except KeyboardInterrupt:
        print(table(contests, arguments.limit))
        return 130
    print(table(contests, arguments.limit))
    return 0


if __name__ == "__main__":
    sys.exit(main())
