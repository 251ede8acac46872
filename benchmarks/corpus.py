"""Run `triage run` over a folder of failing scripts and print what was found against what must be found.

A case is a folder with `script.py` and either `case.json` (see reproducers/) or `meta.json` (the same facts, as a
corpus keeps them: stage and symptom may name alternatives, `a|b`, and the tag `pytest` says how to run it). Each case
is copied to a scratch folder first, because a script may write beside itself. Only the contract is used: the command
line, the exit status and report.json; nothing of triage is imported. Exit status 1 when a case is wrong.

With --follow each way round is followed to the letter: `git apply` takes the patch in another copy of the case, and the
case's own command runs there. A second table tells what came of it, the operations named beside those that the case knows,
and the part of the compiler.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EXIT_STATUS = {"none": 1, "script": 3}  # of a run whose verdict has this stage; 0 for every other one


@dataclass(frozen=True)
class Case:
    """What must be found. `max_ops` and `max_lines` are None where no reproducer is asked for."""

    folder: Path
    stages: frozenset[str]
    symptoms: frozenset[str]
    max_ops: int | None
    max_lines: int | None
    words: tuple[str, ...]  # what follows `triage run` and its options
    stdin: str | None = None  # the file beside it that it reads
    whose: str | None = None  # the role of the program's own code that raised it; empty: none of it
    options: tuple[str, ...] = ()  # of triage run
    private: tuple[str, ...] = ()  # of the program's data: may stand in nothing that is published
    operations: tuple[str, ...] = ()  # aten.addr: a person's guess at the guilty ones

    @property
    def name(self) -> str:
        return self.folder.name


@dataclass(frozen=True)
class Finding:
    """What one run of triage found: `report` is None where it left no report.json; `status` None after a time-out."""

    report: dict[str, Any] | None
    status: int | None
    seconds: float

    def verdict(self, key: str) -> str:
        return str(self.report["verdict"][key]) if self.report else "?"

    @property
    def reproducer(self) -> dict[str, Any]:
        return (self.report or {}).get("reproducer") or {}


def read_case(folder: Path) -> Case:
    """Raises FileNotFoundError where the folder holds neither case.json nor meta.json, KeyError on a missing field."""
    path = next((folder / name for name in ("case.json", "meta.json") if (folder / name).is_file()), None)
    if path is None:
        raise FileNotFoundError(f"{folder} has neither case.json nor meta.json")
    facts = json.loads(path.read_text(encoding="utf-8"))
    command = facts.get("command") or (["pytest", "script.py"] if "pytest" in facts.get("tags", ()) else None)
    words = ("--", *command) if command else ("script.py",)
    return Case(
        folder=folder,
        stages=frozenset(str(facts["stage"]).split("|")),
        symptoms=frozenset(str(facts["symptom"]).split("|")),
        max_ops=facts.get("max_ops"),
        max_lines=facts.get("max_lines"),
        words=(*words, *map(str, facts.get("args", ()))),
        stdin=facts.get("stdin"),
        whose=facts.get("whose"),
        options=tuple(facts.get("options", ())),
        private=tuple(facts.get("private", ())),
        operations=tuple(facts.get("minimal_ops", ())),
    )


def run_case(case: Case, kept: Path, options: Sequence[str], limit: float) -> Finding:
    """One run in a copy of the case, its run directory kept as `kept`. The whole process group ends with `limit`."""
    with tempfile.TemporaryDirectory(prefix=f"{case.name}-") as scratch:
        work = Path(scratch) / case.name
        shutil.copytree(case.folder, work, ignore=shutil.ignore_patterns("case.json", "meta.json", "__pycache__"))
        command = [sys.executable, "-m", "triage", "run", "--python", sys.executable, "--out", str(kept / "run")]
        began = time.monotonic()
        given = work / case.stdin if case.stdin else Path(os.devnull)
        with (
            given.open("rb") as stdin,
            (kept / "stdout.json").open("wb") as out,
            (kept / "stderr.log").open("wb") as err,
        ):
            words = [*command, "--json", *options, *case.options, *case.words]
            process = subprocess.Popen(words, cwd=work, stdin=stdin, stdout=out, stderr=err, start_new_session=True)
            try:
                status: int | None = process.wait(limit)
            except subprocess.TimeoutExpired:
                status = None
                end_group(process)
        seconds = time.monotonic() - began
    return Finding(_read_report(kept / "run" / "report.json"), status, seconds)


def follow(case: Case, kept: Path, limit: float) -> str:
    """What the case's own command does where the patch was applied: "passes", or how not; empty without a patch."""
    patch = kept / "run" / "workaround.patch"
    if not patch.is_file():
        return ""
    with tempfile.TemporaryDirectory(prefix=f"{case.name}-") as scratch:
        work = Path(scratch) / case.name
        shutil.copytree(case.folder, work, ignore=shutil.ignore_patterns("case.json", "meta.json", "__pycache__"))
        subprocess.run(["git", "init", "-q", "."], cwd=work, check=True)
        applied = subprocess.run(["git", "apply", str(patch)], check=False, cwd=work, capture_output=True, text=True)
        if applied.returncode:
            return f"git apply: {applied.stderr.strip()}"
        words = case.words[1:] if case.words[0] == "--" else case.words
        command = [sys.executable, *(("-m",) if case.words[0] == "--" else ()), *words]
        given = work / case.stdin if case.stdin else Path(os.devnull)
        cache = {"TORCHINDUCTOR_CACHE_DIR": str(Path(scratch) / "cache")}
        with given.open("rb") as stdin, (kept / "followed.log").open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=work,
                env={**os.environ, **cache},
                stdin=stdin,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status = process.wait(limit)
            except subprocess.TimeoutExpired:
                end_group(process)
                return "does not end"
    return "passes" if status == 0 else f"exit status {status}"


