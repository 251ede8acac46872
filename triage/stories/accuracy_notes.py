"""What the comparison of compiled graphs with eager showed, for the report."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from triage.culprit.first_diverging import Diverging
from triage.culprit.first_wrong import made_by
from triage.culprit.operation import operator_name
from triage.locate.comparing import needs_dropout
from triage.locate.conclude import Conclusion
from triage.locate.walk import Walk
from triage.locate.which_graph import Apart
from triage.locate.which_value import Above, told_of
from triage.model.accuracy import Rounding, WrongResult
from triage.model.codec import encode
from triage.model.graphcase import GraphCase, GraphNode
from triage.model.outcome import Outcome
from triage.model.rungs import Rung
from triage.model.stage import Stage, Symptom
from triage.model.text import some
from triage.probe.graphs import read_graphs
from triage.probe.run import Probe
from triage.reduce.wrong_outputs import output_name
from triage.stories.findings import Findings

MOST_TOLD = 3
NOT_COMPARED_AFTER = (
    "Graphs that the script compiles later ({}, after call {} of graph {}) were not compared with eager, and may be wrong as "
    "well: run triage again once this failure is mended."
)


def accuracy_facts(found: Findings) -> dict[str, Any] | None:
    """The report's `accuracy`; None where nothing was compared. Numbers that JSON does not have are strings."""
    probe = found.walk.checked or told_of(found.walk)
    if probe is None:
        return None
    notes = probe.notes
    facts: dict[str, Any] = {"compared": notes.compared, "not_compared": list(notes.not_compared[:20])}
    if notes.unsteady:
        facts["unsteady"] = list(notes.unsteady[:20])
        facts["unordered"] = list(notes.unordered[:20])
    if notes.by_chance:
        facts["by_chance"] = list(notes.by_chance[:20])
    if notes.wrong is None:
        if notes.rounding is not None:
            facts["rounding"] = _told(notes.rounding)
        return facts
    facts |= _told(notes.wrong)
    facts["sentence"], facts["details"] = notes.wrong.sentence(), notes.wrong.details()
    makers = [notes.wrong.operation, *(_made_by(case, notes.wrong) for case in found.cases)]
    facts["made_by"] = next(filter(None, makers), None)
    facts["first_wrong"] = first_wrong_words(found.first_wrong)
    facts["first_diverging"] = diverging_facts(found.diverging)
    return facts


def _made_by(case: GraphCase, wrong: WrongResult) -> str | None:
    """The operation of the program's own graph whose result is this wrong value; None for an input, or a gradient."""
    name = output_name(case, wrong)
    node = next((node for node in case.nodes if node.name == name), None)
    return None if node is None else operator_name(made_by(case, node))


def first_wrong_words(node: GraphNode | None) -> str | None:
    """`aten.relu (train.py:12 in forward: ...)`."""
    if node is None:
        return None
    return f"{operator_name(node)} ({node.where})" if node.where else operator_name(node)


def diverging_facts(diverging: Diverging | None) -> dict[str, Any] | None:
    """Where in the program's own graph it begins: operation `place` of so many, told by so many questions."""
    if diverging is None:
        return None
    return {
        "operation": first_wrong_words(diverging.node),
        "place": diverging.place,
        "operations": diverging.operations,
        "questions": diverging.questions,
        "before": first_wrong_words(diverging.before),
        "result": diverging.wrong
        and {"face": diverging.wrong.face(), "wrong": diverging.wrong.wrong, "elements": diverging.wrong.elements},
    }


# Those give memory as it lies.
UNWRITTEN = re.compile(r"aten\.(?:empty(?:_like|_permuted|_strided)?|new_empty(?:_strided)?)(?:\.|$)")
MOST_NAMED = 3
STEPS = 8  # of one line in a graph: it is a loop, through which a rounding may grow

AMPLIFIED = (
    "The check fails in the same way without torch.compile, where each result of the compiled functions is changed by one "
    "rounding: the program makes more of a rounding with every step. Compare single steps from the same state, or what does "
    "not hang on the last bits."
)

ROUNDED_BY_DYNAMO = (
    "Dynamo may write one call as several (`x.addcdiv_(a, b)` as a quotient that is added), each of which rounds. Compare both "
    "with a run in double precision."
)

EAGER_WRONG = (
    "An operation's eager kernel is wrong for such values, or a value is too large for its dtype on the way. Look where in eager "
    "the first of them comes up, and compare with a run in double precision."
)


