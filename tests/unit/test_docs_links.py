"""What the documents point to is there: files, and the headings in them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\[[^\]]*\]\((?!https?://|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")


def anchors(page: Path) -> set[str]:
    """The names of its headings, as GitHub makes them; a second one of the same name ends in -1."""
    found: list[str] = []
    for heading in re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found.append(f"{name}-{found.count(name)}" if name in found else name)
    return set(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    dead = []
    for file, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        place = (page.parent / file).resolve() if file else page
        if not place.exists() or (anchor and place.suffix == ".md" and anchor not in anchors(place)):
            dead.append(f"{file}#{anchor}")
    assert dead == []


# Paths of modules, as the pages on the design write them: `reduce/graph/search.py`, `agent/hooks/confine.py`.
LEFT_BEHIND = {"trace/", "graph/", "kernels/", "logs/", "siblings/", "subsystem/"}
NAMED = re.compile(r"`((?:[a-z_]+/)+(?:[a-z_]+\.py)?)`")


@pytest.mark.parametrize(
    "name", ["architecture", "in-detail", "extending", "why-small-graphs-first", "same-failure", "how-a-candidate-lies"]
)
def test_modules_that_are_named_exist(name):
    told = set(NAMED.findall((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")))

    assert sorted(path for path in told if not path.startswith("torch/") and not exists(path)) == []


def exists(path: str) -> bool:
    """In the package or beside it; what a run leaves behind is none of ours."""
    return path in LEFT_BEHIND or any((place / path).exists() for place in (ROOT, ROOT / "triage"))
