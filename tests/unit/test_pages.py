"""The pages of `triage explain` and `triage bisect`: whole in themselves, and their pictures say what was measured."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from page_elements import EVIL, Elements, poisoned

from triage.model.bisection import Bisection, Commit, CommitWindow, Kind, Standing, TestedVersion
from triage.model.codec import decode, encode
from triage.model.explanation import (
    CompileTime,
    Explanation,
    FusedTime,
    GraphBreak,
    GraphTime,
    Interval,
    ModeRow,
    Profile,
    ProfiledOperation,
    ProfiledStep,
    Recompilation,
    SourceLine,
)
from triage.report.bisection import CELLS, bisection_html, strip
from triage.report.explanation_html import explanation_html
from triage.report.pages import bars

STEP = ProfiledStep("default", 0.004, 6, "profile/default.json", (ProfiledOperation("aten::mm", 2, 0.001),))
EXPLAINED = Explanation(
    graphs=3,
    graph_breaks=(
        GraphBreak(
            "train.py",
            12,
            "    print(x.mean())",
            "Failed to trace builtin operator",
            "GB0059",
            ("a hint",),
            3,
            "noisy",
            "it cannot",
            "https://meta-pytorch.org/compile-graph-break-site/gb/gb0059.html",
            "leave it out",
            seconds=0.3,
            source=(
                SourceLine(11, "def noisy(x):"),
                SourceLine(12, "    print(x.mean())"),
                SourceLine(13, "    return x"),
            ),
        ),
    ),
    recompiles=(
        Recompilation(
            "loss", "train.py", 30, "size mismatch at index 1", 3, "dynamic=True", True, "size", "dynamic=True", 0
        ),
    ),
    compile=CompileTime(
        4.0,
        3.5,
        {"dynamo": 1.0, "kernel_build": 3.0},
        (GraphTime("0/0", "noisy", "train.py", 11, 3.0, 7),),
        0.001,
        9,
        0.5,
        0.4,
    ),
    command=("train.py",),
    modes=(
        ModeRow(
            "uncompiled",
            "measured",
            None,
            None,
            Interval(0.004, 0.0039, 0.0041),
            40,
            21,
            Interval(1, 1, 1),
            compared=True,
        ),
        ModeRow(
            "default",
            "measured",
            None,
            3.0,
            Interval(0.002, 0.0019, 0.0021),
            40,
            21,
            Interval(2, 1.9, 2.1),
            1500,
            wrong="a NaN",
        ),
        ModeRow("backend tvm", "not_run", "no tvm here"),
    ),
    outside=("The optimizer's `step` is not compiled.",),
    profile=Profile(
        STEP,
        replace(STEP, mode="compiled"),
        (FusedTime(("cpp_fused_relu",), ("relu",), 0.001, 0.002),),
        ("`mm` is slower",),
    ),
    environment={"torch": "2.13.0", "python": "3.11.7"},
)


def at(version: str, verdict: Standing, **more: object) -> TestedVersion:
    return TestedVersion(version, verdict, runs=1, failures=int(verdict is Standing.BAD), seconds=20.0, **more)  # type: ignore[arg-type]


BISECTED = Bisection(
    "train.py",
    Kind.REGRESSED,
    ("triage", "bisect", "train.py"),
    "2.8.0",
    "2.9.0",
    True,
    tested=(
        at("2.4.0", Standing.SKIP, note="cannot be installed"),
        at("2.8.0", Standing.GOOD, log="logs/2.8.0.log"),
        at("2.9.0", Standing.BAD, error="AssertionError: wrong"),
    ),
    versions=("2.4.0", "2.5.0", "2.6.0", "2.8.0", "2.9.0", "2.10.0"),
    summary="Broken between torch 2.8.0 (passes) and 2.9.0 (fails).",
    commits=CommitWindow(
        "a" * 40,
        "b" * 40,
        "https://github.com/pytorch/pytorch/compare/a...b",
        412,
        (Commit("c" * 40, "a subject", 1.0, "its path"),),
    ),
    notes=("a note",),
)
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
    window = replace(BISECTED.commits, url="javascript:alert(1)")  # type: ignore[type-var]
    for page in (
        explanation_html(replace(EXPLAINED, graph_breaks=(broken,))),
        bisection_html(replace(BISECTED, commits=window)),
    ):
        assert "javascript:" not in page


def test_a_break_stands_in_its_lines_with_what_to_do() -> None:
    page = PAGES["explain"]
    assert re.search(r'<span class="line here">\s+12 {6}print\(x\.mean\(\)\)</span>', page)
    assert "<strong>To do:</strong> leave it out" in page and "met 3 times; compiling what follows took 0.3 s" in page


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
