"""The story of `triage explain`: one run that is watched, one more for each cure that can be tried from outside.

A script that fails on the way is triaged as `triage run` does it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from triage.environments.describe import require_findable_torch
from triage.errors import EXIT_INTERRUPTED, EXIT_PARTIAL, TriageError
from triage.explain import breaks, recompiles, times
from triage.explain.breaks import first_to_fail
from triage.explain.cures import TriedSetting
from triage.model.explanation import Explanation
from triage.model.stage import OutcomeKind
from triage.probe import stdin
from triage.probe.events import Event
from triage.probe.run import Probe
from triage.probe.target import Target, check_syntax
from triage.report.redact import redactor_here
from triage.report.writing import write_explanation
from triage.session.clock import BudgetSpentError
from triage.session.events import Emitter
from triage.session.session import Session, open_session
from triage.session.settings import Settings
from triage.stories.explain_modes import ModesWanted, step_marked
from triage.stories.explain_profile import profiled
from triage.stories.explain_run import announced, events_of, failure_of, request_for
from triage.stories.run import RunResult
from triage.stories.run import run as triaged
from triage.stories.target import check_started

# A program that goes on and on is ended once nothing was compiled for so many calls and seconds: what is compiled at all is
# compiled in the first epoch, and nobody waits for the others.
SETTLED = (100, 20.0)


@dataclass(frozen=True)
class Measuring:
    """What is to be measured once the program was seen to run; `step` is the function that is its step."""

    modes: ModesWanted | None = None
    step: str | None = None
    profile: bool = False

    def marks(self, target: Target, timeout: float) -> dict[Path, bytes]:
        """The file with the step, marked. Raises UsageError where the program has no such function, or a row no such name."""
        if self.modes is not None:
            self.modes.check(target, timeout)
        return step_marked(target, self.step) if self.step is not None else {}


@dataclass(frozen=True)
class ExplainResult:
    """What `triage explain` ends in. `run` is there where the script fails: its triage."""

    explanation: Explanation
    directory: Path
    exit_code: int
    run: RunResult | None = None


@dataclass(frozen=True)
class _Seen:
    """One watched run."""

    probe: Probe
    events: list[Event]


@dataclass(frozen=True)
class _Watch:
    """The runs of one story; `whole`: each to its end, also where it compiles nothing any more."""

    session: Session
    target: Target
    whole: bool

    def run(self, name: str, trial: TriedSetting | None = None, caches: Path | None = None) -> _Seen:
        """Run the script once, watched; its rung in the events is what was switched on."""
        request = request_for(
            self.session,
            self.target,
            name,
            caches,
            explain=True,
            compile_arguments=trial.arguments if trial is not None else {},
            dynamo_settings=trial.settings if trial is not None else {},
            settle=None if self.whole else SETTLED,
        )
        with self.session.timed("explain" if trial is None else "try"):
            probe = announced(self.session, request, trial.name if trial is not None else name)
        return _Seen(probe, events_of(self.session, name))

    def ended(self, found: Explanation, code: int = 0, incomplete: str | None = None) -> ExplainResult:
        """What was found, written. `incomplete` says why there is no more of it."""
        if incomplete is not None:
            found = replace(found, complete=False, incomplete_reason=incomplete)
        redactor = redactor_here(self.target.cwd, redact=self.session.settings.redact)
        written = write_explanation(self.session.directory, found, redactor.knowing(found.command))
        self.session.emit("run_ended", directory=str(self.session.directory), exit_code=code)
        return ExplainResult(written, self.session.directory, code)


def explain(
    target: Target,
    command: tuple[str, ...],
    settings: Settings,
    emit: Emitter,
    *,
    fullgraph: bool = False,
    whole: bool = False,
    warm: bool = False,
    measuring: Measuring = Measuring(),
) -> ExplainResult:
    """Explain the target. Raises TriageError where it cannot be run at all."""
    check_syntax(target)
    if settings.python and target.command[0] == target.python:  # the script would be run to its end first
        require_findable_torch(target.python)
    marks = measuring.marks(target, settings.timeout)
    session = open_session(settings, target.label, Path.cwd(), emit)
    with session.unless_misused():
        target = replace(target, stdin=stdin.take(session.directory))
    emit("run_started", directory=str(session.directory), command=list(command), python=target.python, cwd=target.cwd)
    watch = _Watch(session, target, whole)
    found = Explanation(0, (), (), times.compile_time((), target.cwd), command, complete=False)
    try:
        with session.unless_misused(), _caches(wanted=warm) as caches:
            seen = watch.run("as_is", caches=caches)
            check_started(seen.probe, target, "explain")
            found = _read(seen, command, target.cwd)
            if caches is not None and not seen.probe.outcome.failed:
                found = _warm(watch, found, caches)
        if not seen.probe.outcome.failed:
            found = _cures_tried(watch, found)
            found = _fullgraph(watch, found) if fullgraph else found
            found = replace(found, step_function=measuring.step)
            if measuring.modes is not None:
                found = replace(found, modes=measuring.modes.measured(session, target, seen.probe.notes, marks))
            if measuring.profile:
                found = profiled(session, target, found, marks)
    except KeyboardInterrupt:
        return watch.ended(found, EXIT_INTERRUPTED, "interrupted")
    except BudgetSpentError:
        return watch.ended(found, EXIT_PARTIAL, settings.budget_ended)
    except TriageError as error:
        emit("run_ended", directory=str(session.directory), exit_code=error.exit_code)
        raise
    outcome = seen.probe.outcome
    if not outcome.failed:
        return watch.ended(found)
    if outcome.kind is OutcomeKind.HANG:
        why = f"the script had not ended after {settings.timeout:.0f} s (--timeout); compile times are told at its end"
        return watch.ended(found, EXIT_PARTIAL, why)
    done = watch.ended(found, incomplete=f"the script fails: {failure_of(outcome)}; see the report in `run`")
    run = triaged(target, command, replace(settings, out=session.directory / "run"), emit)
    if run.bug is not None:
        raise run.bug
    return replace(done, run=run, exit_code=run.exit_code)


@contextmanager
def _caches(*, wanted: bool) -> Iterator[Path | None]:
    """A folder for torch's caches that lives longer than one run, where that is wanted."""
    if not wanted:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="triage-caches-") as folder:
        yield Path(folder)


