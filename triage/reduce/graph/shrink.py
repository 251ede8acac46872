"""Making a small failing graph plain: the passes of the table, round after round, until nothing changes.

What was rejected once is not tried again unless operations went since, and sizes unless an argument became simpler; so a
round that changes little costs little.
Where every candidate takes long (a hang, a kernel that takes half a minute to compile), what is left of it is told as it is
after a while: who waits has the guilty operation by then.

Many independent edits are tried with few queries: all of them are merged and tried at once; where that is too much, each half
is. So a candidate that needs nothing special costs one query, and m necessary properties among n cost about m * log2(n).
Every decision follows from the answers alone, in a fixed order.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from triage.judge.asking import Judge, LateError
from triage.reduce.graph.candidate import Candidate, present
from triage.reduce.graph.dials import turned
from triage.reduce.graph.edits import Edit
from triage.reduce.graph.passes import ARGUMENTS, DETAILS, SIMPLER, SIZES, STRUCTURE, Choice, Pass
from triage.reduce.graph.wiring import operations
from triage.reduce.printing.printer import FINE, SEED

ROUNDS = 3
SECONDS = 120.0  # for everything but the graph's structure; longer where the search itself took more than twice as long
SHARE = 0.5  # of what the search took, where that is more
SPELLED_APART = 8  # operations, up to which each is asked whether it alone needs its exact spelling


@dataclass
class Shrinker:
    """Runs the passes, and remembers what the failure did not survive.

    Not `elsewhere`: only a GPU fails so, and what a first compile for the CPU costs (half a minute) would be in vain.
    """

    driver: Judge[Candidate]
    searched: float = 0.0  # seconds that the search took
    elsewhere: bool = True
    cut_short: bool = False
    _end: float | None = None
    _rejected: dict[str, tuple[str, Choice]] = field(default_factory=dict)
    _turned: set[str] = field(default_factory=set)

    @property
    def needed(self) -> list[Choice]:
        """Properties of the inputs, arguments and context that the failure needs: they could not be made simpler."""
        structure = {one.name for one in STRUCTURE}
        return [choice for name, choice in self._rejected.values() if name not in structure]

    def shrunk(self, current: Candidate) -> Candidate:
        """The candidate after every pass, with the same failure."""
        for _ in range(ROUNDS):
            before = current
            for one in STRUCTURE:
                current = self._settled(one.name, [one], current)
            current = self._made_plain(current)
            if current is before or self.cut_short:
                break
        return current

    def _made_plain(self, current: Candidate) -> Candidate:
        """All that leaves the graph as it is, within the time for it."""
        if self._end is None:
            self._end = time.monotonic() + max(SECONDS, SHARE * self.searched)
        try:
            with self.driver.until(self._end):
                current = self._settled("simpler", SIMPLER, current)
                for one in DETAILS if self.elsewhere else [one for one in DETAILS if one.name != "devices"]:
                    before, current = current, self._settled(one.name, [one], current)
                    if one.name in ARGUMENTS and current is not before:
                        self._forget_sizes()
                    current = self._turned_down(one, current)
                return self._unseeded(self._tolerant(self._spelled(current)))
        except LateError:
            self.cut_short = True
            best = self.driver.best
            return best.candidate if best is not None and best.weight < current.weight() else current

    def _settled(self, phase: str, passes: Sequence[Pass], current: Candidate) -> Candidate:
        self.driver.begin(phase)
        proposals = [
            (one.name, choice) for one in passes for choice in applicable(current, list(one.choices(current.case)))
        ]
        fresh = [(name, choice) for name, choice in proposals if choice.slot not in self._rejected]
        settled = settle(self.driver, current, [choice for _, choice in fresh])
        names = {choice.slot: name for name, choice in fresh}
        self._remember(current, settled.candidate)
        self._rejected |= {choice.slot: (names[choice.slot], choice) for choice in settled.rejected}
        return settled.candidate

    def _turned_down(self, one: Pass, current: Candidate) -> Candidate:
        while True:
            dial = next((dial for dial in one.dials(current.case) if dial.slot not in self._turned), None)
            if dial is None:
                return current
            before, current = current, turned(self.driver, current, dial)
            known = {each.slot for each in one.dials(before.case)}
            reached = [each.slot for each in one.dials(current.case) if each.slot not in known]
            # The value it was turned down to is as low as it goes; several new ones were only dragged along.
            self._turned.update([dial.slot, *(reached if len(reached) == 1 else [])])

    def _spelled(self, current: Candidate) -> Candidate:
        """The spelling a person would use, at least for all operations but one."""
        if current.form.nice and not current.form.exact:
            return current
        self.driver.begin("spelling")
        nice = replace(current.form, nice=True, exact=frozenset())
        nodes = current.case.nodes if len(current.case.nodes) <= SPELLED_APART else ()
        forms = [nice, *(replace(nice, exact=frozenset({node.name})) for node in nodes)]
        spelled = [replace(current, form=form) for form in forms]
        return self.driver.first(each for each in spelled if each.weight() < current.weight()) or current

    def _tolerant(self, current: Candidate) -> Candidate:
        """With the usual tolerance, or the largest below, where the failure is large enough for it."""
        larger = [fine for fine in (0.0, FINE) if current.form.fine and current.form.fine != fine]
        return (
            self.driver.first([replace(current, form=replace(current.form, fine=fine)) for fine in larger]) or current
        )

    def _unseeded(self, current: Candidate) -> Candidate:
        """Without a seed, where what is drawn does not matter."""
        if SEED not in (current.text() or ""):
            return current
        self.driver.begin("seeds")
        less = replace(current, form=replace(current.form, seeded=False))
        return self.driver.first([less] if less.text() != current.text() else []) or current

    def _forget_sizes(self) -> None:
        self._turned.clear()
        self._rejected = {slot: one for slot, one in self._rejected.items() if one[0] not in SIZES}

    def _remember(self, before: Candidate, after: Candidate) -> None:
        """After a change of the graph itself everything may be tried again."""
        if len(operations(after.case)) != len(operations(before.case)):
            self._rejected.clear()
            self._turned.clear()


@dataclass(frozen=True)
class Settled:
    """The candidate with every edit that could be made; and of each choice the alternatives that the failure did not survive.

    Where a later alternative was made, the simpler ones before it are among the rejected.
    """

    candidate: Candidate
    rejected: tuple[Choice, ...] = ()


def settle(driver: Judge[Candidate], current: Candidate, choices: Sequence[Choice]) -> Settled:
    """Make, of each choice, the first alternative after which the failure is still there."""
    choices = applicable(current, choices)
    if not choices:
        return Settled(current)
    if len(choices) == 1:
        return _single(driver, current, choices[0])
    middle = len(choices) // 2
    merged = _merged(current, choices)
    driver.ahead(present([merged, _merged(current, choices[:middle]), _merged(current, choices[middle:])]))
    if merged is not None and driver.fails(merged):
        return Settled(merged)
    left = settle(driver, current, choices[:middle])
    right = settle(driver, left.candidate, choices[middle:])
    return Settled(right.candidate, left.rejected + right.rejected)


def _single(driver: Judge[Candidate], current: Candidate, choice: Choice) -> Settled:
    changed = [(edit, candidate) for edit in choice.edits if (candidate := _lighter(current, [edit])) is not None]
    found = driver.first(candidate for _, candidate in changed)
    if found is None:
        return Settled(current, (choice,))
    simpler = tuple(edit for edit, _ in itertools.takewhile(lambda pair: pair[1] is not found, changed))
    return Settled(found, (Choice(choice.slot, simpler),) if simpler else ())


def applicable(current: Candidate, choices: Sequence[Choice]) -> list[Choice]:
    """The choices that have an alternative which makes the candidate lighter."""
    return [choice for choice in choices if any(_lighter(current, [edit]) is not None for edit in choice.edits)]


def _merged(current: Candidate, choices: Sequence[Choice]) -> Candidate | None:
    """The simplest alternative of every choice at once, leaving out those that no longer apply."""
    return _lighter(current, [choice.edits[0] for choice in choices])


def _lighter(current: Candidate, edits: Sequence[Edit]) -> Candidate | None:
    candidate = current
    for edit in edits:
        candidate = candidate.maybe(edit) or candidate
    return candidate if candidate.weight() < current.weight() else None
