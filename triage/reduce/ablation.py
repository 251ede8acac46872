"""The ablation of a reproducer: the same script under every backend, mode, dynamic setting, fullgraph, and direction.

Each row was run and judged by the oracle; a row that could not be run says why. A setting that makes the failure go away
is a workaround.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from triage.model.graphcase import GraphCase
from triage.model.report import AblationRow
from triage.model.stage import Verdict
from triage.model.text import clip
from triage.reduce.interface import Budget, CandidateRunner, Oracle
from triage.reduce.printer import Form, Unprintable, print_case

BACKENDS = ("eager", "aot_eager", "aot_eager_decomp_partition", "inductor")
MODES = ("default", "reduce-overhead", "max-autotune")
TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True)
class Variant:
    """One setting: either another backend, or the case with another context."""

    setting: str
    case: GraphCase
    rung: str | None = None
    workaround: str | None = None  # what to write in the user's program


def variants(case: GraphCase, failing: str) -> Iterator[Variant]:
    """Every variant of the case that the table shows. `failing` is the backend that failed."""
    for backend in BACKENDS:
        yield Variant(
            f'backend="{backend}"',
            case,
            backend,
            None if backend == failing else f'torch.compile(..., backend="{backend}")',
        )
    if failing == "inductor":
        for mode in MODES:
            context = replace(case.context, mode=None if mode == "default" else mode, options={})
            yield Variant(f'mode="{mode}"', replace(case, context=context), None, f'torch.compile(..., mode="{mode}")')
    for dynamic in (None, True, False):
        context = replace(case.context, dynamic=dynamic)
        yield Variant(
            f"dynamic={dynamic}", replace(case, context=context), None, f"torch.compile(..., dynamic={dynamic})"
        )
    context = replace(case.context, fullgraph=not case.context.fullgraph)
    yield Variant(f"fullgraph={context.fullgraph}", replace(case, context=context), None, None)
    if case.backward:
        yield Variant("forward only", replace(case, backward=False), None, None)
    elif case.level == "dynamo" and any(item.kind == "tensor" for item in case.inputs):
        grads = tuple(
            replace(item, meta=replace(item.meta, requires_grad=True))
            if item.meta is not None and item.meta.dtype in ("float32", "float64", "float16", "bfloat16")
            else item
            for item in case.inputs
        )
        yield Variant("with backward", replace(case, backward=True, inputs=grads), None, None)


def ablate(
    case: GraphCase,
    form: Form | None,
    failing: str,
    runner: CandidateRunner,
    oracle: Oracle,
    budget: Budget,
    emit: Callable[..., None],
    seconds: float = TIMEOUT_SECONDS,
) -> tuple[tuple[AblationRow, ...], tuple[str, ...]]:
    """(rows, workarounds that were run and passed). `seconds` is the limit of one run."""
    asked = list(variants(case, failing))
    texts: list[str | Unprintable] = []
    for variant in asked:
        try:
            texts.append(print_case(variant.case, form=form))
        except Unprintable as reason:
            texts.append(reason)
    questions: dict[tuple[str | None, str], str] = {}  # by backend and text: the first setting that asks this
    for variant, text in zip(asked, texts, strict=True):
        if isinstance(text, str):
            questions.setdefault((variant.rung, text), variant.setting)
    answers: dict[tuple[str | None, str], AblationRow] = {}
    for rung in dict.fromkeys(rung for rung, _ in questions):
        if budget.spent():
            break
        sources = [text for other, text in questions if other == rung]
        limit = max(0.0, min(seconds, budget.left()))
        for done, (index, result) in enumerate(runner.run_many(sources, rung=rung, timeout=limit), 1):
            key = (rung, sources[index])
            answers[key] = row = _judged(questions[key], result, oracle)
            emit("ablated", setting=row.setting, outcome=row.outcome, seconds=row.seconds)
            if done < len(sources) and budget.spent():
                break
    table: list[AblationRow] = []
    for variant, text in zip(asked, texts, strict=True):
        if isinstance(text, Unprintable):
            row = AblationRow(variant.setting, "not_run", note=str(text))
        else:
            late = AblationRow(variant.setting, "not_run", note="there was no time left for it")
            row = replace(answers.get((variant.rung, text), late), setting=variant.setting)
        table.append(row)
    cures = [
        variant.workaround
        for variant, row in zip(asked, table, strict=True)
        if row.outcome == "ok" and variant.workaround is not None
    ]
    return tuple(table), tuple(cures)


def _judged(setting: str, result, oracle: Oracle) -> AblationRow:  # type: ignore[no-untyped-def]
    judgement = oracle.judge(result)
    seconds = round(result.seconds, 2)
    if judgement.verdict is Verdict.SAME_FAILURE:
        return AblationRow(setting, "same_failure", seconds)
    if judgement.verdict is Verdict.NO_FAILURE:
        return AblationRow(setting, "ok", seconds)
    if not result.compiled:
        return AblationRow(setting, "not_run", seconds, judgement.reason)
    return AblationRow(setting, "other_failure", seconds, clip(judgement.reason, 200) or None)


def best_cures(cures: Sequence[str]) -> tuple[str, ...]:
    """The gentlest workarounds first: a setting before another backend, a faster backend before a slower one."""
    order = ["dynamic", "mode", "aot_eager_decomp_partition", "aot_eager", '"eager"']
    return tuple(
        sorted(dict.fromkeys(cures), key=lambda cure: next((i for i, word in enumerate(order) if word in cure), 9))
    )[:4]
