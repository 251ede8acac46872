"""Which changes of the program are tried, and in which order: one of each kind, the cheapest first, then second ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from triage.culprit.settings import Setting, without_caches
from triage.culprit.ways_round.changes import (
    Change,
    Program,
    of_backend,
    of_calls,
    of_cure,
    of_functions,
    of_libraries,
    of_marks,
    of_regions,
    of_settings,
    of_several_graphs,
    of_spellings,
    of_uses,
)
from triage.locate.conclude import Conclusion
from triage.model.rungs import UNCOMPILED, Rung
from triage.model.stage import Stage, Symptom
from triage.stories.findings import Findings
from triage.stories.known_cause import row_of
from triage.stories.spots import (
    Files,
    bodies_of,
    guilty_lines,
    is_within,
    left_compiled,
    library_lines,
    outer_lines,
    outside,
    traced_lines,
)

MOST_RUNS = 4


def plan(
    found: Findings, conclusion: Conclusion, program: Program, files: Files, *, beforehand: bool = False
) -> list[Change]:
    """The changes to try, in their order.

    `beforehand`: before any setting is asked of the reproducer, which needs no asking of the script then.
    """
    asked = found.cures or (() if beforehand else unasked(found, conclusion))
    return planned(_groups(found, conclusion, program, files, asked))


def unasked(found: Findings, conclusion: Conclusion) -> tuple[Setting, ...]:
    """What only the script can be asked: where several graphs are compiled, whether one that another graph left is taken."""
    asked = found.ablation or conclusion.stage in (Stage.DYNAMO, Stage.BACKEND)
    return () if asked or found.walk.start.notes.graphs < 2 else without_caches()


def below(conclusion: Conclusion) -> Rung | None:
    """The rung below the failing one, where that compiles: its backend is the next best that is known to pass."""
    return conclusion.passing if conclusion.passing is not UNCOMPILED else None


def _groups(
    found: Findings, conclusion: Conclusion, program: Program, files: Files, settings: Sequence[Setting]
) -> list[Iterator[Change]]:
    """Of each kind all changes, the surest line first; the cheapest kind first, the last resort last."""
    guilty = guilty_lines(found, conclusion, files)
    bodies = bodies_of(found, files)
    outer = [*outside(guilty, bodies), *outside(outer_lines(conclusion, files), bodies)]
    outer = outer or outside(traced_lines(found, files), bodies)
    message = conclusion.error.message if conclusion.error is not None else ""
    known = row_of(conclusion, found.walk.start)
    untraced = conclusion.stage is Stage.DYNAMO and conclusion.symptom is not Symptom.WRONG_RESULT
    rung = below(conclusion)
    return [
        of_cure(program, known.statement if known is not None else None),
        of_marks(program, message),
        of_regions(program, found.reproduced.source if found.reproduced is not None else ""),
        of_several_graphs(program) if program.one_graph and untraced else iter(()),
        of_settings(program, settings, message),
        of_spellings(program, guilty, found.spellings),
        of_calls(program, [spot for spot in guilty if not is_within(spot, bodies)]),
        chain(
            of_functions(program, list(dict.fromkeys(outer))),
            of_libraries(program, library_lines(found, files)),
        ),
        of_backend(program, rung.force)
        if rung is not None and rung.force is not None
        else of_uses(program, left_compiled(found)),
    ]


def planned(groups: Sequence[Iterator[Change]]) -> list[Change]:
    """At most `MOST_RUNS` changes, no text twice: one of each group, the cheapest first, then second ones where there is room.

    The last group is the last resort, with all of it where nothing else takes the room.
    """
    known: set[str] = set()
    *ranked, last = [list(islice(_new(group, known), MOST_RUNS)) for group in groups]
    turns = [group[index] for index in range(MOST_RUNS) for group in ranked if index < len(group)]
    return [*turns[: MOST_RUNS - len(last[:1])], *last][:MOST_RUNS]


def parted(changes: Sequence[Change], most: int) -> tuple[list[Change], list[Change]]:
    """What is run next, side by side, and the rest: nothing beside one that is `awaited`, which would only slow it down."""
    number = next((place for place, change in enumerate(changes[:most], 1) if change.awaited), most)
    return list(changes[:number]), list(changes[number:])


def _new(changes: Iterator[Change], known: set[str]) -> Iterator[Change]:
    for change in islice(changes, 4 * MOST_RUNS):
        digest = _digest(change)
        if digest not in known:
            known.add(digest)
            yield change


def name_of(change: Change) -> str:
    """What its run is called."""
    return f"way-{change.kind}-{_digest(change)}"


def _digest(change: Change) -> str:
    parts = chain.from_iterable((str(path).encode(), text) for path, text in sorted(change.texts.items()))
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:8]
