"""The title of an issue: what is wrong inside the compiler where that is known, else what the program died of.

A program that dies in its own `view()` because a decomposition returned other strides has found a bug of that
decomposition, and `view size is not compatible` finds no duplicate of it.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any

from triage.judge.naming import asserted, first_words, headline
from triage.model.accuracy import RESULT_OF, Wrongness
from triage.model.report import TriageReport
from triage.model.stage import Stage, Symptom
from triage.model.text import clip
from triage.report.markdown import one_line
from triage.report.own_faults import in_title
from triage.report.wording import function_to_blame

MOST = 120  # characters
MOST_FEATURES = 3
_TAGS = {
    Stage.DYNAMO: "dynamo",
    Stage.AOT_AUTOGRAD: "aot_autograd",
    Stage.DECOMP_PARTITION: "decomp",
    Stage.INDUCTOR: "inductor",
    Stage.BACKEND: "custom backend",
}
_FRAME = re.compile(r"(?m)^ +File \"([^\"\n]+)\", line \d+, in (\S+)$")
_DECOMPOSITION = "decomposition"
_GUARDS = "guards"
_AN_INPUT, _SHAPES = "an input is ", "the shapes are "


def title(report: TriageReport) -> str:
    """A title for the issue, at most 120 characters of plain text; an operator stands in backticks, as GitHub shows it."""
    return clip(one_line(_title(report)), MOST)


def _title(report: TriageReport) -> str:
    verdict = report.verdict
    if verdict.symptom is Symptom.NONE:
        return "No failure under torch.compile was seen"
    if verdict.symptom is Symptom.ROUNDING and report.given_wrong is None:
        gives = ((report.accuracy or {}).get("rounding") or {}).get("eager_gives")
        if gives:
            return f"Eager gives {gives} where double precision and torch.compile agree"
        return "Results differ by rounding under torch.compile"
    if verdict.compares_random:
        return f"Compares random numbers, which torch.compile draws otherwise: {_what(report)}"
    if report.own_code is not None and not (report.own_code.needed and verdict.symptom is Symptom.HANG):
        return report.own_code.headline.replace("`", "")
    if report.explanation is not None:
        return report.explanation.title.replace("`", "")
    if report.known_cause is not None:
        return report.known_cause.explanation.replace("`", "")
    if verdict.stage is Stage.SCRIPT:
        return f"{in_title(verdict)}: {_what(report)}"
    if verdict.symptom is Symptom.NONDETERMINISTIC:
        return f"Fails in {verdict.failures} of {verdict.runs} runs under torch.compile: {_what(report)}"
    if report.fake_wrong is not None:
        return _by_fake(report, report.fake_wrong)
    op = _operator(report)
    told = f"{_tag(report)}{f'`{op}`: ' if op else ''}"
    if report.given_wrong is None:
        return f"{told}{_what(report)}{'' if op else _of_inputs(report)}"
    wrong = report.given_wrong["wrong"]
    return f"{told}{wrong['face']}, then {_what(report)}" if wrong else f"{told}{_what(report)}, by rounding"


def _by_fake(report: TriageReport, fake: dict[str, Any]) -> str:
    """What the compiler is told of a result, and what fails then."""
    kind = "" if fake["kind"] == "aliasing" else f"{fake['kind']} "
    told = f"{_tag(report)}`{fake['operation']}`: fake kernel gives {kind}{fake['fake']}, eager {fake['eager']}"
    return told if _fact_of(report) else f"{told}, then {_what(report)}"


def _tag(report: TriageReport) -> str:
    """`[inductor] `; nothing where the sentence names the part itself."""
    if report.verdict.door:
        return f"[{report.verdict.door}] "
    if report.verdict.stage not in _TAGS or (_by_decomposition(report) and _fact_of_operator(report)):
        return ""
    return f"[{_TAGS[report.verdict.stage]}] "


def _operator(report: TriageReport) -> str:
    """The operation whose value is the first that is wrong, else the one that is to blame.

    The first one in the program's graph, if the reproducer has it too, comes before that in the reproducer.
    """
    accuracy = report.accuracy or {}
    blamed = report.culprit.op if report.culprit is not None and report.culprit.op else ""
    diverging = str((accuracy.get("first_diverging") or {}).get("operation") or "").partition(" (")[0]
    first = str(accuracy.get("first_wrong") or "").partition(" (")[0]
    return blamed if blamed and blamed == diverging else first or blamed


def _of_inputs(report: TriageReport) -> str:
    """What an input must be, where no operation is to blame: `, where an input is a lazy zero`; empty where that is not known."""
    return _where(report, _AN_INPUT)


def _where(report: TriageReport, begins: str) -> str:
    told = (each.condition for each in report.conditions if each.condition.startswith(begins))
    return next((f", where {each}" for each in told), "")


def _what(report: TriageReport) -> str:
    signature = report.signature
    if report.verdict.symptom is Symptom.HANG:
        return _hang(report)
    if _wrong_of(report):
        return _wrong(report)
    again = report.subsystem is not None and report.subsystem.names == (_GUARDS,)
    own_words = signature is not None and signature.noticed  # those of the program tell nobody else what is wrong
    if report.verdict.symptom is Symptom.WRONG_RESULT or (own_words and (again or _features(report))):
        place = "where a compiled graph is used again (guards)" if again else "under torch.compile"
        return f"wrong result {place}{_with(report)}"
    if signature is None:
        return "torch.compile fails"
    first = first_words(signature.message) or asserted(signature.exception_type, signature.user_line or "")
    told = first.startswith(f"{signature.exception_type}:")
    return (first if told else headline(signature.exception_type, first)) or "torch.compile fails"


def _with(report: TriageReport) -> str:
    """What of torch the verified reproducer still uses; else what the shapes must be, which says more than a name of the
    program's; else without which function of the program it is not wrong.
    """
    if features := _features(report):
        return f" with {features}"
    if shapes := _where(report, _SHAPES):
        return shapes
    function = function_to_blame(report)
    return f", right where {function[0]} is not compiled" if function is not None else ""


def _features(report: TriageReport) -> str:
    """What of torch, and of what Dynamo models, a verified reproducer uses; empty where that tells nothing."""
    made = report.reproducer
    told = made is not None and made.verified and not made.doubt
    return ", ".join(made.features[:MOST_FEATURES]) if made is not None and told else ""


def _hang(report: TriageReport) -> str:
    """In which phase, and in which function of torch."""
    signature, door = report.signature, report.verdict.door or "torch.compile"
    told = headline(f"{door} does not finish", signature.message if signature is not None else "")
    told = told if "does not finish while " in told else f"{door} does not finish"
    where = "" if signature is None else _own_function(report) or signature.hangs_in
    return f"{told}, in {where}" if where else told


def _own_function(report: TriageReport) -> str:
    """Where the program's own backend goes on for ever, its function: what of torch called that says nothing."""
    frames = _FRAME.findall(report.signature.excerpt) if report.signature is not None else []
    if report.verdict.stage is not Stage.BACKEND or not frames or frames[-1][0].startswith("torch/"):
        return ""
    file, function = frames[-1]
    return f"{PurePath(file).name}:{function}"


