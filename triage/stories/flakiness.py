"""What is said of a failure that does not come every time: how sure its rate is, and whether random numbers decide."""

from __future__ import annotations

import math
from collections.abc import Mapping

from triage.locate.conclude import Conclusion
from triage.model.stage import Symptom


def flaky_notes(conclusion: Conclusion, seeded: Mapping[int, tuple[int, int]]) -> list[str]:
    """How sure the rate of a flaky failure is, and whether random numbers decide: `seeded` is (runs, failures) by seed."""
    if conclusion.symptom is not Symptom.NONDETERMINISTIC or not 0 < conclusion.failures < conclusion.runs:
        return []
    low, high = wilson(conclusion.failures, conclusion.runs)
    notes = [
        f"It failed in {conclusion.failures} of {conclusion.runs} runs: a rate between {100 * low:.0f} % and {100 * high:.0f} % "
        "(95 % confidence)."
    ]
    always = [str(seed) for seed, (runs, failures) in seeded.items() if failures == runs]
    never = [str(seed) for seed, (_, failures) in seeded.items() if failures == 0]
    if always and never and len(always) + len(never) == len(seeded):
        notes.append(
            "Random numbers or the order of sets decide: with PYTHONHASHSEED and the seeds of random, NumPy and torch set to "
            f"{' or '.join(always)} it fails every time, with {' or '.join(never)} never ({_runs_of(seeded)} runs)."
        )
    elif len(seeded) > len(always) + len(never):
        notes.append(f"Fixed random seeds and a fixed PYTHONHASHSEED do not decide it ({_runs_of(seeded)} runs).")
    elif seeded:
        every = "fails every time" if always else "never fails"
        notes.append(f"With the seeds {' and '.join([*always, *never])} of all random generators it {every}.")
    return notes


def _runs_of(seeded: Mapping[int, tuple[int, int]]) -> int:
    return sum(runs for runs, _ in seeded.values())


def wilson(failures: int, runs: int, z: float = 1.96) -> tuple[float, float]:
    """The score interval of a rate (Wilson, 1927); `z` is the normal quantile, by default of 95 %."""
    rate, square = failures / runs, z * z / runs
    middle = (rate + square / 2) / (1 + square)
    half = z * math.sqrt(rate * (1 - rate) / runs + square / (4 * runs)) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)
