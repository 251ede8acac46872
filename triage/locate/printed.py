"""What the script prints, logs and writes into files: where nothing fails by itself, the compiled run's beside the uncompiled's.

Graphs are compared with eager one by one, so a graph that Dynamo made wrong agrees with itself. What such a program tells
shows it: from the `eager` backend on the numbers are others, and that is its failure; or from `aot_eager` on, which runs
eager's kernels and draws eager's random numbers, where no rounding explains it. Where only a backend above prints others,
they may be rounding that grew over many steps, or a random stream of Inductor's own, so nobody is blamed for it; nor for what
hangs on NumPy's random numbers in a compiled function, which Dynamo draws from torch's stream.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace

from triage.judge.lines import Key, Lines, has_numbers, lines_of, verb_of
from triage.judge.printed import agreeing, alike, steadied, words_of
from triage.locate.leftovers import AS_IT_IS
from triage.locate.told import MEASURES, ROUGH, Told
from triage.locate.visits import Visits
from triage.locate.walk import Walk
from triage.model.rungs import AS_IS, UNCOMPILED, Rung
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


def worth_reading(walk: Visits) -> bool:
    """Whether the script passes, compiles something, and prints numbers, and there is time for what is asked then."""
    return _compiles_and_passes(walk) and has_numbers(printed_by(walk.start))


def worth_reading_files(walk: Walk) -> bool:
    """The same for text files, of the run that compared: that was alone, so that no other had written over them."""
    compared = walk.compared
    if compared is None or compared.outcome.kind is not OutcomeKind.OK or walk.prints_others:
        return False
    return _compiles_and_passes(walk) and has_numbers(_written(compared))


def _compiles_and_passes(walk: Visits) -> bool:
    first = walk.start
    if walk.session.settings.accuracy == "never" or not first.notes.compile_calls or first.notes.graphs == 0:
        return False
    if first.outcome.kind is not OutcomeKind.OK or first.notes.distributed:
        return False
    return walk.session.clock.left() > first.outcome.seconds


def compare_printed(walk: Visits) -> str:
    """Make what is printed the failure, where it is wrong with Dynamo alone; what hangs on NumPy alone is a note, and what there
    was no time to ask.
    """
    if UNCOMPILED.name not in walk.seen:
        walk.visit([UNCOMPILED])
    if not _passes_uncompiled(walk):
        return ""
    return _compare(walk, walk.seen[UNCOMPILED.name][0], walk.start, printed_by)


def compare_written(walk: Walk) -> str:
    """The same for what it writes into files. While that is asked no two runs go on at once: they write over each other's."""
    walk.one_at_a_time = True
    note = _compare_alone(walk)
    walk.one_at_a_time = walk.printed is not None
    return note


def _compare_alone(walk: Walk) -> str:
    assert walk.compared is not None
    walk.visit([UNCOMPILED])
    if not _passes_uncompiled(walk):
        return ""
    before, one = walk.seen, walk.seen[UNCOMPILED.name][-1]
    if not _others(_written(one), _written(walk.compared)):
        return ""
    mine = walk.ask(AS_IT_IS, f"{AS_IS}-alone")
    walk.seen = {walk.own_rung.name: [mine], UNCOMPILED.name: [one]}  # what wrote its files alone
    note = _compare(walk, one, mine, _written) if mine.outcome.kind is OutcomeKind.OK else ""
    take_others(walk)
    blame_aot_autograd(walk)
    if walk.printed is None:
        walk.seen = before
    return note


def _others(uncompiled: Lines, compiled: Lines) -> list[Key]:
    """The lines that differ, by the roughest measure by which any do."""
    return next(filter(None, (measure.differing(uncompiled, compiled) for measure in MEASURES)), [])


def _compare(walk: Visits, uncompiled: Probe, compiled: Probe, read: Callable[[Probe], Lines]) -> str:
    dynamo = _dynamo(walk)
    one, mine = read(uncompiled), read(compiled)
    others = _others(one, mine)
    if not others:
        return ""
    if walk.session.clock.left() < MORE_RUNS * (compiled.outcome.seconds + uncompiled.outcome.seconds):
        return f"The script raises nothing, but {words_of(one, mine, others[0])}; {NO_TIME}"
    walk.session.emit(
        "engine_step", text=f"{words_of(one, mine, others[0])}: asking whether that hangs on the compiler"
    )
    apart = dynamo is walk.own_rung or dynamo.name not in walk.seen
    if len(walk.seen[UNCOMPILED.name]) < 2:
        both = apart and walk.jobs() > 1  # else the second run may tell that it varies, and spare the other
        walk.visit([UNCOMPILED, dynamo] if both else [UNCOMPILED])
        apart = apart and not both
    if not _passes_uncompiled(walk, 2):
        return ""
    second = read(walk.seen[UNCOMPILED.name][1])
    steady = {measure: steadied(one, second, measure.repeats) for measure in MEASURES}
    keys = {measure: measure.differing(steady[measure], mine) for measure in MEASURES}
    if not any(keys.values()):
        return ""
    if apart:
        walk.visit([dynamo])
    probe = walk.seen.get(dynamo.name, [compiled])[-1]
    if probe is compiled:  # nothing came of that run
        return ""
    alone = read(probe)
    for measure, its in keys.items():
        one = steady[measure]
        wrong = measure.alike(its, one, mine, alone)
        if wrong:
            return _blame_dynamo(walk, Told(one, tuple(wrong), words_of(one, mine, wrong[0]), read, measure), mine)
    one = steady[ROUGH]
    right = [key for key in agreeing(one, alone) if key in keys[ROUGH]]
    if right:
        walk.once_others = Told(one, tuple(right), words_of(one, mine, right[0]), read, ROUGH), mine
    return ""


