"""Plants a fault under an operator sample: one operation of its compiled graphs gives a wrong result.

Samples that are wrong by themselves are rare. Here PyTorch's samples are kept as they are, with what they round otherwise in
half precision, and one operation of what the compiler makes of them is faulty (`planted/planted_faults.py`). Beside it a
decoy may lie in wait on the same operation: a fault of another kind, under a condition that the script does not meet and
a smaller program does. All from a seed; which of the plans shows is for a judge to say.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from drift_programs import HIDDEN_WHEN, Fault

# Kinds that end in a wrong result, and how often each is tried first. The sign of a zero is not among them: no check sees it.
KINDS = {"values": 3, "nan": 2, "inf": 2, "dtype": 2, "shape": 1, "strides": 1}
PLACES = 3  # operations that are tried with each kind
NOWHERE = Fault("target", "", "values")  # nothing is wrong, but the compiler tells its operations


def plans(operations: Sequence[str], rng: random.Random) -> Iterator[Fault]:
    """Faults to try, one after the other: mostly of gross values first, and in whichever operation."""
    kinds = sorted(KINDS, key=lambda kind: rng.random() ** (1 / KINDS[kind]), reverse=True)
    for kind in kinds:
        names = sorted(set(operations))
        for name in rng.sample(names, min(PLACES, len(names))):
            yield Fault("target", name, kind)


def decoys(target: Fault, shown: str, rng: random.Random) -> Iterator[Fault]:
    """The same operation, wrong in another way when it is met in other circumstances.

    `shown` is how the target shows in the script: an infinity inside may be a NaN there, and a decoy that gives a NaN no other
    failure.
    """
    for when in rng.sample(HIDDEN_WHEN, len(HIDDEN_WHEN)):
        kind = rng.choice([kind for kind in KINDS if kind not in (target.kind, shown)])
        yield replace(target, name="decoy", kind=kind, when=when)
