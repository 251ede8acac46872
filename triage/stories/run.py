"""The story of `triage run`, top to bottom: reproduce, locate, capture, reduce, ablate, report.

Every step adds to the findings; whatever ends the run early (budget, interrupt), a report is made of what is known.
"""

from __future__ import annotations

import importlib
import threading
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from triage.environments.machine import usable_cores
from triage.errors import TriageError
from triage.locate.blocking import to_blocking_launches
from triage.locate.conclude import Conclusion
from triage.locate.one_test import to_one_test
from triage.locate.outcomes import is_printed
from triage.locate.walk import Walk
from triage.model.own_code import SIGNAL_HANDLER
from triage.model.report import TriageReport
from triage.model.stage import Symptom
from triage.probe import stdin
from triage.probe.target import Target, check_syntax
from triage.report.trace import TraceWork
from triage.session.clock import BudgetSpentError
from triage.session.events import Emitter
from triage.session.session import open_session, reopen_session
from triage.session.settings import Settings
from triage.stories.assemble import exit_code
from triage.stories.captured import captured
from triage.stories.findings import Findings, candidate_runner
from triage.stories.first_build import begin_build_beside_script, begin_build_for_cpu
from triage.stories.locating import agrees, compare, locate
from triage.stories.resume import EarlierRun, has_verified
from triage.stories.run_files import no_interrupts, redactor_of, report_early, write_reproducer, write_what_is_known
from triage.stories.screening import Screening
from triage.stories.target import AskedTarget
from triage.stories.ways_round import find_ways_round
from triage.stories.whose_code import check_operators, own_code

OPERATION_FOUND = (
    "only the operation to blame was looked for (--operation-only); triage run --resume --whole goes on with it"
)
SCREENED = "it was only screened (--screen); triage run --resume goes on with it"
OWN_LIMIT = (
    "Nothing was reduced: what ends by a signal takes as long as the signal does, and tells no more when it is smaller."
)
LAST_WORDS_SECONDS = 1.0  # what a run that ended early still waits for the target's description


@dataclass(frozen=True)
class RunResult:
    """What `triage run` ends in."""

    report: TriageReport
    directory: Path
    exit_code: int
    bug: Exception | None = None  # of our own: to be raised once the report has been shown


def run(
    target: Target,
    command: tuple[str, ...],
    settings: Settings,
    emit: Emitter,
    earlier: EarlierRun | None = None,
    *,
    own_stdin: bool = True,
) -> RunResult:
    """Triage the target, or go on with an `earlier` run of it. With `own_stdin` what stands on our input is the target's.

    Raises TriageError where there is nothing to triage; an interrupt or a bug of our own ends in a smaller report.
    """
    check_syntax(target)
    screening = Screening(settings)
    found = _begun(target, command, settings, emit, earlier, screening, own_stdin=own_stdin)
    session = found.session
    asked = AskedTarget(found.target, found.runner if usable_cores() > 1 else None)
    if not settings.screen:
        asked.begin()
    with session.unless_misused():
        interrupted = _investigated(found, asked, screening)
    with no_interrupts():
        session.cancel.set()
        asked.ended()
        report = write_what_is_known(found)
        if earlier is not None and earlier.kept is not None and not (report.complete or has_verified(report)):
            earlier.kept.restore()  # what had been shown by then is not lost by another end
            report = earlier.kept.report
        if found.incomplete is None:
            session.forget_kernels()
        emit("run_ended", directory=str(session.directory), exit_code=exit_code(report, interrupted))
    return RunResult(report, session.directory, exit_code(report, interrupted), None if interrupted else found.bug)


def _begun(
    target: Target,
    command: tuple[str, ...],
    settings: Settings,
    emit: Emitter,
    earlier: EarlierRun | None,
    screening: Screening,
    *,
    own_stdin: bool,
) -> Findings:
    """The run's directory, and findings with nothing in them yet; candidates have what runs them, if any are to come."""
    if earlier is None:
        session = open_session(settings, target.label, Path.cwd(), emit)
        with session.unless_misused():
            target = replace(target, stdin=stdin.take(session.directory) if own_stdin else None)
        walk = Walk(session, target, probe=screening.run_probe)
    else:
        session = reopen_session(settings, earlier.directory, emit, earlier.verdicts, earlier.verified)
        target = replace(target, stdin=stdin.kept_in(session.directory))
        whole = not (settings.screen or settings.operation_only)
        walk = Walk(session, target, probe=partial(earlier.run_probe, otherwise=screening.run_probe, whole=whole))
    session.keep_kernels()
    facts = {"command": list(command), "python": target.python, "cwd": target.cwd, "settings": settings}
    emit("run_started", directory=str(session.directory), **facts)
    if target.stdin is not None:
        emit("stdin_kept", bytes=target.stdin.stat().st_size)
    found = Findings(session, target, command, walk)
    found.trace_work = TraceWork(redactor_of(found))
    if settings.reduce and not settings.screen:
        candidate_runner(found)
    return found