def _wrong_of(report: TriageReport) -> dict[str, Any]:
    """What is wrong with a result, where that is what the failure comes from; empty where it is not."""
    known = report.signature is not None and report.signature.wrong is not None
    accuracy = report.accuracy or {}
    return accuracy if accuracy.get("sentence") and (known or report.verdict.symptom is Symptom.WRONG_RESULT) else {}


def _wrong(report: TriageReport) -> str:
    """How wrong it is: `NaN compiled, not in eager, in 12 of 16 elements`, `decomposition returns strides (6, 1), ...`."""
    wrong, fact = _wrong_of(report), _fact_of_operator(report)
    if fact:
        who = _DECOMPOSITION if _by_decomposition(report) else "compiled code"
        place = "" if wrong.get("item") == "output 0" else f" ({wrong.get('item')})"
        return f"{who} returns {fact}{place}"
    op, diverging = _operator(report), wrong.get("first_diverging") or {}
    if op and str(diverging.get("operation") or "").partition(" (")[0] == op and diverging.get("result"):
        wrong = diverging["result"]  # its own
        told = str(wrong["face"])
    elif op and wrong.get("made_by") not in (None, op):  # the numbers are those of what comes of it
        return Wrongness(wrong["kind"], wrong["item"], wrong.get("sense") or "").words()
    else:
        named = f"{wrong.get('item')}: "  # the title has named an operation, or there is the one output
        own = named == "output 0: " or (op and named.startswith(RESULT_OF))
        told = str(wrong["sentence"]).removeprefix(named if own else "")
    few = wrong.get("elements") and wrong.get("wrong") and wrong["elements"] > 1
    return f"{told}, in {wrong['wrong']} of {wrong['elements']} elements" if few else told


def _fact_of(report: TriageReport) -> str:
    """`strides (6, 1), eager (1, 5)`: a fact that both have; empty where values differ."""
    wrong = _wrong_of(report)
    if not wrong.get("compiled_is") or wrong.get("kind") == "aliasing":
        return ""
    return f"{wrong['kind']} {wrong['compiled_is']}, eager {wrong.get('eager_is')}"


def _fact_of_operator(report: TriageReport) -> str:
    """The same, but where another operation than the one that is named made the result: that fact is none of it."""
    op = _operator(report)
    return _fact_of(report) if not op or _wrong_of(report).get("made_by") in (None, op) else ""


def _by_decomposition(report: TriageReport) -> bool:
    return report.culprit is not None and _DECOMPOSITION in (report.culprit.subsystem or "")
