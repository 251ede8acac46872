"""Which part of the compiler is to blame, and which application of it: found by switching parts off on the reproducer.

First the failing run is counted: a part that is never applied need not be asked about. Then no operation is lowered. Where it
fails all the same, nothing behind is to blame, and the rest is asked without building kernels, in moments; where it passes,
fusion and vectorisation are asked by themselves, and what is less likely together: only a group without which it passes is
taken apart. Of the part that is left, bisection finds the application: with one less the reproducer passes. Each answer is ok,
same failure, or neither, which says nothing.

The parts, and what each of them is called, are those of PyTorch's `torch._inductor.compiler_bisector`, and some more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from triage.culprit.compiler_parts import AFTER, BEFORE, COUNTS, PartQueries, applications, counting, known_settings
from triage.culprit.inquiry import Inquiry
from triage.culprit.settings import (
    GRAPH_PASSES,
    INDUCTOR,
    NOTHING_FOR_IT,
    REFUSED,
    SLOWER,
    Setting,
    Switch,
    inserted,
    mode_of,
    switches_for,
    text_for,
    why_not,
    with_switch,
)
from triage.model.report import AblationRow, SubsystemRow, SubsystemSearch

LOWERINGS = "lowerings"
SHOW_GRAPHS = (*GRAPH_PASSES, "pattern matcher")
NO_TIME = "there was no time left for it"
UNTOLD = "this torch does not say how often it is applied"
NOT_COUNTED = "how often it is applied is not known: the run that counts did not fail the same way"


@dataclass(frozen=True)
class Searched:
    """What the search found; `graphs` are the texts before and after the guilty pass, by the file's name.

    `lowered` are the nodes of the reproducer's graphs that Inductor lowers, by their names.
    """

    search: SubsystemSearch
    rows: tuple[AblationRow, ...]  # of the options that were set, for the table of settings
    cures: tuple[Setting, ...]
    graphs: Mapping[str, str]
    lowered: tuple[str, ...] = ()


def search_parts(source: str, inquiry: Inquiry, *, refused: bool = False) -> Searched | None:
    """Search the parts of the stage whose backend is the failing rung; None where it has none that could be switched off.

    `refused`: the failure is that the C++ compiler refuses the text of a kernel.
    """
    switches = switches_for(inquiry.rung)
    if not switches or inquiry.budget.spent():
        return None
    asking = PartQueries(source, inquiry)
    known = known_settings(inquiry.runner)
    result, files = asking.telling(counting(source), (COUNTS,), "all")
    if result == "ok":
        return _not_in_such_runs(asking, switches, known)
    counts = applications(files.get(COUNTS, "")) if result == "same_failure" else {}
    untold = UNTOLD if result == "same_failure" else NOT_COUNTED
    search = _Search(asking, switches, known, counts, refused=refused, untold=untold)
    search.walk()
    return search.result()


def _not_in_such_runs(
    asking: PartQueries, switches: Sequence[Switch], known: Mapping[str, str] | None
) -> Searched | None:
    """Where the run that counts passes, and nothing was switched off yet: such runs show nothing of the parts.

    The program brings a backend of its own, or a graph that a cache hands on is to blame: such runs compile each graph anew. What
    is asked by an option alone may still be told.
    """
    search = _Search(asking, [switch for switch in switches if switch.late], known, {}, untold=NOT_COUNTED)
    search.walk()
    found = search.result()
    return found if found.search.names else None


def narrowest(passing: Sequence[Switch]) -> tuple[str, ...]:
    """Of the parts without which it passes, those that hold no other one of them."""
    wider = {name for switch in passing for name in switch.within}
    return tuple(switch.part for switch in passing if switch.part not in wider)


class _Search:
    """What is known of each part."""

    def __init__(
        self,
        asking: PartQueries,
        switches: Sequence[Switch],
        known: Mapping[str, str] | None,
        counts: Mapping[str, Mapping[int, str]],
        *,
        refused: bool = False,
        untold: str = UNTOLD,
    ) -> None:
        self._refused, self._untold = refused, untold
        self._asking, self._switches, self._known, self._counts = asking, switches, known, counts
        self._outcomes: dict[str, tuple[str, str]] = {}
        self._dear: dict[str, tuple[str, str]] = {}  # of the option itself, where the part was stopped by the agent
        self._graphs: Mapping[str, str] = {}
        self._off: tuple[str, ...] = ()  # parts that are off in every question, as they change nothing

    def walk(self) -> None:
        early = [switch for switch in self._switches if not switch.late]
        self._ask([[switch] for switch in early if switch.part == LOWERINGS])
        behind = [switch for switch in early if LOWERINGS in switch.within]
        wide = [switch for switch in early if not switch.within and switch.part != LOWERINGS]
        if self._outcomes.get(LOWERINGS, ("", ""))[0] == "same_failure":
            self._off = (LOWERINGS,)
            self._leave_out(behind)
            likely = [[switch] for switch in wide if switch.part == GRAPH_PASSES[-1]]  # most passes are in there
            self._ask([*likely, [switch for switch in wide if [switch] not in likely]])
        else:
            likely = [[switch] for switch in behind if switch.counted]
            less = [switch for switch in behind if not switch.counted and not switch.dear]
            self._ask([*likely, less, wide])
        inner = [switch for switch in early if switch.within and switch not in behind]
        self._leave_out(inner)
        self._ask([[switch] for switch in inner if switch.part not in self._outcomes])
        if not self._passing():
            self._ask([[switch] for switch in self._switches if switch.late])
        suspects = narrowest(self._passing())
        if suspects == (LOWERINGS,) or (not suspects and LOWERINGS not in self._counts):  # the latter: torch before 2.6
            self._ask_dear([switch for switch in self._switches if switch.dear and switch.part not in self._counts])

    def _leave_out(self, switches: Sequence[Switch]) -> None:
        """What lies inside of a part without which it fails all the same need not be asked.

        Of several parts that hold it each was left out alone, and what it does in another one fails then.
        """
        clear = {part for part, (outcome, _) in self._outcomes.items() if outcome == "same_failure"}
        clear |= {part for part, applied in self._counts.items() if not applied}
        for switch in switches:
            if len(switch.within) == 1 and set(switch.within) <= clear:
                self._outcomes[switch.part] = ("not_run", f"it fails without any {switch.within[0]} too")

    def result(self) -> Searched:
        names = narrowest(self._passing())
        application, what, shown_by = None, None, ""
        if names:
            shown_by = f"with {' switched off it passes, and with '.join(names)} switched off it passes"
            part = next((name for name in names if self._counts.get(name)), None)
            if part is not None and len(names) == 1:
                application = self._application(part)
        if names and application is not None:
            what = self._counts[names[0]].get(application) or None
            shown_by = shown_of(names[0], application)
        cures = self._cures(names, what)
        search = SubsystemSearch(
            names=names,
            application=application,
            what=what,
            shown_by=shown_by,
            queries=self._asking.queries,
            rows=tuple(self._row(switch) for switch in self._switches),
        )
        lowered = tuple(self._counts.get(LOWERINGS, {}).values())
        return Searched(search, tuple(self._settings()), cures, self._graphs, lowered)

    def _passing(self) -> list[Switch]:
        return [switch for switch in self._switches if self._outcomes.get(switch.part, ("", ""))[0] == "ok"]

    def _ask(self, groups: Sequence[Sequence[Switch]]) -> None:
        """Ask each group as one question, side by side; one that does not fail the same way is asked apart."""
        questions: list[tuple[list[Switch], str]] = []
        for group in groups:
            apart = {switch: self._why_not(switch) for switch in group}
            self._outcomes.update({switch.part: ("not_run", why) for switch, why in apart.items() if why})
            if asked := [switch for switch, why in apart.items() if not why]:
                questions.append((asked, self._without(asked)))
        if not questions or self._asking.spent():
            return
        answers = self._asking.several([(_named(group), text) for group, text in questions])
        again: list[Switch] = []
        for group, _ in questions:
            outcome, why = answers.get(_named(group), ("not_run", NO_TIME))
            if len(group) > 1 and (outcome in ("ok", "other_failure") or _named(group) in self._asking.late):
                again += group
            else:
                together = f"asked at once: {_named(group)}" if len(group) > 1 and not why else why
                took = self._asking.took.get(_named(group), 0.0)
                self._outcomes.update({switch.part: (outcome, together) for switch in group})
                self._asking.took.update({switch.part: took for switch in group})
        if again:
            self._ask([[switch] for switch in again])

    def _ask_dear(self, switches: Sequence[Switch]) -> None:
        """By their options, each alone: headers are compiled anew for them."""
        for switch in switches:
            if switch.accepted and self._refused:
                self._dear[switch.part] = self._outcomes[switch.part] = ("not_run", REFUSED)
                continue
            if self._asking.spent() or why_not(switch, self._asking.source, self._known) is not None:
                continue
            text = with_switch(self._asking.source, switch, self._known)
            answer = self._asking.several([(switch.text, text)]).get(switch.text, ("not_run", NO_TIME))
            self._dear[switch.part] = answer
            if switch.part not in self._counts:
                self._outcomes[switch.part] = answer
                self._asking.took[switch.part] = self._asking.took.get(switch.text, 0.0)

    def _why_not(self, switch: Switch) -> str:
        """Why this part is not asked about; an empty text where it is."""
        if self._counts.get(switch.part) == {}:
            return "it is not applied here"
        why = why_not(switch, self._asking.source, self._known)
        if self._by_option(switch) or switch.part in self._counts:
            return ""
        return why or self._untold

    def _by_option(self, switch: Switch) -> bool:
        """Whether its option turns it off, and not the agent."""
        return bool(switch.option) and not switch.dear and why_not(switch, self._asking.source, self._known) is None

    def _without(self, group: Sequence[Switch]) -> str:
        """The reproducer with these parts off."""
        source, off = self._asking.source, [*self._off]
        for switch in group:
            if self._by_option(switch):
                source = with_switch(source, switch, self._known)
            else:
                off.append(switch.part)
        return counting(source, tuple(off)) if off else source

    def _application(self, part: str) -> int | None:
        """The first application with which it fails; it passes with none. Told only where whole compiles say so too."""
        passes, fails = 0, max(self._counts[part])
        graphs: Mapping[str, str] | None = None
        files = (BEFORE, AFTER) if part in SHOW_GRAPHS else ()
        while fails - passes > 1:
            outcome = None
            # Where one number says nothing, its neighbours may.
            middle = (passes + fails) // 2
            for number in [middle, *(each for each in (middle + 1, middle - 1) if passes < each < fails)]:
                if self._asking.spent():
                    return None
                outcome, told = self._asked_of(part, number, files)
                if outcome == "ok":
                    passes = number
                    break
                if outcome == "same_failure":
                    fails, graphs = number, told
                    break
            else:
                return None
        if self._off or (graphs is None and files):
            if self._asking.spent():
                return None
            off, self._off = self._off, ()
            outcome, graphs = self._asked_of(part, fails, files)
            if outcome != "same_failure" or (off and self._asked_of(part, fails - 1, ())[0] != "ok"):
                return None
        self._graphs = graphs or {}
        return fails

    def _asked_of(self, part: str, number: int, files: Sequence[str]) -> tuple[str, Mapping[str, str]]:
        text = counting(self._asking.source, self._off, part, number, number if files else None)
        return self._asking.telling(text, files, f"{part}, {number} application{'' if number == 1 else 's'}")

    def _cures(self, names: Sequence[str], what: str | None) -> tuple[Setting, ...]:
        """The options with which it passed. An option that is dear, or takes one pass out, is tried here."""
        source = self._asking.source
        found = [
            switch.change
            for switch in self._passing()
            if switch.change is not None and self._by_option(switch) and mode_of(switch, source) is None
        ]
        suspects = [switch for switch in self._switches if switch.dear and switch.part in names]
        self._ask_dear([switch for switch in suspects if switch.part not in self._dear])
        found += [
            switch.change
            for switch in suspects
            if switch.change is not None and self._dear.get(switch.part, ("", ""))[0] == "ok"
        ]
        one = _without_pass(names, what) if f"{INDUCTOR}.disabled_passes" in (self._known or {}) else None
        if one is not None and not self._asking.spent():
            text = inserted(self._asking.source, f"import {INDUCTOR}\n{one.text}")
            if self._asking.several([(one.text, text)]).get(one.text, ("", ""))[0] == "ok":
                found.append(one)
        return tuple(found)

    def _row(self, switch: Switch) -> SubsystemRow:
        unasked = "it is asked only where nothing narrower is found" if switch.late or switch.dear else NO_TIME
        outcome, why = self._outcomes.get(switch.part, ("not_run", unasked))
        return SubsystemRow(switch.part, outcome, self._asking.took.get(switch.part, 0.0), why or None)

    def _settings(self) -> list[AblationRow]:
        rows = []
        for switch in self._switches:
            if not switch.option or (switch.dear and switch.part not in self._dear):
                continue
            outcome, why = self._dear.get(switch.part) or self._outcomes.get(switch.part, ("not_run", NO_TIME))
            took = self._asking.took.get(switch.text if switch.dear else switch.part, 0.0)
            if outcome == "not_run" and (switch.late or why == NOTHING_FOR_IT):
                continue
            rows.append(AblationRow(text_for(switch, self._asking.source), outcome, took, why or None))
        return rows


def _named(group: Sequence[Switch]) -> str:
    return ", ".join(switch.part for switch in group)


def shown_of(part: str, application: int) -> str:
    """In words: what the two runs at the boundary showed."""
    if application == 1:
        return f"with {part} switched off it passes, with its first application it fails"
    first = "the first application" if application == 2 else f"the first {application - 1} applications"
    return f"with {first} of {part} it passes, with {application} it fails"


def _without_pass(names: Sequence[str], what: str | None) -> Setting | None:
    if len(names) != 1 or names[0] not in GRAPH_PASSES or not what or not what.isidentifier():
        return None
    option = f"{INDUCTOR}.disabled_passes"
    return Setting("config", option, what, f"{option} = {what!r}", SLOWER)
