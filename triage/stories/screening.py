"""The cheap first question of a screening: does the script pass in the warm interpreter of the sweep?

Only a yes counts. What fails there, hangs, or has no answer is asked in a process of its own, as `triage run` asks it; and where
that passes then, the failure may be one that does not come every time.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from triage.locate.walk import Walk
from triage.model.stage import OutcomeKind, Symptom
from triage.probe.launch import Cancel, Exit, Launch
from triage.probe.lending import ADDRESS, run_borrowed
from triage.probe.run import Probe, ProbeRequest, run_probe

SHARE = 0.2  # of a run's limit, for the warm interpreter: what hangs is waited for once more


class Screening:
    """Runs probes: first there, where one is lent. `doubted`: a run failed there."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._address = environ.get(ADDRESS)
        self.doubted = False

    def run_probe(self, request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        """The answer of the warm interpreter if that is that the script passes, else that of a fresh process."""
        if self._address is not None and not self.doubted and _is_plain(request):
            quick = replace(request, timeout=SHARE * request.timeout, verbose_logs=False)
            probe = run_probe(quick, cancel, self._start)
            if probe.outcome.kind is OutcomeKind.OK and not probe.notes.distributed:
                return probe
            self.doubted = self._address is not None
        return run_probe(request, cancel)

    def _start(self, launch: Launch, cancel: Cancel | None) -> Exit:
        assert self._address is not None
        done = run_borrowed(self._address, launch, cancel)
        if done is None:
            self._address = None
            return Exit(None, 0.0, error="the warm interpreter gave no answer")
        return done

    def settle(self, walk: Walk) -> None:
        """Where a run failed there and none did since: run it twice more."""
        if self.doubted and walk.conclusion().symptom is Symptom.NONE:
            walk.settle()


def _is_plain(request: ProbeRequest) -> bool:
    """Whether it is a script as it is, without input: `python SCRIPT ARGS`."""
    target = request.target
    plain = len(target.command) > 1 and target.command[0] == target.python and target.command[1].endswith(".py")
    return plain and request.rung is None and target.stdin is None and not target.only_test and not request.overlay
