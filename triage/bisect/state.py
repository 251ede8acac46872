"""What a bisection has learned, on disk after every verdict, so that it can be taken up again where it ended."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from triage.bisect.axis import Wish
from triage.bisect.points import Axis
from triage.bisect.trial import Sought
from triage.environments.files import write_whole
from triage.errors import UsageError
from triage.model.bisection import Kind, TestedVersion
from triage.model.codec import decode, encode

FILE = "bisect-state.json"
SCHEMA = 1


@dataclass(frozen=True)
class Ask:
    """Everything the person asked for. `words` are the script (or run directory) and its arguments."""

    words: tuple[str, ...]
    cwd: str
    module: str | None = None
    raw: bool = False
    wish: Wish = field(default_factory=Wish)
    nightly: bool = False
    flavour: str = "cpu"
    packages: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    python: str | None = None
    installer: str = "auto"
    linear: bool = False
    repeats: int = 3
    caches: bool = True
    pytorch_repo: str | None = None
    target_repo: str | None = None


@dataclass(frozen=True)
class State:
    """`names` are the points of the axis, oldest first; `digest` is that of the script that was run."""

    ask: Ask
    digest: str
    names: tuple[str, ...]
    kind: Kind
    unit: str
    results: tuple[TestedVersion, ...] = ()
    sought: Sought = field(default_factory=Sought)
    installs: int = 0
    seconds: float = 0.0
    schema: int = SCHEMA


def save(directory: Path, state: State) -> None:
    """Write it whole. A directory that cannot be written costs the resumption, not the bisection."""
    try:
        write_whole(directory / FILE, json.dumps(encode(state), indent=1))
    except OSError:
        return


def load(directory: Path) -> State:
    """The state of an earlier bisection. Raises UsageError where there is none that can be used."""
    try:
        data: dict[str, Any] = json.loads((directory / FILE).read_text(encoding="utf-8"))
        if data.get("schema") != SCHEMA:
            raise ValueError(f"its schema is {data.get('schema')!r}")
        return decode(State, data)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UsageError(
            what=f"{directory} holds no bisection that can be taken up.",
            why=f"{FILE}: {error}",
            next="Start a new one: triage bisect SCRIPT --good VERSION --bad VERSION",
        ) from error


def digest_of(script: Path | None, words: Sequence[str]) -> str:
    """What the verdicts depend on: the script's text and its arguments."""
    try:
        text = script.read_bytes() if script is not None else b""
    except OSError:
        text = b""
    return hashlib.sha256(text + "\0".join(words).encode()).hexdigest()[:16]


def places_of(axis: Axis, results: Sequence[TestedVersion]) -> dict[int, TestedVersion]:
    """Earlier results by their position on this axis, counted from the bad end."""
    place = {point.name: index for index, point in enumerate(axis.from_bad_end())}
    return {place[tested.version]: tested for tested in results if tested.version in place}
