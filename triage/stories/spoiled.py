"""A script that cannot be run twice (it goes on from its checkpoint, its folder exists already): what the report says of that.

Later runs meet what earlier ones left behind, so no other rung could be asked (`walk.spoiled` is such a run).
"""

from __future__ import annotations

from triage.judge.naming import first_words, headline
from triage.judge.skeleton import short_type
from triage.locate.conclude import Conclusion
from triage.locate.walk import Walk
from triage.model.report import LadderRow
from triage.model.stage import Stage, Symptom
from triage.model.text import clip


def met_note(walk: Walk) -> str | None:
    """Why a second run says nothing, and what to do. A script is not blamed where it was we who ended a run before."""
    if walk.spoiled is None:
        return None
    again = walk.spoiled.signature
    if again is None:
        return (
            "Later runs of the script pass and compile nothing: they go on from what an earlier one left (a checkpoint, a "
            "finished result), or another way by chance, so on other rungs they say nothing. Let it start anew each time "
            "(another folder for what it writes), and run triage again."
        )
    told = headline(again.exception_type, clip(first_words(again.message), 200))
    if walk.spoiled_by:
        names = _names(walk.spoiled_by)
        return (
            f"The script could not be run again: as it is, it now ends with {told}. It may meet what {names} left behind, which "
            "triage had ended before its time, so runs of it on other rungs say nothing. Remove what was left, and run triage "
            "again with --jobs 1, or let the script start anew each time (another folder for what it writes)."
        )
    return (
        f"The script cannot be run twice: as it is, a second run ends with {told}. It meets what the first one left behind, "
        "so runs of it on other rungs say nothing. Let it start anew each time (another folder for what it writes), and "
        "run triage again to have them."
    )


def why_unsettled(walk: Walk, conclusion: Conclusion) -> str | None:
    """Why the stage to blame is not known, of a run that has asked all it could; None where it is known, or none is to blame."""
    if conclusion.settled or conclusion.symptom is Symptom.NONE or conclusion.stage is Stage.NONE:
        return None
    if walk.spoiled is not None and walk.spoiled.signature is None:
        return "later runs of the script pass and compile nothing, so other backends could not be asked"
    if walk.spoiled is not None and walk.spoiled.signature is not None:
        error = short_type(walk.spoiled.signature.exception_type)
        return f"a second run of the script meets what an earlier one left behind ({error}), so other backends could not be asked"
    return "other backends could not be asked"


def met_on(walk: Walk, rung: str) -> LadderRow | None:
    """The row of a rung that was run and says nothing; None where it was not run."""
    probe = walk.met.get(rung)
    if probe is None:
        return None
    if probe.signature is None:
        return LadderRow(rung, "script", "nothing_compiled", 0.0, note="it passes, which says nothing of the backend")
    why = f"met what an earlier run left behind ({short_type(probe.signature.exception_type)})"
    return LadderRow(rung, "script", "invalid", 0.0, note=why)


def _names(runs: tuple[str, ...]) -> str:
    """`eager`, or `eager` and `aot_eager`."""
    *others, last = (f"`{name}`" for name in dict.fromkeys(runs))
    return f"{', '.join(others)} and {last}" if others else last
