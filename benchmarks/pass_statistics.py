"""What each pass of a reduction brought and cost: `python benchmarks/pass_statistics.py RUNS...`, read from journals.

RUNS are run directories, or folders with some below. A *phase* is what the driver was told it works on: a pass of the text
or of the graph, or a step before and after them. Nothing is run: the journals of any `triage run` will do.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from triage.environments.files import JOURNAL, read_journal

HEADER = ("| reducer | phase | runs | paid in | smaller | candidates | seconds |", "|---|---|---|---|---|---|---|")


@dataclass
class Phase:
    """`runs` asked a candidate in this phase; in `paid` of them one was kept."""

    runs: set[str] = field(default_factory=set)
    paid: set[str] = field(default_factory=set)
    smaller: int = 0
    candidates: int = 0
    seconds: float = 0.0


def gathered(journals: Iterable[Path]) -> dict[tuple[str, str], Phase]:
    """By (what was reduced, phase)."""
    found: dict[tuple[str, str], Phase] = {}
    for journal in journals:
        subject, name = "", str(journal.parent)
        for event in read_journal(journal.parent):
            kind = event.get("kind")
            if kind == "engine_started":
                subject = str(event.get("subject"))
            elif kind in ("query", "reduced"):
                phase = found.setdefault((subject, str(event.get("phase"))), Phase())
                if kind == "query":
                    phase.runs.add(name)
                    phase.candidates += 1
                    phase.seconds += float(event.get("seconds") or 0.0)
                else:
                    phase.paid.add(name)
                    phase.smaller += 1
    return found


def table(found: dict[tuple[str, str], Phase]) -> str:
    """The phases of each reducer, those first that paid in most runs."""
    ordered = sorted(found.items(), key=lambda item: (item[0][0], -len(item[1].paid), -item[1].smaller, item[0][1]))
    rows = [
        f"| {subject} | {name} | {len(one.runs)} | {len(one.paid)} | {one.smaller} | {one.candidates} | {one.seconds:.0f} |"
        for (subject, name), one in ordered
    ]
    return "\n".join([*HEADER, *rows, ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path)
    folders = parser.parse_args().runs
    journals = sorted({journal for folder in folders for journal in folder.rglob(JOURNAL)})
    if not journals:
        print("There is no journal below these folders.", file=sys.stderr)
        return 2
    print(f"{len(journals)} runs\n\n{table(gathered(journals))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
