"""`triage sweep` over programs whose truth is known: is the fate of each right, and are the clusters the bugs?

    python benchmarks/sweep.py [--scripts N] [--failing N] [--only NAME...] [--out DIR] [--jobs N]
                               [--single N [--seed S]] [--score DIR]

Programs are those of `sweep_programs/`: bugs and known causes with all their faces, by lot until `--failing` programs fail so;
those that are no bug of the compiler; and as many passing ones as make `--scripts`. Of the clusters of failing programs:
pairwise *precision* is the share of pairs in one cluster that are one bug, *recall* the share of pairs of one bug that are in one
cluster. `--only` takes those of all whose names begin so. `--score` reads an earlier sweep and runs nothing of it anew.
`--single N` also runs N of its programs by themselves, by `triage run`, one after the other: passing and failing ones in
proportion, drawn by the seed; and says how long all would take so. Exit status 1 where a fate, a stage or a pair is wrong.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import resource
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from itertools import combinations
from pathlib import Path
from typing import Any

from sweep_programs import BUGS, HEAD, Bug, passing

Pair = frozenset[str]
Truth = Mapping[str, Mapping[str, str]]
FAILING = ("fails", "known_cause")
DRAW = 0  # decides which bugs a smaller sweep has


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scripts", type=int, default=200)
    parser.add_argument("--failing", type=int, default=80)
    parser.add_argument("--only", nargs="+", default=())
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out/sweep") / time.strftime("%Y%m%d-%H%M%S"))
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--single", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--score", type=Path)
    given = parser.parse_args()
    folder = given.score or given.out
    if given.score is None:
        truth = write_programs(folder / "programs", given.scripts, given.failing, given.only)
        (folder / "truth.json").write_text(json.dumps(truth, indent=1))
        words = [sys.executable, "-m", "triage", "sweep", "programs", "--out", "sweep", "--python", sys.executable]
        subprocess.run([*words, "--jobs", str(given.jobs)], cwd=folder, check=False)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"processor seconds: {used.ru_utime + used.ru_stime:.0f}")
    truth = json.loads((folder / "truth.json").read_text())
    found = json.loads((folder / "sweep" / "sweep.json").read_text())
    status = told(truth, found)
    if given.single:
        alone = run_alone(folder, drawn(truth, given.single, given.seed))
        (folder / "single.json").write_text(json.dumps(alone, indent=1))
        told_alone(truth, alone, found["seconds"])
    return status


def failing_programs(most: int = 10**9) -> list[tuple[str, Bug, str]]:
    """Names, what is wrong with each, and texts without their head; of those for clusters at most so many, whole bugs by lot."""
    chosen: list[Bug] = []
    left = most
    for bug in random.Random(DRAW).sample(BUGS, len(BUGS)):
        room = left - len(bug.faces) if bug.fate in FAILING else left
        if room >= 0:
            chosen.append(bug)
            left = room
    return [(f"{bug.name}_{number}", bug, text) for bug in chosen for number, text in enumerate(bug.faces, 1)]


def write_programs(
    folder: Path, count: int, failing_ones: int = 10**9, only: Sequence[str] = ()
) -> dict[str, dict[str, str]]:
    """The programs as files; their truth by name, as the sweep names them."""
    failing = failing_programs(10**9 if only else failing_ones)
    rows = [(name, text, {"fate": bug.fate, "stage": bug.stage, "bug": bug.name}) for name, bug, text in failing]
    nothing = {"fate": "passes", "stage": "none", "bug": ""}
    rows += [(name, text, nothing) for name, text in list(passing())[: max(0, count - len(rows))]]
    folder.mkdir(parents=True)
    truth = {}
    for name, text, facts in rows:
        if not only or name.startswith(tuple(only)):
            (folder / f"{name}.py").write_text(HEAD + text)
            truth[f"programs/{name}.py"] = facts
    return truth


def told(truth: Truth, found: Mapping[str, Any]) -> int:
    """Print what is right and what is not; the exit status."""
    results = {each["script"]: each for each in found["results"]}
    wrong = [
        f"{name}: {results[name]['fate']} in {results[name]['stage']}, it {facts['fate']} in {facts['stage']}"
        for name, facts in truth.items()
        if results[name]["fate"] != facts["fate"] or results[name]["stage"] not in facts["stage"].split("|")
    ]
    failing = {name: facts["bug"] for name, facts in truth.items() if facts["fate"] in FAILING}
    clusters = {name: each["id"] for each in found["clusters"] for name in each["members"] if name in truth}
    right, joined = pairs(failing), pairs(clusters)
    precision, recall = share(joined & right, joined), share(joined & right, right)
    bugs = [each for each in found["clusters"] if each["known_cause"] is None]
    verified = sum(each["reproducer"] is not None for each in bugs)
    print(
        f"scripts {len(truth)}, failing {len(failing)}, bugs {len(set(failing.values()))}, clusters {len(found['clusters'])}"
    )
    print(f"fate and stage right: {len(truth) - len(wrong)} of {len(truth)}")
    print(f"pairs: precision {precision:.3f}, recall {recall:.3f} (of {len(right)})")
    print(f"clusters with a verified reproducer: {verified} of {len(bugs)}")
    print(f"runs of triage: {found['processes']}, {found['seconds']:.0f} s")
    for line in wrong:
        print(f"wrong: {line}")
    mistakes(joined - right, "joined, two bugs", failing)
    mistakes(right - joined, "split, one bug", clusters)
    return int(bool(wrong) or joined != right)


def pairs(groups: Mapping[str, str]) -> Set[Pair]:
    """Every two names of one group."""
    by_group = defaultdict(list)
    for name, group in groups.items():
        by_group[group].append(name)
    return {frozenset(pair) for members in by_group.values() for pair in combinations(sorted(members), 2)}


def mistakes(wrong: Set[Pair], words: str, groups: Mapping[str, str]) -> None:
    """One line for all pairs between the same two groups, with one of them."""
    found = defaultdict(list)
    for pair in sorted(map(sorted, wrong)):
        found[" and ".join(sorted(groups.get(name, "none") for name in pair))].append(pair)
    for between, each in sorted(found.items()):
        print(f"{words}: {' and '.join(each[0])} ({between}, pairs {len(each)})")


def share(part: Set[Pair], whole: Set[Pair]) -> float:
    return len(part) / len(whole) if whole else 1.0


def kinds(truth: Truth) -> dict[str, list[str]]:
    """Names of programs that take about as long: those that pass, and those of which more than that is to be told."""
    found: dict[str, list[str]] = {"passing": [], "failing": []}
    for name, facts in truth.items():
        found["passing" if facts["fate"] == "passes" else "failing"].append(name)
    return found


def drawn(truth: Truth, count: int, seed: int) -> list[str]:
    """So many programs, of each kind its share, at least two of each where there are so many."""
    dice = random.Random(seed)
    names: list[str] = []
    for group in kinds(truth).values():
        wanted = max(2, round(count * len(group) / len(truth)))
        names += dice.sample(group, min(wanted, len(group)))
    return names


def run_alone(folder: Path, names: Sequence[str]) -> dict[str, float]:
    """Seconds of `triage run` on each of these, one after the other."""
    seconds = {}
    for name in names:
        out = f"single/{Path(name).stem}-{time.strftime('%H%M%S')}"
        words = [sys.executable, "-m", "triage", "run", "--quiet", "--out", out, "--python", sys.executable, name]
        began = time.monotonic()
        subprocess.run(words, cwd=folder, check=False, stdout=subprocess.DEVNULL)
        seconds[name] = round(time.monotonic() - began, 2)
        print(f"alone: {name} {seconds[name]:.0f} s", flush=True)
    return seconds


def scaled(truth: Truth, alone: Mapping[str, float]) -> tuple[float, float]:
    """Seconds that all programs would take one by one, and the standard error of that."""
    total, variance = 0.0, 0.0
    for group in kinds(truth).values():
        known = [alone[name] for name in group if name in alone]
        if known:
            total += statistics.fmean(known) * len(group)
        if len(known) > 1:
            left = 1 - len(known) / len(group)  # what was all run is known
            variance += len(group) ** 2 * left * statistics.variance(known) / len(known)
    return total, math.sqrt(variance)


def told_alone(truth: Truth, alone: Mapping[str, float], swept: float) -> None:
    for kind, group in kinds(truth).items():
        known = [alone[name] for name in group if name in alone]
        if known:
            print(f"{kind}: {len(known)} of {len(group)} run alone, {statistics.fmean(known):.0f} s each")
    total, error = scaled(truth, alone)
    print(
        f"all {len(truth)} alone: {total:.0f} s (+- {error:.0f}), by a sample of {len(alone)}; "
        f"the sweep took {swept:.0f} s, {swept / total:.2f} of it"
    )


if __name__ == "__main__":
    sys.exit(main())
