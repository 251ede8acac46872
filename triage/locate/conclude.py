"""From what the probes of a ladder showed to a conclusion. Pure functions: no probe is run here.

The stage is that of the lowest rung that fails, once the rung below it has been seen to pass. A script that fails
uncompiled, with whatever face, is its own culprit. An exception that the program handles itself counts as a failure only
where the uncompiled program did not meet the same one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from triage.judge.handled import handled, unexpected
from triage.judge.likeness import in_other_words, is_torn, same_face, same_failure
from triage.judge.signature import FailureSignature, signature_of, torch_frame
from triage.judge.skeleton import short_type
from triage.locate.doors import Door, door_of
from triage.locate.outcomes import direction_of, is_comparison, symptom_of
from triage.model.accuracy import Rounding, WrongResult
from triage.model.outcome import Outcome, RaisedException
from triage.model.rungs import LADDER, UNCOMPILED, Rung
from triage.model.stage import Direction, OutcomeKind, OwnFault, Stage, Symptom
from triage.probe.interpret import bare_exit
from triage.probe.run import Probe

Seen = Mapping[str, Sequence[Probe]]


@dataclass(frozen=True)
class Conclusion:
    """`failing` is the lowest rung that fails, `passing` the one below it; None where that is not known (yet)."""

    stage: Stage
    symptom: Symptom
    signature: FailureSignature | None = None
    outcome: Outcome | None = None
    direction: Direction | None = None
    failing: Rung | None = None
    passing: Rung | None = None
    runs: int = 0
    failures: int = 0
    settled: bool = False
    monotone: bool = True
    own_fault: OwnFault | None = None  # of stage `script`
    unwritten: tuple[str, ...] = ()  # what gives the memory that decides: `torch.empty (train.py:7)`
    asked_at: tuple[str, ...] = ()  # the lines on which it asks whether it is compiled
    random_check: bool = False  # the script's own check depends on which random numbers are drawn
    wrong: WrongResult | None = None  # what is wrong with a compiled graph, where a check of the script's own fails
    rounding: Rounding | None = None  # where nothing is: what rounds otherwise, from the stage of `failing` on
    amplified: bool = False  # the script makes much of it: it fails uncompiled, its functions' results a rounding off
    # Values that hang in eager itself on memory that nobody wrote, or on the order in which those of `unordered` write to
    # one place.
    unsteady: tuple[str, ...] = ()
    unordered: tuple[str, ...] = ()
    compiled_nothing: bool = False  # no run did that passes; of a script that fails at times, none that fails
    door: Door | None = None  # torch.export and its like, where a script fails that torch.compile has no part in
    there: FailureSignature | None = None  # what `failing` fails with, where the script as it is looks otherwise

    @property
    def error(self) -> RaisedException | None:
        """What was raised; None where it did not fail, or by something else."""
        return self.outcome.exception if self.outcome is not None else None

    @property
    def has_rate(self) -> bool:
        """Whether it fails in some runs and passes in others that are the same."""
        return self.symptom is Symptom.NONDETERMINISTIC and 0 < self.failures < self.runs

    @property
    def fails_uncompiled(self) -> bool:
        """No rung is to blame: the script itself, or another door of the compiler."""
        return self.failing is UNCOMPILED


def conclude(rungs: Sequence[Rung], top: int, seen: Seen) -> Conclusion:
    """What the probes seen so far say. `top` is the index of the rung the script as it is stands on."""
    judged = {name: [discount(probe, expected_exceptions(seen)) for probe in probes] for name, probes in seen.items()}
    state = {rung.name: _state(judged.get(rung.name, ())) for rung in rungs}
    failing = [rung for rung in rungs if state[rung.name] is True]
    if not failing or state[rungs[top].name] is False:  # what fails on a lower rung alone is no failure of the script
        settled, runs = state[rungs[top].name] is False, len(judged.get(rungs[top].name, ()))
        idle = _compiled_nothing(judged.get(rungs[top].name, ()))
        return Conclusion(
            Stage.NONE, Symptom.NONE, settled=settled, runs=runs, monotone=not failing, compiled_nothing=idle
        )
    reported = _reported(judged, rungs, top, failing)
    signature = signature_of(reported.outcome)
    assert signature is not None

    def passes_above(rung: Rung) -> bool:
        return False in [state[above.name] for above in rungs[rungs.index(rung) : top + 1]]

    lowest = next(
        rung for rung in failing if rung is UNCOMPILED or _shows(judged[rung.name], signature) or not passes_above(rung)
    )
    below = rungs[rungs.index(lowest) - 1] if rungs.index(lowest) > 0 else None
    settled = below is None or state[below.name] is False
    runs, failures = _rate(judged, rungs, lowest)
    symptom = Symptom.NONDETERMINISTIC if 0 < failures < runs else symptom_of(reported.outcome)
    door = door_of(reported.outcome, signature) if lowest is UNCOMPILED else None
    found = Conclusion(
        stage=door.stage if door is not None else lowest.stage,
        door=door,
        symptom=symptom,
        signature=signature,
        outcome=reported.outcome,
        direction=_direction(reported, lowest.stage),
        failing=lowest,
        passing=below if settled else None,
        runs=runs,
        failures=failures,
        settled=settled,
        monotone=lowest is failing[0] and not passes_above(lowest),
        own_fault=OwnFault.UNCOMPILED if lowest is UNCOMPILED and door is None else None,
        there=_there(judged[lowest.name], signature),
    )
    failed = [probe for rung in failing for probe in judged[rung.name] if probe.outcome.failed]
    if symptom is Symptom.NONDETERMINISTIC and lowest is not UNCOMPILED and _compiled_nothing(failed):
        return _before_compiling(found)
    return found


def _before_compiling(found: Conclusion) -> Conclusion:
    """The conclusion where a script fails at times, and never after anything was compiled: on which rungs is chance."""
    return replace(
        found,
        stage=Stage.SCRIPT,
        own_fault=OwnFault.BEFORE_COMPILING,
        direction=None,
        passing=None,
        settled=True,
        monotone=True,
        compiled_nothing=True,
    )


def its_own_fault(found: Conclusion) -> Conclusion:
    """The conclusion where a script fails in another door of the compiler, and with a plain call in its place as well."""
    return replace(found, stage=Stage.SCRIPT, own_fault=OwnFault.UNCOMPILED, door=None)


def fails_in_place(probe: Probe) -> bool:
    """Whether what a door was given fails in eager by itself. A TypeError says nothing: it may come of how it is called there."""
    error = probe.outcome.exception
    if error is None:
        return probe.outcome.kind is OutcomeKind.CRASH
    return probe.outcome.failed and not error.swallowed and short_type(error.type) != "TypeError"


def fails_as_compiled(probe: Probe, found: Conclusion) -> bool:
    """Whether the script fails uncompiled as it does compiled, once its own question whether it is compiled is answered with yes.

    A line that raises with real tensors and with fake ones says so in other words.
    """
    if not probe.outcome.failed or probe.signature is None or found.signature is None or found.outcome is None:
        return False
    if same_face(probe.signature, found.signature) or in_other_words(found.signature, probe.signature):
        return True
    if probe.outcome.kind is found.outcome.kind is OutcomeKind.HANG:  # in other code, which has its own name for it
        return True
    place = _own_line(probe.outcome)
    return place is not None and place == _own_line(found.outcome)


def _own_line(outcome: Outcome) -> tuple[str, int] | None:
    """The innermost line outside of torch that raised, or was being traced as it was raised."""
    if outcome.exception is None:
        return None
    frames = [*outcome.exception.frames, *(outcome.exception.user_code or outcome.exception.innermost().user_code)]
    return next(((frame.file, frame.line) for frame in reversed(frames) if torch_frame(frame) is None), None)


def decided_by_memory(found: Conclusion, unwritten: tuple[str, ...]) -> Conclusion:
    """The conclusion where the script's check hangs on memory that the script itself never wrote: no rung is to blame."""
    return replace(
        found, stage=Stage.SCRIPT, own_fault=OwnFault.UNWRITTEN, unwritten=unwritten, direction=None, passing=None,
        settled=True,
    )  # fmt: skip


