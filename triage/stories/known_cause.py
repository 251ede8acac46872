"""The known cause of a failure, and the line that cures it: the table asked about what the script's first run told."""

from __future__ import annotations

from collections.abc import Sequence

from triage.culprit.guards import LEFT_OUT
from triage.culprit.known_causes import TABLE, Row
from triage.culprit.match_known_cause import known_row, told_cause
from triage.culprit.own_causes import (
    needs_cache,
    own_branch,
    own_cache,
    own_change,
    own_conversion,
    own_handler,
    own_unwritten,
    own_wrapper,
)
from triage.culprit.settings import Setting
from triage.locate.conclude import Conclusion
from triage.model.own_code import SIGNAL_HANDLER, Finding, OwnCode
from triage.model.report import KnownCause
from triage.model.stage import OwnFault, Stage, Symptom
from triage.probe.launch import text_of
from triage.probe.run import Probe
from triage.reduce.verifying import Reproduced

_PRINTED = 4_000  # characters


def cause_of(
    conclusion: Conclusion,
    first: Probe | None,
    mend: Sequence[Finding],
    own: OwnCode | None = None,
    cures: Sequence[Setting] = (),
    conversion: str = "",
    made: Reproduced | None = None,
    *,
    changed: bool = False,
) -> KnownCause | None:
    """Why it is no bug of the compiler, where that is known. What the program's own code is found to break says it better.

    `cures` are the settings with which the reproducer passes and the script was not seen to fail; `conversion` is the dtype of
    one that is undefined, where it comes of that; `made` is the reproducer; `changed`: eager raises it in the backward pass.
    """
    if changed:
        return own_change()
    if conversion:
        return own_conversion(conversion)
    if conclusion.own_fault is OwnFault.OWN_BRANCH:
        return own_branch(conclusion.asked_at)
    if own is not None and own.role == SIGNAL_HANDLER:
        return own_handler(own)
    if conclusion.own_fault is OwnFault.UNWRITTEN:
        return own_unwritten(conclusion.unwritten)
    if conclusion.own_fault is OwnFault.WRAPPER and row_of(conclusion, first) is None:
        return own_wrapper()
    left_out = next((each.cause for each in LEFT_OUT if each.setting in cures), None)
    if left_out is not None:
        return left_out
    text = made.source if made is not None and made.verified and made.minimal and made.case == "source" else ""
    if conclusion.stage is Stage.DYNAMO and conclusion.symptom is Symptom.WRONG_RESULT and needs_cache(text):
        return own_cache()
    row = row_of(conclusion, first) if not any(finding.explains for finding in mend) else None
    return told_cause(row, conclusion.outcome) if row is not None and conclusion.outcome is not None else None


def row_of(conclusion: Conclusion, first: Probe | None) -> Row | None:
    """The row of the table that holds for what the run came to."""
    if first is not None and conclusion.stage is Stage.SCRIPT and first.notes.orig_mod_keys:
        return next(row for row in TABLE if row.id == "orig_mod_keys")  # `strict=False` raised nothing
    if first is None or conclusion.symptom not in (Symptom.EXCEPTION, Symptom.CRASH):
        return None
    stage = conclusion.stage if conclusion.settled else Stage.NONE
    return known_row(conclusion.outcome, stage, first.notes.compile_calls, _printed(first))


def _printed(first: Probe) -> str:
    """The end of what a script printed that ended without an exception to look at."""
    return text_of(first.log)[-_PRINTED:] if first.outcome.exception is None else ""
