"""What a step costs while `triage explain` watches it: the same program alone and watched, in turns.

    python benchmarks/explain_overhead.py [--rounds N]

The program times its own steps, so nothing of triage is in the measure but what it does to the program. A round's figure is the
step that a tenth of its steps are faster than: what slows single steps is the machine. Printed are the medians of the rounds,
and the ratio with its spread over the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """
import json, os, time
import torch

torch.manual_seed(0)
width, steps = int(os.environ["WIDTH"]), int(os.environ["STEPS"])
net = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.GELU(), torch.nn.LayerNorm(width), torch.nn.Linear(width, 1))
step = torch.compile(net)
x = torch.randn(64, width)
took = []
for number in range(steps):
    began = time.perf_counter()
    step(x).sum().backward()
    if number >= steps // 5:
        took.append(time.perf_counter() - began)
with open(os.environ["TOOK"], "w") as file:
    json.dump(sorted(took)[len(took) // 10], file)
"""
SIZES = {"a short step": ("64", "3000"), "a long step": ("2048", "200")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print("| program | alone, ms | watched, ms | ratio, median (least to most) |\n|---|---|---|---|")
    for name, (width, steps) in SIZES.items():
        pairs = [_pair(width, steps, swap=bool(number % 2)) for number in range(rounds)]
        ratios = sorted(watched / alone for alone, watched in pairs)
        alone, watched = (1000 * statistics.median(side) for side in zip(*pairs, strict=True))
        told = f"{statistics.median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})"
        print(f"| {name} | {alone:.3f} | {watched:.3f} | {told} |", flush=True)


def _pair(width: str, steps: str, *, swap: bool) -> tuple[float, float]:
    """(alone, watched), one after the other; which comes first changes from round to round."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "train.py")
        script.write_text(PROGRAM)
        ways = {
            "alone": [sys.executable, str(script)],
            "watched": [
                sys.executable,
                "-m",
                "triage",
                "explain",
                "--whole",
                "--quiet",
                "--out",
                f"{folder}/out",
                str(script),
            ],
        }
        took = {}
        for way in sorted(ways, reverse=swap):
            place = Path(folder, f"{way}.json")
            env = {**os.environ, "WIDTH": width, "STEPS": steps, "TOOK": str(place), "OMP_NUM_THREADS": "1"}
            subprocess.run(ways[way], env=env, check=True, capture_output=True, cwd=folder)
            took[way] = json.loads(place.read_text())
        return took["alone"], took["watched"]


if __name__ == "__main__":
    main()
