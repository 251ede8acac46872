"""`triage run` on operator samples that come out differently compiled, and what the judge says of script and reproducer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from drift_forks import TRACE_FILE, Plot
from drift_programs import Fault, Program
from drift_reduce import Bench
from opdb_text import STRICT

HERE = Path(__file__).parent
CRASH = "crash"
RUN_SECONDS, JUDGE_SECONDS = 900.0, 180.0
HARMLESS = ("rounding", "")
HEADER = ("| dtype | scripts | real | same kind | kind changed | not reproduced | missed | rounding | blamed |",
          "|---|---|---|---|---|---|---|---|---|")  # fmt: skip
SAME, CHANGED, LOST, MISSED, BLAMED, LEFT = (
    "same kind",
    "kind changed",
    "not reproduced",
    "missed",
    "blamed",
    "left alone",
)


@dataclass(frozen=True)
class Row:
    """One script. `kind` and `ends_in` are the judge's words for the script and for the reproducer."""

    name: str
    dtype: str
    kind: str
    blamed: bool
    ends_in: str | None = None
    symptom: str = ""
    stage: str = ""
    verified: bool = False
    ops: int | None = None
    seconds: float = 0.0
    status: int | None = None
    faults: tuple[str, ...] = ()
    healthy: str = ""

    @property
    def verdict(self) -> str:
        if self.kind in HARMLESS:
            return BLAMED if self.blamed else LEFT
        if not self.blamed:
            return MISSED
        if self.ends_in in (None, CRASH) or not self.verified:
            return LOST
        return SAME if self.ends_in == self.kind else CHANGED


def screened(
    out: Path,
    count: int,
    dtypes: Sequence[str],
    backend: str,
    seed: int,
    only: str,
    *,
    strides: bool,
    plant: bool = False,
) -> list[dict[str, Any]]:
    """Scripts whose own check fails, found by torch itself; what was found before is not looked for again.

    `only`: all, real (what differs is more than rounding) or rounding. `strides`: their check looks at these too. `plant`:
    it fails through a planted fault, given beside the script; with `only` rounding those that round by themselves, `spared`.
    """
    out.mkdir(parents=True, exist_ok=True)
    file = out / f"screened-{backend}-{seed}{'-strides' if strides else '-plant' if plant else ''}.jsonl"
    request = {"count": count, "seed": seed, "dtypes": dtypes, "backend": backend, "per_op": 1, "only": only}
    request |= {"out": str(file), "strides": strides, "plant": plant}
    asked = out / "request.json"
    asked.write_text(json.dumps(request), encoding="utf-8")
    with (out / "screen.log").open("w", encoding="utf-8") as log:
        done = subprocess.run([sys.executable, str(HERE / "opdb_screen.py"), str(asked)], stderr=log, check=False)
    if done.returncode:
        raise SystemExit(f"The samples could not be looked through (pip install expecttest?): see {out / 'screen.log'}")
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    found = [script | {"dtype": line["dtype"]} for line in lines for script in line["scripts"]]
    if plant and only == "rounding":
        found = [spared(script) for script in found if script["healthy"] == "rounding"]
    return [script for script in found if script["dtype"] in dtypes and fits(script, only)][:count]


def spared(script: Mapping[str, Any]) -> dict[str, Any]:
    """A planted sample without the fault that shows: what it rounds otherwise is left, and the decoy."""
    faults = [fault for fault in script["faults"] if fault["name"] != "target"]
    return {**script, "name": f"{script['name']}-spared", "kind": script["healthy"], "faults": faults}


def fits(script: Mapping[str, Any], only: str) -> bool:
    return only == "all" or (script["kind"] in HARMLESS) == (only == "rounding")


def measured(script: Mapping[str, Any], out: Path, plot: Plot, bench: Bench | None = None) -> Row:
    """Judge the script, run triage on it, judge what that ends in. With a bench, in forks of its warm interpreters."""
    faults = [Fault(**fault) for fault in script.get("faults", ())]
    plot.plant(faults)
    folder = out / "opdb" / script["name"]
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "script.py"
    file.write_text(script["source"], encoding="utf-8")
    row = _warm(script, folder, bench, faults) if bench is not None else _whole(script, file, folder)
    told = tuple(f"{fault.kind} of {fault.op} ({fault.when})" for fault in faults)
    return replace(row, faults=told, healthy=script.get("healthy", ""))


