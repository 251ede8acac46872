"""The page of a report: whole in itself, and nothing of the target's can do anything in it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from page_elements import EVIL, Elements, poisoned

from triage.model.codec import decode
from triage.model.report import TriageReport
from triage.report.formats import render
from triage.report.redact import Redactor
from triage.report.sources import Sources, read_sources

GOLDEN = Path(__file__).parent.parent / "golden"
NAMES = sorted(path.name for path in GOLDEN.iterdir() if (path / "report.json").is_file())


def tree_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((GOLDEN / name / "report.json").read_text(encoding="utf-8"))
    return found


def page_of(tree: dict[str, Any], sources: Sources) -> str:
    return render(decode(TriageReport, tree), "html", sources)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_loaded_and_only_our_own_style_and_script_may_run(name: str) -> None:
    page = Elements(page_of(tree_of(name), Sources(reproducer="import torch\n", error_log="boom\n")))
    for tag, kind in (("style", "style-src"), ("script", "script-src")):
        digest = base64.b64encode(hashlib.sha256(page.raw[tag].encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in page.policy
    assert page.policy.startswith("default-src 'none'")
    assert all(address.startswith("./") for address in page.addresses), page.addresses
    assert not any("style" in attributes[1:] or "src" in attributes[1:] for attributes in page.found)


@pytest.mark.parametrize("name", NAMES)
def test_no_text_of_the_target_becomes_an_element(name: str) -> None:
    tree = tree_of(name)
    sources = Sources(reproducer="x = 1\n", error_log="one\n")
    plain = Elements(page_of(tree, sources))
    evil = page_of(poisoned(tree), Sources(reproducer=EVIL, error_log=EVIL))
    found = Elements(evil)
    ours = {("code",), ("br",), ("span", "class"), ("a", "href"), ("pre", "aria-label", "class", "role", "tabindex")}
    assert set(found.found) <= set(plain.found) | ours
    assert found.found[("script",)] == 1 and not any("onerror" in attributes for attributes in found.found)
    assert "\x1b" not in evil and "\ud800" not in evil
    assert all(address.startswith("./") for address in found.addresses)


def test_a_log_of_ten_megabytes_makes_no_page_of_ten_megabytes() -> None:
    page = page_of(tree_of("inductor_exception"), Sources(error_log="a line of it\n" * 800_000 + "the end"))
    assert len(page) < 1_000_000 and "the end" in page and "its last 200000 characters" in page


def test_what_a_reader_looks_for_is_in_the_first_screen() -> None:
    tree = tree_of("inductor_exception")
    page = page_of(tree, Sources(reproducer="import torch\nboom()\n"))
    first = page.partition("<h2>")[0]
    assert "boom()" in first and "stage: inductor" in first and "data-copies" in first
    assert re.search(r"<dt>Line</dt><dd><code>[^<]+:\d+ in ", first)


def test_how_a_reduction_went_is_read_from_the_journal(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = [
        {"kind": "reduced", "queries": 9, "ops": 40, "lines": 60},  # of a reduction before the last one
        {"kind": "reduced", "queries": 2, "ops": 12, "lines": 20},
        {"kind": "query", "number": 3},
        {"kind": "reduced", "queries": 7, "ops": 3, "lines": 9},
    ]
    torn = '{"kind": "reduced", "queries": 8, '
    (tmp_path / "journal.jsonl").write_text("".join(json.dumps(each) + "\n" for each in events) + torn)
    tree = tree_of("inductor_exception")
    sources = read_sources(tmp_path, decode(TriageReport, tree), Redactor())
    assert (sources.curve, sources.curve_unit) == (((2, 12), (7, 3)), "operations")
    assert "How it was reduced" not in page_of(tree, Sources())
    page = page_of(tree, sources)
    assert (
        "12 operations at first, 3 after 7 candidates" in page
        and 'points="222.9,10.0 222.9,10.0 680.0,10.0 680.0,100.0"' in page
    )


@pytest.mark.parametrize(
    ("compiled", "told"),
    [
        (0.5, "eager 0.25, compiled 0.5, exact 0.25"),
        ("nan", "eager 0.25, compiled NaN, exact 0.25"),
        ("-inf", "eager 0.25, compiled -inf, exact 0.25"),
    ],
)
def test_the_wrong_value_is_in_the_picture_also_where_it_is_no_number(compiled: object, told: str) -> None:
    tree = tree_of("inductor_exception")
    tree["accuracy"] = {"kind": "values", "eager": 0.25, "compiled": compiled, "exact": 0.25}
    page = page_of(tree, Sources())
    places = dict(re.findall(r'<circle class="(\w+)" cx="([\d.]+)"', page))
    assert f'aria-label="{told}"' in page
    assert places["eager"] == places["exact"] != places["compiled"]


CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_a_browser_shows_it_and_has_nothing_to_complain_of(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(
        page_of(tree_of("inductor_exception"), Sources(reproducer="x\n", error_log="y\n"))
    )
    quiet = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-sync",
    ]
    words = [str(CHROMIUM), *quiet, f"--user-data-dir={tmp_path / 'data'}", "--enable-logging=stderr", "--dump-dom"]
    ran = subprocess.run([*words, (tmp_path / "report.html").as_uri()], capture_output=True, text=True, timeout=100)
    assert re.search(r'<button [^>]*data-copies="reproducer">Copy', ran.stdout), ran.stderr  # shown: the script has run
    assert not [line for line in ran.stderr.splitlines() if "CONSOLE" in line or "Content Security" in line]
