"""The ablation of a reproducer: the same script under every backend, mode, dynamic setting, fullgraph, and direction.

Each row was run and judged by the oracle; a row that could not be run says why. A setting that makes the failure go away
is a workaround.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from triage.culprit.arguments import Argument, arguments_for, cost_of_backend
from triage.culprit.compile_arguments import asks_one_graph, options_of, with_argument, without_option
from triage.culprit.inquiry import Inquiry
from triage.culprit.settings import Setting
from triage.model.graphcase import Context, GraphCase
from triage.model.report import AblationRow
from triage.model.rungs import BACKENDS, INDUCTORS
from triage.reduce.graph.passes.modes import DropOption
from triage.reduce.printing.printer import Form, Unprintable, print_case
from triage.reduce.text.code.compile_calls import compile_uses
from triage.reduce.text.code.script import Script

SOON = 0.5  # of the limit of a hang: what ends so soon does not hang


@dataclass(frozen=True)
class Variant:
    """One setting: either another backend, or the script with another setting. `text` is None where `why` says it has none.

    `change` is the same for machines; its `text` is the workaround, what to write in the user's program. `holds` are settings
    that it has in it: where one of them passes, this one is no workaround of its own.
    """

    setting: str
    text: str | None
    rung: str | None = None
    change: Setting | None = None
    why: str = ""
    holds: tuple[str, ...] = ()


def variants_of_graph(case: GraphCase, form: Form | None, failing: str) -> Iterator[Variant]:
    """The settings of the table for a graph that the printer prints. `failing` is the backend that failed."""

    def printed(setting: str, changed: GraphCase, change: Setting | None = None) -> Variant:
        try:
            # On the backend by its name, as the row of that backend is: what is the same question is asked once.
            return Variant(setting, print_case(changed, form=form), failing, change)
        except Unprintable as reason:
            return Variant(setting, None, failing, change, str(reason))

    whole = printed("", case)
    yield from (replace(row, text=whole.text, why=whole.why) for row in _backends(failing))
    for row in arguments_for(failing, fullgraph=case.context.fullgraph, options=[*case.context.options] or None):
        yield replace(printed(row.text, _with(row, case), row.change), holds=row.holds)
    yield from (printed(setting, other) for setting, other in _directions(case))


def variants_of_text(source: str, failing: str, *, own_backend: bool = False) -> Iterator[Variant]:
    """The same for a script: the setting is written into each of its calls of torch.compile.

    `own_backend`: the program brings the backend that fails, so any of PyTorch's may lead round it.
    """
    yield from (replace(row, text=source) for row in _backends("" if own_backend else failing))
    script = Script(source)
    uses = compile_uses(script)
    for row in arguments_for(failing, fullgraph=asks_one_graph(uses), options=options_of(uses)):
        if row.kind == "option":
            edits = without_option(script, uses, row.name)
        else:
            edits = with_argument(script, uses, row.name, None if row.value is None else repr(row.value))
        changed = script.replaced(edits) if uses and edits is not None else None
        why = "" if changed is not None else "no call of torch.compile was found to write it into"
        yield Variant(row.text, changed, None, row.change, why, row.holds)


def _backends(failing: str) -> Iterator[Variant]:
    for backend in BACKENDS:
        written = f'torch.compile(..., backend="{backend}")'
        cure = Setting("backend", "backend", backend, written, cost_of_backend(backend))
        yield Variant(of_backend(backend), "", backend, None if backend == failing else cure)


def of_backend(backend: str) -> str:
    """The row of a backend."""
    return f'backend="{backend}"'


def _with(row: Argument, case: GraphCase) -> GraphCase:
    """The case with this argument. Of `mode` and `options` torch takes one only: the other goes."""
    if row.kind == "option":
        return DropOption(row.name).apply(case)
    default = Context()
    gone = INDUCTORS if row.name in INDUCTORS else ()
    left: dict[str, Any] = {name: getattr(default, name) for name in gone}
    left |= {} if row.value is None and row.name in gone else {row.name: row.value}
    return replace(case, context=replace(case.context, **left))


def _directions(case: GraphCase) -> Iterator[tuple[str, GraphCase]]:
    if case.backward:
        yield "forward only", replace(case, backward=False)
    elif case.level == "dynamo" and any(item.kind == "tensor" for item in case.inputs):
        grads = tuple(
            replace(item, meta=replace(item.meta, requires_grad=True))
            if item.meta is not None and item.meta.dtype in ("float32", "float64", "float16", "bfloat16")
            else item
            for item in case.inputs
        )
        yield "with backward", replace(case, backward=True, inputs=grads)
    learns = case.learns
    if learns and case.level == "dynamo" and case.context.grad_enabled and not case.context.inference_mode:
        yield "under torch.no_grad()", replace(case, backward=False, context=replace(case.context, grad_enabled=False))


def ablate(
    asked: Sequence[Variant], inquiry: Inquiry, *, hung: float | None = None
) -> tuple[tuple[AblationRow, ...], tuple[Setting, ...]]:
    """(rows, the settings with which it passed, the gentlest first).

    `hung`: the failure is the limit of one run, and the reproducer was seen to exceed it, in so many seconds: that is not asked
    again. A row that comes near it shows nothing: a compile that explodes may end. Its setting is still one to be tried on
    the script.
    """
    questions: dict[tuple[str | None, str], str] = {}  # by backend and text: the first setting that asks this
    for variant in asked:
        if variant.text is not None:
            questions.setdefault((variant.rung, variant.text), variant.setting)
    answers: dict[tuple[str | None, str], AblationRow] = {}
    as_it_is = next((each for each in asked if each.setting == of_backend(inquiry.rung)), None)
    if hung is not None and as_it_is is not None and as_it_is.text is not None:
        answers[as_it_is.rung, as_it_is.text] = AblationRow(as_it_is.setting, "same_failure", round(hung, 2))
    for rung in dict.fromkeys(rung for rung, _ in questions):
        if inquiry.budget.spent():
            break
        sources = [text for other, text in questions if other == rung and (rung, text) not in answers]
        for index, result in inquiry.run_many(sources, rung):
            key = (rung, sources[index])
            answers[key] = inquiry.row(questions[key], result)
    table = [_row(variant, answers) for variant in asked]
    cures = cures_of(asked, table)
    return tuple(table if hung is None else (_told_apart(row, inquiry.seconds) for row in table)), cures


def cures_of(asked: Sequence[Variant], table: Sequence[AblationRow]) -> tuple[Setting, ...]:
    """A setting before another backend, a faster backend before a slower one."""
    passes = {row.setting for row in table if row.outcome == "ok"}
    passing = [
        variant.change
        for variant in asked
        if variant.setting in passes and variant.change is not None and passes.isdisjoint(variant.holds)
    ]
    return tuple({change.text: change for change in sorted(passing, key=lambda change: change.cost)}.values())


def _row(variant: Variant, answers: Mapping[tuple[str | None, str], AblationRow]) -> AblationRow:
    if variant.text is None:
        return AblationRow(variant.setting, "not_run", note=variant.why)
    late = AblationRow(variant.setting, "not_run", note="there was no time left for it")
    return replace(answers.get((variant.rung, variant.text), late), setting=variant.setting)


def _told_apart(row: AblationRow, limit: float) -> AblationRow:
    """The row of a failure that is a time limit."""
    if row.outcome != "ok" or row.seconds <= limit * SOON:
        return row
    why = f"it ended after {row.seconds:.0f} s, near the {limit:.0f} s that a hang is told by"
    return replace(row, outcome="not_run", note=why)
