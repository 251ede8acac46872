"""Whose code is it? The custom operators of the failing graph checked, and what the program can mend.

The check is one more run of the script without a compiler: there the operators are called with what the failing graph gives
them, and `torch.library.opcheck` looks at copies of that.
"""

from __future__ import annotations

from collections.abc import Sequence

from triage.culprit.contracts import broken_by, findings_of
from triage.culprit.needed_code import needed_code
from triage.culprit.operation import operator_name
from triage.culprit.own_code import own_backend_of, own_code_of, own_code_that_died, own_code_that_hung
from triage.judge.skeleton import short_type
from triage.locate.conclude import Conclusion
from triage.model.graphcase import GraphCase
from triage.model.outcome import RaisedException
from triage.model.own_code import OF_OPERATORS, WHILE_COMPILING, Finding, OwnCode
from triage.model.rungs import UNCOMPILED
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.model.text import MARK
from triage.reduce.interface import UNREDUCED
from triage.report.excerpt import code_at
from triage.stories.findings import Findings

RAISED = (OutcomeKind.EXCEPTION, OutcomeKind.OOM)
CHECK_SECONDS = 60.0  # of a run, beside what the script itself took

_CURES_OF_READING = {
    "fake kernel": "Make the sizes arguments of the operator, or use `torch.library.get_ctx().new_dynamic_size()` without "
    "asking what it is.",
    "backward": "Leave the question out of the backward, or put what reads values into a custom operator that it calls.",
    "decomposition": "Leave the question out of the decomposition, or do without it where values decide.",
}
_FAILED_READING = ("DataDependentOutputException", "GuardOnDataDependentSymNode", "DynamicOutputShapeException")


def check_operators(found: Findings, conclusion: Conclusion) -> None:
    """Run `torch.library.opcheck` on the custom operators of the failing graph. Fills `operator_checks` of the findings."""
    if conclusion.stage.needs_compiling and conclusion.settled and not found.operator_checks:
        _check(found)


def _check(found: Findings) -> None:
    names = custom_operators(found)
    if not names:
        return
    session = found.session
    found.drop_way_ahead()
    found.walk.alone()
    with session.timed("opcheck"):
        probe = found.walk.ask(
            UNCOMPILED, "opcheck", opcheck=names, limit=CHECK_SECONDS + found.walk.start.outcome.seconds
        )
    found.operator_checks = probe.notes.checked
    session.emit("operators_checked", operators=[check.operator for check in probe.notes.checked])


def doubt_rounding(found: Findings) -> None:
    """Before a difference is called rounding: not where custom operators do what the comparison with eager cannot see.

    An operator that changes an input in silence makes the order of calls decide, in eager's own runs as well.
    """
    conclusion = found.walk.conclusion()
    if conclusion.rounding is None and not conclusion.unsteady:
        return
    _check(found)
    found.walk.operators_break = any(map(broken_by, found.operator_checks))


def custom_operators(found: Findings) -> tuple[str, ...]:
    """Names `ns::name` of the custom operators that the captured graphs call; of all that are known where there is no graph."""
    known = dict.fromkeys(
        name
        for probes in list(found.walk.seen.values())  # others add to it
        for probe in list(probes)
        for name in probe.notes.operators
    )
    called = {name for case in found.cases for name in operators_of(case)}
    return tuple(name for name in known if not found.cases or name in called)


def operators_of(case: GraphCase) -> tuple[str, ...]:
    """The operators that a graph calls, nested graphs included, as `ns::name`."""
    nodes = [*case.nodes, *case.nested_nodes]
    parts = [operator_name(node).split(".") for node in nodes if node.target.startswith(("torch.ops.", "torch._ops."))]
    return tuple(dict.fromkeys("::".join(each[:2]) for each in parts if len(each) > 1))


def raised_by(conclusion: Conclusion) -> RaisedException | None:
    """The exception that is the failure; None where a result is wrong, which says nothing of what made it."""
    outcome = conclusion.outcome
    return outcome.exception if outcome is not None and outcome.kind in RAISED else None


def own_code(found: Findings, conclusion: Conclusion) -> OwnCode | None:
    """The program's own code under the compiler that the failure comes of.

    It was seen in the traceback, or is the backend with which alone the program fails, or the reproducer needs it.
    """
    raised = own_code_of(raised_by(conclusion), conclusion.stage)
    if raised is not None and _fails_without(found, raised):
        raised = None
    if raised is None and conclusion.outcome is not None:
        died = own_code_that_died(conclusion.outcome, conclusion.stage, code_at)
        raised = died or own_code_that_hung(conclusion.outcome, conclusion.stage, code_at)
    if raised is None and conclusion.stage is Stage.BACKEND and conclusion.settled:
        raised = own_backend_of(found.walk.start.notes.compile_calls)
    return raised or _needed_by_reproducer(found)


