"""Time whole runs of `triage run` against the own time of the script, for four kinds of programs.

Each program runs by itself until it fails, then under `triage run`, both with empty caches; that is one run. Printed are a
table of what was reached when and one of the steps; each run leaves a line in `results.jsonl`, its run directory, and a
picture of what ran when. To be run by hand on a quiet machine: `python benchmarks/whole_run.py --cores 2`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from corpus import end_group
from stopwatch import Stopwatch, tree_cpu
from timeline import milestones, spans, steps, svg

from triage.environments.files import read_journal

SCRIPTS = Path(__file__).parent / "whole_run_scripts"
STAGES = {"quick": "decomp_partition", "slow_start": "inductor", "late_step": "inductor", "many_functions": "inductor"}
INTERVAL = 0.5  # seconds between two looks at the processor time: some milliseconds of it each
OURS = (
    "TRIAGE_",
    "TORCHINDUCTOR_",
    "TORCHDYNAMO_",
    "TORCH_COMPILE",
    "TORCH_LOGS",
)  # of the caller, which runs do without
Result = dict[str, Any]


@dataclass(frozen=True)
class Watched:
    """One process and all below it. `status` is None where the limit ended it; `samples` as `timeline` takes them."""

    began: float
    seconds: float
    cpu: float
    status: int | None
    samples: list[tuple[float, float]]


def watch(words: Sequence[str], work: Path, cores: Sequence[int], log: Path, limit: float) -> Watched:
    """Run it in `work` on these cores, its caches and temporary files in new folders there."""
    status: int | None = None
    samples = [(0.0, 0.0)]
    with log.open("wb") as out, Stopwatch() as timer:
        began, clock = time.time(), time.monotonic()
        process = subprocess.Popen(
            words,
            cwd=work,
            env=cold(work),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=partial(os.sched_setaffinity, 0, cores),  # noqa: PLW1509  there are no threads here
        )
        try:
            while status is None and time.monotonic() - clock < limit:
                try:
                    status = process.wait(INTERVAL)
                except subprocess.TimeoutExpired:
                    samples.append((time.monotonic() - clock, tree_cpu(process.pid)))
        finally:
            if status is None:
                end_group(process)
        timer.lap()
    return Watched(began, timer.seconds, timer.cpu, status, [*samples, (timer.seconds, timer.cpu)])


def cold(work: Path) -> dict[str, str]:
    """The environment in which nothing has been compiled yet, neither by torch nor by an earlier run of triage."""
    folder = Path(tempfile.mkdtemp(dir=work))
    places = {name: folder / name.lower() for name in ("TMPDIR", "XDG_CACHE_HOME", "TORCHINDUCTOR_CACHE_DIR")}
    for place in places.values():
        place.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    return {**kept, **{name: str(place) for name, place in places.items()}}


def measure(kind: str, cores: Sequence[int], kept: Path, limit: float) -> Result:
    """One run of each, what is to be kept in a new folder."""
    kept.mkdir(parents=True)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="whole-") as scratch:
        work = Path(scratch)
        script = work / f"{kind}.py"
        script.write_text((SCRIPTS / script.name).read_text(encoding="utf-8"), encoding="utf-8")
        alone = watch([sys.executable, script.name], work, cores, kept / "alone.log", limit)
        command = [sys.executable, "-m", "triage", "run", "--out", str(kept / "run"), script.name]
        whole = watch(command, work, cores, kept / "triage.log", limit)
    events = list(read_journal(kept / "run"))
    reached = milestones(events, whole.began)
    names = {"located": "stage known", "verified": "verified", "reported": "report"}
    picture = svg(
        f"triage run {kind}.py, cores: {len(cores)}",
        spans(events, whole.began, whole.seconds),
        {names[name]: when for name, when in reached.items()},
        alone.seconds,
        whole.samples,
        len(cores),
    )
    (kept / "timeline.svg").write_text(picture, encoding="utf-8")
    stage = next((event["stage"] for event in reversed(events) if event["kind"] == "located"), None)
    return {
        "kind": kind,
        "cores": len(cores),
        "load": round(load, 1),
        "alone": alone.seconds,
        "alone_cpu": alone.cpu,
        "alone_status": alone.status,
        **reached,
        "ended": whole.seconds,
        "cpu": whole.cpu,
        "status": whole.status,
        "stage": stage,
        "as_expected": bool(alone.status) and stage == STAGES[kind] and None not in reached.values(),
        "steps": steps(events, whole.began, whole.samples),
    }


def table(results: Iterable[Result]) -> str:
    """Two tables in Markdown, medians with the least and the most; each ratio is to the script's own time in the same run."""
    groups: dict[tuple[str, int], list[Result]] = {}
    for result in results:
        groups.setdefault((result["kind"], result["cores"]), []).append(result)
    lines = [
        "| program | cores | runs | own s | own CPU s | stage known s | ratio | verified s | ratio | report s | ratio "
        "| end s | ratio | CPU s | ratio | as expected |",
        f"|{'---|' * 16}",
    ]
    for (kind, cores), group in groups.items():
        cells = [kind, str(cores), str(len(group)), *(_spread(group, name) for name in ("alone", "alone_cpu"))]
        of_own = [(name, "alone") for name in ("located", "verified", "reported", "ended")]
        for name, own in (*of_own, ("cpu", "alone_cpu")):
            cells += [_spread(group, name), _spread(group, lambda each, name=name, own=own: _ratio(each, name, own))]
        lines.append(f"| {' | '.join(cells)} | {sum(each['as_expected'] for each in group)} of {len(group)} |")
    names = list(dict.fromkeys(name for group in groups.values() for each in group for name in each["steps"]))
    lines += ["", "Wall / CPU seconds per step (medians):", ""]
    lines += [f"| program | cores | {' | '.join(names)} |", f"|{'---|' * (2 + len(names))}"]
    for (kind, cores), group in groups.items():
        cells = [_step([each["steps"].get(name) for each in group]) for name in names]
        lines.append(f"| {kind} | {cores} | {' | '.join(cells)} |")
    loads = [result["load"] for group in groups.values() for result in group]
    return "\n".join([*lines, "", f"Load average as the runs began: {min(loads)} to {max(loads)}.", ""])