def rounding_notes(walk: Walk, rounding: Rounding, *, amplified: bool) -> list[str]:
    """What a reader needs who takes rounding for a bug: how far both are off, and what a check of this dtype can ask for."""
    place = f"{rounding.item} of graph {rounding.graph}, call {rounding.call} ({rounding.dtype})"
    if rounding.eager_wrong:
        return [
            f"{place}: eager gives {rounding.eager_gives} for {rounding.eager_wrong} of its elements, where double precision and "
            f"the compiled code agree. {_apart(rounding)}",
            _where_eager_is_wrong(rounding),
        ]
    exact = ""
    if rounding.compiled_error is not None and rounding.eager_error is not None:
        exact = (
            f" Against double precision compiled is off by {rounding.compiled_error:.3g}, "
            f"eager by {rounding.eager_error:.3g}."
        )
    notes = [
        f"{place}: compiled and eager differ by {rounding.difference:.3g} at most.{exact}",
        AMPLIFIED if amplified else _what_a_check_can_ask(rounding, repeated_step(walk.checked, rounding.graph)),
    ]
    if walk.emulated is not None:
        notes.append(emulated_words(walk.conclusion().failing, walk.emulated.outcome))
    return notes


def emulated_words(failing: Rung | None, outcome: Outcome) -> str:
    """What the check tells where Inductor rounds as eager does between the operations that it fuses."""
    told = "the check passes."
    if outcome.failed:
        told = "the check fails as well: the rounding changes before Inductor's kernels."
        if failing is not None and failing.stage is Stage.INDUCTOR:  # the rung below passes
            told = "the check fails as well: that is not all that rounds otherwise."
    return (
        "With TORCHINDUCTOR_EMULATE_PRECISION_CASTS=1, under which Inductor rounds between fused operations as eager does, "
        + told
    )


def _apart(rounding: Rounding) -> str:
    if rounding.unbounded or rounding.eager_error is None or rounding.compiled_error is None:
        return f"Elsewhere they differ by {rounding.difference:.3g} at most."
    return f"Against double precision compiled is off by {rounding.compiled_error:.3g}, eager by {rounding.eager_error:.3g}."


def _where_eager_is_wrong(rounding: Rounding) -> str:
    if not rounding.eager_operation:
        return EAGER_WRONG
    return (
        f"`{rounding.eager_operation}` is the first operation that gives infinity or NaN of finite numbers in eager, and not in "
        "double precision: a value is too large for its dtype there. Scale what goes into it, or compute that in a wider dtype."
    )


def repeated_step(probe: Probe | None, graph: str) -> tuple[str, int] | None:
    """The line that stands most often in this graph, and how often: a loop that was unrolled. None for no loop."""
    cases = [case for case in read_graphs(probe.graphs).cases if case.graph_id == graph] if probe is not None else []
    for case in cases:
        if case.level == "dynamo":
            times: dict[str, int] = {}
            for (line, _), count in Counter((node.where, node.target) for node in case.nodes if node.where).items():
                times[line] = min(count, times.get(line, count))  # a line may call one operation twice
            most = max(times.items(), key=lambda each: each[1], default=("", 0))
            return most if most[1] >= STEPS else None
    return None


def _what_a_check_can_ask(rounding: Rounding, step: tuple[str, int] | None) -> str:
    if rounding.of_zero:
        return (
            "In double precision it is zero: both are rounding of a zero. What divides by its size makes a whole number of that "
            "(Adam's first step is the learning rate, of either sign). Leave what it trains out of the check, or compare "
            "gradients."
        )
    if rounding.unbounded:
        return (
            "Where one of them is a number, the other is infinite or NaN, and eager is not sure of it either, once rounded "
            "otherwise: a value is too large for a dtype on the way, or is divided by nearly nothing. Scale it, or "
            "use a wider dtype."
        )
    if rounding.steps:
        return (
            "These are integers or booleans. What lies within a rounding of a step (the edge of a bucket, a threshold, a tie) "
            "falls on its other side, and eager's own do, once rounded otherwise. Compare the numbers before that step, or "
            "allow for some that differ."
        )
    if rounding.gross and not rounding.ill_conditioned:
        return (
            "Eager need not be the nearer of the two, so it is no measure: nearly equal numbers are subtracted, or a value is "
            "too large or too small for its dtype on the way. Compute it in a wider dtype, and compare with that."
        )
    if rounding.gross and step is not None:
        return (
            f"Eager gives something else as well when its inputs and operations are changed by one rounding. `{step[0]}` stands "
            f"{step[1]} times in that graph: where each step makes more of the last one's roundings (a chaotic system), no digit "
            "is left in the end, and no tolerance mends that. Compare single steps from the same state, or what does not hang on "
            "the last bits."
        )
    if rounding.gross:
        return (
            "Eager gives something else as well when its inputs and operations are changed by one rounding: an operation in "
            "there is ill-conditioned, as the inverse or the condition number of a matrix that is close to singular. No "
            "tolerance mends that: look at what goes into it, or compute it in double precision."
        )
    if 0.0 < rounding.tolerances < 1.0:
        return (
            f"That is {rounding.tolerances:.3g} times the default tolerance of torch.testing.assert_close, which this value "
            "passes. The script's own check asks for more (the same bits, as `==`, `torch.equal` and a hash do, or a smaller "
            "tolerance than these numbers can keep), or looks at what the program makes of them, which may be more with every "
            "step. Compare values like this one, with a tolerance that is in proportion to their size."
        )
    return (
        f"That is {rounding.tolerances:.3g} times the default tolerance of torch.testing.assert_close, which allows for one "
        "rounding and not for those of several operations. Compare both with a run in double precision, or raise rtol and atol."
    )