def _warm(script: Mapping[str, Any], folder: Path, bench: Bench, faults: Sequence[Fault]) -> Row:
    strides = STRICT in script["source"]
    shutil.rmtree(folder / "run", ignore_errors=True)
    reduced = bench.reduce(Program(0, 0, script["source"], tuple(faults), 1), folder / "run")
    (folder / "repro.py").write_text(reduced.source or f"# {reduced.note}\n", encoding="utf-8")
    blamed = reduced.stage not in ("", "none", "script") and reduced.symptom not in ("none", "rounding")
    return Row(
        script["name"],
        script["dtype"],
        judged_warm(script["source"], bench, faults, strides=strides),
        blamed,
        judged_warm(reduced.source, bench, faults, strides=strides) if blamed and reduced.source else None,
        reduced.symptom,
        reduced.stage,
        reduced.verified,
        reduced.ops,
        round(reduced.seconds, 1),
        0,
    )


def _whole(script: Mapping[str, Any], file: Path, folder: Path) -> Row:
    strides = STRICT in script["source"]
    began = time.monotonic()
    status, report = triaged(file, folder)
    verdict = report.get("verdict", {})
    reproducer = report.get("reproducer") or {}
    blamed = (
        status == 0
        and verdict.get("symptom") not in ("none", "rounding")
        and verdict.get("stage") not in ("none", "script")
    )
    seconds = time.monotonic() - began
    made = Path(report["directory"]) / "repro.py" if report else folder / "nothing"
    return Row(
        script["name"],
        script["dtype"],
        judged(file, strides=strides),
        blamed,
        judged(made, strides=strides) if blamed and reproducer and made.is_file() else None,
        str(verdict.get("symptom")),
        str(verdict.get("stage")),
        bool(reproducer.get("verified")),
        reproducer.get("ops"),
        round(seconds, 1),
        status,
    )


def triaged(file: Path, folder: Path) -> tuple[int | None, dict[str, Any]]:
    """(exit status, report with the `directory` it lies in); the status is None after the time limit."""
    run = Path(tempfile.mkdtemp(prefix="run-", dir=folder))
    words = [sys.executable, "-m", "triage", "run", "--quiet", "--jobs", "1", "--out", str(run), file.name]
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    try:
        done = subprocess.run(
            words, cwd=file.parent, env=env, capture_output=True, text=True, timeout=RUN_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return None, {}
    report = run / "report.json"
    if not report.is_file():
        return done.returncode, {}
    return done.returncode, json.loads(report.read_text(encoding="utf-8")) | {"directory": str(run)}


def judged_warm(source: str, bench: Bench, faults: Sequence[Fault] = (), *, strides: bool) -> str:
    """The same in a fork, which has imported torch. It may write into its own directory only, so what it says is the trace."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "judged.py"
        file.write_text(source, encoding="utf-8")
        words = [str(file), TRACE_FILE, *(["strides"] if strides else [])]
        ended = bench.forks.ended(
            f"import sys\nsys.path.insert(0, {str(HERE)!r})\nimport opdb_judge\nopdb_judge.main(*{words!r})\n", faults
        )
        return next((str(fact["kind"]) for fact in ended.trace if "kind" in fact), CRASH)


def judged(file: Path, *, strides: bool) -> str:
    """The kind of what this script shows, by a process that knows nothing of triage."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        words = [sys.executable, str(HERE / "opdb_judge.py"), str(file), str(out), *(["strides"] if strides else [])]
        try:
            subprocess.run(words, cwd=folder, capture_output=True, timeout=JUDGE_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return "hung"
        return str(json.loads(out.read_text(encoding="utf-8"))["kind"]) if out.is_file() else CRASH


def read(file: Path) -> list[Row]:
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return [Row(**json.loads(line)) for line in lines if line.endswith("}")]


def append(file: Path, row: Row) -> None:
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(asdict(row)) + "\n")


def table(rows: Sequence[Row]) -> str:
    """A line per dtype, one for all, then each that did not come out as it must."""
    dtypes = sorted({row.dtype for row in rows})
    lines = [_line(dtype, [row for row in rows if row.dtype == dtype]) for dtype in dtypes]
    told = [
        f"* {row.name}: {row.kind or 'nothing'} by the judge, {row.symptom} of stage {row.stage} by triage, ended in "
        f"{'nothing' if row.ends_in is None else row.ends_in or 'a script that passes'}: {row.verdict}"
        + (f" (planted: {', '.join(row.faults)})" if row.faults else "")
        for row in rows
        if row.verdict not in (SAME, LEFT)
    ]
    return "\n".join([*HEADER, *lines, _line("all", rows), "", *told, ""])


def _line(name: str, rows: Iterable[Row]) -> str:
    rows = list(rows)
    count = Counter(row.verdict for row in rows)
    real = sum(row.kind not in HARMLESS for row in rows)
    cells = [
        name,
        len(rows),
        real,
        *(count[verdict] for verdict in (SAME, CHANGED, LOST, MISSED)),
        len(rows) - real,
        count[BLAMED],
    ]
    return f"| {' | '.join(map(str, cells))} |"
