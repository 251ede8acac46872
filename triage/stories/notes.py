"""The notes of a report: what a reader must know besides, each kind from a function of its own, in the order of a table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from triage.culprit.operation import operators_of
from triage.judge.naming import first_words, headline, in_short
from triage.locate.conclude import Conclusion
from triage.locate.graphs_compared import only_unsteady
from triage.locate.printed import note_of_others
from triage.locate.which_value import begin_above
from triage.model.rungs import UNCOMPILED
from triage.model.stage import OwnFault, Stage, Symptom
from triage.model.text import clip
from triage.report.excerpt import hints_of
from triage.stories.accuracy_notes import (
    ROUNDED_BY_DYNAMO,
    another_failure,
    another_operation,
    begins_above,
    comparison_note,
    dropout_note,
    rounding_notes,
    unsteady_note,
    varying_note,
    wrong_besides,
)
from triage.stories.findings import Findings
from triage.stories.flakiness import flaky_notes, order_notes, other_way_notes, passes_at_first, written_note
from triage.stories.headline import refused_by_eager
from triage.stories.spoiled import met_note

RANDOM_NOTE = (
    "To compare random results, set torch._inductor.config.fallback_random = True and seed again before each call."
)
NOT_MONOTONE = "A rung above the lowest failing one passes: the failure does not simply persist up the ladder."
STOPPED_EARLY = "Probes that passed were stopped once they were past the point at which the script had failed."
NO_COMPILE = "The script never called torch.compile."

Told = Iterable[str | None]


def notes_of(found: Findings, conclusion: Conclusion) -> list[str]:
    """All of them."""
    return [note for told in NOTES for note in told(found, conclusion) if note]


def _of_comparing(found: Findings, conclusion: Conclusion) -> Told:
    """What comparing with eager showed: what the script prints, and its compiled graphs."""
    compared = found.walk.compared
    return [
        note_of_others(found.walk, conclusion.symptom),
        varying_note(conclusion.wrong),
        comparison_note(compared, found.walk.graphs) if compared is not None else None,
    ]


def _of_rounding(found: Findings, conclusion: Conclusion) -> Told:
    if conclusion.unsteady and found.walk.checked is not None:
        return [unsteady_note(found.walk.checked)]
    first = found.walk.checked_first
    if conclusion.stage is Stage.SCRIPT and first is not None and only_unsteady(first):
        return [unsteady_note(first)]  # it fails without a compiler as well: that may be why
    if conclusion.rounding is None:
        return [ROUNDED_BY_DYNAMO] if conclusion.symptom is Symptom.ROUNDING else []
    return rounding_notes(found.walk, conclusion.rounding, amplified=conclusion.amplified)


def _of_other_wrong_values(found: Findings, conclusion: Conclusion) -> Told:
    """Those that the reproducer does not show, and where the program's graph goes wrong by another operation than it."""
    made, apart = found.reproduced, found.walk.apart
    shown = operators_of(made.graph) if made is not None and made.graph is not None else ()
    told = conclusion.wrong.graph if conclusion.wrong is not None else None
    speaks = apart is not None and told == (apart.wrong.graph if apart.wrong is not None else None)
    return [
        found.traced,
        another_operation(found.diverging, shown),
        another_failure(found.also_wrong, conclusion.passing, only=conclusion.wrong is None),
        wrong_besides(apart if speaks else None),
        begins_above(begin_above(found.walk), conclusion.failing),
    ]


def _of_random_numbers(found: Findings, conclusion: Conclusion) -> Told:
    compared = found.walk.checked or found.walk.checked_first
    needed = None if compared is None or conclusion.random_check else dropout_note(compared)
    return [RANDOM_NOTE if conclusion.random_check else None, needed]


def _of_what_runs_met(found: Findings, conclusion: Conclusion) -> Told:
    """That the script meets what an earlier run of it left, and that it fails in another door of the compiler too."""
    in_place, told = found.walk.in_place, None
    if in_place is not None and in_place.signature is not None and conclusion.stage is Stage.SCRIPT:
        words = headline(in_place.signature.exception_type, clip(first_words(in_place.signature.message), 200))
        told = f"It fails with {in_place.rung} too: {words}"
    return [met_note(found.walk), told]


