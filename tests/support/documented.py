"""Command lines of triage in README and docs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FENCED = re.compile(r"^ *```\w*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def to_type() -> Iterator[str]:
    """What a reader may type: every command line of a fenced block, without its comment; what the tour shows is for itself."""
    for page in pages():
        if page.name == "tour.md":
            continue
        blocks = "\n".join(_FENCED.findall(page.read_text(encoding="utf-8")))
        for line in re.findall(r"^ *(?:\$ |- run: )?(triage [a-z].*)$", blocks, re.MULTILINE):
            yield re.split(r"\s+#", line)[0]


def named() -> Iterator[str]:
    """Those in the running text; words in capitals stand for something."""
    for page in pages():
        if page.name == "commands.md":
            continue
        for span in re.findall(r"`(triage [a-z][^`]*)`", _FENCED.sub("", page.read_text(encoding="utf-8"))):
            yield re.sub(r"[\[\]]|\.\.\.", "", " ".join(span.split()))