def _investigated(found: Findings, asked: AskedTarget, screening: Screening) -> bool:
    """Find out all there is to find out; whether ctrl-C ended that. What ends it early is noted, and nothing runs any more.

    Raises TriageError where there is nothing to triage.
    """
    interrupted = False
    try:
        _run_script(found, asked)
        compare(found)
        if found.session.settings.screen:
            screening.settle(found.walk)
            found.incomplete = SCREENED if found.walk.conclusion().symptom is not Symptom.NONE else None
        else:
            _find_out(found, asked)
            if found.reproduced is not None and found.reproduced.enough:
                found.incomplete = found.incomplete or OPERATION_FOUND
    except KeyboardInterrupt:
        interrupted = True
        found.incomplete = "interrupted"
    except BudgetSpentError:
        found.incomplete = found.session.settings.budget_ended
    except TriageError as error:
        with no_interrupts():
            asked.last_words(0.0)
            found.release()  # first: the warm interpreter is waited for, or asked
        asked.ended()
        found.session.emit("run_ended", directory=str(found.session.directory), exit_code=error.exit_code)
        raise
    except Exception as error:  # noqa: BLE001  our own mistake: what was learned until then is not lost by it
        found.met_bug(error)
    finally:
        with no_interrupts():
            cut = found.incomplete is not None and not interrupted  # else it was waited for as long as it is worth
            last_words = asked.last_words(LAST_WORDS_SECONDS if cut else 0.0)
            found.release()
            found.environment = found.environment or last_words
    return interrupted


def _run_script(found: Findings, asked: AskedTarget) -> None:
    """The script as it is."""
    with found.session.timed("script"):
        if not found.session.settings.screen:  # the engines are read while the script runs, and nobody waits for them
            threading.Thread(target=importlib.import_module, args=("triage.stories.graph_ladder",), daemon=True).start()
            begin_build_beside_script(found)
        found.walk.make_ready = partial(_warm, found)
        first = found.walk.first()
        asked.check_usable(first)
        if not found.session.settings.screen:
            found.notes += filter(None, [to_blocking_launches(found.walk), to_one_test(found.walk)])
            found.target = found.walk.target
        if first.outcome.failed:
            _warm(found)  # its seconds pass while the ladder runs
            begin_build_for_cpu(found)


def _warm(found: Findings) -> None:
    if found.runner is not None:
        found.runner.warm()


def _find_out(found: Findings, asked: AskedTarget) -> None:
    """All that is asked about a failure: where it comes from, how little shows it, what avoids it."""
    locate(found)
    _reproduce(found)
    if not agrees(found):
        _reproduce(found)
    found.environment = asked.waited(_patience(found))
    report_early(found)
    if found.walk.spoiled is None:  # else each run of the script ends early
        find_ways_round(found)


def _reproduce(found: Findings) -> None:
    """Capture, reduce, verify, ablate, check custom operators: only where it fails under a compiler alone."""
    conclusion = found.walk.conclusion()
    if not conclusion.settled:
        return
    if conclusion.door is None and not (conclusion.outcome is not None and is_printed(conclusion.outcome)):
        if not conclusion.stage.needs_compiling:
            return
        with found.session.timed("capture"):
            found.cases, found.capture_note = captured(found.walk, conclusion)
            found.cases = (*filter(None, [found.alone]), *found.cases)
    _reduce(found, conclusion)
    if not found.walk.refuted:
        check_operators(found, conclusion)


def _reduce(found: Findings, conclusion: Conclusion) -> None:
    session = found.session
    if not session.settings.reduce:
        found.reproducer_note = "Reduction was switched off (--no-reduce)."
        return
    own = own_code(found, conclusion)
    if own is not None and own.role == SIGNAL_HANDLER:
        found.reproducer_note = OWN_LIMIT
        return
    from triage.stories.reproduce import reproduce_small

    try:
        reproduce_small(found, conclusion)
    finally:
        with no_interrupts(later=True):
            write_reproducer(found)


def _patience(found: Findings) -> float | None:
    """How many seconds the target's description is waited for; None for as long as it takes.

    None of them where the script calls no compiler: there is nothing to report, and the first run told the versions.
    """
    conclusion, clock = found.walk.conclusion(), found.session.clock
    blamed = conclusion.door is not None or conclusion.stage.needs_compiling
    if not blamed and not found.walk.start.notes.compile_calls:
        return 0.0
    return max(0.0, clock.left()) if found.session.settings.budget else None
