"""From what the person asked (`--good`, `--bad`, dates, a list) and what the index has to the axis of a bisection.

Versions are ordered by PEP 440. An end is a version (`2.8.0`, `2.9.0.dev20250701`), a date (`2025-07-01`: what was newest on
that day), `oldest` or `newest`. Which way the search goes follows from the order of the ends where both are given.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from packaging.version import InvalidVersion, Version

from triage.bisect.points import Axis, Point
from triage.environments.recipes import OLDEST
from triage.environments.releases import Release
from triage.errors import UsageError
from triage.model.bisection import Kind

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True)
class Wish:
    """What the person said about the axis. `known_bad` is a version that an earlier run has seen failing."""

    good: str | None = None
    bad: str | None = None
    versions: tuple[str, ...] = ()
    find_fix: bool = False
    known_bad: str | None = None


def release_axis(found: Sequence[Release], wish: Wish) -> Axis:
    """The releases between the ends; with `versions`, exactly those. Raises UsageError where the ends make no sense."""
    unit = "release"
    every = [release for release in found if not release.version.is_prerelease and release.version >= OLDEST]
    stable = _listed(found, wish.versions) if wish.versions else every
    if not stable:
        raise UsageError(
            what="There is no version of torch to test.",
            why=f"The index has no stable release from {OLDEST} on.",
            next="Check the index that pip or uv is set up with, or name versions: --versions 2.8.0,2.9.0",
        )
    listed = bool(wish.versions)
    good = end_of(wish.good, stable, "--good", listed=listed) if wish.good else None
    bad = end_of(wish.bad, stable, "--bad", listed=listed) if wish.bad else None
    kind = direction(good, bad, wish.find_fix)
    if bad is None and wish.known_bad:
        bad = _nearest(wish.known_bad, stable)
    oldest, newest = stable[0].version, stable[-1].version
    low, high = (good or oldest, bad or newest) if kind is Kind.REGRESSED else (bad or oldest, good or newest)
    chosen = [release for release in stable if low <= release.version <= high]
    if len(chosen) < 2:
        raise UsageError(
            what=f"There is nothing between {low} and {high}.",
            why="A bisection needs two versions at least: one that passes and one that fails.",
            next="Give ends that differ: triage bisect script.py --good 2.6.0 --bad 2.9.0",
        )
    asked = {release.version for release in stable}
    unlisted = tuple(release for release in every if release.requirement and release.version not in asked)
    return Axis(tuple(Point(release.name, release) for release in chosen), kind, unit, unlisted=unlisted)


def direction(good: Version | date | None, bad: Version | date | None, find_fix: bool) -> Kind:
    """What is looked for. Raises UsageError where the order of the ends contradicts --find-fix."""
    if good is None or bad is None:
        return Kind.FIXED if find_fix else Kind.REGRESSED
    if good == bad:
        raise UsageError(
            what=f"The good and the bad end are both {good}.",
            why="A bisection needs two versions: one that passes and one that fails.",
            next="Give ends that differ: --good 2.6.0 --bad 2.9.0",
        )
    fixed = good > bad  # type: ignore[operator]
    if find_fix and not fixed:
        raise UsageError(
            what=f"With --find-fix the bad version must be older than the good one, but {bad} is newer than {good}.",
            why="--find-fix looks for the version that made a failure go away.",
            next=f"Leave --find-fix out, or give them the other way round: --bad {good} --good {bad}",
        )
    return Kind.FIXED if fixed else Kind.REGRESSED


def end_of(word: str, found: Sequence[Release], option: str, *, listed: bool = False) -> Version:
    """The version an end names; `found` is what --versions names where it is `listed`. Raises UsageError where there is none."""
    if word in ("oldest", "newest", "latest"):
        return found[0 if word == "oldest" else -1].version
    if _DATE.fullmatch(word):
        return _on(parse_date(word, option), found, option)
    try:
        version = Version(Version(word).public)
    except InvalidVersion:
        raise UsageError(
            what=f"{option} {word} is neither a version nor a date.",
            why="Ends are versions such as 2.8.0, nightlies such as 2.9.0.dev20250701, or dates such as 2025-07-01.",
            next=f"For example: {option} {found[-1].name}",
        ) from None
    if any(release.version == version for release in found):
        return version
    have = _some([release.name for release in found], str(version))
    if version < OLDEST:
        why = f"torch is tested from {OLDEST} on; the oldest in question is {found[0].name}."
    else:
        why = f"--versions names {have}." if listed else f"The index has {have}."
    raise UsageError(
        what=f"There is no torch {version} to test.",
        why=why,
        next=f"Choose one of these with {option}"
        + ("." if listed or version < OLDEST else "; nightlies need --nightly."),
    )


def parse_date(word: str, option: str) -> date:
    """Raises UsageError where it is no date."""
    try:
        return date.fromisoformat(word)
    except ValueError:
        raise UsageError(
            what=f"{option} {word} is not a date.",
            why="A date is written year-month-day.",
            next=f"For example: {option} 2025-07-01",
        ) from None


def _on(day: date, found: Sequence[Release], option: str) -> Version:
    """The newest release that was out on a day."""
    dated = [release for release in found if release.uploaded is not None]
    if not dated:
        raise UsageError(
            what="The index does not tell when its releases came out.",
            why="Dates need an index with upload times (PEP 700), such as PyPI's.",
            next=f"Name a version instead: {option} {found[-1].name}",
        )
    out = [release for release in dated if release.uploaded is not None and release.uploaded <= day]
    if not out:
        raise UsageError(
            what=f"No release that can be tested was out on {day}.",
            why=f"The oldest, {dated[0].name}, came out on {dated[0].uploaded}.",
            next=f"Use a later date, or {option} oldest.",
        )
    return max(release.version for release in out)


def _listed(found: Sequence[Release], names: Sequence[str]) -> list[Release]:
    """The named versions, oldest first. One that the index does not list is kept: it may be in the cache."""
    known = {release.version: release for release in found}
    chosen: dict[Version, Release] = {}
    for name in names:
        try:
            version = Version(name)
        except InvalidVersion:
            raise UsageError(
                what=f"{name!r} in --versions is not a version.",
                why="Versions look like 2.8.0 or 2.9.0.dev20250701.",
                next="For example: --versions 2.6.0,2.7.1,2.8.0",
            ) from None
        plain = Version(version.public)
        chosen[plain] = known.get(plain) or Release(plain, f"torch=={version}", label=version.local)
    if len(chosen) < 2:
        raise UsageError(
            what="--versions needs two versions at least.",
            why="A change lies between two versions.",
            next="For example: --versions 2.6.0,2.7.1,2.8.0",
        )
    return [chosen[version] for version in sorted(chosen)]


def _nearest(word: str, found: Sequence[Release]) -> Version | None:
    """The version of an earlier run, where it is on the axis; a nightly's stands for the newest release before it."""
    try:
        version = Version(Version(word).public)
    except InvalidVersion:
        return None
    older = [release.version for release in found if release.version <= version]
    return older[-1] if older else None


def _some(names: Sequence[str], wanted: str) -> str:
    close = difflib.get_close_matches(wanted, names, n=4, cutoff=0.5) or list(names[-4:])
    return ", ".join(sorted(close, key=Version)) + (" and others" if len(names) > len(close) else "")