def unsteady_note(probe: Probe) -> str:
    """Why nobody is blamed for what eager does not give twice: it hangs on memory that nobody wrote, or on an order of writes."""
    names, unwritten, writes = probe.notes.unsteady, unwritten_memory(probe), probe.notes.unordered
    if writes:
        return (
            f"Eager itself gives something else for {', '.join(names[:3])} when {some(writes, MOST_NAMED)} writes in another "
            "order: an index is in there several times, with several values, and which of them stays is not defined. With "
            "several threads it may be another one each time. So it is no measure for the compiler. Have each index once, or say "
            "what becomes of several values: `index_put_` with `accumulate=True`, `scatter_reduce`."
        )
    note = f"Eager itself gives something else for {', '.join(names[:3])} when other values lie in memory that the program never "
    if not unwritten:
        return note + (
            "wrote: it reads outside of a tensor, or what it never set. So it is no measure for the compiler. Check the sizes of "
            "what the operations are given, and torch.empty."
        )
    named = some([first_wrong_words(node) or "" for node in unwritten], MOST_NAMED)
    return note + (
        f"wrote. So it is no measure for the compiler. Such memory comes from {named}: "
        "what is read of it must have been written before. torch.zeros, or torch.full, in its place gives the same each time."
    )


def varying_note(wrong: WrongResult | None) -> str | None:
    """Why the numbers of a wrong result are others in each run, where they are."""
    if wrong is None or not wrong.varies:
        return None
    by_luck = " A run may find the right ones there, and pass." if wrong.by_luck else ""
    return (
        f"Compiled, {wrong.item} was not the same in two runs on the same inputs, between which only what lies in free memory "
        "was changed; in eager it is. So it is where compiled code reads what it never wrote, or beyond the end of a tensor, or "
        f"where it writes to one place in no order. The numbers told here are those of one run.{by_luck}"
    )


def unwritten_memory(probe: Probe) -> list[GraphNode]:
    """The operations that give memory which nobody wrote, in the graphs whose values hang on such memory."""
    graphs = {name.rpartition(" of graph ")[2] for name in probe.notes.unsteady}
    cases = [case for case in read_graphs(probe.graphs).cases if case.level == "dynamo" and case.graph_id in graphs]
    return [node for case in cases for node in case.nodes if UNWRITTEN.match(operator_name(node))]


def comparison_note(probe: Probe, graphs: int = 0) -> str | None:
    """What a reader must know of a comparison that blamed nobody, or ended before all `graphs` were compiled."""
    notes, ended = probe.notes, ""
    if notes.wrong is not None:
        more = notes.stopped_early and notes.graphs < graphs
        return NOT_COMPARED_AFTER.format(graphs - notes.graphs, notes.wrong.call, notes.wrong.graph) if more else None
    if notes.unsteady:
        return unsteady_note(probe)
    if probe.outcome.failed:
        kind = probe.outcome.words().replace("_", " ")
        ended = f" The run that compares ended early: {kind}."
    if not notes.compared:
        why = f" ({notes.not_compared[0]})" if notes.not_compared else ""
        return f"No call of a compiled graph could be compared with eager{why}.{ended}"
    one = notes.compared == 1
    calls = "One call of a compiled graph was" if one else f"{notes.compared} calls of compiled graphs were"
    rest = f"; {len(notes.not_compared)} could not be ({notes.not_compared[0]})" if notes.not_compared else ""
    if notes.by_chance:
        rest += (
            " but for the random numbers that it draws itself, which could not be made the same. Draw them outside of the "
            "compiled function, or leave torch._inductor.config.fallback_random to triage, to have those compared too"
        )
    if notes.without_dropout:
        rest += ". Dropout was switched off on both sides"
    return (
        f"{calls} compared with eager on the script's own inputs, and nothing is further off than eager explains{rest}."
        f"{ended}"
    )


