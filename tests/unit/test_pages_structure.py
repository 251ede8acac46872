"""What a screen reader, a keyboard and weak eyes need of every page, read from its text: where there is no browser, too."""

from __future__ import annotations

import itertools
import re
from html.parser import HTMLParser

import pytest
from page_samples import PAGES

from triage.report.templates import templates_dir

CSS = (templates_dir() / "report.css").read_text(encoding="utf-8")
VOID = {"meta", "input", "br", "line", "rect", "circle", "polyline", "text"}
NAMED = {"svg", "section", "a", "button", "summary", "input", "h1", "h2", "h3", "th", "figcaption"}


class Outline(HTMLParser):
    """Each element with its attributes, the names of those around it, and the text inside."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.all: list[tuple[str, dict[str, str], tuple[str, ...]]] = []
        self.texts: list[str] = []
        self._open: list[tuple[str, int]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.all.append((tag, {name: value or "" for name, value in attrs}, tuple(name for name, _ in self._open)))
        self.texts.append("")
        if tag not in VOID:
            self._open.append((tag, len(self.all) - 1))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        for _, number in self._open:
            self.texts[number] += data

    def of(self, *tags: str) -> list[tuple[str, dict[str, str], str]]:
        return [(tag, given, text) for (tag, given, _), text in zip(self.all, self.texts, strict=True) if tag in tags]


@pytest.fixture(scope="module")
def outlines() -> dict[str, Outline]:
    return {name: Outline(made()) for name, made in PAGES.items()}


@pytest.mark.parametrize("name", PAGES)
def test_there_are_landmarks_and_headings_without_gaps(name: str, outlines: dict[str, Outline]) -> None:
    outline = outlines[name]
    tags = [tag for tag, _, _ in outline.all]
    assert all(tags.count(tag) == 1 for tag in ("header", "main", "footer", "h1"))
    assert [around for tag, _, around in outline.all if tag == "title" and "head" in around] == [("html", "head")]
    assert ("html", {"lang": "en"}, ()) in outline.all
    levels = [int(tag[1]) for tag in tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1 and all(below - above <= 1 for above, below in itertools.pairwise(levels))


@pytest.mark.parametrize("name", PAGES)
def test_what_is_focused_or_pictured_has_a_name(name: str, outlines: dict[str, Outline]) -> None:
    outline = outlines[name]
    for (tag, given, around), text in zip(outline.all, outline.texts, strict=True):
        focused = given.get("tabindex") == "0"
        if tag in NAMED or focused:
            assert given.get("aria-label", "").strip() or (text.strip() and not focused), (tag, given)
        if focused or (tag == "pre" and "details" not in around):
            assert given.get("tabindex") == "0" and given.get("role") == "group", (tag, given)  # what scrolls, by keys
        if tag == "svg":
            assert given.get("role") == "img"
        if tag == "table":
            assert (
                "tabindex" in next(row for row in reversed(outline.all[: outline.all.index((tag, given, around))]))[1]
            )
    assert [given for _, given, _ in outline.of("th") if given.get("scope") not in ("col", "row")] == []
    assert [given for _, given, _ in outline.of("input") if not given.get("aria-label")] == []


@pytest.mark.parametrize("name", PAGES)
def test_no_colour_says_what_no_word_says(name: str, outlines: dict[str, Outline]) -> None:
    """A cell, a chip, a rung or a version that has a colour has a word too."""
    for tag, given, text in outlines[name].of("li", "td", "span"):
        styles = set(given.get("class", "").split()) & {"ok", "bad", "skip", "good", "other", "cell", "none"}
        assert not styles or text.strip() or (given.get("class") == "none" and "title" in given), (tag, given)


def colours(scheme: str) -> dict[str, str]:
    light, dark = re.findall(r":root \{([^}]*)\}", CSS)[:2]
    found = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", light))
    return found if scheme == "light" else {**found, **dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", dark))}


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("ink", "under"),
    [
        *itertools.product(("ink", "dim", "accent", "bad", "other"), ("page", "panel")),
        *(("ink", name) for name in ("none-soft", "good-soft", "bad-soft", "other-soft")),
        *(("good", name) for name in ("page", "panel", "good-soft")),
        *(("bad", "bad-soft"), ("dim", "bad-soft"), ("other", "other-soft"), ("dim", "none-soft")),
    ],
)
def test_every_text_stands_out(ink: str, under: str, scheme: str) -> None:
    """WCAG 2.1, 1.4.3: 4.5 to 1."""
    found = colours(scheme)
    assert contrast(found[ink], found[under]) >= 4.5, contrast(found[ink], found[under])
