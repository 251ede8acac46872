"""The facts on top of a report: what fails where, what is to blame, what is wrong, how often. Values are Markdown.

Every text that comes from outside is clipped here, so that what is not a quoted part has a bounded size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from triage.model.report import Culprit, SubsystemSearch, TriageReport
from triage.model.stage import Stage, Symptom
from triage.model.text import clip
from triage.report.markdown import code, prose
from triage.report.wording import (
    STAGES,
    compile_call,
    function_alone,
    line_title,
    modules_alike,
    part_named,
    plural,
    regression,
)


def facts(report: TriageReport) -> list[tuple[str, str]]:
    """(name, Markdown) of what fails where, most telling first; nothing where nothing fails."""
    if report.verdict.symptom is Symptom.NONE:
        return []
    return [
        *own_code_facts(report),
        *_where_it_fails(report),
        *_what_is_to_blame(report),
        *_what_is_wrong(report),
        *_how_it_runs(report),
    ]


def _where_it_fails(report: TriageReport) -> Iterator[tuple[str, str]]:
    verdict, signature, culprit = report.verdict, report.signature, report.culprit
    where = [verdict.door] if verdict.door else []
    where += [STAGES[verdict.stage]] if verdict.stage in STAGES else []
    where += [f"{verdict.direction} pass"] if verdict.direction and where else []
    where += [f"graph {code(clip(culprit.graph, 40))}"] if culprit is not None and culprit.graph else []
    nowhere = verdict.symptom is Symptom.ROUNDING and verdict.stage is Stage.NONE
    if verdict.symptom is not Symptom.NONDETERMINISTIC and not nowhere:
        yield "Where", ", ".join(where) or "not located"
    if signature is None:
        return
    if signature.user_line and report.own_code is None:
        yield line_title(signature), code(clip(signature.user_line, 240))
        if culprit is not None and culprit.module:
            yield "Module", code(clip(culprit.module, 120)) + modules_alike(culprit)
    function = function_alone(report)
    if function is not None:
        yield "Function", function
    if signature.library_line:
        yield "In the library", code(clip(signature.library_line, 240))
    if signature.hangs_in:
        yield "Hangs in", code(clip(signature.hangs_in, 240))
    if signature.test:
        yield "Test", code(clip(signature.test, 240))


def _what_is_to_blame(report: TriageReport) -> Iterator[tuple[str, str]]:
    culprit = report.culprit
    if culprit is not None and (culprit.op or culprit.detail):
        named = [code(clip(culprit.op, 120))] if culprit.op else []
        named += [f"in {code(clip(culprit.subsystem, 60))}"] if culprit.op and culprit.subsystem else []
        detail = prose(clip(culprit.detail, 240)) if culprit.detail else ""
        yield "Operation", ": ".join(part for part in (" ".join(named), detail) if part)
    if report.given_wrong is not None:
        yield "Comes of", _comes_of(report.given_wrong)
    if report.subsystem is not None and report.subsystem.names:
        yield "Part of the compiler", part(report.subsystem)
    elif report.subsystem is None and culprit is not None and _is_part_alone(culprit, report.verdict.stage):
        yield "Part of the compiler", code(clip(culprit.subsystem or "", 60))


def _what_is_wrong(report: TriageReport) -> Iterator[tuple[str, str]]:
    """Of a wrong result: what was compared, and where the values begin to differ."""
    accuracy = report.accuracy or {}
    if accuracy.get("sentence"):
        yield "What is wrong", prose(clip(accuracy["sentence"], 300))
    if not accuracy.get("details"):
        return
    yield "Compared with eager", prose(clip(accuracy["details"], 500))
    if accuracy.get("first_wrong"):
        yield "First value that is wrong", f"that of {code(clip(accuracy['first_wrong'], 200))}"
    if accuracy.get("first_diverging"):
        yield "In the program's graph", diverging(accuracy["first_diverging"])


def _how_it_runs(report: TriageReport) -> Iterator[tuple[str, str]]:
    """How often it fails, how the program compiles, and since when it fails."""
    verdict = report.verdict
    if verdict.runs > 1 and verdict.symptom is not Symptom.NONDETERMINISTIC:
        yield "How often", f"{verdict.failures} of {verdict.runs} runs"
    called = [text for text in map(compile_call, report.compile_calls) if text != "torch.compile()"]
    if called:
        yield "Called as", ", ".join(code(clip(text, 160)) for text in list(dict.fromkeys(called))[:3])
    if report.graph_breaks or report.recompiles:
        counts = ((report.graph_breaks, "graph break"), (report.recompiles, "recompilation"))
        yield "Compilation", ", ".join(plural(count, name) for count, name in counts if count)
    if report.regression and regression(report.regression):
        fixed = bool(report.regression.get("first_fixed"))
        yield "Fixed" if fixed else "Regression", regression(report.regression)


def _is_part_alone(culprit: Culprit, stage: Stage) -> bool:
    """Whether all that is known is the part that the error's frames tell, and it tells more than the stage."""
    return not culprit.op and culprit.subsystem not in (None, "", stage.value)


def _comes_of(facts: dict[str, Any]) -> str:
    """Of what value a failure comes, and how that is known."""
    wrong, result = facts["wrong"], f"the result of {code(clip(str(facts['operation']), 200))}"
    shown = "with what eager computes in its place the reproducer passes"
    if not wrong:
        return f"{result}, which is not eager's by no more than rounding explains; {shown}"
    told = f"{wrong['face']} ({wrong['values']})" if wrong["values"] else wrong["face"]
    return f"a wrong value, {result}: {prose(clip(told, 200))}; {shown}"


def diverging(facts: dict[str, Any]) -> str:
    """Where in the program's own graph values go wrong."""
    operation, asked = code(clip(str(facts["operation"]), 200)), plural(facts["questions"], "run")
    place, shown = f"operation {facts['place']} of {facts['operations']}", f"({asked} of parts of that graph)"
    if facts.get("before"):
        later = code(clip(str(facts["before"]), 200))
        return f"the result of {operation} is not eager's as soon as {place}, {later}, comes after it {shown}"
    return f"{place}, {operation}, is the first with which compiled and eager differ {shown}"


def part(search: SubsystemSearch) -> str:
    """The part that was found, which application of it, and the runs that showed it."""
    told, graphs = part_named(search, code), ""
    if search.before and search.after:
        graphs = f"; the graph before and after it: {code(clip(search.before, 80))}, {code(clip(search.after, 80))}"
    return f"{told}: {prose(clip(search.shown_by, 240))}{graphs}"


def own_code_facts(report: TriageReport) -> list[tuple[str, str]]:
    """Whose code it is, the line in it, and where it was called from."""
    own = report.own_code
    if own is None:
        return []
    seen = "Crashes in" if own.died else "Hangs in" if own.hung else "Raised in" if own.raised else "Raised through"
    told = "Because of" if own.needed else seen
    found = [(told, prose(clip(own.name, 160)))]
    found.append(("Line", code(clip(own.line, 240))))
    return [*found, ("Called from", code(clip(own.call_site, 240)))] if own.call_site else found