def take_others(walk: Visits, again: Probe | None = None) -> None:
    """Tell what one compiled run printed otherwise, where another one does too: the first may have left behind what the others
    read.

    `again` is such a run; where it prints that differently the script is run once more. Where a graph is known to be wrong it is
    told as it was seen.
    """
    if walk.once_others is None:
        return
    (told, mine), walk.once_others = walk.once_others, None
    keys: Sequence[Key] = told.keys
    if not walk.start.outcome.failed:
        keys = ()
        if again is not None and again.outcome.kind is OutcomeKind.OK and not again.notes.stopped_early:
            keys = alike(told.keys, told.lines, mine, told.read(again))
        keys = keys or alike(told.keys, told.lines, mine, told.read(walk.ask(AS_IT_IS, f"{AS_IS}-again")))
    if keys:
        walk.others = replace(told, keys=tuple(keys), words=words_of(told.lines, mine, keys[0]))
        does, dynamo = verb_of(told.lines[keys[0]]), _dynamo(walk)
        alone = f"with `{dynamo.name}` it {does} what the uncompiled run {does}"
        walk.prints_others = f"The script raises nothing, but {walk.others.words}; {alone}."


def _blame_dynamo(walk: Visits, told: Told, mine: Lines) -> str:
    """Take what is told otherwise for the failure, but for what hangs on NumPy's random numbers; a note where all of it does."""
    drawn = told.read(walk.ask(UNCOMPILED, "uncompiled-other-random", other_stream="numpy"))
    steady = agreeing(told.lines, drawn, told.measure.repeats)
    keys = [key for key in told.keys if key in steady]
    if not keys:
        return f"The script raises nothing, but {told.words}. {NUMPYS}"
    _take(walk, told, keys, mine)
    return ""


def blame_aot_autograd(walk: Visits) -> None:
    """Where no graph is wrong by itself: is it from AOTAutograd on that the script prints others? That is its failure then.

    `aot_eager` runs eager's kernels and draws eager's random numbers, so what it prints as the script itself does comes of
    neither of Inductor's; nor of a rounding that grew, where the uncompiled run rounds otherwise and prints the same.
    """
    told, rung = walk.others, next((rung for rung in walk.rungs if rung.stage is Stage.AOT_AUTOGRAD), None)
    if told is None or rung is None:
        return
    if rung.name not in walk.seen:
        walk.visit([rung])
    if rung.name not in walk.seen:
        return
    mine = told.read(walk.start)
    keys = alike(told.keys, told.lines, mine, told.read(walk.seen[rung.name][-1]))
    if keys:
        rounded = told.read(walk.ask(UNCOMPILED, "uncompiled-rounded-otherwise", rounds_otherwise=True))
        steady = agreeing(told.lines, rounded, told.measure.repeats)
        keys = [key for key in keys if key in steady]
    if keys:
        walk.prints_others = ""
        _take(walk, told, keys, mine)


def _take(walk: Visits, told: Told, keys: Sequence[Key], mine: Lines) -> None:
    """Take these lines, which are told otherwise, for the failure."""
    told = replace(told, keys=tuple(keys), words=words_of(told.lines, mine, keys[0]))
    walk.printed = told.judged
    walk.seen = {name: [told.judged(probe) for probe in probes] for name, probes in walk.seen.items()}
    walk.announce(walk.own_rung, walk.start)


def note_of_others(walk: Visits, symptom: Symptom) -> str:
    """That a backend above Dynamo alone prints others, and what it may come of where no value is told as wrong."""
    if not walk.prints_others or symptom not in MAY_BE:
        return walk.prints_others
    return f"{walk.prints_others} {MAY_BE[symptom]}: compare single steps from the same state."


def _dynamo(walk: Visits) -> Rung:
    return next(rung for rung in walk.rungs if rung.stage is Stage.DYNAMO)


def _passes_uncompiled(walk: Visits, runs: int = 1) -> bool:
    seen = walk.seen.get(UNCOMPILED.name, [])
    return len(seen) >= runs and all(probe.outcome.kind is OutcomeKind.OK for probe in seen)


def printed_by(probe: Probe) -> Lines:
    """The lines that it printed and logged which tell results."""
    return lines_of(_read(probe, "out"), _read(probe, "err"))


def _written(probe: Probe) -> Lines:
    return lines_of("", "", _read(probe, "written"))


def _read(probe: Probe, stream: str) -> str:
    with contextlib.suppress(OSError), probe.log.with_name(f"{probe.name}.{stream}.log").open("rb") as file:
        return file.read(MOST_TEXT).decode("utf-8", "replace")
    return ""