def dropout_note(probe: Probe) -> str | None:
    """Of a script whose own check fails, what it means that it passed in the run that compares, which switches dropout off."""
    if not needs_dropout(probe):
        return None
    rung = f" with `{probe.rung}`" if probe.rung else ""
    return (
        f"With dropout switched off in its compiled graphs the script passes{rung}: the failure needs dropout. "
        "Graphs were compared with eager without it, which cannot show what is wrong with its masks, as where the backward pass "
        "draws others than the forward pass."
    )


def _told(value: WrongResult | Rounding) -> dict[str, Any]:
    """What a report tells of a value. The file of its graph is ours."""
    return {name: _json(fact) for name, fact in encode(value).items() if name != "file"}


def _json(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def fails_by_rounding(failed: Conclusion) -> str | None:
    """What a reader must know who looks at the script's own check, where what is told is wrong besides."""
    if failed.symptom is not Symptom.ROUNDING or failed.failing is None:
        return None
    return (
        f"The script's own check fails by rounding, with `{failed.failing.name}` already, where no graph is wrong. What is told "
        "here is wrong besides: once it is mended, that check fails still."
    )


def another_operation(diverging: Diverging | None, shown: Sequence[str]) -> str | None:
    """What a reader must know where the program's own graph goes wrong at an operation that the reproducer does not `show`."""
    if diverging is None or not shown or operator_name(diverging.node) in shown:
        return None
    return (
        f"In the program's own graph values differ first with {first_wrong_words(diverging.node)}; the reproducer shows "
        f"{', '.join(shown[:4])}."
    )


def another_failure(wrongs: Sequence[WrongResult], passing: Rung | None, *, only: bool = False) -> str | None:
    """What a reader must know of other values of the call that are wrong on the rung where the script passes.

    `only`: no value is told as wrong besides.
    """
    if not wrongs or passing is None:
        return None
    told = _some([wrong.sentence() for wrong in wrongs])
    what = "A value of a compiled graph is wrong" if only else "Another value of the same call is wrong as well"
    return (
        f"{what}, and is another failure: so it is with `{passing.name}`, where the "
        f"script passes. {told[:1].upper()}{told[1:]}."
    )


def begins_above(found: Sequence[Above], failing: Rung | None) -> str | None:
    """What a reader must know of other values of the call that are right on the rung to blame."""
    if not found or failing is None:
        return None
    told = _some([f"{each.wrong.sentence()}, from `{each.first.name}` on" for each in found])
    return (
        f"Another value of the same call is wrong as well, and is another failure: with `{failing.name}` it is what eager gives. "
        f"{told[:1].upper()}{told[1:]}."
    )


def _some(sentences: Sequence[str]) -> str:
    more = f" (and {len(sentences) - MOST_TOLD} more)" if len(sentences) > MOST_TOLD else ""
    return "; ".join(sentences[:MOST_TOLD]) + more


def wrong_besides(apart: Apart | None) -> str | None:
    """What a reader must know of graphs that are wrong by themselves beside the one by which a check of the program's fails."""
    if apart is None or (apart.then and not apart.others):
        return None
    told = _some([f"graph {wrong.graph}, {wrong.sentence()}" for wrong in apart.others])
    wrong = "wrong as well" if apart.wrong is not None else "wrong"
    besides = f"Compared with eager on what it was called with, this is {wrong}: {told}." if told else ""
    asked = ", or with ".join(f"graph {graph}" for graph in apart.in_vain)
    as_before = f"with {asked} uncompiled it fails as before"
    if apart.besides:
        fails = f"The script's check does not fail by what is wrong here: {as_before}."
    elif apart.then and apart.wrong is not None:
        fails = f"The script's check fails by graph {apart.wrong.graph}: {apart.then} where that graph alone is not compiled"
        fails += f", and {as_before}." if asked else "."
    elif apart.together:
        fails = f"The script's check fails by several of these: {as_before}, and {apart.together} with none of them compiled."
    else:
        fails = f"Whether the script's check fails by that is not known: {as_before}."
    return " ".join(filter(None, (besides, fails)))