def end_group(process: subprocess.Popen[bytes]) -> None:
    for how in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, how)
            process.wait(10)
            return
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            return


def _read_report(path: Path) -> dict[str, Any] | None:
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return report if isinstance(report, dict) else None


def faults(case: Case, finding: Finding, *, reduced: bool) -> list[str]:
    """Everything that is not as the case asks for, as sentences."""
    if finding.report is None:
        return [f"no report.json (exit status {finding.status})"]
    wrong = []
    if finding.verdict("stage") not in case.stages:
        wrong.append(f"stage {finding.verdict('stage')} instead of {_words(case.stages)}")
    if finding.verdict("symptom") not in case.symptoms:
        wrong.append(f"symptom {finding.verdict('symptom')} instead of {_words(case.symptoms)}")
    door = finding.report["verdict"].get("door")
    expected = 0 if door else EXIT_STATUS.get(finding.verdict("stage"), 0)
    if finding.status != expected:
        ended = "the time limit" if finding.status is None else f"exit status {finding.status}"
        wrong.append(f"{ended} instead of exit status {expected}")
    role = (finding.report.get("own_code") or {}).get("role", "")
    if case.whose is not None and role != case.whose:
        wrong.append(f"raised in {role or 'none of its own code'} instead of {case.whose or 'none of its own code'}")
    if reduced:
        wrong += _reproducer_faults(case, finding.reproducer)
    return wrong


def leaks(case: Case, run: Path) -> list[str]:
    """What of the program's data stands in files that are meant to be published."""
    names = ("report.json", "report.md", "issue.md", "repro.py", "passing.py")
    texts = {name: (run / name).read_text(encoding="utf-8") for name in names if (run / name).is_file()}
    return [f"{name} quotes {text!r}" for name, whole in texts.items() for text in case.private if text in whole]


def _reproducer_faults(case: Case, reproducer: dict[str, Any]) -> list[str]:
    if case.max_ops is None and case.max_lines is None:
        return []
    if not reproducer:
        return ["no reproducer"]
    wrong = [] if reproducer.get("verified") else ["the reproducer is not verified"]
    for key, most in (("ops", case.max_ops), ("lines", case.max_lines)):
        found = reproducer.get(key)
        if most is not None and (found is None or found > most):
            wrong.append(f"{found} {key}, at most {most} are wanted")
    return wrong


