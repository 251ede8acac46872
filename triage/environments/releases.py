"""From the wheels of the indexes to the versions of torch that can be installed here: filtered by Python, platform, flavour.

A version is one *public* version (`2.8.0`); which of its builds is taken (`+cpu`, `+cu128`, or the one without a label) is
the flavour's business. A version without a fitting wheel is kept with the reason, so that it can be said.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import Tag, compatible_tags, cpython_tags, platform_tags
from packaging.version import Version

from triage.environments.index import Wheel
from triage.environments.recipes import Python, text
from triage.errors import UsageError

PYTORCH_INDEX = "https://download.pytorch.org/whl"
ANY = "any"  # the build that the configured index has, whatever it is made for
_FLAVOUR = re.compile(r"cpu|any|cu\d{2,3}|rocm[\d.]+|xpu")


@dataclass(frozen=True)
class Release:
    """A version of torch. `requirement` is what to ask an installer for; None where no wheel fits (`problem` says why).

    `size` is that of the torch wheel alone, in bytes.
    """

    version: Version
    requirement: str | None
    size: int | None = None
    uploaded: date | None = None
    problem: str | None = None
    label: str | None = None  # the local version: cpu, cu128

    @property
    def name(self) -> str:
        return str(self.version)


def check_words(*, flavour: str, caches: str, installer: str) -> None:
    """Raise UsageError where one of these is not what it may be: flavours are cpu, cu128, rocm6.4, xpu, any."""
    allowed = (
        ("--flavour", flavour, _FLAVOUR.fullmatch(flavour) is not None, "cpu, any, or such as cu128, rocm6.4, xpu"),
        ("--caches", caches, caches in ("on", "off"), "on or off"),
        ("--installer", installer, installer in ("auto", "uv", "pip"), "auto, uv or pip"),
    )
    for option, word, fits, words in allowed:
        if not fits:
            raise UsageError(
                what=f"{option} {word} cannot be used.", why=f"It must be {words}.", next="triage bisect --help"
            )


def flavour_indexes(flavour: str, nightly: bool) -> tuple[str, ...]:
    """PyTorch's own indexes for a flavour. macOS has one build only, which PyPI holds; so has `any`."""
    if nightly:
        return (f"{PYTORCH_INDEX}/nightly/{flavour if flavour != ANY else 'cpu'}",)
    if flavour == ANY or (sys.platform == "darwin" and flavour == "cpu"):
        return ()
    return (f"{PYTORCH_INDEX}/{flavour}",)


def releases(
    wheels: Iterable[Wheel], python: Python, flavour: str, platforms: Sequence[str] | None = None
) -> list[Release]:
    """One Release per public version, oldest first. Yanked files count as if they were not there."""
    fitting = frozenset(supported_tags(python, platforms))
    by_version: dict[Version, list[Wheel]] = {}
    for wheel in wheels:
        if not wheel.yanked:
            by_version.setdefault(Version(wheel.version.public), []).append(wheel)
    return [_release(version, found, python, flavour, fitting) for version, found in sorted(by_version.items())]


def supported_tags(python: Python, platforms: Sequence[str] | None = None) -> list[Tag]:
    """The wheel tags of a CPython of this version on this machine."""
    places = list(platforms if platforms is not None else platform_tags())
    return [*cpython_tags(python, platforms=places), *compatible_tags(python, f"cp{python[0]}{python[1]}", places)]


def _release(version: Version, found: list[Wheel], python: Python, flavour: str, fitting: frozenset[Tag]) -> Release:
    when = _earliest(found)
    usable = [wheel for wheel in found if wheel.tags & fitting and _python_allowed(wheel, python)]
    if not usable:
        return Release(version, None, uploaded=when, problem=_why_none_fits(found, python))
    wanted = [wheel for wheel in usable if _suits(wheel.version.local, flavour)]
    if not wanted:
        labels = ", ".join(sorted({wheel.version.local or "the default one" for wheel in usable}))
        return Release(version, None, uploaded=when, problem=f"no {flavour} build on the index (it has {labels})")
    best = max(wanted, key=lambda wheel: (wheel.version.local == flavour, wheel.version.local is not None))
    return Release(version, f"torch=={best.version}", best.size, when, None, best.version.local)


def _suits(label: str | None, flavour: str) -> bool:
    """Builds without a label run on the CPU everywhere; a CUDA flavour must be named by its label."""
    if flavour == ANY:
        return True
    if flavour == "cpu":
        return label is None or label.startswith("cpu")
    return label is not None and (label == flavour or label.startswith(f"{flavour}."))


def _python_allowed(wheel: Wheel, python: Python) -> bool:
    if not wheel.requires_python:
        return True
    try:
        return SpecifierSet(wheel.requires_python).contains(f"{text(python)}.99", prereleases=True)
    except InvalidSpecifier:
        return True


def _why_none_fits(found: list[Wheel], python: Python) -> str:
    pythons = sorted(
        {
            (int(tag.interpreter[2]), int(tag.interpreter[3:]))
            for wheel in found
            for tag in wheel.tags
            if re.fullmatch(r"cp3\d+", tag.interpreter)
        }
    )
    if python not in pythons and pythons:
        return f"no wheel for Python {text(python)} (there are wheels for {text(pythons[0])} to {text(pythons[-1])})"
    return "no wheel for this platform"


def _earliest(found: list[Wheel]) -> date | None:
    told = [wheel.uploaded for wheel in found if wheel.uploaded]
    try:
        return date.fromisoformat(min(told)) if told else None
    except ValueError:
        return None
