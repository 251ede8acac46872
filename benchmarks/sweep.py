"""`triage sweep` over programs whose truth is known: is the fate of each right, and are the clusters the bugs?

    python benchmarks/sweep.py [--scripts N] [--out DIR] [--jobs N] [--score DIR]

Programs are those of `sweep_programs.py`, and as many passing ones in other sizes as make N. Of the clusters of failing programs:
pairwise *precision* is the share of pairs in one cluster that are one bug, *recall* the share of pairs of one bug that are in one
cluster. `--score` reads an earlier sweep and runs nothing. Exit status 1 where a fate, a stage or a pair is wrong.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Set
from itertools import combinations
from pathlib import Path
from typing import Any

from sweep_programs import BUGS, HEAD, PASSING

Pair = frozenset[str]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scripts", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out/sweep") / time.strftime("%Y%m%d-%H%M%S"))
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--score", type=Path)
    given = parser.parse_args()
    folder = given.score or given.out
    seconds = 0.0
    if given.score is None:
        truth = write_programs(folder / "programs", given.scripts)
        (folder / "truth.json").write_text(json.dumps(truth, indent=1))
        began = time.monotonic()
        words = [sys.executable, "-m", "triage", "sweep", "programs", "--out", "sweep", "--python", sys.executable]
        subprocess.run([*words, "--jobs", str(given.jobs)], cwd=folder, check=False)
        seconds = time.monotonic() - began
    truth = json.loads((folder / "truth.json").read_text())
    found = json.loads((folder / "sweep" / "sweep.json").read_text())
    return told(truth, found, seconds)


def write_programs(folder: Path, count: int) -> dict[str, dict[str, str]]:
    """The programs as files; their truth by name, as the sweep names them."""
    truth = {}
    texts = [(f"{bug.name}_{number}", bug, text) for bug in BUGS for number, text in enumerate(bug.faces, 1)]
    folder.mkdir(parents=True)
    for name, bug, text in texts:
        (folder / f"{name}.py").write_text(HEAD + text)
        truth[f"programs/{name}.py"] = {"fate": bug.fate, "stage": bug.stage, "bug": bug.name}
    for number in range(max(0, count - len(texts))):
        text = PASSING[number % len(PASSING)].replace("{n}", str(3 + number % 7)).replace("{m}", str(4 + number % 5))
        (folder / f"passes_{number:03}.py").write_text(HEAD + text)
        truth[f"programs/passes_{number:03}.py"] = {"fate": "passes", "stage": "none", "bug": ""}
    return truth


def told(truth: Mapping[str, Mapping[str, str]], found: Mapping[str, Any], seconds: float) -> int:
    """Print what is right and what is not; the exit status."""
    results = {each["script"]: each for each in found["results"]}
    wrong = [
        f"{name}: {results[name]['fate']} in {results[name]['stage']}, it {facts['fate']} in {facts['stage']}"
        for name, facts in truth.items()
        if results[name]["fate"] != facts["fate"] or results[name]["stage"] not in facts["stage"].split("|")
    ]
    failing = {name: facts["bug"] for name, facts in truth.items() if facts["fate"] in ("fails", "known_cause")}
    clusters = {name: each["id"] for each in found["clusters"] for name in each["members"]}
    right, joined = pairs(failing), pairs(clusters)
    precision, recall = share(joined & right, joined), share(joined & right, right)
    bugs = [each for each in found["clusters"] if each["known_cause"] is None]
    verified = sum(each["reproducer"] is not None for each in bugs)
    print(
        f"scripts {len(truth)}, failing {len(failing)}, bugs {len(set(failing.values()))}, clusters {len(found['clusters'])}"
    )
    print(f"fate and stage right: {len(truth) - len(wrong)} of {len(truth)}")
    print(f"pairs: precision {precision:.3f}, recall {recall:.3f}")
    print(f"clusters with a verified reproducer: {verified} of {len(bugs)}")
    print(f"runs of triage: {found['processes']}, {seconds or found['seconds']:.0f} s")
    for line in wrong:
        print(f"wrong: {line}")
    for pair in sorted(map(sorted, joined - right)):
        print(f"joined, two bugs: {' and '.join(pair)}")
    for pair in sorted(map(sorted, right - joined)):
        print(f"split, one bug: {' and '.join(pair)}")
    return int(bool(wrong) or joined != right)


def pairs(groups: Mapping[str, str]) -> Set[Pair]:
    """Every two names of one group."""
    by_group = defaultdict(list)
    for name, group in groups.items():
        by_group[group].append(name)
    return {frozenset(pair) for members in by_group.values() for pair in combinations(sorted(members), 2)}


def share(part: Set[Pair], whole: Set[Pair]) -> float:
    return len(part) / len(whole) if whole else 1.0


if __name__ == "__main__":
    sys.exit(main())
