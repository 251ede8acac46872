"""A failure that comes and goes: do random numbers decide? The script is run with each of a few fixed seeds, more than once."""

from __future__ import annotations

from collections.abc import Mapping

from triage.locate.visits import Visits
from triage.model.rungs import Rung

SEEDS = 4
RUNS_PER_SEED = 2


def try_seeds(visits: Visits, rung: Rung, seeded: dict[int, tuple[int, int]]) -> None:
    """Fill (runs, failures) by seed: with one seed the same must happen every time, with some seeds not the same.

    Ends with the first seed with which both happens.
    """
    for seed in range(SEEDS):
        with visits.session.pool(min(visits.jobs(), RUNS_PER_SEED)) as pool:
            names = [f"{rung.name}-seed-{seed}-{number + 1}" for number in range(RUNS_PER_SEED)]
            probes = list(pool.map(lambda name: visits.ask(rung, name, seed=seed), names))  # noqa: B023
        for probe in probes:
            visits.announce(rung, probe)
        seeded[seed] = (len(probes), sum(probe.outcome.failed for probe in probes))
        if 0 < seeded[seed][1] < len(probes):
            return


def telling_seed(seeded: Mapping[int, tuple[int, int]]) -> int | None:
    """The seed with which a flaky failure comes every time, where one is known."""
    return next((seed for seed, (runs, failures) in seeded.items() if failures == runs), None)
