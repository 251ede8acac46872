"""Uncompiled runs that ask what of the script itself decides: all with one seed, so that chance does not."""

from __future__ import annotations

from typing import Any

from triage.locate.seeds import telling_seed
from triage.locate.walk import Walk
from triage.model.rungs import Rung
from triage.probe.run import Probe

LEAST_SECONDS, FACTOR = 60.0, 3.0  # what a run may take that goes on where the script fails, of what it took to fail


def ask(walk: Walk, rung: Rung, name: str, failed: Probe, **changed: Any) -> Probe:
    """Run the script with this changed (arguments of `Runs.ask`), tell how it ended. The seed brings the failure."""
    limit = max(LEAST_SECONDS, FACTOR * failed.outcome.seconds)
    probe = walk.ask(rung, name, seed=telling_seed(walk.seeded) or 0, limit=limit, **changed)
    walk.announce(rung, probe)
    return probe
