"""What a person sees at the end of a run: the report tree, the directory alone, or the panel and the reproducer below it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triage.cli.view import ops_told, shown, shown_bare, typed

if TYPE_CHECKING:
    from triage.model.own_code import OperatorCheck
    from triage.stories.run import RunResult

# Of a reproducer, on the terminal; the file has all of it. One line may hold thousands of recorded numbers.
MOST_LINES_SHOWN, MOST_CHARACTERS_SHOWN = 30, 4000


def tell_finished(directory: Path) -> None:
    """Of a run that there is nothing to go on with."""
    told = f"{shown(directory)} had come to its end, so nothing was run again; --budget or --timeout given anew would do that."
    print(told, file=sys.stderr)  # noqa: T201


def show_result(done: RunResult, *, quiet: bool, as_json: bool) -> None:
    """The end of a run: the report tree, the directory alone, or the panel."""
    if shown_bare(done.directory, "report.json", quiet=quiet, as_json=as_json):
        return
    from rich.console import Console

    Console().print(_panel(done))
    source = done.directory / "repro.py"
    made = done.report.reproducer
    if made is not None and made.lines <= MOST_LINES_SHOWN and source.exists():
        text = source.read_text(encoding="utf-8").rstrip()
        if len(text) <= MOST_CHARACTERS_SHOWN:
            sys.stdout.write(f"\n{text}\n")  # outside the box, and unwrapped: ready to copy


def _panel(done: RunResult) -> Any:
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    from triage.model.stage import Stage, Symptom

    report = done.report
    failed = report.verdict.symptom is not Symptom.NONE
    parts: list[Any] = [Text(report.verdict.summary, "bold")]
    if report.known_cause is not None:
        parts.insert(0, Text(report.known_cause.explanation, "bold"))
    for name, value in _facts(done):
        parts.append(Text.assemble((f"{name:<11}", "dim"), value))
    title = f"stage: {report.verdict.stage.value}" if failed and report.verdict.stage is not Stage.NONE else "triage"
    title += " (your own code)" if report.explanation is not None else ""
    return Panel(Group(*parts), title=title, title_align="left", border_style="red" if failed else "green")


def _facts(done: RunResult) -> Iterator[tuple[str, str]]:
    from triage.model.report import COMPILES_NOTHING
    from triage.report.wording import (
        another_on_that_line,
        function_alone,
        line_title,
        modules_alike,
        part_named,
        workarounds_of_each,
    )

    report = done.report
    if report.known_cause is not None:
        yield "cure", report.known_cause.cure
    if report.signature is not None and report.signature.user_line:
        yield line_title(report.signature).lower(), report.signature.user_line
        function = function_alone(report)
        if function is not None:
            yield "function", function.replace("`", "")
        if report.culprit is not None and report.culprit.module:
            yield "module", report.culprit.module + modules_alike(report.culprit)
    if report.signature is not None and report.signature.library_line:
        yield "in library", report.signature.library_line
    if report.signature is not None and report.signature.test:
        yield "test", report.signature.test
    if report.own_code is not None and report.own_code.call_site:
        yield "called at", report.own_code.call_site
    for finding in report.findings[:2]:
        yield "to mend", f"{finding.headline}. {finding.cure}"
    for check in report.operator_checks[:4]:
        yield "opcheck", _opcheck(check)
    if report.culprit is not None and report.culprit.op:
        part_of = f" ({report.culprit.subsystem})" if report.culprit.subsystem else ""
        yield "operation", report.culprit.op + part_of + another_on_that_line(report)
    part = report.subsystem
    if (
        part is not None
        and part.names
        and (part.application is not None or report.culprit is None or not report.culprit.op)
    ):
        yield "part", f"{part_named(part, str)}: {part.shown_by}"
    made = report.reproducer
    if made is not None:
        count = f"{made.verified_runs}/{max(made.runs, made.verified_runs)}"
        state = f"verified {count}" if made.verified else "NOT verified"
        if made.verified and made.doubt:
            state = f"fails {count}, but may show another failure: {made.doubt}"
        if made.needs and made.verified_runs:
            state = f"verified {count} with your {', '.join(made.needs)}, not included: --include-data puts it in"
        yield "reproducer", f"{shown(done.directory / made.path)} ({ops_told(made.ops)}{made.lines} lines, {state})"
    elif report.reproducer_note:
        yield "reproducer", f"none: {report.reproducer_note}"
    for way in report.ways_round[:1]:
        patch = f"; git apply {typed(done.directory / way.patch)}" if way.patch else ""
        loses = f" ({way.cost})" if way.cost == COMPILES_NOTHING else ""
        yield "way round", f"{way.change}{loses}{patch}"
    if not report.ways_round:
        script, alone = workarounds_of_each(report)
        told = [*script, *(f"{cure} (the reproducer passes with it)" for cure in alone)]
        yield from (("workaround", cure) for cure in told[:2])
    page = " (for a browser: report.html)" if (done.directory / "report.html").is_file() else ""
    yield "report", f"{shown(done.directory / 'report.md')}{page}"
    yield "time", f"{report.timings.get('total', 0.0):.0f} s"
    if report.incomplete_reason:
        yield "incomplete", report.incomplete_reason
    yield "next", _next(done)


def _opcheck(check: OperatorCheck) -> str:
    """`img::hwc: test_faketensor failed`, with the first line of what it says."""
    from triage.model.text import clip

    failed = [f"{', '.join(tests)} failed: {clip(message, 240)}" for message, tests in check.by_message.items()]
    return f"{check.operator}: {'; '.join(failed) or check.note or 'every test passes'}"


def _next(done: RunResult) -> str:
    from triage.model.stage import OwnFault, Stage, Symptom
    from triage.report.own_faults import in_torch_itself, in_words

    verdict, cause = done.report.verdict, done.report.known_cause
    if cause is not None:
        return f"nothing to report: this is not a bug of torch.compile{f' (see {cause.reference})' if cause.reference else ''}"
    unknown = verdict.own_fault is OwnFault.WRAPPED and not done.report.complete  # whether it is the wrapper
    if verdict.stage is Stage.SCRIPT and not unknown:
        if in_torch_itself(done.report.signature):
            return f"reduce it without torch.compile: {in_words(verdict)}, by a check of torch's own".replace("`", "")
        return f"correct the script first: {in_words(verdict)}".replace("`", "")
    if verdict.unsettled is not None:
        return (
            "let the script start anew (remove what its runs left) and run triage again: "
            "the other backends could not be asked (see the notes in report.md)"
        )
    if not done.report.complete:
        return f"go on where it ended: triage run --resume {typed(done.directory)}"
    if verdict.symptom is Symptom.NONE:
        if verdict.compiled_nothing:
            return "run it so that it compiles something: the seed or the argument with which it failed"
        return (
            "nothing to do: the script passes. Where you saw it fail, give triage the arguments or the seed of that run"
        )
    if verdict.door is not None and done.report.reproducer is None:
        return "read report.md; the script was not made smaller, so shorten it by hand before you report it"
    if verdict.symptom is Symptom.ROUNDING:
        return "nothing to report: compare with double precision (report.md says what a check can ask for)"
    explained = done.report.explanation
    if explained is not None:
        return f"mend {explained.place or 'your code'}: this is not a bug of PyTorch"
    own = done.report.own_code
    if own is not None and own.needed and own.role == "backend" and own.library is not None:
        return f"tell the authors of {own.library}, whose backend it is ({own.place}): with PyTorch's own backends it passes"
    if own is not None:
        return f"look at {own.place} first; where that is right, read report.md and file it with your own words"
    if verdict.stage is Stage.NONE and verdict.door is None:
        return "read the notes in report.md: this is not a compiler bug as it stands"
    return f"read report.md, add your own words, and attach it to an issue (triage report {typed(done.directory)} -f github)"
