"""Measure whether reductions drift: whether a reducer ends in another failure than the one it was given.

`drift.py planted` makes random programs with several planted faults, one of which is what the script shows, lets a reducer
loose on each, and asks of its reproducer which fault that shows (`drift_programs`, `drift_judge`). `--oracle any` swaps in
the loosest oracle, under which whatever fails is the failure: what a reducer without a signature would do.
`drift.py opdb` takes PyTorch's own operator samples that come out differently compiled, and compares the kind of failure
of script and reproducer by a judge of its own (`opdb_judge`); with `--plant`, samples that a planted fault makes wrong
(`opdb_plant`). Results are kept as JSON lines as they are learned: the same
command goes on where it was interrupted. To be run by hand: `python benchmarks/drift.py planted --count 60`.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import drift_table
import opdb_runs
from drift_forks import Plot, fresh
from drift_judge import TARGET, Finding, judge
from drift_programs import Program, program
from drift_reduce import NATIVE, SOURCE, Bench, Reduced
from drift_table import NOTHING, Row

ATTEMPTS = 200
OUT = Path(__file__).parent / "out" / "drift"


def planted(arguments: argparse.Namespace) -> int:
    """The programs of the seeds asked for, less those that are known already."""
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    file = out / "planted.jsonl"
    known = {row.key for row in drift_table.read(file)}
    seeds = [seed for seed in seeds_of(arguments) if (arguments.reducer, arguments.oracle, seed) not in known]
    try:
        with tempfile.TemporaryDirectory(prefix="drift-") as scratch:
            for row in measured(seeds, arguments, Path(scratch)):
                drift_table.append(file, row)
                print(f"{row.seed}: {row.target}: {row.verdict} {row.instead} ({row.seconds:.0f} s)", file=sys.stderr)
    finally:
        text = drift_table.table(drift_table.read(file))
        (out / "planted.md").write_text(text, encoding="utf-8")
        print(text)
    return 0


def opdb(arguments: argparse.Namespace) -> int:
    """Whole runs of triage on operator samples, less those that are known already."""
    out: Path = arguments.out
    variant = "-strides" if arguments.strides else "-plant" if arguments.plant else ""
    file = out / f"opdb-{arguments.backend}{variant}.jsonl"
    known = {row.name for row in opdb_runs.read(file)}
    try:
        with tempfile.TemporaryDirectory(prefix="drift-") as scratch, contextlib.ExitStack() as stack:
            plot = Plot(Path(scratch))
            scripts = _screened(arguments)
            bench = None if arguments.whole else Bench(sys.executable, Path(scratch), reducer=NATIVE, loose=False)
            if bench is not None:
                stack.callback(bench.close)
            for script in scripts if not arguments.screen else ():
                if script["name"] not in known:
                    row = opdb_runs.measured(script, out, plot, bench)
                    opdb_runs.append(file, row)
                    print(f"{row.name}: {row.kind}: {row.verdict} {row.ends_in} ({row.seconds:.0f} s)", file=sys.stderr)
    finally:
        text = opdb_runs.table(opdb_runs.read(file))
        (out / f"opdb{variant}.md").write_text(text, encoding="utf-8")
        print(text)
    return 0


def _screened(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    scripts = opdb_runs.screened(
        arguments.out,
        arguments.count,
        arguments.dtypes.split(","),
        arguments.backend,
        arguments.seed,
        arguments.only,
        strides=arguments.strides,
        plant=arguments.plant,
    )
    print(f"{len(scripts)} scripts whose own check fails", file=sys.stderr)
    return scripts


def seeds_of(arguments: argparse.Namespace) -> list[int]:
    """`--part 2/4` takes every fourth seed, so that four processes share the work."""
    part, _, parts = arguments.part.partition("/")
    every = range(arguments.seed, arguments.seed + arguments.count)
    return [seed for seed in every if seed % int(parts) == int(part) % int(parts)]


def measured(seeds: Sequence[int], arguments: argparse.Namespace, scratch: Path) -> Iterator[Row]:
    """A row per seed. A reducer that breaks loses that program, not the benchmark."""
    bench = Bench(sys.executable, scratch, reducer=arguments.reducer, loose=arguments.oracle == "any")
    run = functools.partial(fresh, sys.executable, plot=bench.plot) if arguments.fresh else bench.forks.ended
    try:
        for seed in seeds:
            made = fitting(seed, bench, source=arguments.reducer == SOURCE)
            folder = scratch / str(seed)
            try:
                reduced = bench.reduce(made, folder)
            except Exception as error:  # noqa: BLE001
                reduced = Reduced(note=f"{type(error).__name__}: {error}")
            finding = judge(reduced.source, made.faults, run) if reduced.source else None
            _keep(arguments.out / "planted", arguments, made, reduced)
            shutil.rmtree(folder, ignore_errors=True)
            yield row_of(arguments.reducer, arguments.oracle, made, reduced, finding)
    finally:
        bench.close()


def fitting(seed: int, bench: Bench, *, source: bool) -> Program:
    """The first program of this seed whose target is what the script shows; a text can only be reduced if it fails by itself."""
    for attempt in range(ATTEMPTS):
        made = program(seed, attempt)
        if source and made.silent:
            continue
        if judge(made.source, made.faults, bench.forks.ended, silent=made.silent).verdict == TARGET:
            return made
    raise RuntimeError(f"no program of seed {seed} shows its target")


def row_of(reducer: str, oracle: str, made: Program, reduced: Reduced, finding: Finding | None) -> Row:
    decoys = tuple(f"{fault.kind} of {fault.op} ({fault.when})" for fault in made.faults if fault is not made.target)
    row = Row(
        reducer,
        oracle,
        made.seed,
        made.attempt,
        f"{made.target.kind} of {made.target.op}",
        decoys,
        NOTHING,
        steps=made.steps,
        ops=reduced.ops,
        queries=reduced.queries,
        seconds=round(reduced.seconds, 1),
        signature=reduced.signature,
        note=reduced.note,
    )
    if finding is None:
        return row
    return replace(row, verdict=finding.verdict, end=finding.end.words(), instead=finding.instead)


def _keep(folder: Path, arguments: argparse.Namespace, made: Program, reduced: Reduced) -> None:
    """The program and what became of it, for a person to look at."""
    folder.mkdir(parents=True, exist_ok=True)
    faults = "\n".join(f"# {fault}" for fault in made.faults)
    (folder / f"{made.seed}.py").write_text(f"{faults}\n{made.source}", encoding="utf-8")
    name = f"{made.seed}-{arguments.reducer}-{arguments.oracle}.py"
    (folder / name).write_text(reduced.source or f"# {reduced.note}\n", encoding="utf-8")


def parse_arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("planted", help="random programs with planted faults")
    one.add_argument("--count", type=int, default=60, metavar="N", help="programs (default: 60)")
    one.add_argument("--seed", type=int, default=0, metavar="S", help="of the first one (default: 0)")
    one.add_argument("--part", default="1/1", metavar="K/N", help="the K-th of N parts, for N processes (default: 1/1)")
    one.add_argument("--reducer", choices=(NATIVE, SOURCE), default=NATIVE)
    one.add_argument("--oracle", choices=("own", "any"), default="own", help="any: whatever fails is the failure")
    one.add_argument("--out", type=Path, default=OUT, metavar="DIR", help="keeps all (default: benchmarks/out/drift)")
    one.add_argument("--fresh", action="store_true", help="judge in new processes, not in forks of a warm one")
    one.set_defaults(run=planted)
    two = commands.add_parser("opdb", help="PyTorch's own operator samples")
    two.add_argument("--count", type=int, default=100, metavar="N", help="scripts (default: 100)")
    two.add_argument("--seed", type=int, default=0, metavar="S", help="of the order in which samples are looked at")
    two.add_argument("--dtypes", default="bfloat16,float16,complex64,float32", metavar="LIST")
    two.add_argument("--backend", default="aot_eager_decomp_partition", help="of the scripts (default: %(default)s)")
    two.add_argument(
        "--only", choices=("all", "real", "rounding"), default="all", help="by what the judge says of them"
    )
    scripts = two.add_mutually_exclusive_group()
    scripts.add_argument("--strides", action="store_true", help="scripts whose check looks at strides")
    scripts.add_argument("--plant", action="store_true", help="samples with one operation made wrong in the compiler")
    two.add_argument("--whole", action="store_true", help="`triage run` in new processes, not in forks of a warm one")
    two.add_argument("--screen", action="store_true", help="only look for scripts")
    two.add_argument("--out", type=Path, default=OUT, metavar="DIR", help="keeps all (default: benchmarks/out/drift)")
    two.set_defaults(run=opdb)
    return parser.parse_args(words)


def main() -> int:
    arguments = parse_arguments()
    try:
        return int(arguments.run(arguments))
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
