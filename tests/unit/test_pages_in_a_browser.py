"""The pages in Chromium, as people meet them: in light and dark, narrow and wide, with a keyboard, with a screen reader."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, Browser, Page
from page_elements import EVIL
from page_samples import PAGES, everything

from triage.report.formats import render

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")

SIZES = {"wide": (1280, 800), "narrow": (360, 740)}
SCHEMES = ("light", "dark")
# Ratio of the luminances of a text and of what it stands on, by the formula of WCAG 2.1, for every text that can be seen.
CONTRASTS = """(() => {
  const parts = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const linear = (each) => each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4;
    const [r, g, b] = colour.map((each) => linear(each / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const under = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = parts(getComputedStyle(each).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour.slice(0, 3);
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), element = walker.currentNode.parentElement;
    if (!text || ["SCRIPT", "STYLE", "TITLE", "title"].includes(element.tagName) || element.closest(".sr")) continue;
    if (!element.checkVisibility()) continue;
    const inside = element.closest("svg"), style = getComputedStyle(element);
    const box = inside && element.parentElement.querySelector("rect:not(.bar)");
    const ink = parts(inside ? style.fill : style.color);
    const page = box ? parts(getComputedStyle(box).fill) : under(inside || element);
    const [low, high] = [light(ink.slice(0, 3)), light(page.slice(0, 3))].sort((a, b) => a - b);
    found.push([(high + 0.05) / (low + 0.05), text.slice(0, 40), element.tagName]);
  }
  return found;
})()"""
FOCUSED = """(() => {
  const at = document.activeElement, box = at.getBoundingClientRect(), style = getComputedStyle(at);
  return {
    tag: at.tagName, seen: box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight,
    outlined: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0,
    place: [...document.querySelectorAll("*")].indexOf(at),
  };
})()"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    started = Browser(tmp_path_factory.mktemp("profile"))
    yield started
    started.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    found = {}
    for name, made in PAGES.items():
        found[name] = folder / f"{name}.html"
        found[name].write_text(made(), encoding="utf-8")
    return found


def opened(page: Page) -> None:
    """What is folded is unfolded."""
    page.run("for (const each of document.querySelectorAll('details')) each.open = true")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", PAGES)
def test_it_can_be_read(name: str, size: str, scheme: str, browser: Browser, files: dict[str, Path]) -> None:
    """Nothing is loaded or complained of, nothing hangs over the edge, every text stands out from what it stands on."""
    with browser.page(files[name], *SIZES[size], scheme) as page:
        opened(page)
        assert page.complaints() == [] and page.loaded() == [files[name].as_uri()]
        assert page.run("document.documentElement.scrollWidth") <= SIZES[size][0]
        contrasts = page.run(CONTRASTS)
        assert len(contrasts) > 20
        assert [each for each in contrasts if each[0] < 4.5] == []
        dark = page.run("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 28)"
        assert dark is (scheme == "dark")


@pytest.mark.parametrize("name", PAGES)
def test_a_screen_reader_is_told_all(name: str, browser: Browser, files: dict[str, Path]) -> None:
    with browser.page(files[name]) as page:
        opened(page)
        nodes = page.tree()
    roles = [node["role"] for node in nodes]
    assert {"banner", "main", "contentinfo"} <= set(roles)
    levels = [node["level"] for node in nodes if node["role"] == "heading"]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(below - above <= 1 for above, below in itertools.pairwise(levels)), levels
    named = ("image", "img", "button", "link", "searchbox", "region", "heading", "DisclosureTriangle")
    assert [node for node in nodes if node["role"] in named and not node["name"]] == []
    assert [
        node for node in nodes if node.get("focusable") and not node["name"] and node["role"] != "RootWebArea"
    ] == []


@pytest.mark.parametrize("name", PAGES)
def test_a_keyboard_gets_everywhere(name: str, browser: Browser, files: dict[str, Path]) -> None:
    """In the order of the page, each stop in sight and marked."""
    with browser.page(files[name]) as page:
        opened(page)
        wanted = page.run("[...document.querySelectorAll('a[href], button, input, summary, [tabindex=\"0\"]')].length")
        stops: list[dict[str, Any]] = []
        for _ in range(wanted):
            page.press("Tab")
            stops.append(page.run(FOCUSED))
    assert wanted > 0 and [stop for stop in stops if not (stop["seen"] and stop["outlined"])] == []
    places = [stop["place"] for stop in stops]
    assert places == sorted(set(places))


def test_the_name_of_a_script_is_not_broken_into_letters(browser: Browser, files: dict[str, Path]) -> None:
    with browser.page(files["sweep"], *SIZES["wide"]) as page:
        assert page.run("document.querySelector('table.heat tbody th').getBoundingClientRect().width") >= 150


def test_the_first_screen_tells_stage_reproducer_and_way_round(browser: Browser, files: dict[str, Path]) -> None:
    bottom = "Math.round(({}).getBoundingClientRect().bottom)"
    with browser.page(files["report"]) as page:
        for what in (
            "[...document.querySelectorAll('.chips li')].find((each) => each.textContent === 'stage: inductor')",
            "document.querySelector('#reproducer')",
            "[...document.querySelectorAll('dt')].find((each) => each.textContent === 'Way round').nextElementSibling",
            "[...document.querySelectorAll('dt')].find((each) => each.textContent === 'Line').nextElementSibling",
        ):
            assert 0 < page.run(bottom.format(what)) <= SIZES["wide"][1], what
    with browser.page(files["report"], *SIZES["narrow"]) as page:
        for what in (
            "document.querySelector('.chips')",
            "document.querySelector('dl')",
            "document.querySelector('.code button')",
        ):
            assert 0 < page.run(bottom.format(what)) <= SIZES["narrow"][1], what


def test_the_reproducer_is_copied_by_a_key(browser: Browser, files: dict[str, Path]) -> None:
    with browser.page(files["report"]) as page:
        page.run("document.querySelector('button').focus()")
        page.press("Enter")
        said = page.run(
            "new Promise((done) => setTimeout(() => done(document.querySelector('button').textContent), 300))"
        )
        assert said in ("Copied", "Selected: copy it")
        if said != "Copied":
            assert page.run("getSelection().toString()").strip() == everything()[1].reproducer.strip()


def test_a_log_is_opened_and_searched_by_keys(browser: Browser, files: dict[str, Path]) -> None:
    with browser.page(files["report"]) as page:
        colours = (
            "new Set([...document.querySelectorAll('#log span')].map((each) => getComputedStyle(each).color)).size"
        )
        assert page.run(colours) >= 3  # own frames, the compiler's, the error
        whole = page.run("document.querySelector('#log').textContent")
        assert whole.strip() == everything()[1].error_log.strip()
        page.run("document.querySelector('summary').focus()")
        page.press("Enter")
        page.press("Tab")
        page.type("inductor/")
        shown = page.run("document.querySelector('#log').textContent").splitlines()
        wanted = [line for line in whole.splitlines() if "inductor/" in line]
        assert shown == wanted and 0 < len(shown) < len(whole.splitlines())
        assert page.run("document.querySelector('#log-filter-told').textContent").startswith(f"{len(wanted)} of ")
        assert page.run(colours) >= 1


def test_what_the_target_prints_can_do_nothing(browser: Browser, tmp_path: Path) -> None:
    report, sources = everything()
    evil = replace(report, signature=replace(report.signature, message=EVIL, excerpt=EVIL), notes=(EVIL,))
    file = tmp_path / "evil.html"
    file.write_text(render(evil, "html", replace(sources, reproducer=EVIL, error_log=EVIL)), encoding="utf-8")
    with browser.page(file) as page:
        assert page.complaints() == [] and page.loaded() == [file.as_uri()]
        assert page.run("document.querySelectorAll('script').length") == 1
        assert page.run("document.querySelectorAll('img').length") == 0
        assert "<script>alert(1)</script>" in page.run("document.querySelector('#reproducer').textContent")