def _ratio(result: Result, name: str, own: str) -> float | None:
    return None if result[name] is None else result[name] / result[own]


def _spread(group: Sequence[Result], of: str | Callable[[Result], float | None]) -> str:
    values = [each[of] if isinstance(of, str) else of(each) for each in group]
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    least, most = min(known), max(known)
    text = f"{statistics.median(known):.1f}" + (f" ({least:.1f} to {most:.1f})" if len(known) > 1 else "")
    return text if len(known) == len(group) else f"{text} ({len(known)} of {len(group)})"


def _step(values: Sequence[Sequence[float] | None]) -> str:
    if not any(values):
        return "-"
    return " / ".join(
        f"{statistics.median([value[index] if value else 0.0 for value in values]):.1f}" for index in (0, 1)
    )


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", choices=STAGES, metavar="KIND", help=f"of {', '.join(STAGES)}")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="of each program (default: 3)")
    parser.add_argument("--cores", type=int, default=2, metavar="N", help="that a run may use (default: 2)")
    parser.add_argument("--limit", type=float, default=1800.0, metavar="SECONDS", help="of one process (default: 1800)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="keeps it all (default: benchmarks/out/whole_run/TIME)")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    cores = sorted(os.sched_getaffinity(0))[: arguments.cores]
    if arguments.runs < 1 or not 1 <= arguments.cores == len(cores):
        print(f"There must be a run, and {arguments.cores} cores; this process may use {len(cores)}.", file=sys.stderr)
        return 2
    default = Path(__file__).parent / "out" / "whole_run" / time.strftime("%Y%m%d-%H%M%S")
    out = (arguments.out or default).resolve()
    subprocess.run(
        [sys.executable, "-c", "import torch._inductor.compile_fx"], check=True
    )  # read from disk once, by nobody
    results: list[Result] = []
    try:
        for number in range(1, arguments.runs + 1):
            for kind in arguments.only or STAGES:
                result = measure(kind, cores, out / f"{kind}-{len(cores)}-{number}", arguments.limit)
                results.append(result)
                with (out / "results.jsonl").open("a", encoding="utf-8") as file:
                    file.write(json.dumps(result) + "\n")
                print(f"{kind} {number}: {result['alone']:.1f} s, {result['ended']:.1f} s", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("Interrupted; what has been measured:", file=sys.stderr)
    if results:
        (out / f"table-{len(cores)}.md").write_text(table(results), encoding="utf-8")
        print(table(results))
    return 0 if results and all(result["as_expected"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
