"""What the script prints: where nothing fails by itself, the numbers of the compiled run beside those of the uncompiled one.

Graphs are compared with eager one by one, so a graph that Dynamo made wrong agrees with itself. What such a program prints
tells it: from the `eager` backend on the numbers are others, and that is its failure. Where only a backend above prints others,
they may be rounding that grew over many steps, or a random stream of Inductor's own, so nobody is blamed for it.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from triage.judge.signature import signature_of
from triage.locate.leftovers import AS_IT_IS
from triage.locate.visits import Visits
from triage.model import accuracy
from triage.model.outcome import RaisedException
from triage.model.rungs import AS_IS, UNCOMPILED
from triage.model.stage import OutcomeKind, Stage
from triage.model.text import clip
from triage.probe.run import Probe

BEYOND = 1e-2  # a relative difference that rounding does not make within a step
NEARLY_NOTHING = 1e-4  # and an absolute one: `largest difference 1e-7` where the uncompiled run prints 0.0
REPEATS = 1e-3  # the uncompiled run must print the same twice
MOST_TEXT = 1 << 20
MOST_WORDS = 100
RUNS = 5  # what asking may take, in runs of the script: more than is left of a budget is not begun

_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:(?:\d+\.\d*|\.\d+)(?:e[-+]?\d+)?|\d+e[-+]?\d+|nan|inf)(?!\w|\.\d)", re.IGNORECASE
)
_ANY_NUMBER = re.compile(r"[-+]?\.?\d[\w.+-]*|\b(?:nan|inf)\b", re.IGNORECASE)
# Times, rates, sizes and what is counted of the compiler are others in each run, or in each that compiles.
_MEASURED = re.compile(
    r"\d ?(?:[mµun]?s|secs?|seconds?|min|minutes?|h|x|%|[KMGT]i?B|[kMG]?Hz|\w+/s(?:ec)?)\b|0x[0-9a-f]|"
    r"time|took|elapsed|duration|seconds|latency|speed|faster|slower|throughput|per.second|/s\b|memory|bytes|"
    r"\bpid\b|\bdt\b|\beta\b|\bcompile\b|compiling|compilation|recompil|warm.?up",
    re.IGNORECASE,
)


class Line(NamedTuple):
    """A line that was printed, and the numbers in it that are no integers."""

    text: str
    numbers: tuple[float, ...]


Key = tuple[str, int]  # the line without its numbers, and which of those that read so it is
Lines = Mapping[Key, Line]


def lines_of(text: str) -> Lines:
    """The lines that tell results."""
    found: dict[Key, Line] = {}
    counts: dict[str, int] = {}
    for line in text.splitlines():
        numbers = tuple(float(number) for number in _NUMBER.findall(line))
        if not numbers or _MEASURED.search(line):
            continue
        shape = "".join(_ANY_NUMBER.sub("#", line).split())  # a sign takes the place of a space
        counts[shape] = counts.get(shape, 0) + 1
        found[shape, counts[shape]] = Line(line.strip(), numbers)
    return found


def differing(one: Lines, other: Lines, relative: float = BEYOND) -> list[Key]:
    """The lines of both, in their order, of which a number differs. Not of those of which one run printed more than the other."""
    lengths = [dict(lines.keys()) for lines in (one, other)]  # of each shape the last number
    return [
        key
        for key, line in one.items()
        if key in other
        and lengths[0][key[0]] == lengths[1][key[0]]
        and len(line.numbers) == len(other[key].numbers)
        and any(_differ(a, b, relative) for a, b in zip(line.numbers, other[key].numbers, strict=True))
    ]


def _differ(one: float, other: float, relative: float) -> bool:
    if not (math.isfinite(one) and math.isfinite(other)):
        return one != other and not (math.isnan(one) and math.isnan(other))
    return abs(one - other) > relative * max(abs(one), abs(other)) + NEARLY_NOTHING * (relative / BEYOND)


@dataclass(frozen=True)
class Printed:
    """What the uncompiled script prints, which of its lines are others compiled, and what is said of a run that prints others."""

    lines: Lines
    keys: frozenset[Key]
    words: str

    def judged(self, probe: Probe) -> Probe:
        """The probe; it fails with a wrong result where it passed but for what it printed."""
        if probe.outcome.kind is not OutcomeKind.OK or probe.notes.stopped_early or probe.cancelled:
            return probe
        if self.keys.isdisjoint(differing(self.lines, _printed(probe))):
            return probe
        error = RaisedException(accuracy.TYPE, self.words, phase=accuracy.PRINTED)
        outcome = replace(probe.outcome, kind=OutcomeKind.WRONG_RESULT, exception=error)
        return replace(probe, outcome=outcome, signature=signature_of(outcome))


def worth_reading(walk: Visits) -> bool:
    """Whether the script passes, compiles something, and prints numbers, and there is time for what is asked then."""
    first = walk.start
    if walk.session.settings.accuracy == "never" or not first.notes.compile_calls or first.notes.graphs == 0:
        return False
    if first.outcome.kind is not OutcomeKind.OK or first.notes.distributed:
        return False
    return bool(_printed(first)) and walk.session.clock.left() > RUNS * first.outcome.seconds


def compare_printed(walk: Visits) -> str:
    """Make what is printed the failure, where it is wrong with Dynamo alone; else a note of it, empty where all is well."""
    top, dynamo = walk.rungs[walk.top], next(rung for rung in walk.rungs if rung.stage is Stage.DYNAMO)
    if not _uncompiled(walk, 1):
        return ""
    one, mine = _printed(walk.seen[UNCOMPILED.name][0]), _printed(walk.start)
    others = differing(one, mine)
    if not others or not _uncompiled(walk, 2):
        return ""
    two = _printed(walk.seen[UNCOMPILED.name][1])
    unsteady = differing(one, two, REPEATS)
    keys = [key for key in others if key in two and key not in unsteady]
    if not keys:
        return ""
    if dynamo is top or dynamo.name not in walk.seen:
        walk.visit([dynamo])
    probe = walk.seen.get(dynamo.name, [walk.start])[-1]
    if probe is walk.start:  # nothing came of that run
        return ""
    alone = _printed(probe)
    wrong = _alike(keys, one, mine, alone)
    if wrong:
        walk.printed = printed = Printed(one, frozenset(wrong), _words(one, mine, wrong[0]))
        walk.seen = {name: [printed.judged(probe) for probe in probes] for name, probes in walk.seen.items()}
        walk.announce(top, walk.start)
        return ""
    right = [key for key in keys if key in alone and key not in differing(one, alone)]
    if not right:
        return ""
    again = _printed(walk.ask(AS_IT_IS, f"{AS_IS}-again"))  # the first run may have left behind what the others read
    keys = _alike(right, one, mine, again)
    if not keys:
        return ""
    return (
        f"The script raises nothing, but {_words(one, mine, keys[0])}; with `{dynamo.name}` it prints what the uncompiled run "
        "prints. That is a wrong value, or rounding that grew over many steps, or other random numbers, which Inductor draws "
        "from a stream of its own (torch._inductor.config.fallback_random = True gives eager's): compare single steps from the "
        "same state."
    )


def _alike(keys: Sequence[Key], uncompiled: Lines, one: Lines, other: Lines) -> list[Key]:
    """Those of the lines that two compiled runs print alike, and otherwise than uncompiled: no time that nothing tells as one."""
    differs, varies = differing(uncompiled, other), differing(one, other)
    return [key for key in keys if key in differs and key not in varies]


def _words(uncompiled: Lines, compiled: Lines, key: Key) -> str:
    one, other = (clip(lines[key].text, MOST_WORDS) for lines in (compiled, uncompiled))
    return f"it prints `{one}` where the uncompiled run prints `{other}`"


def _uncompiled(walk: Visits, runs: int) -> bool:
    """Whether the script was run uncompiled so often, and passed."""
    seen = walk.seen.get(UNCOMPILED.name, [])
    walk.visit([UNCOMPILED] * (runs - len(seen)))
    seen = walk.seen.get(UNCOMPILED.name, [])
    return len(seen) >= runs and all(probe.outcome.kind is OutcomeKind.OK for probe in seen)


def _printed(probe: Probe) -> Lines:
    with contextlib.suppress(OSError), probe.log.with_name(f"{probe.name}.out.log").open("rb") as file:
        return lines_of(file.read(MOST_TEXT).decode("utf-8", "replace"))
    return {}
