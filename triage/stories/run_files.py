"""What a run writes into its directory: the report, early and once more at its end, and the files of the reproducer."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace

from triage.environments.files import write_whole
from triage.model.report import TriageReport
from triage.reduce.verifying import Reproduced
from triage.report.redact import Redactor, redactor_here
from triage.report.store import write_report
from triage.stories.assemble import assemble
from triage.stories.early import withdraw
from triage.stories.findings import Findings
from triage.stories.ways_round import worth_trying

NOT_YET = "Ways round had not been tried on the script when this was written."
NOT_ASKED_YET = "What is to blame inside the stage, and ways round, had not been asked when this was written."
SLOW_SECONDS = 3.0  # of one candidate: dozens of questions like it take minutes


def redactor_of(found: Findings) -> Redactor:
    """What takes out what belongs to this user, and the program's own names."""
    return redactor_here(found.target.cwd, redact=found.session.settings.redact).knowing(found.command)


def write_what_is_known(found: Findings, *notes: str) -> TriageReport:
    """Write the report of what is known now."""
    settings, directory = found.session.settings, found.session.directory
    found.session.emit("step_started", step="report")
    report = assemble(found)
    report = replace(report, notes=(*report.notes, *notes))
    write_report(directory, report, settings.format, redactor_of(found), settings.template, found.trace_work)
    return report


def report_beforehand(found: Findings, made: Reproduced) -> None:
    """Where candidates were slow, the verified reproducer can be read about before it is asked what is to blame."""
    if made.queries and made.seconds / made.queries >= SLOW_SECONDS:
        write_reproducer(found)
        _to_be_read(found, NOT_ASKED_YET, "what is to blame inside the stage is added to it")


def report_early(found: Findings) -> None:
    """Ways round take the script's own time once or twice more: what a maintainer needs is there to be read before."""
    if worth_trying(found):
        _to_be_read(found, NOT_YET, "ways round are added to it")


def _to_be_read(found: Findings, lacks: str, added: str) -> None:
    """Write a report that says what it `lacks`, and tell what is `added` to it later."""
    write_what_is_known(found, lacks)
    found.session.emit("report_written", directory=str(found.session.directory), added=added)


def write_reproducer(found: Findings) -> None:
    """The reproducer, what passes beside it, and what else was met, each as a script; none where there is no reproducer."""
    made = found.reproduced
    if made is None:
        withdraw(found.session.directory)
        return
    write_whole(found.session.directory / "repro.py", made.source)
    if made.passing is not None:
        write_whole(found.session.directory / "passing.py", made.passing)
    folder = found.session.directory / "siblings"
    for signature, source in made.others:
        if source is None:
            continue
        folder.mkdir(exist_ok=True)
        write_whole(folder / f"{signature.fingerprint}.py", source)


@contextlib.contextmanager
def no_interrupts(*, later: bool = False) -> Iterator[None]:
    """A second ctrl-C does not cost the report: writing it takes moments. With `later` one that arrives counts afterwards."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    handler = (lambda number, frame: arrived.append(number)) if later else signal.SIG_IGN
    previous = {name: signal.signal(getattr(signal, name), handler) for name in names}
    try:
        yield
    finally:
        for name, earlier in previous.items():
            signal.signal(getattr(signal, name), earlier)
        if arrived:
            signal.raise_signal(arrived[0])
