"""The modes in which a program can be compiled, and what their steps say: medians, intervals, what compiling costs and gives.

Steps are measured in rounds, in each of which every mode has its turn: a round is a median of each. A machine that is slow for
a while is slow for all of them, so that the ratio to the uncompiled program is taken round by round. Where memory lies and which
core does the work is drawn once for a process: rounds of one alone repeat themselves better than the next run does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest

from triage.model.explanation import Interval, ModeRow
from triage.model.outcome import CompileCall
from triage.model.rungs import DEFAULT_BACKEND, UNCOMPILED

CONFIDENCE = 0.95
LEAST_ROUNDS = 6  # fewer give no interval of that confidence


@dataclass(frozen=True)
class Mode:
    """One row: what torch.compile is told in the place of what the program tells it. `rung` forces a backend."""

    name: str
    rung: str | None = DEFAULT_BACKEND
    arguments: Mapping[str, object] = field(default_factory=dict)

    @property
    def slug(self) -> str:
        return "".join(letter if letter.isalnum() else "-" for letter in self.name)


def _mode(name: str) -> Mode:
    return Mode(name, arguments={"mode": name, "options": None})


# Modes of torch.compile: torch/_inductor/__init__.py, list_mode_options.
AS_IT_IS = Mode("as the program has it", rung=None)
MODES: tuple[Mode, ...] = (
    Mode(UNCOMPILED.name, rung=UNCOMPILED.name),
    _mode("default"),
    _mode("reduce-overhead"),
    _mode("max-autotune"),
    _mode("max-autotune-no-cudagraphs"),
    Mode("dynamic=True", arguments={"dynamic": True, "mode": None, "options": None}),
)
_KNOWN_BACKENDS = (DEFAULT_BACKEND,)


def modes_for(calls: Sequence[CompileCall], backends: Sequence[str], wanted: Sequence[str] = ()) -> tuple[Mode, ...]:
    """The rows for a program that calls torch.compile so, where torch names these backends; with `wanted` those alone.

    What it runs uncompiled stays: everything is compared with that. Raises KeyError for a name that no row has.
    """
    own = [AS_IT_IS] if any(_says_more(call) for call in calls) else []
    others = [Mode(f"backend {name}", rung=name) for name in backends if name not in _KNOWN_BACKENDS]
    rows = (*MODES[:1], *own, *MODES[1:], *others)
    if not wanted:
        return rows
    known = {row.name: row for row in rows} | {row.rung: row for row in others if row.rung}
    missing = [name for name in wanted if name not in known]
    if missing:
        raise KeyError(missing[0])
    chosen = [known[name] for name in wanted if name != UNCOMPILED.name]
    return (*MODES[:1], *chosen)


def _says_more(call: CompileCall) -> bool:
    """Whether torch.compile was told what makes the program none of the other rows."""
    named = call.backend not in (None, DEFAULT_BACKEND)
    return bool(named or call.options or call.dynamic is not None or call.mode not in (None, "default"))


@dataclass(frozen=True)
class Measured:
    """What the processes of one mode told. `blocks`: the median step of each of its turns, in seconds, in order.

    `later` are those of the processes that came after the first one, which told everything else.
    """

    blocks: tuple[float, ...] = ()
    later: tuple[tuple[float, ...], ...] = ()
    steps: int = 0
    compiling: float | None = None  # the steps in which something was compiled
    peak: int | None = None
    device_peak: int | None = None
    failure: str | None = None
    repeated: bool = False  # the program ended, and its last call was made again

    @property
    def sets(self) -> tuple[tuple[float, ...], ...]:
        """Process by process."""
        return (self.blocks, *self.later)

    @property
    def rounds(self) -> tuple[float, ...]:
        return tuple(chain.from_iterable(self.sets))


def row_of(mode: Mode, measured: Measured, uncompiled: Measured | None) -> ModeRow:
    """The row of the table; what could not be measured is left open, with the reason."""
    if measured.failure is not None:
        return ModeRow(mode.name, "failed", reason=measured.failure)
    if not measured.blocks:
        return ModeRow(mode.name, "not_run", reason="the program made no call that could be repeated")
    step = median_with_interval(measured.rounds)
    row = ModeRow(
        mode.name,
        "measured",
        step=step,
        steps=measured.steps,
        rounds=len(measured.rounds),
        processes=sum(map(bool, measured.sets)),
        peak_bytes=measured.peak,
        device_peak_bytes=measured.device_peak,
        repeated=measured.repeated,
    )
    if mode.rung == UNCOMPILED.name:
        return replace(row, speedup=Interval(1.0, 1.0, 1.0), compile_seconds=0.0)
    compiling = None if measured.compiling is None else max(0.0, measured.compiling - step.value)  # beside the steps
    row = replace(row, compile_seconds=compiling)
    if uncompiled is None or not uncompiled.blocks:
        return row
    both = zip_longest(uncompiled.sets, measured.sets, fillvalue=())
    speedup = median_with_interval([ratio for one, other in both for ratio in ratios(one, other)])
    saved = median_with_interval(uncompiled.rounds).value - step.value
    pays = math.ceil(compiling / saved) if compiling is not None and saved > 0 and speedup.low > 1 else None
    return replace(row, speedup=speedup, pays_after=pays)


def ratios(uncompiled: Sequence[float], compiled: Sequence[float]) -> tuple[float, ...]:
    """How many times faster, round by round; a round counts where both had their turn."""
    return tuple(one / other for one, other in zip(uncompiled, compiled, strict=False) if other > 0)


def median_with_interval(values: Sequence[float]) -> Interval:
    """The median, and the interval that holds the true one with 95 % confidence: order statistics, no distribution assumed.

    Of n values the k-th smallest and the k-th largest hold the median between them with probability 1 - 2 P(B < k), B binomial
    of n halves (Conover, Practical Nonparametric Statistics, 3.2). Below six values no such k exists: all of them are given.
    """
    found = sorted(values)
    count = len(found)
    middle = (found[(count - 1) // 2] + found[count // 2]) / 2
    below, outside = 0, 0.0
    for number in range(count // 2):
        outside += math.comb(count, number) / 2**count
        if 2 * outside > 1 - CONFIDENCE:
            break
        below = number
    return Interval(middle, found[below], found[count - 1 - below])
