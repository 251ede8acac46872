"""The one sentence that says what was found."""

from __future__ import annotations

from collections.abc import Sequence

from triage.culprit.fake_results import FakeWrong
from triage.culprit.given_wrong import GivenWrong
from triage.culprit.operation import operator_name
from triage.judge.naming import asserted, first_words, headline, in_short
from triage.locate.conclude import Conclusion
from triage.locate.doors import Door
from triage.locate.outcomes import is_comparison, is_printed
from triage.locate.walk import Walk
from triage.model.outcome import AgentNotes, Outcome
from triage.model.own_code import Finding, OwnCode
from triage.model.rungs import UNCOMPILED
from triage.model.stage import OutcomeKind, OwnFault, Stage, Symptom
from triage.model.text import MARK, clip, some
from triage.probe.run import Probe

_CHECKS = ("AssertionError", "Failed")  # what a check raises: assert, torch.testing, unittest, pytest.fail

# Where the program itself is to blame.
_OWN_FAULTS = {
    OwnFault.OWN_BRANCH: "The script fails with {face}, and so it does without torch.compile where "
    "`torch.compiler.is_compiling()` says yes: its own code for compiled runs is what fails, the compiler is not to blame.",
    OwnFault.UNWRITTEN: "The script fails with {face}, and so it does without torch.compile where other values lie in the "
    "memory of {unwritten}, which nobody wrote; with zeros in there it passes: the compiler is not to blame.",
    OwnFault.WRAPPER: "The script fails with {face}, also where nothing is compiled, and passes where torch.compile gives the "
    "module back as it is: it is the wrapper around the module, and the compiler is not to blame.",
    OwnFault.BY_CHANCE: "The script fails in some runs, with {face}, and passes in others, also where nothing is compiled: it "
    "is decided by chance, and the compiler is not to blame.",
    OwnFault.BEFORE_COMPILING: "The script fails in {failures} of {runs} runs, with {face}, and no run that fails had called "
    "by then what it gives to torch.compile: the compiler is not to blame.",
    OwnFault.WRAPPED: "The script fails with {face}, also where nothing is compiled and the module is still wrapped by "
    "torch.compile: the compiler is not to blame.",
}


def summary_sentence(
    conclusion: Conclusion,
    first: Probe,
    incomplete: str | None,
    compared: AgentNotes | None = None,
    refused: Probe | None = None,
    *,
    past: bool = False,
) -> str:
    """What fails, on which rung first, and with what; what was left out where graphs were `compared` with eager. `refused` is
    the uncompiled run where it alone fails. `past`: below the failing rung the script only comes past this failure.
    """
    if conclusion.symptom is Symptom.NONE:
        return _passes(conclusion, first, incomplete, compared, refused)
    face = _face(conclusion)
    if conclusion.door is not None:
        return _door_sentence(conclusion.door, face)
    innocent = _fails_by_itself(conclusion, face) or _comparison_blames_nothing(conclusion, face)
    if innocent is not None:
        return innocent
    if not conclusion.settled or conclusion.failing is None:
        reason = f" ({incomplete})" if incomplete else ""
        return f"The script fails with {face}; the stage to blame was not settled{reason}."
    below = conclusion.passing.name if conclusion.passing else UNCOMPILED.name
    lower = f"`{below}` {'comes past this failure' if past else 'passes'}"
    good = "Without torch.compile the script passes" if below == UNCOMPILED.name else lower
    bad = (
        "the script's own backend is the first that fails"
        if conclusion.failing.stage is Stage.BACKEND
        else f"`{conclusion.failing.name}` is the first backend that fails"
    )
    chance = conclusion.symptom is Symptom.NONDETERMINISTIC
    often = f", in {conclusion.failures} of {conclusion.runs} runs" if chance else ""
    face += failing_ranks(conclusion.outcome, first)
    if conclusion.there is not None:
        face = f"{in_short(conclusion.there).rstrip('.:! ')}; the script as it is fails with {face}"
    return _sentence(f"{good}, {bad}{often}, with {face}")