def its_own_branch(found: Conclusion, asked_at: tuple[str, ...]) -> Conclusion:
    """The conclusion where the script's own code for compiled runs is what fails, which it chooses on these lines."""
    return replace(found, stage=Stage.SCRIPT, own_fault=OwnFault.OWN_BRANCH, asked_at=asked_at, passing=None)


def not_to_blame(found: Conclusion) -> Conclusion:
    """The conclusion where the script's check fails uncompiled too, once its function draws other random numbers."""
    return replace(found, stage=Stage.NONE, symptom=Symptom.NONDETERMINISTIC, random_check=True, direction=None)


def expected_exceptions(seen: Seen) -> tuple[RaisedException, ...]:
    """Exceptions that the program meets and handles without any compiler, each as often as in one run."""
    found: list[RaisedException] = []
    for probe in seen.get(UNCOMPILED.name, ()):
        known = list(found)
        for exception in handled(probe.notes.raised):
            if exception in known:
                known.remove(exception)
            else:
                found.append(exception)
    return tuple(found)


def discount(probe: Probe, expected: Sequence[RaisedException]) -> Probe:
    """The probe without failures that only show what the program does anyway."""
    outcome = probe.outcome
    if outcome.kind is OutcomeKind.OK or outcome.exception is None or not outcome.exception.swallowed:
        return probe
    if outcome.kind in (OutcomeKind.CRASH, OutcomeKind.HANG) or unexpected([outcome.exception], expected):
        return probe
    news = unexpected(handled(probe.notes.raised), expected)
    if not news and outcome.exit_code == 0:
        return replace(probe, outcome=replace(outcome, kind=OutcomeKind.OK, exception=None), signature=None)
    # A program that handles what it expects and then ends with another status has a reason of its own.
    outcome = replace(
        outcome, kind=OutcomeKind.EXCEPTION, exception=news[0] if news else bare_exit(outcome.exit_code, "")
    )
    return replace(probe, outcome=outcome, signature=signature_of(outcome))


