"""What the runs of a changed script show: whether a change leads round the failure, and what is said where none does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from triage.culprit.ways_round.changes import KINDS, Change, Program
from triage.culprit.ways_round.cost import compiles_nothing
from triage.model.outcome import FEWEST_CALLS, AgentNotes
from triage.model.rungs import UNCOMPILED
from triage.model.stage import OutcomeKind
from triage.probe.run import Probe

# An option that leaves nothing to compile has switched the compiler off; where one call is all of a function, that is its cost.
MAY_COMPILE_NOTHING = ("call", "function", "backend")


def was_late(probe: Probe) -> bool:
    """Whether nothing is known of a run but that it takes long; one that stands still, where the script did, fails as it does."""
    return probe.outcome.kind is OutcomeKind.HANG and not probe.outcome.still


def leads_round(kind: str, ended: OutcomeKind, notes: AgentNotes) -> bool:
    """Whether a run that ended so shows that a change of this kind leads round the failure.

    A program that found its work done by an earlier run calls nothing that it has compiled, whatever was changed.
    """
    if ended is not OutcomeKind.OK or notes.wrong is not None:
        return False
    if not compiles_nothing(notes):
        return True
    return kind in MAY_COMPILE_NOTHING and (notes.calls > 0 or kind == "function")  # what that leaves is not watched


def owed_to_less(pair: tuple[Change, Probe], tried: Sequence[tuple[Change, Probe]]) -> bool:
    """Whether nothing is compiled with a part of this change either: of what it leaves uncompiled a pass shows nothing."""
    change, probe = pair
    if change.kind not in ("call", "function") or not compiles_nothing(probe.notes):
        return False
    ended = [each for each, other in tried if other.outcome.kind is OutcomeKind.OK and compiles_nothing(other.notes)]
    return any(_lines_of(each) < _lines_of(change) for each in ended)


def _lines_of(change: Change) -> set[tuple[str, bytes]]:
    """Those it writes, each with its file."""
    found: set[tuple[str, bytes]] = set()
    for path, text in change.texts.items():
        found |= {(str(path), line) for line in set(text.splitlines()) - set(change.before[path].splitlines())}
    return found


def had_nothing_to_do(probe: Probe) -> bool:
    return probe.outcome.kind is OutcomeKind.OK and compiles_nothing(probe.notes) and not probe.notes.calls


def has_compiled(seen: Mapping[str, Sequence[Probe]]) -> bool:
    """Whether a run of the script compiled something and passed: then what runs took says what one with a compiler may take."""
    probes = [probe for each in seen.values() for probe in each if probe.on == "script"]
    return any(probe.outcome.kind is OutcomeKind.OK and probe.notes.graphs > 0 for probe in probes)


def has_few_calls(seen: Mapping[str, Sequence[Probe]]) -> bool:
    """Whether a run of the whole script, uncompiled, called what it compiles too few times for a step to be measured."""
    ended = [probe for probe in seen.get(UNCOMPILED.name, ()) if probe.on == "script" and not probe.notes.stopped_early]
    return any(probe.outcome.kind is OutcomeKind.OK and 0 < probe.notes.calls < FEWEST_CALLS for probe in ended)


def what_to_say(
    program: Program, tried: Sequence[tuple[Change, Probe]], left: Sequence[Change], passed: bool, otherwise: int
) -> list[str]:
    """What is to be said where no change led round the failure; with `otherwise` of them the script fails in another way."""
    if passed:
        return []
    if tried:
        kinds = ", ".join(sorted({change.kind for change, _ in tried}, key=KINDS.index))
        late = sum(was_late(probe) for _, probe in tried)
        idle = sum(probe.outcome.kind is OutcomeKind.OK and compiles_nothing(probe.notes) for _, probe in tried)
        shown = (
            f"none is known to help; with {idle} of them it compiled nothing" if idle else "with none the script passes"
        )
        told = f"Ways round: {len(tried)} changed programs were run ({kinds}), and {shown}"
        told += f"; with {otherwise} of them it fails in another way" if otherwise else ""
        told += f"; of {late} of them nothing is known: they had not ended in the time there was" if late else ""
        if len(tried) == 1:
            ended = "had not ended in the time there was" if late else "compiled nothing, which is not known to help"
            fails = f"fails in {'another' if otherwise else 'the same'} way"
            told = f"Ways round: one changed program was run ({kinds}), and {ended if late or idle else fails}"
        return [told + (". There was no time for others." if left else ".")]
    if left:
        return ["Ways round were not run: there was no time left for a run of the script."]
    where = "no line of the program is known to blame" if program.compiled else "no file of it that compiles was found"
    return [f"Ways round were not run: {where}, so there was nothing to change."]