def refused_by_eager(walk: Walk) -> Probe | None:
    """The uncompiled run, where it raises: of a script that passes as it is, compiled code may lack a check that eager has."""
    runs = walk.seen.get(UNCOMPILED.name, [])
    raised = bool(runs) and all(probe.outcome.kind is OutcomeKind.EXCEPTION for probe in runs)
    return runs[0] if raised and walk.spoiled is None else None


def _passes(
    conclusion: Conclusion,
    first: Probe,
    incomplete: str | None,
    compared: AgentNotes | None,
    refused: Probe | None,
) -> str:
    """Of a script that does not fail."""
    if not first.notes.compile_calls:
        return "The script passes, and it never calls torch.compile."
    runs = conclusion.runs
    often = f" in {runs} runs" if runs > 1 else ""
    if conclusion.compiled_nothing:
        which = f"none of {runs} runs compiled anything" if runs > 1 else "its run compiled nothing"
        return (
            f"The script passes, but {which}: what it gives to torch.compile was not called, or there is nothing in it to "
            "compile."
        )
    if refused is not None and refused.signature is not None:
        message = clip(first_words(refused.signature.message), 160).rstrip(".:!")
        return (
            f"The script passes{often}, and fails without torch.compile, with "
            f"{headline(refused.signature.exception_type, message)}: compiled code may lack a check that eager has."
        )
    left_out = not_compared_words(compared)
    if left_out:
        return f"The script passes{often}, and what was compared with eager agrees, but not all was: {left_out}."
    if incomplete:
        return f"The script passes{often}, and was not looked into any further ({incomplete})."
    return f"The script passes{often}: nothing to report."


def _fails_by_itself(conclusion: Conclusion, face: str) -> str | None:
    """Of a script that fails without a compiler's doing, as a run of it has shown."""
    if conclusion.own_fault in _OWN_FAULTS:
        unwritten = next(iter(conclusion.unwritten), "")
        return _OWN_FAULTS[conclusion.own_fault].format(
            face=face, unwritten=unwritten, runs=conclusion.runs, failures=conclusion.failures
        )
    if conclusion.stage is Stage.SCRIPT:
        return f"The script also fails without torch.compile, with {face}: the compiler is not to blame."
    return None


def _comparison_blames_nothing(conclusion: Conclusion, face: str) -> str | None:
    """Of a script whose own check fails, though no compiled value is wrong: it is chance, memory, eager, or rounding."""
    if conclusion.random_check:
        return (
            f"The script's own check fails with {face}, and so it does without torch.compile when the function draws other "
            "random numbers: it compares random streams that torch.compile does not keep, not a compiler bug."
        )
    if conclusion.unsteady:
        when = "memory that nobody wrote holds other values"
        if conclusion.unordered:
            when = "what is written to one place several times is written in another order"
        return (
            f"The script's own check fails with {face}, but eager gives something else itself when {when}: no part of the "
            "compiler is blamed."
        )
    rung = f" `{conclusion.failing.name}` is the first backend that" if conclusion.failing else ""
    if conclusion.rounding is None:
        if conclusion.symptom is not Symptom.ROUNDING:
            return None
        return (
            f"It is rounding: the script's own check fails with {face}, and so it does without torch.compile where what the "
            f"compiled functions give is a rounding off.{rung and f'{rung} rounds otherwise.'}"
        )
    if conclusion.rounding.eager_wrong:
        return (
            f"It is eager that is wrong, not the compiler: the script's own check fails with {face}, and eager gives "
            f"{conclusion.rounding.eager_gives} where double precision and the compiled code agree.{rung and f'{rung} differs.'}"
        )
    return (
        f"It is rounding: the script's own check fails with {face}, but no compiled graph is further from double "
        f"precision than eager's own rounding explains.{rung and f'{rung} rounds otherwise.'}"
    )


def sentence_before_the_first(walk: Walk, incomplete: str | None) -> str:
    """What is known before the script as it is has ended: how long it had run, and what passed beside it."""
    why = incomplete or "the script was not run"
    if walk.first_cut is None:
        return f"Nothing is known yet: {why}."
    cut = f"{why} when the script as it is had run for {walk.first_cut:.0f} s"
    ways = {name: "without torch.compile" if name == UNCOMPILED.name else f"with `{name}`" for name in walk.seen}
    passed = [f"{ways[name]} it passes, in {probes[0].outcome.seconds:.0f} s" for name, probes in walk.seen.items()]
    return f"Nothing is settled yet: {cut}; {', '.join(passed)}." if passed else f"Nothing is known yet: {cut}."