def _direction(probe: Probe, stage: Stage) -> Direction | None:
    if is_comparison(probe.outcome) and probe.notes.wrong is not None:
        return Direction(probe.notes.wrong.direction)
    found = direction_of(probe.outcome)
    unknown = found is None and stage is not Stage.SCRIPT and probe.outcome.exception is not None
    if unknown and not _may_have_gone_back(probe):
        return Direction.FORWARD  # whatever a check of the program's looks at, no gradient is in it
    return found


def _may_have_gone_back(probe: Probe) -> bool:
    """Whether a backward pass ran before a check of the program's; or its process left without a word."""
    error, notes = probe.outcome.exception, probe.notes
    untold = error is not None and error.phase == "text" and not notes.main_ended
    return untold or max(notes.backwards, notes.point.backwards) > 0


def face(probe: Probe, reported: FailureSignature | None) -> str | None:
    """`same` or `other`: whether a failing rung looks like the reported failure."""
    if probe.signature is None or reported is None:
        return None
    return "same" if same_failure(probe.signature, reported) or same_face(probe.signature, reported) else "other"


def rung_that_shows(conclusion: Conclusion, seen: Seen) -> Rung:
    """The lowest failing rung where the failure looks as reported, else one of its kind, else the lowest that fails.

    One defect may be an exception of one backend and a wrong value, or a crash, of the next, or one that names another
    operation: a reproducer shows what the program showed.
    """
    assert conclusion.failing is not None and conclusion.signature is not None
    reported = conclusion.signature
    names = [rung.name for rung in LADDER]
    if conclusion.failing.name not in names:
        return conclusion.failing
    rungs = LADDER[names.index(conclusion.failing.name) :]
    for alike in (_looks_alike, _is_of_a_kind):
        for rung in rungs:
            if any(
                probe.signature is not None and alike(probe.signature, reported) for probe in seen.get(rung.name, ())
            ):
                return rung
    return conclusion.failing


def _looks_alike(found: FailureSignature, reported: FailureSignature) -> bool:
    """Whether it is of the kind and, where torch raised an error, says the same. Other checks may say other numbers."""
    if not _is_of_a_kind(found, reported):
        return False
    telling = reported.kind is OutcomeKind.EXCEPTION and bool(reported.frames)
    return not telling or same_failure(found, reported) or same_face(found, reported) or _names_one(found, reported)