def _warm(watch: _Watch, found: Explanation, caches: Path) -> Explanation:
    """With what compiling takes in one more run, which finds the caches full."""
    seen = watch.run("warm", caches=caches)
    if seen.probe.outcome.failed:
        note = f"with the caches of the first run it fails: {failure_of(seen.probe.outcome)}"
        return replace(found, notes=(*found.notes, note))
    told = times.compile_time(seen.events, watch.target.cwd)
    return replace(found, compile=replace(found.compile, warm_seconds=told.seconds, warm_first_call=told.first_call))


def _read(seen: _Seen, command: tuple[str, ...], cwd: Path) -> Explanation:
    notes = seen.probe.notes
    compiled = times.compile_time(seen.events, cwd)
    return Explanation(
        graphs=notes.graphs or sum(event.get("e") == "breadcrumb" and _compiled(event) for event in seen.events),
        graph_breaks=breaks.graph_breaks(seen.events, cwd, compiled.by_graph),
        recompiles=recompiles.recompilations(seen.events, cwd),
        compile=compiled,
        command=command,
        environment={"torch": notes.torch_version or "", "python": notes.python_version or ""},
        notes=tuple(_remarks(seen)),
    )


def _compiled(event: Event) -> bool:
    return str(event.get("text", "")).endswith(" compiled")


def _remarks(seen: _Seen) -> list[str]:
    if seen.probe.notes.torch_version is None:
        return ["The program never imported torch."]
    if not seen.probe.notes.compile_calls:
        return ["The program never called torch.compile."]
    told = []
    if seen.probe.notes.stopped_early:
        told.append(
            f"The program was ended after {seen.probe.outcome.seconds:.0f} s: in its last {SETTLED[0]} calls and "
            f"{SETTLED[1]:.0f} s nothing was compiled. What comes later was not seen; --whole runs it to its end."
        )
    if len(times.compile_time(seen.events, Path()).by_graph) >= 64:
        told.append("torch keeps the times of the last 64 compiles; those before are in the sums only.")
    return told


def _cures_tried(watch: _Watch, found: Explanation) -> Explanation:
    """Each cure that can be switched on from outside, in a run of its own."""
    broken, again, cwd = found.graph_breaks, found.recompiles, watch.target.cwd
    wanted = {trial.name: trial for trial in (*breaks.trials(broken), *recompiles.trials(again))}
    for number, trial in enumerate(wanted.values(), 1):
        seen = watch.run(f"cure-{number}", trial)
        missing = [event["name"] for event in seen.events if event.get("e") == "no_such_setting"]
        if missing:
            broken = breaks.not_tried(broken, trial, f"this torch has no `torch._dynamo.config.{missing[0]}`")
            continue
        ended = seen.probe.outcome
        failure = f"with {trial.name} the run fails: {failure_of(ended)}" if ended.failed else None
        broken = breaks.tried(broken, trial, breaks.graph_breaks(seen.events, cwd), failure)
        again = recompiles.tried(again, trial, recompiles.recompilations(seen.events, cwd), failure)
    return replace(found, graph_breaks=broken, recompiles=again)


def _fullgraph(watch: _Watch, found: Explanation) -> Explanation:
    trial = TriedSetting("fullgraph=True", arguments={"fullgraph": True})
    outcome = watch.run("fullgraph", trial).probe.outcome
    first = first_to_fail(outcome, found.graph_breaks, watch.target.cwd) if outcome.failed else None
    notes = found.notes
    if outcome.failed and first is None:
        notes = (*notes, f"With fullgraph=True the run fails of something else: {failure_of(outcome)}")
    return replace(found, fullgraph=first, fullgraph_passes=not outcome.failed, notes=notes)
