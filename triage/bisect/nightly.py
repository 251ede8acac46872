"""Nightly builds: those on the index, and, for nights that the index has forgotten, wheels at constructed addresses.

A nightly is `2.X.0.devYYYYMMDD+cpu`. The index keeps 60 to 90 days of them, but the files often stay longer, so for other
nights the address is built from what is known (the version in development that day, flavour, Python, platform) and asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from itertools import product

from packaging.version import Version

from triage.bisect.axis import Wish, direction, parse_date
from triage.bisect.points import Axis, Point
from triage.environments.recipes import Python
from triage.environments.releases import ANY, PYTORCH_INDEX, Release
from triage.errors import UsageError
from triage.model.bisection import Kind

_NIGHT = re.compile(r"\.dev(\d{4})(\d{2})(\d{2})")
# A release branch is cut about this long before the release; from then on nightlies are of the next version. Measured on the
# branch cuts of 2.5 to 2.9: 33 to 44 days.
_CUT_DAYS = 45
_MOST_NIGHTS = 800


def nightly_axis(listed: Sequence[Release], stable: Sequence[Release], wish: Wish, today: date) -> Axis:
    """One point per night between the ends, those that the index lists and those it has forgotten alike.

    Raises UsageError where the ends make no sense.
    """
    by_night = {night: release for release in listed if (night := night_of(release.version)) is not None}
    if wish.versions:
        raise UsageError(
            what="--versions and --nightly do not go together.",
            why="--versions fixes the list; nightlies may be named in it.",
            next="Leave --nightly out: --versions 2.9.0.dev20250701,2.9.0.dev20250702",
        )
    good = _night(wish.good, "--good", stable) if wish.good else None
    bad = _night(wish.bad, "--bad", stable) if wish.bad else None
    kind = direction(good, bad, wish.find_fix)
    oldest = min(by_night, default=today - timedelta(days=60))
    newest = max(by_night, default=today)
    low, high = (good or oldest, bad or newest) if kind is Kind.REGRESSED else (bad or oldest, good or newest)
    nights = [low + timedelta(days=days) for days in range((high - low).days + 1)]
    if not 2 <= len(nights) <= _MOST_NIGHTS:
        raise UsageError(
            what=f"From {low} to {high} there are {max(0, len(nights))} nights.",
            why=f"A bisection of nightlies takes 2 to {_MOST_NIGHTS}.",
            next="Bisect releases first (without --nightly), then the nightlies between the two it names.",
        )
    points = []
    for night in nights:
        release = by_night.get(night) or Release(_guess(night, stable), None, uploaded=night)
        points.append(Point(release.name, release))
    return Axis(tuple(points), kind, "nightly")


def night_of(version: Version) -> date | None:
    """The night of `2.9.0.dev20250701`; None for anything else."""
    found = _NIGHT.search(str(version))
    try:
        return date(*map(int, found.groups())) if found else None
    except ValueError:
        return None


def bases(night: date, stable: Sequence[Release]) -> list[str]:
    """The version that was in development that night, most likely first: `2.9.0`, `2.8.0`.

    Known from when the minor releases came out.
    """
    minors = sorted(
        {
            (release.version.major, release.version.minor): release.uploaded
            for release in sorted(stable, key=lambda release: release.version, reverse=True)
            if release.uploaded is not None and not release.version.is_prerelease
        }.items()
    )
    if not minors:
        return []
    later = [(minor, out) for minor, out in minors if out is not None and out > night]
    if not later:  # after the newest release that is known
        major, minor = minors[-1][0]
        return [f"{major}.{minor + 1}.0", f"{major}.{minor + 2}.0"]
    (major, minor), out = later[0]
    this, following = f"{major}.{minor}.0", f"{major}.{minor + 1}.0"
    return [following, this] if (out - night).days <= _CUT_DAYS else [this, following]


def addresses(
    night: date, stable: Sequence[Release], flavour: str, python: Python, machine: str, system: str
) -> list[str]:
    """Where a forgotten nightly may lie, most likely first."""
    tag = f"cp{python[0]}{python[1]}"
    label = "cpu" if flavour == ANY else flavour
    platforms = {
        "linux": [f"manylinux_2_28_{machine}", f"linux_{machine}"],
        "darwin": ["macosx_11_0_arm64", "macosx_12_0_arm64"],
        "win32": ["win_amd64"],
    }.get(system, [])
    found = []
    for base, platform in product(bases(night, stable), platforms):
        mark = "" if system == "darwin" else f"%2B{label}"
        abi = "none" if system == "darwin" else tag
        name = f"torch-{base}.dev{night:%Y%m%d}{mark}-{tag}-{abi}-{platform}.whl"
        found.append(f"{PYTORCH_INDEX}/nightly/{label}/{name}")
    return found


def find_wheel(urls: Sequence[str], exists: Callable[[str], int | None]) -> tuple[str, int] | None:
    """(address, size) of the first that exists. Raises what `exists` raises."""
    for url in urls:
        size = exists(url)
        if size is not None:
            return url, size
    return None


def _guess(night: date, stable: Sequence[Release]) -> Version:
    base = next(iter(bases(night, stable)), "0")
    return Version(f"{base}.dev{night:%Y%m%d}")


def _night(word: str, option: str, stable: Sequence[Release]) -> date:
    """The night an end names: a date, a nightly, or a release (the day it came out)."""
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", word):
        return parse_date(word, option)
    found = _NIGHT.search(word)
    if found is not None:
        return parse_date("-".join(found.groups()), option)
    out = next((release.uploaded for release in stable if release.name == word), None)
    if out is not None:
        return out - timedelta(days=_CUT_DAYS)
    raise UsageError(
        what=f"{option} {word} names no night.",
        why="With --nightly, ends are dates or nightlies.",
        next=f"For example: {option} 2025-07-01, or {option} 2.9.0.dev20250701",
    )
