"""Failing scripts as clusters, one for each bug as far as can be told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from triage.model.sweep import Cluster, Doubt
from triage.sweep.facts import Facts
from triage.sweep.same_bug import one_bug

_LINES_UNKNOWN = 10**9


@dataclass(frozen=True)
class Member:
    """One failing script. `inherited` names the script whose failure it shares, `directory` its run, as the sweep names it."""

    script: str
    facts: Facts
    directory: str
    inherited: str | None = None
    why: str = ""  # it shares that failure


def clustered(members: Sequence[Member]) -> list[Cluster]:
    """The clusters, bugs before known causes, the largest first. Members keep their order."""
    groups = joined(members)
    bugs_first = sorted(groups, key=lambda group: (group[0].facts.known_cause is not None, -len(group)))
    return [_cluster(f"c{number}", group) for number, group in enumerate(bugs_first, 1)]


def representative(group: Iterable[Member]) -> Member:
    """The member with the smallest verified reproducer; without any, the one of which most is known."""
    own = [member for member in group if member.inherited is None]
    return min(
        own, key=lambda each: (not each.facts.verified, not each.facts.settled, each.facts.lines or _LINES_UNKNOWN)
    )


def joined(members: Sequence[Member]) -> list[list[Member]]:
    """Groups by every reason to join two, carried on from one to the next."""
    leader: dict[str, str] = {member.script: member.script for member in members}

    def top(script: str) -> str:
        while leader[script] != script:
            leader[script] = leader[leader[script]]
            script = leader[script]
        return script

    for member in members:
        if member.inherited is not None:
            leader[top(member.script)] = top(member.inherited)
    alike: dict[object, Member] = {}  # one of each kind of failure is enough to be compared with the others
    for member in members:
        if member.inherited is None:
            first = alike.setdefault(_kind(member.facts), member)
            if one_bug(first.facts, member.facts) is not None:
                leader[top(member.script)] = top(first.script)
            else:
                alike[member.script] = member
    for one, other in combinations(alike.values(), 2):
        if top(one.script) != top(other.script) and one_bug(one.facts, other.facts) is not None:
            leader[top(other.script)] = top(one.script)
    groups: dict[str, list[Member]] = {}
    for member in members:
        groups.setdefault(top(member.script), []).append(member)
    return list(groups.values())


def _kind(facts: Facts) -> object:
    return facts.fingerprint, facts.stage, facts.op, facts.subsystem, facts.own, facts.known_cause


def _cluster(name: str, group: Sequence[Member]) -> Cluster:
    best = representative(group)
    facts = best.facts
    whys, doubtful = _reasons(group, best)
    made = f"{best.directory}/{facts.reproducer}" if facts.verified and facts.reproducer else None
    return Cluster(
        id=name,
        title=facts.explanation or facts.title or facts.headline,
        stage=facts.stage,
        symptom=facts.symptom,
        fingerprint=facts.fingerprint,
        op=facts.op,
        members=tuple(member.script for member in group),
        representative=best.directory,
        known_cause=facts.known_cause,
        why=whys,
        subsystem=facts.subsystem,
        reproducer=made,
        lines=facts.lines if made else None,
        doubtful=doubtful,
        cure=facts.cure or None,
    )


def _reasons(group: Sequence[Member], best: Member) -> tuple[str, tuple[Doubt, ...]]:
    """Why they belong together, and who may not."""
    told: dict[str, int] = {}
    doubtful = []
    by_script = {member.script: member for member in group}
    for member in group:
        if member is best:
            continue
        source = by_script.get(member.inherited or "", member)
        if member.inherited is not None:
            told[member.why] = told.get(member.why, 0) + 1
        if source is best:
            continue
        join = one_bug(best.facts, source.facts)
        if join is None:
            doubtful.append(Doubt(member.script, "it is like another member, and not like the representative"))
            continue
        if member.inherited is None:
            told[join.because] = told.get(join.because, 0) + 1
        if join.doubt is not None:
            doubtful.append(Doubt(member.script, join.doubt))
    if not told:
        return "The only script with this failure.", ()
    return "; ".join(f"{reason} ({count})" for reason, count in told.items()), tuple(doubtful)


def inheriting(member: Member, source: Member) -> Member:
    """The member with what is known of the failure that it shares."""
    facts = replace(source.facts, verified=False, reproducer=None, lines=None, rungs=member.facts.rungs, note=None)
    return replace(member, facts=replace(facts, headline=member.facts.headline))
