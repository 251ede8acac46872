"""Which job is asked what next: cheap questions first, everything about one script of each failure, little about the others.

1. Every script is screened: as it is, its graphs compared with eager. What passes is done.
2. Of those that fail alike, one is told about in whole. The others wait for it: where theirs is its failure by all that the
   screening saw, they are done, and its stage and operation are theirs.
3. All others are reduced by themselves, as nothing less tells which operation is to blame; also one that fails at another place,
   but in the words of one that is told about in whole.
4. A cluster in which nobody was told about in whole gets that for its smallest reproducer.
5. What passes although it is said to fail (by who named it, an earlier attempt, an earlier sweep) is run twice more, so that one
   lucky run does not make it right.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from triage.model import accuracy
from triage.model.sweep import Fate
from triage.sweep.clusters import Member, inheriting, representative
from triage.sweep.facts import Answer, Facts
from triage.sweep.same_bug import shares

_CHECKS = ("AssertionError", accuracy.TYPE)


class Pass(enum.Enum):
    """How much is asked about a script; each goes on where the one before it ended."""

    SCREEN = "screen"
    REPRODUCER = "reproducer"
    WHOLE = "whole"


@dataclass(frozen=True)
class JobState:
    """One job, and what is known of it. `place` is its turn, `running` the pass that is going on.

    `doubted`: somebody saw it fail, or says so.
    """

    name: str
    place: int
    directory: str
    answers: Mapping[str, Answer]
    running: Pass | None = None
    doubted: bool = False

    @property
    def screened(self) -> Facts | None:
        answer = self.answers.get(Pass.SCREEN.value)
        return answer.facts if answer is not None else None

    @property
    def told(self) -> Facts | None:
        """What the last pass that left a report said."""
        for which in (Pass.WHOLE, Pass.REPRODUCER, Pass.SCREEN):
            answer = self.answers.get(which.value)
            if answer is not None and answer.facts is not None:
                return answer.facts
        return None

    @property
    def treated(self) -> bool:
        """Whether more than the screening was asked, or is being asked; also where it left nothing."""
        return any(self.asked(which) for which in (Pass.REPRODUCER, Pass.WHOLE))

    def asked(self, which: Pass) -> bool:
        return which is self.running or which.value in self.answers

    @property
    def seconds(self) -> float:
        return sum(answer.seconds for answer in self.answers.values())

    @property
    def failing(self) -> bool:
        """Whether its screening saw a failure, of whatever kind, or a later run did."""
        return any(
            facts is not None and facts.fate not in (Fate.PASSES, Fate.UNKNOWN) for facts in (self.screened, self.told)
        )

    @property
    def passed_once(self) -> bool:
        """Whether one run is all that speaks for it."""
        return self.screened is not None and self.screened.fate is Fate.PASSES and not self.treated


def next_passes(scripts: Sequence[JobState]) -> list[tuple[JobState, Pass]]:
    """What can be asked now, the most useful first. What waits for an answer is not in it."""
    wanted = [(script, Pass.SCREEN) for script in scripts if not script.asked(Pass.SCREEN)]
    if wanted:
        return wanted
    wanted = [(script, Pass.WHOLE) for script in scripts if script.doubted and script.passed_once]
    found = groups(scripts)
    leading = {key: group[0] for group in found if group[0].asked(Pass.WHOLE) and (key := _words(group[0])) is not None}
    for group in found:
        first = group[0]
        if not first.treated:
            key = _words(first)
            leader = leading.setdefault(key, first) if key is not None else first
            if leader is first:
                wanted.append((first, Pass.WHOLE))
            elif leader.asked(Pass.WHOLE) and leader.running is None:
                wanted.append((first, Pass.REPRODUCER))
        elif first.running is None:
            wanted += [
                (other, Pass.REPRODUCER) for other in group[1:] if not other.treated and not _shared(other, first)
            ]
    return wanted


def groups(scripts: Sequence[JobState]) -> list[list[JobState]]:
    """Failing scripts that look alike after their screening, the largest group first; in each the one that is asked all first."""
    found: dict[object, list[JobState]] = {}
    for script in scripts:
        screened = script.screened
        if screened is not None and script.failing:
            key = (screened.fingerprint, screened.named, screened.own, screened.known_cause, screened.direction)
            found.setdefault(key if screened.fate is not Fate.PASSES else script.name, []).append(script)
    ordered = [sorted(group, key=_first) for group in found.values()]
    return sorted(ordered, key=lambda group: (-len(group), group[0].place))


def _words(script: JobState) -> tuple[str, str, str | None] | None:
    """What an exception says, wherever it is raised; None of a wrong result, or a check: their words tell nothing."""
    signature = script.screened.signature if script.screened is not None else None
    if (
        signature is None
        or signature.wrong is not None
        or not signature.skeleton
        or signature.exception_type in _CHECKS
    ):
        return None
    assert script.screened is not None
    return signature.exception_type, signature.skeleton, script.screened.direction


def _first(script: JobState) -> tuple[bool, float, int]:
    """One that was already asked all stays the one; else the quickest."""
    answer = script.answers.get(Pass.SCREEN.value)
    return not script.asked(Pass.WHOLE), answer.seconds if answer is not None else 0.0, script.place


def _shared(script: JobState, first: JobState) -> str | None:
    if script.screened is None or first.screened is None or first.told is None:
        return None
    return shares(script.screened, first.screened, first.told)


def members(scripts: Sequence[JobState]) -> list[Member]:
    """The failing scripts for which a compiler may be to blame, each with what is known of it now."""
    found = []
    for group in groups(scripts):
        first = group[0]
        for script in group:
            facts = script.told
            if facts is None:
                continue
            own = Member(script.name, facts, script.directory)
            why = _shared(script, first) if script is not first and not script.treated else None
            if why is None:
                found.append(own)
                continue
            assert first.told is not None
            source = Member(first.name, first.told, first.directory)
            found.append(inheriting(Member(script.name, facts, script.directory, first.name, why), source))
    place = {script.name: script.place for script in scripts}
    return sorted((member for member in found if member.facts.fate.failed), key=lambda member: place[member.script])


def last_passes(scripts: Sequence[JobState], clusters: Sequence[Sequence[Member]]) -> list[tuple[JobState, Pass]]:
    """For clusters in which nobody was asked all: the one that stands for them."""
    by_name = {script.name: script for script in scripts}
    wanted = []
    for group in clusters:
        known = [by_name[member.script] for member in group]
        best = by_name[representative(group).script]
        if not any(script.asked(Pass.WHOLE) for script in known):
            wanted.append((best, Pass.WHOLE))
    return wanted