def _door_sentence(door: Door, face: str) -> str:
    stage = f"; its frames name the stage `{door.stage.value}`" if door.stage is not Stage.NONE else ""
    return (
        f"The script fails in {door.name}, with {face}{stage}. torch.compile has no part in it, so there is no lower backend "
        "to compare with."
    )


def not_compared_words(notes: AgentNotes | None) -> str:
    """What of the compiled graphs was not compared with eager, and why; empty where all was."""
    if notes is None or notes.wrong is not None:
        return ""
    parts = []
    if notes.by_chance:
        parts.append(f"the random numbers that eager and compiled draw are not the same for {some(notes.by_chance, 1)}")
    if notes.not_compared:
        parts.append(some(notes.not_compared, 1))
    if notes.without_dropout:
        parts.append("dropout was switched off for it")
    return "; ".join(parts)


def whose_headline(own: OwnCode | None, mend: Sequence[Finding]) -> str:
    """Whose code it is, where it is not PyTorch's; empty where that is not known."""
    if own is not None:
        return own.headline
    return next((finding.title for finding in mend if finding.explains), "")


def with_headline(first: str, sentence: str) -> str:
    """The sentence with whose code it is before it. The error is quoted once."""
    if not first:
        return sentence
    start, _, error = sentence.partition(", with ")
    told = bool(error) and error.rstrip(".!?") in first
    return f"{_sentence(first)} {start}." if told else f"{_sentence(first)} {sentence}"


def what_it_comes_of(given: GivenWrong | None) -> str:
    """The sentence that follows, where what is raised is not the fault of the operation that raises it; else empty."""
    if given is None:
        return ""
    name = operator_name(given.node)
    if given.wrong is None:
        return f" It comes of rounding: {name} gives another value than in eager, which eager's own rounding explains."
    return f" It comes of a wrong value, the result of {name}: {_sentence(given.wrong.face())}"


def what_fakes_say(fake: FakeWrong | None) -> str:
    """The sentence that follows, where the compiler was told something else of a result than eager gives; else empty."""
    return f" It comes of {fake.operation}: {fake.sentence()}." if fake is not None else ""


def _sentence(text: str) -> str:
    """With its full stop, unless a quoted message ended the sentence already, or its end was left out."""
    return text if text.endswith(("!", "?", MARK)) else text + "."


def failing_ranks(outcome: Outcome | None, first: Probe) -> str:
    """On which processes of a distributed program it fails; empty for one process. What peers of a failed one say is no count."""
    error = outcome.exception if outcome is not None else None
    if error is None or error.rank is None or not error.world or error.world < 2:
        return ""
    alike = [other for other in first.notes.raised if other.type == error.type and not other.swallowed]
    ranks = sorted({other.rank for other in alike if other.rank is not None} | {error.rank})
    if len(ranks) == error.world:
        return f", on all {error.world} ranks"
    return f", on rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))} of {error.world}"


def _face(conclusion: Conclusion) -> str:
    outcome, signature = conclusion.outcome, conclusion.signature
    assert outcome is not None and signature is not None
    message = clip(first_words(signature.message), 160).rstrip(".:!")
    if is_comparison(outcome) or is_printed(outcome):
        return f"a wrong result: {message}"
    if conclusion.wrong is not None:
        own = f"{signature.exception_type}: {message}" if message else signature.exception_type
        then = "the script's own check says" if signature.exception_type in _CHECKS else "the script then fails with"
        return f"a wrong result ({conclusion.wrong.sentence()}); {then} {own}"
    if outcome.kind is OutcomeKind.HANG:
        return f"{headline(f'no end within {outcome.seconds:.0f} s', message)}"
    frames = outcome.exception.frames if outcome.exception is not None else ()
    statement = asserted(signature.exception_type, frames[-1].told if frames else "")
    return headline(signature.exception_type, message or clip(statement, 120))
