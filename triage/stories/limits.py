"""How long a candidate may take, how often it is run, and what is kept of the budget: told by how the script failed."""

from __future__ import annotations

import math

from triage.locate.conclude import Conclusion
from triage.model.stage import OutcomeKind, Stage
from triage.stories.findings import Findings
from triage.trial.driver import Repeats
from triage.trial.patience import Patience

VERIFY_TIMEOUT_SECONDS = 120.0
# A hang is told from a slow compile by the time that the program takes on the rung below.
HANG_FACTOR = 5.0
HANG_SECONDS = 20.0
# What the script, or its passing rung, takes until it hangs, times this: a candidate of the whole program comes as far within it.
UNTIL_HANG_FACTOR = 1.5
# Twice what a cold compile of one kernel takes on two cores: a fresh process that is slow for that does not hang.
COLD_SECONDS = 60.0
VERIFYING_RUNS = 3.0  # of the script in time: four of the reproducer, two at a time, on a busy machine
# A candidate that fails at the rate seen is taken for a passing one this often, at most so many runs allowing.
MISSED = 0.03
MOST_REPEATS = 12


def seconds_for(found: Findings) -> float:
    """The time limit of a candidate whose failure is no hang."""
    return min(VERIFY_TIMEOUT_SECONDS, found.session.settings.timeout)


def patience_for(found: Findings, conclusion: Conclusion) -> Patience | None:
    """For a failure that is a hang: at first some times what the whole program takes where it passes."""
    probes = found.walk.evidence[conclusion.passing.name] if conclusion.passing is not None else [found.walk.in_place]
    passing = [probe.outcome.seconds for probe in probes if probe is not None]
    if conclusion.outcome is None or conclusion.outcome.kind is not OutcomeKind.HANG or not passing:
        return None
    most = min(seconds_for(found), max(HANG_SECONDS, HANG_FACTOR * min(passing)))
    until = min([min(passing) - start_seconds(found), *_seen_to_reach(found, conclusion.stage)])
    script = min(seconds_for(found), conclusion.outcome.seconds)
    return Patience(most, least=UNTIL_HANG_FACTOR * until, script=script)


def _seen_to_reach(found: Findings, stage: Stage) -> list[float]:
    """What the script itself took until its compile came to where it hangs, where that is known: what hangs in Inductor was heard
    of when it came there, and what a backend of the program's own does before is not what the passing one does.
    """
    notes = found.walk.start.notes
    told = notes.last_breadcrumb.startswith("inductor compiles") or stage is Stage.BACKEND
    return [notes.reached] if told and notes.reached is not None else []


def seconds_to_show(found: Findings, patience: Patience | None) -> float:
    """The time limit of a fresh process that is to show the failure: to a hang nothing is lent that a cold compile may need.

    It also takes the time until its first compile, which no candidate does.
    """
    if patience is None:
        return seconds_for(found)
    return max(patience.sure(), min(seconds_for(found), COLD_SECONDS)) + start_seconds(found)


def seconds_to_verify(found: Findings) -> float:
    """What is kept of the budget to verify what the search finds: some runs of the script, a third of what is left at most."""
    return min(VERIFYING_RUNS * found.walk.start.outcome.seconds, found.session.clock.left() / 3)


def start_seconds(found: Findings) -> float:
    """What the program takes at least, where it passes."""
    probes = [probe for probes in list(found.walk.seen.values()) for probe in list(probes)]  # others add to it
    return min((probe.outcome.seconds for probe in probes if not probe.outcome.failed), default=0.0)


def repeats_for(conclusion: Conclusion) -> Repeats:
    """How often a candidate is run before it is said to pass: so often that a failure of the rate seen would have shown."""
    if not conclusion.has_rate:
        return Repeats()
    rate = conclusion.failures / conclusion.runs
    return Repeats(min(MOST_REPEATS, math.ceil(math.log(MISSED) / math.log(1 - rate))))
