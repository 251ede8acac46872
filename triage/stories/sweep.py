"""The story of `triage sweep`: every script is asked a little, one script of each failure everything, and bugs are counted.

Each question is a `triage run` of its own, in a process of its own. What was answered is in a database at once, so that a sweep
that was killed goes on where it was; a run that was killed goes on with its own journal.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from triage.environments.interpreters import torch_of
from triage.environments.machine import runs_that_fit, usable_cores
from triage.errors import EXIT_INTERRUPTED, EXIT_NOTHING, EXIT_OK
from triage.model.sweep import Cluster, Fate, ScriptResult, SweepReport
from triage.probe.forkclient import CannotForkError
from triage.probe.lending import ADDRESS, Lender
from triage.probe.target import find_python
from triage.report.redact import Redactor, redactor_here
from triage.report.writing import write_sweep, writing
from triage.session.events import Emitter
from triage.session.session import neutral_store
from triage.session.settings import Settings
from triage.stories.sweep_against import against, failing_in
from triage.stories.sweep_pass import Limits, answer, stamp, work
from triage.stories.sweep_setup import SweepStart
from triage.sweep.clusters import Member, clustered, joined
from triage.sweep.engines.interface import Done, Engine, Work
from triage.sweep.jobs import Job
from triage.sweep.plan import JobState, Pass, last_passes, members, next_passes
from triage.sweep.store import Store

RUNS = "runs"
BUDGET = 900.0  # seconds for one script, where nothing else is said
PAGE_SECONDS = 10.0  # between two states of the page
PAGE_SHARE = 30.0  # times as long as making one took, if that is more
GOING_ON = "it is still going on"
WORTH_WARMING = 3  # scripts left to be asked
MOST_TRIES = 3  # of a process whose machine went away


@dataclass(frozen=True)
class SweepResult:
    """What `triage sweep` ends in."""

    report: SweepReport
    directory: Path
    exit_code: int


def slots_here(wanted: int) -> int:
    """How many scripts are run side by side on this machine: as many as asked for, else by cores and memory."""
    return wanted or max(1, min(usable_cores(), runs_that_fit()))


def sweep(
    ready: SweepStart, settings: Settings, engine: Engine, emit: Emitter, *, base: Path | None = None
) -> SweepResult:
    """Sweep over what is ready, or go on with it. The engine and the store are closed at the end, however that comes.

    Raises UsageError where `base` is no sweep, or nothing can be written.
    """
    store, folder = ready.store, ready.store.folder
    sweeping = _Sweeping(store, folder, settings, engine, emit, base)
    try:
        sweeping.enrol(ready.jobs)
        emit("sweep_started", directory=str(folder), scripts=len(ready.jobs), slots=engine.slots, engine=engine.name)
        why = None
        try:
            sweeping.go()
        except KeyboardInterrupt:
            why = "interrupted"
        finally:
            try:
                engine.close()
            finally:  # a second ctrl-C ends that wait
                sweeping.give_back()
        return sweeping.ended(why)
    finally:
        store.close()


@dataclass
class _Sweeping:
    store: Store
    folder: Path
    settings: Settings
    engine: Engine
    emit: Emitter
    base: Path | None
    scripts: dict[str, JobState] = field(default_factory=dict)
    _jobs: dict[str, Job] = field(default_factory=dict)
    _running: dict[str, tuple[Work, Pass, int]] = field(default_factory=dict)  # with the state of its report before
    _tries: dict[str, int] = field(default_factory=dict)
    _began: float = field(default_factory=time.monotonic)
    _page_at: float = 0.0
    _lender: Lender | None = None
    _alone: bool = False  # there is no lender, and will be none

    def __post_init__(self) -> None:
        self._python = find_python(self.settings.python)

    def enrol(self, jobs: Sequence[Job]) -> None:
        """Take the jobs in. What is known of one that has changed since, or is asked in another way, is forgotten."""
        torches: dict[str, str] = {}
        failed_there = failing_in(self.base)
        for place, job in enumerate(jobs):
            python = job.python or self._python
            if python not in torches:
                torches[python] = torch_of(python)
            digest = job.digest(python, torches[python], self.settings.accuracy)
            directory = self.store.enrol(job.name, place, digest, f"{RUNS}/{job.directory}")
            self._jobs[job.name] = job
            doubted = job.flaky or failed_there(job.name) or self.store.failed_before(job.name)
            answers = self.store.answers(job.name)
            self.scripts[job.name] = JobState(job.name, place, directory, answers, doubted=doubted)

    def go(self) -> None:
        """Until nothing is left to be asked."""
        while True:
            for script, which in self._wanted():
                if len(self._running) < self.engine.slots:
                    self._submit(script.name, which)
            if not self._running:
                return
            done = self.engine.wait(PAGE_SECONDS)
            if done is not None:
                self._ended(done)
            self._page()

    def _wanted(self) -> list[tuple[JobState, Pass]]:
        scripts = list(self.scripts.values())
        wanted = next_passes(scripts)
        if wanted or self._running:
            return wanted
        return last_passes(scripts, joined(members(scripts)))

    def _submit(self, name: str, which: Pass) -> None:
        directory = self.folder / self.scripts[name].directory
        with writing(directory.parent):
            directory.parent.mkdir(parents=True, exist_ok=True)
        task = replace(work(name, self._jobs[name], which, directory, self._limits()), env=self._lent(self._jobs[name]))
        self._running[name] = (task, which, stamp(directory))
        self.scripts[name] = replace(self.scripts[name], running=which)
        self.engine.submit(task)
        self.emit("pass_started", script=name, which=which.value)

    def _lent(self, job: Job) -> dict[str, str]:
        """Where a warm interpreter is lent: on this machine, where enough is left to be asked to make up for its start."""
        if self._lender is None and not self._alone:
            left = len(next_passes(list(self.scripts.values())))  # of a sweep that goes on, what its screenings left
            self._alone = self.engine.name != "local" or left < WORTH_WARMING
            if not self._alone:
                try:
                    self._lender = Lender(self._python, neutral_store())
                except (CannotForkError, OSError):
                    self._alone = True
        fits = self._lender is not None and (job.python or self._python) == self._python
        return {ADDRESS: self._lender.address} if fits and self._lender is not None else {}

    def give_back(self) -> None:
        """End what was started for all scripts."""
        if self._lender is not None:
            self._lender.close()

    def _ended(self, done: Done) -> None:
        task, which, before = self._running.pop(done.name)
        self.scripts[done.name] = replace(self.scripts[done.name], running=None)
        if done.lost and self._tries.get(done.name, 0) + 1 < MOST_TRIES:
            self._tries[done.name] = self._tries.get(done.name, 0) + 1
            self.emit("pass_lost", script=done.name, which=which.value, error=done.error)
            self._submit(done.name, which)
            return
        told = answer(done, which, self.folder / self.scripts[done.name].directory, task.log, before)
        self.store.answer(done.name, which.value, told)
        script = self.scripts[done.name]
        self.scripts[done.name] = script = replace(script, answers={**script.answers, which.value: told})
        known = script.told
        self.emit(
            "pass_ended",
            script=done.name,
            which=which.value,
            seconds=told.seconds,
            fate=known.fate if known is not None else Fate.UNKNOWN,
            headline=known.headline if known is not None else told.error,
            **self._counts(),
        )

    def _counts(self) -> dict[str, int]:
        scripts = list(self.scripts.values())
        return {
            "screened": sum(Pass.SCREEN.value in script.answers for script in scripts),
            "scripts": len(scripts),
            "failing": sum(script.failing for script in scripts),
            "clusters": len(clustered(members(scripts))),
            "open": sum(script.running is not None for script in scripts) + len(next_passes(scripts)),
        }

    def _limits(self) -> Limits:
        cores = max(1, usable_cores() // self.engine.slots)
        options = ("--accuracy", self.settings.accuracy, *(() if self.settings.redact else ("--no-redact",)))
        return Limits(self.settings.timeout, self.settings.budget or BUDGET, self._python, cores, options)

    def _page(self) -> None:
        """Anew every few seconds; of a large sweep less often, as each costs seconds."""
        began = time.monotonic()
        if began >= self._page_at:
            write_sweep(self.folder, self.report(GOING_ON), self._redactor(), live=True)
            self._page_at = began + max(PAGE_SECONDS, PAGE_SHARE * (time.monotonic() - began))

    def ended(self, why: str | None) -> SweepResult:
        """Write what is known, whole or not."""
        found = self.report(why)
        if self.base is not None:
            found = replace(found, against=against(found, self.folder, self.base))
        written = write_sweep(self.folder, found, self._redactor())
        self.emit("sweep_ended", directory=str(self.folder), clusters=len(found.clusters))
        return SweepResult(written, self.folder, EXIT_INTERRUPTED if why else exit_code(found))

    def report(self, why: str | None) -> SweepReport:
        """What is known now; `why` it is not all there is to know."""
        scripts = sorted(self.scripts.values(), key=lambda script: script.place)
        failing = members(scripts)
        clusters = clustered(failing)
        results = _results(scripts, failing, clusters)
        known = [facts.environment for script in scripts if (facts := script.told) is not None and facts.environment]
        seconds = float(self.store.about("seconds") or 0.0) + time.monotonic() - self._began
        if why != GOING_ON:
            self.store.note("seconds", seconds)
        return SweepReport(
            scripts=len(scripts),
            failing=sum(result.fate.failed for result in results),
            clusters=tuple(clusters),
            results=tuple(results),
            engine=self.engine.name,
            complete=why is None,
            incomplete_reason=why,
            environment=dict(Counter(known).most_common(1)[0][0]) if known else {},
            seconds=round(seconds, 1),
            processes=sum(len(script.answers) for script in scripts),
            notes=_notes(known),
        )

    def _redactor(self) -> Redactor:
        return redactor_here(Path.cwd(), redact=self.settings.redact)


def exit_code(report: SweepReport) -> int:
    """Of the contract: 0 where nothing fails, or nothing new; what could not be run was not seen to pass."""
    if report.against is not None:
        return EXIT_NOTHING if report.against.new or report.against.changed else EXIT_OK
    fine = (Fate.PASSES, Fate.ROUNDING)
    return EXIT_OK if all(result.fate in fine for result in report.results) else EXIT_NOTHING


def _results(scripts: Sequence[JobState], failing: Sequence[Member], clusters: Sequence[Cluster]) -> list[ScriptResult]:
    by_script = {member.script: member for member in failing}
    cluster_of = {script: cluster.id for cluster in clusters for script in cluster.members}
    return [_result(script, by_script.get(script.name), cluster_of) for script in scripts]


def _result(script: JobState, member: Member | None, cluster_of: Mapping[str, str]) -> ScriptResult:
    facts = member.facts if member is not None else script.told
    errors = [given.error for given in script.answers.values() if given.error]
    if facts is None:
        fate = Fate.UNUSABLE if script.answers else Fate.UNKNOWN
        return ScriptResult(script.name, fate, note="; ".join(errors) or None, seconds=script.seconds)
    return ScriptResult(
        script=script.name,
        fate=facts.fate,
        stage=facts.stage,
        symptom=facts.symptom,
        fingerprint=facts.fingerprint,
        op=facts.op,
        headline=facts.headline,
        cluster=cluster_of.get(script.name),
        directory=script.directory,
        verified=facts.verified,
        lines=facts.lines,
        rungs=dict(facts.rungs),
        seconds=round(script.seconds, 1),
        inherited=member is not None and member.inherited is not None,
        note="; ".join(filter(None, [*errors, facts.note])) or None,
    )


def _notes(known: Sequence[tuple[tuple[str, str], ...]]) -> tuple[str, ...]:
    """What a reader of all results must know."""
    torches = sorted({dict(each).get("torch", "?") for each in known})
    return (f"Not all scripts ran with one torch: {', '.join(torches)}.",) if len(torches) > 1 else ()
