"""The pages of `triage explain` and `triage bisect`: whole in themselves, and their pictures say what was measured."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from page_elements import EVIL, Elements, poisoned
from page_samples import BISECTED, EXPLAINED, at

from triage.model.bisection import Bisection, Standing
from triage.model.codec import decode, encode
from triage.model.explanation import Explanation
from triage.report.bisection import CELLS, bisection_html, strip
from triage.report.explanation import summary
from triage.report.explanation_html import explanation_html
from triage.report.pages import bars

PAGES = {"explain": explanation_html(EXPLAINED), "bisect": bisection_html(BISECTED)}


def evil_page(name: str) -> str:
    if name == "explain":
        return explanation_html(decode(Explanation, poisoned(encode(EXPLAINED))))
    tree = poisoned(encode(BISECTED))
    for row, plain in zip(tree["tested"], BISECTED.tested, strict=True):
        row["verdict"] = plain.verdict.value
    return bisection_html(decode(Bisection, tree))


@pytest.mark.parametrize("name", PAGES)
def test_no_text_of_the_target_becomes_an_element(name: str) -> None:
    plain, evil = Elements(PAGES[name]), Elements(evil_page(name))
    assert set(evil.found) <= set(plain.found) | {("code",)}
    assert evil.found[("script",)] == 1 and "\x1b" not in evil_page(name)
    own = (f"{name}.json", "./", "https://meta-pytorch.org/", "https://github.com/")
    for page in (plain, evil):
        assert page.policy.startswith("default-src 'none'")
        assert all(address.startswith(own) for address in page.addresses), page.addresses
        assert not any("style" in attributes[1:] or "src" in attributes[1:] for attributes in page.found)


def test_an_address_that_is_none_is_no_link() -> None:
    broken = replace(EXPLAINED.graph_breaks[0], link="javascript:alert(1)")
    window = replace(BISECTED.commits, url="javascript:alert(1)")
    for page in (
        explanation_html(replace(EXPLAINED, graph_breaks=(broken,))),
        bisection_html(replace(BISECTED, commits=window)),
    ):
        assert "javascript:" not in page


def test_a_break_stands_in_its_lines_with_what_to_do() -> None:
    page = PAGES["explain"]
    assert re.search(r'<span class="line here">\s+12 {6}print\(x\.mean\(\)\)</span>', page)
    assert "<strong>To do:</strong> leave it out" in page and "met 3 times; compiling what follows took 0.3 s" in page


def test_a_line_that_breaks_for_two_reasons_is_one_line() -> None:
    first = EXPLAINED.graph_breaks[0]
    twice = replace(EXPLAINED, graph_breaks=(first, replace(first, reason="another", count=1)))
    assert summary(twice).split(", ")[1] == f"{first.count + 1} graph breaks (on 1 line)"
    assert "1 line with a graph break" in explanation_html(twice)


def test_what_took_long_is_as_wide_as_that() -> None:
    page = PAGES["explain"]
    widths = dict(
        re.findall(
            r"<title>([^<]+): [\d.]+ s</title><rect class=\"\w+\" x=\"[\d.]+\" y=\"\d+\" width=\"([\d.]+)\"", page
        )
    )
    assert {name: round(float(width)) for name, width in widths.items()} == {
        "compiling": 719,
        "building kernels": 539,
        "tracing (Dynamo)": 179,
        "0/0 noisy": 539,
    }
    assert [row["width"] for row in bars([("a", 2.0, "2 s"), ("b", 1.0, "1 s")])["rows"]] == [400.0, 200.0]


def test_a_mode_that_gives_wrong_results_stands_out() -> None:
    assert '<li class="bad">wrong results: default</li>' in PAGES["explain"]
    assert re.search(r'<tr class="bad"><td><code>default</code>', PAGES["explain"])


def test_a_history_is_a_strip_in_order_of_age() -> None:
    cells = strip(BISECTED)["cells"]
    assert [cell["style"] for cell in cells] == ["skip", "none", "none", "ok", "bad", "none"]
    assert [cell["name"] for cell in cells if cell["name"]] == ["2.4.0", "2.8.0", "2.9.0"]
    many = tuple(f"2.9.0.dev{number:04}" for number in range(CELLS + 100))
    long = strip(replace(BISECTED, versions=many, tested=(at(many[0], Standing.GOOD), at(many[-1], Standing.BAD))))
    assert [cell["style"] for cell in long["cells"]] == ["ok", "none", "bad"]
    assert long["cells"][1]["told"].startswith(f"{len(many) - 2} that were not needed")


def test_the_evil_text_is_shown_as_it_is() -> None:
    assert EVIL.split("\x1b")[0].replace("&", "&amp;")[:13].replace("<", "&lt;").replace(">", "&gt;") in evil_page(
        "explain"
    )
