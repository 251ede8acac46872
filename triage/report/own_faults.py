"""What is said of a script that is itself to blame, by what was shown: one table for banner, title and what to do next."""

from __future__ import annotations

from triage.model.report import ReportSignature, ReportVerdict
from triage.model.stage import OwnFault

_MACHINERY = (
    "torch/_dynamo/",
    "torch/_functorch/",
    "torch/_higher_order_ops/",
    "torch/_inductor/",
    "torch/_subclasses/",
)

# As a title begins, and as a clause.
_TOLD = {
    OwnFault.UNCOMPILED: ("Fails without torch.compile too", "{it} fails without `torch.compile` too"),
    OwnFault.WRAPPED: (
        "Fails where nothing is compiled",
        "{it} fails where nothing is compiled (with its module still wrapped by `torch.compile`)",
    ),
    OwnFault.WRAPPER: (
        "Fails by the wrapper around a module, not by compiling it",
        "{it} fails where nothing is compiled, and passes where its module is not wrapped by `torch.compile` either",
    ),
    OwnFault.BY_CHANCE: (
        "Fails by chance, also where nothing is compiled",
        "{it} fails in some runs where nothing is compiled, and passes in others",
    ),
    OwnFault.UNWRITTEN: (
        "Reads memory that nobody wrote",
        "{it} fails where nothing is compiled, too, once other values lie in memory that it never wrote",
    ),
    OwnFault.OWN_BRANCH: (
        "Fails in its own code for compiled runs",
        "{it} fails in its own code for compiled runs, also where nothing is compiled",
    ),
    OwnFault.BEFORE_COMPILING: (
        "Fails before anything is compiled",
        "where {it} fails, nothing of it had been compiled",
    ),
}


def in_title(verdict: ReportVerdict) -> str:
    """How the title of a report of stage `script` begins."""
    return _TOLD[_fault(verdict)][0]


def in_words(verdict: ReportVerdict, it: str = "it") -> str:
    """Why the script (`it`) is to blame, as a clause: "it fails without `torch.compile` too"."""
    return _TOLD[_fault(verdict)][1].format(it=it)


def in_torch_itself(signature: ReportSignature | None) -> bool:
    """Whether a check of the compiler's own failed, which torch uses for more than torch.compile (`torch.cond`, `torch.func`)."""
    if signature is None or signature.exception_type.rpartition(".")[2] != "AssertionError":
        return False
    return any(frame.startswith(_MACHINERY) for frame in signature.frames[:1])  # innermost first


def _fault(verdict: ReportVerdict) -> OwnFault:
    """An older report has no such field."""
    older = OwnFault.BEFORE_COMPILING if verdict.compiled_nothing else OwnFault.UNCOMPILED
    return verdict.own_fault or older
