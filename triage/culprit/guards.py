"""Whether a result of Dynamo is wrong because a graph is used again where it does not hold: by compiling anew at every call."""

from __future__ import annotations

from collections.abc import Callable

from triage.culprit.parts import Asking, TellingRunner
from triage.culprit.settings import inserted
from triage.judge.asking import Budget
from triage.judge.judgement import Oracle
from triage.model.report import SubsystemRow, SubsystemSearch

GUARDS = "guards"
ANEW = "compiled anew at every call"
_INSTALL = "import _triage_agent.warm.anew\n_triage_agent.warm.anew.install()"


def search_guards(
    source: str,
    rung: str,
    runner: TellingRunner,
    oracle: Oracle,
    budget: Budget,
    emit: Callable[..., None],
    seconds: float,
) -> SubsystemSearch | None:
    """Ask it of a program that gives a wrong result on `rung`; None where there is no time for it, or no answer.

    A guard decides whether the graph of an earlier call holds for this one. Where the program passes without such graphs, one
    is missing or too weak; where it fails all the same, the graph itself is wrong, or what Dynamo does beside it.
    """
    if budget.spent():
        return None
    asking = Asking(source, rung, runner, oracle, budget, emit, seconds)
    outcome, _ = asking.several([(ANEW, inserted(source, _INSTALL))]).get(ANEW, ("not_run", ""))
    if outcome not in ("ok", "same_failure"):
        return None
    passes = outcome == "ok"
    return SubsystemSearch(
        names=(GUARDS,) if passes else (),
        shown_by=f"{ANEW} it passes: a graph of an earlier call is used again where it does not hold" if passes else "",
        queries=asking.queries,
        rows=(SubsystemRow(GUARDS, outcome, asking.took.get(ANEW, 0.0), ANEW),),
    )


def does_not_matter(search: SubsystemSearch | None) -> tuple[str, ...]:
    """What the answer shows where it failed all the same."""
    asked = search is not None and [(row.subsystem, row.outcome) for row in search.rows] == [(GUARDS, "same_failure")]
    return ("whether a graph of an earlier call is used again",) if asked else ()
