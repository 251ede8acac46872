"""`triage explain --modes` twice on each program of `modes_scripts/`: does the second run confirm the first?

    python benchmarks/modes.py [NAME...] [--mode NAME]... [--budget SECONDS]

A row is confirmed where the intervals of the two speed-ups overlap; *inside* says that the second median lies within the
first interval, which of two honest intervals of 95 % is the case less often. Programs and their lines go to standard output.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SCRIPTS = HERE / "modes_scripts"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    names = sorted(path.stem for path in SCRIPTS.glob("*.py"))
    parser.add_argument("name", nargs="*", help=f"of {', '.join(names)}")
    parser.add_argument("--mode", action="append", default=[])
    parser.add_argument("--budget", type=float, default=600.0)
    given = parser.parse_args()
    print("| program | mode | compile | step (ms) | speed-up | second run | confirmed | inside | load |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in given.name or names:
        load = os.getloadavg()[0]
        first, second = (_rows(SCRIPTS / f"{name}.py", given.mode, given.budget) for _ in range(2))
        for mode, row in first.items():
            print(_line(name, mode, row, second.get(mode, {}), load), flush=True)
    return 0


def _rows(script: Path, modes: list[str], budget: float) -> dict[str, dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "triage", "explain", "--modes", "--budget", str(budget), "--quiet"]
        words += [word for mode in modes for word in ("--mode", mode)]
        subprocess.run([*words, "--out", f"{folder}/out", str(script)], check=True, stdout=subprocess.DEVNULL)
        found = json.loads(Path(folder, "out", "explain.json").read_text(encoding="utf-8"))
    return {row["name"]: row for row in found["modes"]}


def _line(name: str, mode: str, row: dict[str, Any], again: dict[str, Any], load: float) -> str:
    if not row["step"]:
        return f"| {name} | {mode} | {row['reason']} | | | | | | {load:.1f} |"
    one, other, key = row["speedup"], again.get("speedup"), "speedup"
    if one is None or _is_base(row):  # the step itself
        one, other, key = row["step"], again.get("step"), "step"
    compiling = f"{row['compile_seconds']:.1f} s" if row["compile_seconds"] is not None else ""
    words = [
        name,
        mode,
        compiling,
        _interval(row["step"], 1000),
        _interval(row["speedup"]),
        _interval(other, 1000 if key == "step" else 1),
    ]
    if other is None:
        verdict = ["not measured", ""]
    else:
        overlap = one["low"] <= other["high"] and other["low"] <= one["high"]
        verdict = ["yes" if overlap else "no", "yes" if one["low"] <= other["value"] <= one["high"] else "no"]
    wrong = " (wrong results)" if row["wrong"] else ""
    return f"| {' | '.join([*words, *verdict])} | {load:.1f}{wrong} |"


def _is_base(row: dict[str, Any]) -> bool:
    """Whether it is the row that the others are compared with."""
    return row["name"] == "uncompiled"


def _interval(value: dict[str, Any] | None, scale: float = 1.0) -> str:
    if value is None:
        return ""
    return f"{value['value'] * scale:.3g} [{value['low'] * scale:.3g}, {value['high'] * scale:.3g}]"


if __name__ == "__main__":
    sys.exit(main())
