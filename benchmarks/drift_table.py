"""What became of each planted program, kept as JSON lines as it is learned, and the table over them. Pure but for the file."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from drift_judge import BROKEN, DRIFTED, MIXED, PASSES, TARGET

NOTHING = "nothing"
ELSEWHERE = (DRIFTED, MIXED, BROKEN)
HEADER = (
    "| reducer | oracle | programs | reproduced | drifted | median ops | median queries | median seconds |",
    "|---|---|---|---|---|---|---|---|",
)


@dataclass(frozen=True)
class Row:
    """One program and one reducer. `verdict` is the judge's of the final reproducer, `nothing` where there was none."""

    reducer: str
    oracle: str
    seed: int
    attempt: int
    target: str
    decoys: tuple[str, ...]
    verdict: str
    end: str = ""
    instead: str = ""
    steps: int = 0
    ops: int | None = None
    queries: int = 0
    seconds: float = 0.0
    signature: str = ""
    note: str = ""

    @property
    def key(self) -> tuple[str, str, int]:
        return self.reducer, self.oracle, self.seed


def read(file: Path) -> list[Row]:
    """What an earlier run left; a last line that was cut short is left out."""
    rows = []
    for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
        try:
            rows.append(Row(**json.loads(line)))
        except (ValueError, TypeError):
            continue
    return rows


def append(file: Path, row: Row) -> None:
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(asdict(row)) + "\n")


def table(rows: Sequence[Row]) -> str:
    """A line per reducer and oracle, then what the drifting ones ended in."""
    groups = sorted({(row.reducer, row.oracle) for row in rows}, reverse=True)
    lines = [*HEADER, *(_line([row for row in rows if (row.reducer, row.oracle) == group]) for group in groups), ""]
    return "\n".join([*lines, *_strays(rows), ""])


def _line(rows: Sequence[Row]) -> str:
    count = Counter(row.verdict for row in rows)
    drifted = sum(count[verdict] for verdict in ELSEWHERE)
    cells = (
        rows[0].reducer,
        rows[0].oracle,
        str(len(rows)),
        share(count[TARGET], len(rows)),
        share(drifted, len(rows)),
        _median(row.ops for row in rows if row.ops is not None),
        _median(row.queries for row in rows if row.queries),
        _median(row.seconds for row in rows),
    )
    return f"| {' | '.join(cells)} |"


def share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / whole:.0f} %)" if whole else "-"


def _median(numbers: Iterable[float]) -> str:
    known = list(numbers)
    return f"{statistics.median(known):.3g}" if known else "-"


def _strays(rows: Sequence[Row]) -> list[str]:
    """One line for each that did not end in its target."""
    found = []
    for row in sorted(rows, key=lambda row: (row.reducer, row.oracle, row.seed)):
        if row.verdict == TARGET:
            continue
        what = {PASSES: "a script that passes", NOTHING: f"nothing ({row.note})"}.get(
            row.verdict, row.instead or row.end
        )
        found.append(f"* {row.reducer}, {row.oracle}, seed {row.seed}: {row.target} ended in {what}: {row.verdict}")
    return found
