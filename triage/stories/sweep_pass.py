"""One pass of a sweep over one script: the `triage run` that is started for it, and what it left."""

from __future__ import annotations

import contextlib
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from triage.environments.files import JOURNAL
from triage.errors import TriageError
from triage.model.stage import Symptom
from triage.probe.launch import text_of
from triage.report.store import load_report
from triage.report.titles import title
from triage.stories.bisect_subject import face_of
from triage.stories.runs import is_run
from triage.sweep.engines.interface import Done, Work
from triage.sweep.facts import Answer, Facts, facts_of
from triage.sweep.jobs import Job
from triage.sweep.outline import outline_of
from triage.sweep.plan import Pass

OPTIONS = {
    Pass.SCREEN: ("--screen",),
    Pass.REPRODUCER: ("--reproducer-only", "--operation-only"),
    Pass.WHOLE: ("--whole",),
}
SCREEN_RUNS = 2  # of the script, each within the limit of one: as it is, and compared
LAST_WORDS = 60.0  # seconds that a run may take beyond its budget, to write what it knows
REPORT, LOGS = "report.json", "logs"


@dataclass(frozen=True)
class Limits:
    """In seconds: of one run of a script, and of all that is asked about it. `jobs` processes may run side by side for it."""

    timeout: float
    budget: float
    python: str
    jobs: int = 1
    options: tuple[str, ...] = ()  # of each run


def work(name: str, job: Job, which: Pass, directory: Path, limits: Limits) -> Work:
    """The process of this pass. It goes on with an earlier pass, or with itself where it was interrupted."""
    budget = SCREEN_RUNS * limits.timeout if which is Pass.SCREEN else limits.budget
    formats = "json" if which is Pass.SCREEN else "md,html,json"
    options = ["--quiet", "--format", formats, "--timeout", str(limits.timeout), "--budget", str(budget)]
    options += ["--jobs", str(limits.jobs), *OPTIONS[which], *limits.options]
    if _begun(directory):
        words = ["--resume", str(directory)]
    else:
        words = ["--out", str(directory), "--python", job.python or limits.python, *job.words]
    return Work(
        name=name,
        argv=(sys.executable, "-m", "triage", "run", *options, *words),
        cwd=job.cwd,
        log=directory.parents[1] / LOGS / f"{directory.name}.{which.value}.log",
        timeout=budget + LAST_WORDS,
        cores=limits.jobs,
    )


def _begun(directory: Path) -> bool:
    """Whether there is a run to go on with. What was killed before it said what it runs is begun anew."""
    if is_run(directory) and '"run_started"' in _head(directory / JOURNAL):
        return True
    shutil.rmtree(directory, ignore_errors=True)
    return False


def _head(file: Path) -> str:
    with contextlib.suppress(OSError), file.open(encoding="utf-8", errors="replace") as opened:
        return opened.read(100_000)
    return ""


def stamp(directory: Path) -> int:
    """What changes when a report is written."""
    with contextlib.suppress(OSError):
        return (directory / REPORT).stat().st_mtime_ns
    return 0


def answer(done: Done, which: Pass, directory: Path, log: Path, before: int) -> Answer:
    """What the pass left: its report, where it wrote one since `before`, else the words it ended with."""
    facts, error = None, None
    if stamp(directory) != before:
        with contextlib.suppress(TriageError):
            facts = _facts(directory, which)
    if facts is None:
        limit = f"it had not ended after {done.seconds:.0f} s" if done.timed_out else None
        error = limit or done.error or _last_words(log.with_suffix(".err.log")) or f"exit status {done.code}"
    elif which is not Pass.SCREEN and not facts.settled:
        facts = replace(facts, note=facts.note or "the stage could not be settled")
    return Answer(done.code, round(done.seconds, 2), facts, error)


def _facts(directory: Path, which: Pass) -> Facts:
    report = load_report(directory)
    face = face_of(report)
    told = title(report) if report.verdict.symptom is not Symptom.NONE else ""
    facts = facts_of(report, face.signature if face is not None else None, told)
    if facts.op is not None or facts.reproducer is None or not (facts.verified or which is Pass.REPRODUCER):
        return facts
    with contextlib.suppress(OSError):
        source = (directory / facts.reproducer).read_text(encoding="utf-8", errors="replace")
        facts = replace(facts, outline=outline_of(source))
    return facts


def _last_words(log: Path) -> str:
    """What triage said when it ended without a report, on one line."""
    lines = [line.strip() for line in text_of(log).splitlines() if line.strip()]
    said = next((number for number, line in enumerate(lines) if line.startswith("triage: ")), None)
    told = lines[said : said + 2] if said is not None else lines[-1:]
    return " ".join(line.removeprefix("triage: ").removeprefix("why:").strip() for line in told)[:400]
