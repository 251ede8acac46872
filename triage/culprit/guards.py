"""Whether a result of Dynamo is wrong because a graph is used again where it does not hold: by compiling anew at every call."""

from __future__ import annotations

from dataclasses import dataclass

from triage.culprit.compiler_parts import PartQueries
from triage.culprit.inquiry import Inquiry
from triage.culprit.settings import GENTLE, Setting, inserted
from triage.culprit.subsystem import Searched
from triage.model.report import AblationRow, KnownCause, SubsystemRow, SubsystemSearch

GUARDS = "guards"
ANEW = "compiled anew at every call"
_INSTALL = "import _triage_agent.warm.anew\n_triage_agent.warm.anew.install()"


@dataclass(frozen=True)
class LeftOut:
    """Guards that torch leaves out on purpose, and says so. With `setting` it sets them."""

    setting: Setting
    cause: KnownCause


_HOOKS = "torch._dynamo.config.skip_nnmodule_hook_guards"
LEFT_OUT = (
    LeftOut(
        Setting("config", _HOOKS, False, f"{_HOOKS} = False", GENTLE),
        KnownCause(
            "hooks_after_first_call",
            "A hook is added to a module, or taken off, after a compiled call has gone through it. To save time torch sets no "
            f"guard on hooks (`{_HOOKS}`), so later calls run the graph that was compiled with the hooks of that time.",
            "Add hooks before the first compiled call and leave them, call `torch._dynamo.reset()` where they change, or set "
            f"`{_HOOKS} = False`.",
            "https://docs.pytorch.org/docs/stable/torch.compiler_nn_module.html",
        ),
    ),
)


def search_guards(source: str, inquiry: Inquiry) -> Searched | None:
    """Ask it of a program that gives a wrong result; None where there is no time for it, or no answer.

    A guard decides whether the graph of an earlier call holds for this one. Where the program passes without such graphs, one
    is missing or too weak, and those that torch leaves out are asked for; where it fails all the same, the graph itself is
    wrong, or what Dynamo does beside it.
    """
    asking = PartQueries(source, inquiry)
    if asking.spent():
        return None
    outcome, _ = asking.several([(ANEW, inserted(source, _INSTALL))]).get(ANEW, ("not_run", ""))
    if outcome not in ("ok", "same_failure"):
        return None
    passes = outcome == "ok"
    settings = [each.setting for each in LEFT_OUT] if passes and not asking.spent() else []
    texts = ((each.text, f"import {each.name.rpartition('.')[0]}\n{each.text}") for each in settings)
    answers = asking.several([(text, inserted(source, lines)) for text, lines in texts])
    rows = tuple(AblationRow(text, told, asking.took[text], why or None) for text, (told, why) in answers.items())
    cures = tuple(each for each in settings if answers.get(each.text, ("", ""))[0] == "ok")
    search = SubsystemSearch(
        names=(GUARDS,) if passes else (),
        shown_by=f"{ANEW} it passes: a graph of an earlier call is used again where it does not hold" if passes else "",
        queries=asking.queries,
        rows=(SubsystemRow(GUARDS, outcome, asking.took.get(ANEW, 0.0), ANEW),),
    )
    return Searched(search, rows, cures, {})


def does_not_matter(search: SubsystemSearch | None) -> tuple[str, ...]:
    """What the answer shows where it failed all the same."""
    asked = search is not None and [(row.subsystem, row.outcome) for row in search.rows] == [(GUARDS, "same_failure")]
    return ("whether a graph of an earlier call is used again",) if asked else ()