def _fails_without(found: Findings, own: OwnCode) -> bool:
    """Whether a verified graph fails the same way without the code, through which torch's own exception came.

    What the program did to torch stands in a graph only where that is `prepared`, and a tensor subclass never: it is traced away.
    """
    made = found.reproduced
    if own.raised or made is None or not made.verified or made.graph is None or made.graph.prepared:
        return False
    return own.role == "tensor subclass" or (own.role in WHILE_COMPILING and own.role not in ("backend", "fake kernel"))


def _needed_by_reproducer(found: Findings) -> OwnCode | None:
    made = found.reproduced
    if made is None or not made.verified or made.engine == UNREDUCED:
        return None
    if made.graph is not None and not made.graph.prepared:
        return None
    effects = next((case.effects for case in found.cases if case.effects), ())
    return needed_code(made.source, effects)


def what_to_mend(found: Findings, conclusion: Conclusion, own: OwnCode | None) -> tuple[Finding, ...]:
    """What the program itself can mend, what explains the failure first."""
    broken = findings_of(found.operator_checks, _needed(found, conclusion, own))
    raised = _raised_by_own(conclusion, own) or _refused(found, own)
    return tuple(sorted(filter(None, (raised, *broken)), key=lambda finding: not finding.explains))


def _needed(found: Findings, conclusion: Conclusion, own: OwnCode | None) -> Sequence[str]:
    """Operators that the failure cannot do without: the reduction kept them, or the error names them.

    A wrong result and a crash name nothing: while an operator of the failing graph breaks its word, that has to be mended first.
    """
    made = found.reproduced
    if made is not None and made.verified and made.engine != UNREDUCED:
        return [check.operator for check in found.operator_checks if _names(made.source, check.operator)]
    if conclusion.symptom in (Symptom.WRONG_RESULT, Symptom.CRASH):  # no eager run of such an operator is a measure
        return [check.operator for check in found.operator_checks]
    named = [own.operator] if own is not None and own.operator else []
    message = conclusion.signature.message if conclusion.signature is not None else ""
    return [*named, *(check.operator for check in found.operator_checks if _names(message, check.operator))]


def _names(message: str, operator: str) -> bool:
    return operator in message or operator.replace("::", ".") in message


def _raised_by_own(conclusion: Conclusion, own: OwnCode | None) -> Finding | None:
    """That it is no bug of PyTorch's: the code's own exception, raised while the compiler asked it."""
    if own is None:
        return None
    if own.needed and own.role == "backend":
        return None  # shown is that Inductor passes: a part of torch that this backend uses may be to blame as well
    if own.needed:
        because = f"The reproducer fails with it and passes without it: `{own.line}`."
        agree = " What it returns has to agree with the operator's own result in shape, dtype, strides and values."
        cure = f"Correct {own.place}.{agree if own.role in OF_OPERATORS else ''}"
        return Finding(f"{_capital(own.name)} makes it fail", because, cure, own.place)
    if own.died:
        because = f"The process ended in its line: `{own.line}`."
        return Finding(
            f"{_capital(own.name)} crashes", because, f"Look at {own.place} first.", own.place, own.role == "backend"
        )
    if own.hung:
        because = f"The process was in its line when its time was up: `{own.line}`."
        return Finding(f"{_capital(own.name)} does not end", because, f"Look at {own.place} first.", own.place, False)
    if own.raised and own.role in WHILE_COMPILING:
        because = f"The exception is its own: `{own.line}`."
        return Finding(f"{_capital(own.name)} raises", because, f"Correct {own.place}.", own.place)
    if own.role in _CURES_OF_READING and _reads_values(conclusion):
        return Finding(
            f"{_capital(own.name)} asks for values",
            f"It is run on shapes and dtypes alone, without values, and without sizes that depend on values: `{own.line}`.",
            _CURES_OF_READING[own.role],
            own.place,
        )
    return None


def _refused(found: Findings, own: OwnCode | None) -> Finding | None:
    """A kernel or backward that refuses what compiled code gives it. It explains where opcheck meets the same by itself."""
    if own is None or not own.raised or own.died or own.role not in ("kernel", "backward", "setup_context"):
        return None
    messages = [failure.message for check in found.operator_checks for failure in check.failures]
    if any(own.error.rstrip(MARK) in message for message in messages):
        because = "`torch.library.opcheck`, which calls the operator without your graph, meets the same exception."
        return Finding(
            f"{_capital(own.name)} refuses what a compiler may give it", because, f"Correct {own.place}.", own.place
        )
    return Finding(
        f"{_capital(own.name)} refuses what compiled code gives it",
        f"Uncompiled it is given something else: `{own.line}`.",
        "Compare shape, strides, storage_offset() and requires_grad of its inputs in both runs. Shape and strides are the "
        "compiler's to keep; the offset and the state of autograd are not.",
        own.place,
        explains=False,
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _reads_values(conclusion: Conclusion) -> bool:
    inner = conclusion.error.innermost() if conclusion.error is not None else None
    kinds = [short_type(each.type) for each in (inner, inner.cause if inner else None) if each is not None]
    return any(kind in _FAILED_READING for kind in kinds)