def table(rows: Iterable[tuple[Case, Finding, list[str]]]) -> str:
    """The results in Markdown, the faults of each wrong case in a list below."""
    lines = [
        "| case | stage: expected | found | symptom | whose | ops (max) | lines | verified | seconds | ok |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    notes = []
    for case, finding, wrong in rows:
        reproducer = finding.reproducer
        cells = (
            case.name,
            _words(case.stages),
            finding.verdict("stage"),
            finding.verdict("symptom"),
            str(((finding.report or {}).get("own_code") or {}).get("role") or "-"),
            f"{_number(reproducer.get('ops'))} ({_number(case.max_ops)})",
            _number(reproducer.get("lines")),
            ("yes" if reproducer.get("verified") else "no") if reproducer else "-",
            f"{finding.seconds:.0f}",
            "no" if wrong else "yes",
        )
        lines.append(f"| {' | '.join(cells)} |")
        notes += [f"* {case.name}: {'; '.join(wrong)}"] if wrong else []
    return "\n".join([*lines, *(["", *notes] if notes else []), ""])


def ways_table(rows: Iterable[tuple[Case, Finding, str]]) -> str:
    """What a maintainer and a user ask next, in Markdown: the operation, the part of the compiler, the way round."""
    lines = [
        "| case | operation: known | named | part | conditions | way round | followed | seconds for it |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for case, finding, followed in rows:
        report = finding.report or {}
        culprit = report.get("culprit") or {}
        part = report.get("subsystem") or {}
        ways = report.get("ways_round") or []
        cells = (
            case.name,
            ", ".join(case.operations) or "-",
            str(culprit.get("op") or "-"),
            " and ".join(part.get("names") or ()) or "-",
            str(len(report.get("conditions") or ())),
            str(ways[0]["change"]).replace("|", "\\|") if ways else "-",
            followed or "-",
            _number((report.get("timings") or {}).get("ways_round")),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _words(names: Iterable[str]) -> str:
    return " or ".join(sorted(names))


def _number(value: object) -> str:
    return "-" if value is None else str(value)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="holds one folder per case")
    parser.add_argument(
        "--filter", action="append", default=[], metavar="TEXT", help="only cases with TEXT in the name"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="cases side by side (default: 1)")
    parser.add_argument("--follow", action="store_true", help="apply each workaround.patch to a copy and run that")
    parser.add_argument("--no-reduce", action="store_true", help="judge the stage and the symptom only")
    parser.add_argument("--limit", type=float, default=900.0, metavar="SECONDS", help="of one case (default: 900)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="keeps runs and table (default: benchmarks/out/TIME)")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    found = sorted(path.parent for path in arguments.folder.glob("*/script.py"))
    cases = [read_case(folder.resolve()) for folder in found]
    cases = [case for case in cases if not arguments.filter or any(text in case.name for text in arguments.filter)]
    if not cases:
        print(f"No case in {arguments.folder} matches; a case is a folder with script.py.", file=sys.stderr)
        return 2
    out = arguments.out or Path(__file__).parent / "out" / time.strftime("%Y%m%d-%H%M%S")
    options = ["--no-reduce"] if arguments.no_reduce else []

    followed: dict[str, str] = {}

    def judge(case: Case) -> tuple[Case, Finding, list[str]]:
        kept = out.resolve() / case.name
        kept.mkdir(parents=True)
        finding = run_case(case, kept, options, arguments.limit)
        wrong = [*faults(case, finding, reduced=not arguments.no_reduce), *leaks(case, kept / "run")]
        if arguments.follow:
            followed[case.name] = follow(case, kept, arguments.limit)
            wrong += [f"the patch: {followed[case.name]}"] if followed[case.name] not in ("", "passes") else []
        print(f"{case.name}: {'; '.join(wrong) or 'ok'} ({finding.seconds:.0f} s)", file=sys.stderr, flush=True)
        return case, finding, wrong

    with ThreadPoolExecutor(max(1, arguments.jobs)) as pool:
        rows = list(pool.map(judge, cases))
    text = table(rows)
    if arguments.follow:
        text += "\n" + ways_table([(case, finding, followed[case.name]) for case, finding, _ in rows])
    (out / "table.md").write_text(text, encoding="utf-8")
    print(text)
    return 1 if any(wrong for _, _, wrong in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
