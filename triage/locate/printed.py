"""What the script prints, logs and writes into files: where nothing fails by itself, the compiled run's beside the uncompiled's.

Graphs are compared with eager one by one, so a graph that Dynamo made wrong agrees with itself. What such a program tells
shows it: from the `eager` backend on the numbers are others, and that is its failure. Where only a backend above prints others,
they may be rounding that grew over many steps, or a random stream of Inductor's own, so nobody is blamed for it; nor for what
hangs on NumPy's random numbers in a compiled function, which Dynamo draws from torch's stream.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace

from triage.judge.printed import (
    REPEATS,
    Key,
    Lines,
    agreeing,
    alike,
    differing,
    has_numbers,
    lines_of,
    otherwise,
    verb_of,
    words_of,
)
from triage.judge.signature import signature_of
from triage.locate.leftovers import AS_IT_IS
from triage.locate.visits import Visits
from triage.model.rungs import AS_IS, UNCOMPILED
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.probe.run import Probe

MOST_TEXT = 1 << 20
NUMPYS = (
    "It depends on NumPy's random numbers in compiled functions, which Dynamo draws from torch's stream "
    "(torch._dynamo.config.use_numpy_random_stream = True gives NumPy's), so nobody is blamed for it."
)
_GROWN = (
    "rounding that grew over many steps, or other random numbers, which Inductor draws from a stream of its own "
    "(torch._inductor.config.fallback_random = True gives eager's)"
)
MAY_BE = {Symptom.NONE: f"That is a wrong value, or {_GROWN}", Symptom.ROUNDING: f"That is {_GROWN}"}
NO_TIME = "there was no time to ask whether that hangs on the compiler. With a longer --budget it is asked."
MORE_RUNS = 2  # compiled, and as many uncompiled: what asking takes beyond the first look


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
        outcome = otherwise(probe.outcome, self.words)
        return replace(probe, outcome=outcome, signature=signature_of(outcome))


def worth_reading(walk: Visits) -> bool:
    """Whether the script passes, compiles something, and tells numbers, and there is time for what is asked then."""
    first = walk.start
    if walk.session.settings.accuracy == "never" or not first.notes.compile_calls or first.notes.graphs == 0:
        return False
    if first.outcome.kind is not OutcomeKind.OK or first.notes.distributed:
        return False
    return has_numbers(_printed(first)) and walk.session.clock.left() > first.outcome.seconds


def compare_printed(walk: Visits) -> str:
    """Make what is printed the failure, where it is wrong with Dynamo alone; what hangs on NumPy alone is a note, and what there
    was no time to ask.
    """
    top, dynamo = walk.own_rung, next(rung for rung in walk.rungs if rung.stage is Stage.DYNAMO)
    if not _uncompiled(walk, 1):
        return ""
    one, mine = _printed(walk.seen[UNCOMPILED.name][0]), _printed(walk.start)
    others = differing(one, mine)
    if not others:
        return ""
    seconds = walk.start.outcome.seconds + walk.seen[UNCOMPILED.name][0].outcome.seconds
    if walk.session.clock.left() < MORE_RUNS * seconds:
        return f"The script raises nothing, but {words_of(one, mine, others[0])}; {NO_TIME}"
    walk.session.emit(
        "engine_step", text=f"{words_of(one, mine, others[0])}: asking whether that hangs on the compiler"
    )
    if not _uncompiled(walk, 2):
        return ""
    steady = agreeing(one, _printed(walk.seen[UNCOMPILED.name][1]), REPEATS)
    keys = [key for key in others if key in steady]
    if not keys:
        return ""
    if dynamo is top or dynamo.name not in walk.seen:
        walk.visit([dynamo])
    probe = walk.seen.get(dynamo.name, [walk.start])[-1]
    if probe is walk.start:  # nothing came of that run
        return ""
    alone = _printed(probe)
    wrong = alike(keys, one, mine, alone)
    if wrong:
        drawn = _printed(walk.ask(UNCOMPILED, "uncompiled-other-random", other_stream="numpy"))
        steady = agreeing(one, drawn, REPEATS)
        if not any(key in steady for key in wrong):
            return f"The script raises nothing, but {words_of(one, mine, wrong[0])}. {NUMPYS}"
        wrong = [key for key in wrong if key in steady]
        printed = Printed(one, frozenset(wrong), words_of(one, mine, wrong[0]))
        walk.printed = printed.judged
        walk.seen = {name: [printed.judged(probe) for probe in probes] for name, probes in walk.seen.items()}
        walk.announce(top, walk.start)
        return ""
    right = [key for key in agreeing(one, alone) if key in keys]
    if not right:
        return ""
    again = _printed(walk.ask(AS_IT_IS, f"{AS_IS}-again"))  # the first run may have left behind what the others read
    keys = alike(right, one, mine, again)
    if not keys:
        return ""
    does = verb_of(one[keys[0]])
    walk.prints_others = (
        f"The script raises nothing, but {words_of(one, mine, keys[0])}; with `{dynamo.name}` it {does} what the uncompiled run "
        f"{does}."
    )
    return ""


def note_of_others(walk: Visits, symptom: Symptom) -> str:
    """That a backend above Dynamo alone prints others, and what it may come of where no value is told as wrong."""
    if not walk.prints_others or symptom not in MAY_BE:
        return walk.prints_others
    return f"{walk.prints_others} {MAY_BE[symptom]}: compare single steps from the same state."


def _uncompiled(walk: Visits, runs: int) -> bool:
    """Whether the script was run uncompiled so often, and passed."""
    seen = walk.seen.get(UNCOMPILED.name, [])
    walk.visit([UNCOMPILED] * (runs - len(seen)))
    seen = walk.seen.get(UNCOMPILED.name, [])
    return len(seen) >= runs and all(probe.outcome.kind is OutcomeKind.OK for probe in seen)


def _printed(probe: Probe) -> Lines:
    return lines_of(_read(probe, "out"), _read(probe, "err"), _read(probe, "written"))


def _read(probe: Probe, stream: str) -> str:
    with contextlib.suppress(OSError), probe.log.with_name(f"{probe.name}.{stream}.log").open("rb") as file:
        return file.read(MOST_TEXT).decode("utf-8", "replace")
    return ""
