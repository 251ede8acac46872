"""A sweep as a page, as Markdown and as test results: what stands in them, and what cannot get in."""

import base64
import hashlib
from dataclasses import replace
from xml.etree import ElementTree

from markdown_it import MarkdownIt
from page_elements import EVIL, Elements, poisoned

from triage.model.codec import decode, encode
from triage.model.sweep import Against, Cluster, Doubt, Fate, ScriptResult, SweepReport
from triage.report.junit import junit
from triage.report.sweep import summary, sweep_markdown
from triage.report.sweep_html import sweep_html


def result(script: str, fate: Fate = Fate.FAILS, **more: object) -> ScriptResult:
    facts = ScriptResult(
        script, fate, "inductor", "exception", "f00d", "aten.lerp", "TypeError: no", "c1", f"runs/{script}"
    )
    return replace(facts, rungs={"eager": "ok", "inductor": "exception"}, seconds=12.5, **more)


def cluster(name: str = "c1", *members: str, **more: object) -> Cluster:
    found = Cluster(
        name,
        "`aten.lerp`: no",
        "inductor",
        "exception",
        "f00d",
        "aten.lerp",
        members,
        "runs/a.py",
        None,
        "one error (1)",
    )
    return replace(
        found,
        **{"reproducer": "runs/a.py/repro.py", "lines": 7, "doubtful": (Doubt("b.py", "messages differ"),), **more},
    )


CAUSE = cluster("c2", "cause.py", known_cause="no_compiler", title="There is no C++ compiler", cure="Install g++")
FOUND = SweepReport(
    scripts=7,
    failing=3,
    clusters=(cluster("c1", "a.py", "b.py"), CAUSE),
    results=(
        result("a.py", verified=True),
        result("b.py", inherited=True),
        result("cause.py", Fate.KNOWN, cluster="c2"),
        result("fine.py", Fate.PASSES, cluster=None, headline=""),
        result("missing.py", Fate.SCRIPT, cluster=None, headline="FileNotFoundError: data.bin"),
        result("broken.py", Fate.UNUSABLE, cluster=None, directory=None, note="it does not parse"),
        result("late.py", Fate.UNKNOWN, cluster=None, directory=None),
    ),
    environment={"torch": "2.13.0", "python": "3.11"},
)
ALLOWED = {
    *["p", "strong", "table", "thead", "tbody", "tr", "th", "td", "code", "details", "summary", "ul", "li", "h3", "em"]
}
COMPARED = replace(
    FOUND, against=Against("old", new=("a.py",), fixed=("fine.py",), still=("b.py",), only_there=("gone.py",))
)


def many(scripts: int, clusters: int) -> SweepReport:
    """As big as a sweep gets, with long names and messages."""
    name = "models/some/deep/folder/with/a/rather/long/name/program_{:05}.py"
    results = tuple(
        result(name.format(number), headline="RuntimeError: " + "long " * 60, cluster=f"c{number % clusters}")
        for number in range(scripts)
    )
    groups = tuple(
        cluster(f"c{number}", *(name.format(place) for place in range(number, scripts, clusters)), title="long " * 100)
        for number in range(clusters)
    )
    return replace(FOUND, scripts=scripts, failing=scripts, clusters=groups, results=results)


def test_one_sentence_counts_bugs_and_causes_apart() -> None:
    assert summary(FOUND) == "3 of 7 scripts fail under torch.compile: 1 bug, 1 known cause"
    clean = SweepReport(2, 0, (), (result("a.py", Fate.PASSES), result("b.py", Fate.SCRIPT)))
    assert summary(clean) == ("None of 2 scripts is known to fail under torch.compile; 1 fails uncompiled too")


def test_a_failure_that_was_not_located_yet_is_not_said_to_be_the_compilers() -> None:
    found = replace(FOUND, clusters=(cluster("c1", "a.py", stage="none"), CAUSE))
    told = "the stage of 1 is not known, so it may not be torch.compile that fails there"
    assert summary(found) == f"3 of 7 scripts fail under torch.compile: 1 bug, 1 known cause; {told}"
    assert "| not known |" in sweep_markdown(found)
    chance = replace(FOUND, clusters=(cluster("c1", "a.py", stage="none", symptom="nondeterministic"),))
    assert "not known" not in summary(chance)


