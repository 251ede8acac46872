"""The warm interpreter of a sweep (`probe/lending.py`) is asked first: does the script pass there?

A screening asks there about the script as it is. An exception and a wrong value are its answer as well, and enough to look for
the guilty operation: so where only that is looked for, each rung is asked there. Where a script is told about in whole it is run
in a process of its own (`stories/resume.py`); what should pass then is asked there, and only that counts: the rungs below, and
ways round. What crashes there, hangs, or has no answer is asked in a process of its own at once; where it passes in that, the
failure may be one that does not come every time.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from triage.locate.walk import Walk
from triage.model.rungs import DEFAULT_BACKEND, LADDER
from triage.model.stage import OutcomeKind, Symptom
from triage.probe.launch import Cancel, Exit, Launch
from triage.probe.lending import ADDRESS, run_borrowed
from triage.probe.run import Probe, ProbeRequest, run_probe
from triage.session.settings import Settings

LOGS = {"TORCH_LOGS"}  # variables that only say what is logged: there it is next to nothing
SHARE = 0.2  # of a run's limit, for the warm interpreter: what hangs is waited for once more
_BELOW = tuple(rung.force for rung in LADDER if rung.name != DEFAULT_BACKEND)
_FAILS_PLAINLY = frozenset({OutcomeKind.EXCEPTION, OutcomeKind.WRONG_RESULT})  # enough for a screening


class Screening:
    """Runs probes: first there, where one is lent. `doubted`: a run failed there; then nothing more is asked of it."""

    def __init__(self, settings: Settings, environ: Mapping[str, str] = os.environ) -> None:
        self._address = environ.get(ADDRESS)
        self._rungs: tuple[str | None, ...] = (None,) if settings.screen else _BELOW
        self._rungs += (DEFAULT_BACKEND,) if settings.operation_only else ()
        little = settings.screen or settings.operation_only
        self._enough = _FAILS_PLAINLY | {OutcomeKind.OK} if little else {OutcomeKind.OK}
        self.doubted = False

    def run_probe(self, request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        """The answer of the warm interpreter if that is enough to know, else that of a fresh process."""
        asked_there = request.rung in self._rungs or bool(request.overlay)
        if self._address is not None and not self.doubted and asked_there and _is_plain(request):
            quick = replace(request, timeout=SHARE * request.timeout, verbose_logs=False, extra_env={})
            probe = run_probe(quick, cancel, self._start)
            if probe.cancelled or (probe.outcome.kind in self._enough and not probe.notes.distributed):
                return replace(probe, lent=True)
            self.doubted = self._address is not None
        return run_probe(request, cancel)

    def _start(self, launch: Launch, cancel: Cancel | None) -> Exit:
        assert self._address is not None
        done = run_borrowed(self._address, launch, cancel)
        if done is None:
            stopped = cancel is not None and cancel.is_set()
            self._address = self._address if stopped else None
            return Exit(None, 0.0, cancelled=stopped, error="the warm interpreter gave no answer")
        return done

    def settle(self, walk: Walk) -> None:
        """Where a run failed there and none did since: run it twice more."""
        if self.doubted and walk.conclusion().symptom is Symptom.NONE:
            walk.settle()


def _is_plain(request: ProbeRequest) -> bool:
    """Whether it is a script without input: `python SCRIPT ARGS`. What is asked of it besides, a fork can do as well."""
    target = request.target
    plain = len(target.command) > 1 and target.command[0] == target.python and target.command[1].endswith(".py")
    plain = plain and target.stdin is None and not target.only_test
    variables = set(request.extra_env) - LOGS
    return plain and not (variables or request.opcheck or request.seed is not None or request.turns)