def _names_one(found: FailureSignature, reported: FailureSignature) -> bool:
    """Whether one says what the other does and more: a compiler adds where it was."""
    return in_other_words(found, reported) or in_other_words(reported, found)


def _is_of_a_kind(found: FailureSignature, reported: FailureSignature) -> bool:
    return (found.kind, found.exception_type) == (reported.kind, reported.exception_type)


def _compiled_nothing(probes: Sequence[Probe]) -> bool:
    """Whether these runs asked for a compiler, and none compiled anything, nor called what was to be compiled before it failed.

    A process that was ended, or died, did not tell how far it had come.
    """
    if not probes or not all(probe.outcome.kind is OutcomeKind.OK or probe.notes.raised for probe in probes):
        return False
    notes = [probe.notes for probe in probes]
    return all(each.compile_calls and not (each.graphs or each.last_breadcrumb or each.point.calls) for each in notes)


def _state(probes: Sequence[Probe]) -> bool | None:
    """True: failed at least once. False: ran and passed. None: not known."""
    told = [probe for probe in probes if probe.outcome.kind is not OutcomeKind.INVALID and not probe.cancelled]
    if not told:
        return None
    return any(probe.outcome.failed for probe in told)


def _there(probes: Sequence[Probe], reported: FailureSignature) -> FailureSignature | None:
    """What a rung fails with, where no run of it shows a failure that looks as reported.

    The graph is asked for what the script as it is makes wrong; which value is wrong there the script tells.
    """
    failed = [(probe.on, probe.signature) for probe in probes if probe.outcome.failed and probe.signature is not None]
    own = [signature for on, signature in failed if on == "script"]
    another = any(_is_of_another_value(each, reported) for each in own)
    told = own if another else [signature for _, signature in failed]
    alike = any(_looks_alike(each, reported) and not _is_of_another_value(each, reported) for each in told)
    return told[0] if told and not alike else None


def _is_of_another_value(found: FailureSignature, reported: FailureSignature) -> bool:
    """Whether comparing tells another output to be wrong, and something else of it."""
    one, other = found.wrong, reported.wrong
    if one is None or other is None or one.place != other.place or one.where == other.where:
        return False
    return one.place == "output" and found.skeleton != reported.skeleton


def _shows(probes: Sequence[Probe], reported: FailureSignature) -> bool:
    """Whether a rung below others that pass fails by the compiler's doing.

    A hang where the script does not hang, or what no part of torch raised, is some other trouble there: two runs that met, a
    network that was not there.
    """
    return any(
        face(probe, reported) == "same"
        or (probe.outcome.kind is not OutcomeKind.HANG and probe.signature is not None and bool(probe.signature.frames))
        for probe in probes
        if probe.outcome.failed
    )


def _reported(judged: Mapping[str, Sequence[Probe]], rungs: Sequence[Rung], top: int, failing: Sequence[Rung]) -> Probe:
    """The failure as the person saw it: that of the script as it is, else that of the lowest failing rung."""
    order = [rungs[top], *failing] if failing[0] is not UNCOMPILED else [UNCOMPILED]
    for rung in order:
        failed = [probe for probe in judged.get(rung.name, ()) if probe.outcome.failed]
        if failed:
            return min(failed, key=lambda probe: is_torn(probe.signature))  # the first of those that tell more
    raise AssertionError("a failing rung has a failing probe")


def _rate(judged: Mapping[str, Sequence[Probe]], rungs: Sequence[Rung], lowest: Rung) -> tuple[int, int]:
    """(runs, failures) over the rungs from the lowest failing one upwards that were repeated or fail alike."""
    own = [probe for probe in judged.get(lowest.name, ()) if probe.outcome.kind is not OutcomeKind.INVALID]
    runs, failures = len(own), sum(probe.outcome.failed for probe in own)
    for rung in rungs[rungs.index(lowest) + 1 :]:
        for probe in judged.get(rung.name, ()):
            if probe.outcome.failed:
                runs, failures = runs + 1, failures + 1
            elif probe.outcome.kind is OutcomeKind.OK and any(p.outcome.failed for p in judged[rung.name]):
                runs += 1
    return runs, failures