def test_the_comment_begins_with_what_is_new() -> None:
    text = sweep_markdown(COMPARED)
    assert text.index("1 new") < text.index("| c1 |")
    assert "1 fixed" in text
    assert "1 script there alone" in text
    assert "| c1 | 2 | inductor |" in text
    assert "Install g++" in text
    assert text.index("| c1 |") < text.index("no bugs of the compiler")
    assert "it does not parse" in text
    assert "doubtful: `b.py`" in text
    assert "| c2 |" not in text


def test_an_incomplete_sweep_says_so_everywhere() -> None:
    partial = replace(FOUND, complete=False, incomplete_reason="interrupted")
    assert "It is not complete: interrupted." in sweep_markdown(partial)
    assert "incomplete: interrupted" in sweep_html(partial)


def test_the_comment_stays_below_what_github_takes() -> None:
    text = sweep_markdown(many(2000, 300))
    assert 20_000 < len(text) <= 61_000
    assert text.count("<details") == text.count("</details>")
    assert "And 240 more." in text


def test_the_comment_makes_no_element_of_what_a_target_says() -> None:
    text = sweep_markdown(decode(SweepReport, poisoned_sweep()))
    page = Elements(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))
    assert {tag for tag, *_ in page.found} <= ALLOWED
    assert "\x1b" not in text


def poisoned_sweep() -> dict:
    """With something evil in each text but the fates."""
    tree = encode(COMPARED)
    bad = poisoned(tree)
    for before, after in zip(tree["results"], bad["results"], strict=True):
        after["fate"] = before["fate"]
    return bad


def test_the_page_makes_no_element_of_what_a_target_says() -> None:
    plain, evil = (Elements(sweep_html(found)) for found in (COMPARED, decode(SweepReport, poisoned_sweep())))
    assert {tag for tag, *_ in evil.found} <= {tag for tag, *_ in plain.found} | {"code"}
    assert all(address.startswith(("./", "#", "sweep.json")) for address in evil.addresses), evil.addresses


def test_the_page_runs_nothing_but_its_own_script() -> None:
    page = Elements(sweep_html(FOUND))
    for kind in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(page.raw[kind].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in page.policy
    assert not [key for key in page.found if "style" in key[1:] or "onclick" in key[1:]]


def test_the_page_links_bugs_and_scripts_to_their_runs() -> None:
    text = sweep_html(FOUND)
    page = Elements(text)
    assert "./runs/a.py/report.html" in page.addresses
    assert "./runs/a.py/repro.py" in page.addresses
    assert "#c1" in page.addresses
    assert 'id="c1"' in text
    assert "./runs/fine.py/report.html" not in page.addresses  # it was only screened: there is no page
    assert "data-live" not in text.split("<script>")[0].split("</style>")[1]
    assert 'data-live="5"' in sweep_html(FOUND, live=True)


def test_two_thousand_scripts_make_a_page_of_less_than_five_megabytes() -> None:
    assert len(sweep_html(many(2000, 300)).encode()) < 5_000_000


def test_test_results_count_what_they_hold() -> None:
    suite = ElementTree.fromstring(junit(COMPARED)).find("testsuite")
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["7", "4", "1", "1"]
    cases = {case.get("name"): case for case in suite}
    failure = cases["a.py"].find("failure")
    assert failure.get("message") == "TypeError: no"
    assert failure.get("type") == "c1: `aten.lerp`: no"
    assert "runs/a.py/repro.py" in str(failure.text)
    assert cases["fine.py"].find("failure") is None
    assert [prop.get("value") for prop in cases["a.py"].iter("property")] == ["new"]


def test_test_results_hold_whatever_a_target_says() -> None:
    found = replace(FOUND, results=(result(f"a{EVIL}\x00\x0b\ufffe.py", headline=EVIL * 1000),))
    suite = ElementTree.fromstring(junit(found)).find("testsuite")
    assert suite is not None
    assert len(suite) == 1