def _of_chance(found: Findings, conclusion: Conclusion) -> Told:
    walk = found.walk
    by_chance = conclusion.own_fault is OwnFault.BY_CHANCE  # it passed again after it had failed
    if conclusion.stage is Stage.SCRIPT and not by_chance and passes_at_first(walk.seen, walk.seeded, walk.idle):
        return order_notes(_folders(found)[0], _began(found))
    return [*flaky_notes(conclusion, walk.seeded), *other_way_notes(conclusion, walk.seen, walk.idle)]


def _of_what_was_written(found: Findings, conclusion: Conclusion) -> Told:
    """What triage's runs of the script left in the user's folders."""
    del conclusion
    return [written_note(_folders(found), _began(found), found.session.directory.resolve())]


def _folders(found: Findings) -> list[Path]:
    """That of the script, and the one it is run in."""
    script = found.target.script
    return [folder.resolve() for folder in ([script.parent] if script else []) + [found.target.cwd]]


def _began(found: Findings) -> float:
    """When this run of triage did, as files' times tell it."""
    return time.time() - found.session.clock.elapsed()


def _of_torchs_hints(found: Findings, conclusion: Conclusion) -> Told:
    if conclusion.stage is not Stage.DYNAMO or conclusion.outcome is None:
        return []
    hints = hints_of(conclusion.outcome, passes_uncompiled=conclusion.passing is UNCOMPILED)
    return [f"torch's own hint: {hint}" for hint in hints]


def _of_the_ladder(found: Findings, conclusion: Conclusion) -> Told:
    eager_alone = (
        conclusion.symptom is Symptom.NONE and refused_by_eager(found.walk) is not None
    )  # as its sentence says
    return [
        None if conclusion.monotone or eager_alone else NOT_MONOTONE,
        _of_another_failure(found),
        _of_the_graph(found, conclusion) if found.walk.on_graph else None,
        found.capture_note if conclusion.stage.needs_compiling else None,
    ]


def _of_another_failure(found: Findings) -> str | None:
    """What the program fails by once it comes past this failure, on the lowest rung that does."""
    for rung in found.walk.rungs:
        later = found.walk.later_on(rung)
        if later is not None:
            fails = f"fails later by {in_short(later)}"
            return f"The script has another failure: with `{rung.name}` it comes past this one and {fails}."
    return None


def _of_the_graph(found: Findings, conclusion: Conclusion) -> str:
    """What it means that rungs were asked of the captured graph, and whether the script's own runs confirm it."""
    walk = found.walk
    told = "A rung marked `graph` was asked of the captured graph, which fails there as the script does."
    if {UNCOMPILED, conclusion.passing or UNCOMPILED} <= {rung for rung in walk.rungs if rung.name in walk.seen}:
        return told
    if walk.spoiled is None and not walk.idle:
        return f"{told} The script's own runs, which confirm that, had not ended."
    return f"{told} The script's own runs say nothing of it."


def _of_limits(found: Findings, conclusion: Conclusion) -> Told:
    """That runs were ended early, by what and what to do about it."""
    limit = found.session.settings.timeout
    probes = [probe for each in found.walk.seen.values() for probe in each]
    late = next((probe for probe in found.walk.as_it_is if probe.outcome.late), None)
    if any(probe.notes.stopped_early for probe in probes):
        yield STOPPED_EARLY
    if late is not None:
        heard = "nothing had been heard of it for some time, neither output nor the compiler's log"
        advice = " If it is only slow, raise --timeout."
        if late.outcome.still:
            heard, advice = f"{heard}, while no process of it did anything", ""
        yield (
            f"The script was ended after {late.outcome.seconds:.0f} s, before the limit of {limit:.0f} s: uncompiled it takes "
            f"a small part of that, and {heard}.{advice}"
        )
    if conclusion.stage is Stage.SCRIPT and conclusion.symptom is Symptom.HANG:
        yield (
            f"The script did not end within {limit:.0f} s without torch.compile either; if it needs longer, raise --timeout."
        )
    if probes and not any(probe.notes.compile_calls for probe in probes):
        yield NO_COMPILE


NOTES: tuple[Callable[[Findings, Conclusion], Told], ...] = (
    _of_comparing, _of_rounding, _of_other_wrong_values, _of_random_numbers, _of_what_runs_met, _of_chance,
    _of_what_was_written, _of_torchs_hints, _of_the_ladder, _of_limits,
)  # fmt: skip
