"""The rungs, as one table: every backend that a failure is tried with, in order. A rung is added here and nowhere else.

Each rung adds one part of the stack to the one below it, so the first rung that fails names the guilty part: `eager` is
Dynamo alone; `aot_eager` adds AOTAutograd; `aot_eager_decomp_partition` adds Inductor's decompositions and the min-cut
partitioner; `inductor` adds lowering, scheduling and code generation (torch/_dynamo/backends/debugging.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from triage.model.stage import Stage


@dataclass(frozen=True)
class Rung:
    """`force` is what the agent is told: a backend, `uncompiled`, or None to leave the script as it is."""

    name: str
    force: str | None
    stage: Stage
    modes: bool = False  # whether `mode=` and `options=` of torch.compile mean something to this backend


UNCOMPILED = Rung("uncompiled", "uncompiled", Stage.SCRIPT)
LADDER: tuple[Rung, ...] = (
    UNCOMPILED,
    Rung("eager", "eager", Stage.DYNAMO),
    Rung("aot_eager", "aot_eager", Stage.AOT_AUTOGRAD),
    Rung("aot_eager_decomp_partition", "aot_eager_decomp_partition", Stage.DECOMP_PARTITION),
    Rung("inductor", "inductor", Stage.INDUCTOR, modes=True),
)

AS_IS = "as_is"
OWN_BACKEND = Rung(AS_IS, None, Stage.BACKEND)  # above all others, where the script brings a backend of its own
DEFAULT_BACKEND = "inductor"  # of torch.compile, where none is named
DYNAMO_ALONE = "eager"
BACKENDS = tuple(rung.name for rung in LADDER if rung is not UNCOMPILED)
# The arguments of torch.compile that say something to Inductor only; torch takes one of them at a time.
INDUCTORS = ("mode", "options")

_IN_PLACE = "eager in place of "  # the agent knows these words too (agent/hooks/doors.py)


def in_place_of(door: str) -> str:
    """What a script is run with that passes, where it fails in another door of the compiler, as torch.export: eager there."""
    return f"{_IN_PLACE}{door}"


def backend_of(rung: str | None) -> str | None:
    """The backend that a script is told to take on this rung; None where it keeps its own, or compiles nothing."""
    named = rung is not None and rung != UNCOMPILED.name and not rung.startswith(_IN_PLACE)
    return rung if named else None


def knows_modes(backend: str | None) -> bool:
    """Whether `mode=` and `options=` mean something to this backend of the table."""
    return any(rung.modes for rung in LADDER if rung.name == backend)
