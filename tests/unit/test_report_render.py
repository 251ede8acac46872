"""What a rendered report says in each case, and what it never does."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from markdown_it import MarkdownIt

from triage.errors import TriageError, UsageError
from triage.model.codec import decode
from triage.model.formats import FORMATS
from triage.model.report import (
    AblationRow,
    Control,
    LadderRow,
    ReportSignature,
    ReportVerdict,
    Reproducer,
    Sibling,
    TriageReport,
)
from triage.model.stage import Stage, Symptom
from triage.report import formats as formats_package
from triage.report import issue as issue_module
from triage.report.issue import templates_dir
from triage.report.limits import ISSUE_LIMIT, issue_size
from triage.report.render import render
from triage.report.sources import Sources
from triage.report.wording import title

PARSER = MarkdownIt("commonmark").enable("table")
SLOT = "YOUR OWN WORDS"
TOOL = {"name": "triage", "version": "0.1.0"}
BUG = TriageReport(
    tool=TOOL,
    command=("python", "train.py"),
    verdict=ReportVerdict(
        Symptom.EXCEPTION, Stage.INDUCTOR, "forward", "eager passes, inductor is the first backend that fails", 3, 3
    ),
    signature=ReportSignature(
        "LoweringException", "no lowering for aten.foo", ("torch/_inductor/graph.py:call_function",), "ab12"
    ),
    ladder=(LadderRow("uncompiled", "script", "ok", 1.0), LadderRow("inductor", "script", "exception", 2.0, "same")),
    reproducer=Reproducer("repro.py", True, 3, True, "graph", "native", 1, 9, 15, 12.7, True),
    environment={"torch": "2.13.0+cpu", "python": "3.11.7"},
    artifacts={"report_md": "report.md"},
)
CODE = Sources(reproducer="import torch\n\nprint('`x`')\n")


def md(report: TriageReport, sources: Sources = CODE) -> str:
    return render(report, "md", sources)


def with_reproducer(**changes: object) -> TriageReport:
    assert BUG.reproducer is not None
    return replace(BUG, reproducer=replace(BUG.reproducer, **changes))  # type: ignore[arg-type]


def test_the_sections_are_those_of_the_form_in_its_order() -> None:
    headings = [line for line in md(BUG).splitlines() if line.startswith("### ")]
    assert headings == ["### Describe the bug", "### Error logs", "### Versions"]


def test_the_slot_for_own_words_is_there_and_empty() -> None:
    text = md(BUG)
    assert text[text.index(SLOT) :].split("-->", 1)[1].split("<!--", 1)[0].strip() == ""


def test_the_reproducer_is_quoted_to_the_letter() -> None:
    fences = [token for token in PARSER.parse(md(BUG)) if token.type == "fence" and token.info == "python"]
    assert [token.content for token in fences] == [CODE.reproducer]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, "Verified: fails with this error in 3 of 3 runs, each in a fresh process."),
        ({"control": Control("aot_eager", "ok")}, "each in a fresh process; passes with `aot_eager`."),
        ({"control": Control("uncompiled", "ok")}, "each in a fresh process; passes uncompiled."),
        ({"control": Control("aot_eager", "exception")}, "each in a fresh process."),
        ({"verified": False, "verified_runs": 0, "note": "g++ is missing"}, "**NOT verified.** g++ is missing"),
        ({"verified": False, "verified_runs": 3}, "**NOT verified.** It failed the same way in 3 of 3 runs."),
        ({"verified": False, "verified_runs": 0}, "**NOT verified.** It was not run."),
        ({"same_signature": False}, "but NOT with the error of this report"),
        ({"minimal": False}, "**Reproducer (1 op, 9 lines)**"),
        ({}, "**Minimal reproducer (1 op, 9 lines)**"),
        ({"ops": None, "lines": 0, "minimal": False}, "**Reproducer**"),
    ],
)
def test_the_reproducer_claims_no_more_than_was_shown(changes: dict[str, object], says: str) -> None:
    text = md(with_reproducer(**changes))
    assert says in text
    assert ("Verified: fails with this error" in text) is (
        not changes or set(changes) <= {"minimal", "ops", "lines", "control"}
    )


def test_a_missing_reproducer_says_why() -> None:
    text = md(replace(BUG, reproducer=None, reproducer_note="the graph holds an opaque object"))
    assert "**No reproducer:** the graph holds an opaque object" in text


def test_a_missing_file_is_said() -> None:
    assert "The file `repro.py` could not be read." in md(BUG, Sources())


def test_a_failure_of_the_script_is_no_compiler_bug() -> None:
    report = replace(BUG, verdict=replace(BUG.verdict, stage=Stage.SCRIPT), reproducer=None)
    text = md(report)
    assert "This is not a torch.compile bug" in text
    assert SLOT not in text and "Suggested labels" not in text
    assert "Nothing to file" in render(report, "github", Sources())
    assert title(report).startswith("Fails without torch.compile too: ")


def test_what_hangs_in_another_door_is_not_said_of_torch_compile() -> None:
    verdict = ReportVerdict(Symptom.HANG, Stage.NONE, door="torch.export")
    assert title(replace(BUG, verdict=verdict)) == "[torch.export] torch.export does not finish"


def test_a_script_that_passes_is_nothing_to_report() -> None:
    report = TriageReport(tool=TOOL, command=("t.py",), verdict=ReportVerdict(summary="passes on every rung"))
    text = md(report, Sources())
    assert "> **Nothing to report.** No failure was seen." in text
    assert "### Error logs\n\nNone.\n" in text
    assert "so far" in md(replace(report, complete=False), Sources())


def test_a_flaky_failure_has_its_rate_and_blames_nobody() -> None:
    verdict = ReportVerdict(Symptom.NONDETERMINISTIC, Stage.NONE, None, "", 5, 2)
    text = md(replace(BUG, verdict=verdict, reproducer=None))
    assert "2 of 5 runs failed" in text
    assert "Suggested labels" not in text and "**Where:**" not in text


def test_an_incomplete_report_says_so_first() -> None:
    text = md(replace(BUG, complete=False, incomplete_reason="interrupted."))
    assert text.index("**This report is incomplete:** interrupted. What") < text.index("eager passes")


def test_no_part_at_all_is_still_a_report() -> None:
    bare = TriageReport(tool={}, command=(), verdict=ReportVerdict(Symptom.CRASH, Stage.NONE))
    text = md(bare, Sources())
    assert "- **Where:** not located" in text and "Generated by triage" in text


def test_the_ladder_has_a_column_per_place() -> None:
    ladder = (
        *BUG.ladder,
        LadderRow("inductor", "reproducer", "exception", 0.4, "same"),
        LadderRow("eager", "reproducer", "ok", 0.1),
    )
    text = md(replace(BUG, ladder=ladder))
    assert "| backend | script | reproducer |" in text
    assert "| `inductor` | **fails** (2.0 s) | **fails** (0.4 s) |" in text
    assert "| `eager` |  | passes (0.1 s) |" in text


def test_another_face_is_not_the_same_failure() -> None:
    text = md(replace(BUG, ladder=(LadderRow("eager", "script", "crash", 2.0, "other", "SIGSEGV | x\ny"),)))
    assert "| `eager` | crashes, another error (2.0 s) | SIGSEGV \\| x y |" in text


def test_a_backend_that_changes_its_mind_shows_both() -> None:
    ladder = (
        LadderRow("inductor", "script", "crash (SIGSEGV)", 2.0, "same"),
        LadderRow("inductor", "script", "ok", 1.0),
    )
    assert "| `inductor` | **crashes (SIGSEGV)** (2.0 s), then passes (1.0 s) |" in md(replace(BUG, ladder=ladder))


def test_difference_of_the_nearest_passing_variant() -> None:
    report = decode(
        TriageReport,
        {**json.loads(render(BUG, "json", CODE)), "nearest_passing": {"path": "passing.py", "difference": "one row"}},
    )
    text = md(report, replace(CODE, passing="import torch\n\nprint('y')\n"))
    assert "```diff\n-print('`x`')\n+print('y')\n```" in text
    assert "```diff" not in md(report, replace(CODE, passing="\n".join(map(str, range(50)))))


def test_html_and_mentions_in_messages_are_inert() -> None:
    signature = ReportSignature("RuntimeError", "</details><b>@someone `` ``` #1 -->", (), "ab")
    text = md(
        replace(
            BUG,
            signature=signature,
            siblings=(Sibling("x", "</details> | ``` @someone"),),
            notes=("see @someone #1 <b>",),
        ),
        Sources(error_log="```\n</details>\n<script>"),
    )
    outside = [token for token in PARSER.parse(text) if token.type == "inline"]
    assert "see `@someone` `#1` \\<b>" in text
    for token in outside:
        for child in token.children or []:
            assert child.type != "html_inline" or child.content in ("<sub>", "</sub>"), child.content
            assert "@" not in child.content or child.type == "code_inline"
    blocks = [token.content.strip() for token in PARSER.parse(text) if token.type == "html_block"]
    tags = [re.sub(r"<!--.*?-->", "", block, flags=re.DOTALL).strip() for block in blocks]
    assert [tag for tag in tags if tag] == ["<details><summary>What the failing run printed</summary>", "</details>"]


HUGE = "x | ` <a> @b\n" * 40_000


def test_it_fits_an_issue_whatever_the_texts_are() -> None:
    assert BUG.reproducer is not None
    big = replace(
        BUG,
        verdict=replace(BUG.verdict, summary=HUGE),
        signature=ReportSignature("E" * 9000, HUGE, (HUGE,) * 50, HUGE, HUGE, HUGE),
        ladder=tuple(LadderRow(f"rung {number} {HUGE}", HUGE, HUGE, 1.0, HUGE, HUGE) for number in range(80)),
        ablation=tuple(AblationRow(HUGE, HUGE, 1.0, HUGE) for _ in range(80)),
        workarounds=(HUGE,) * 50,
        siblings=(Sibling(HUGE, HUGE, HUGE),) * 50,
        notes=(HUGE,) * 50,
        environment={HUGE: HUGE, "torch": HUGE},
        collect_env=HUGE,
        reproducer=replace(BUG.reproducer, path=HUGE, note=HUGE, engine=HUGE),
        command=(HUGE,) * 5,
        rerun=HUGE,
        incomplete_reason=HUGE,
        complete=False,
        compile_calls=({"backend": HUGE, "options": [HUGE]},) * 9,
        tool={"name": HUGE, "version": HUGE},
        artifacts={"trace": HUGE, "error_log": HUGE},
    )
    text = md(big, Sources(HUGE, HUGE, HUGE))
    assert issue_size(text) < ISSUE_LIMIT
    assert "characters cut here" in text
    assert len(filing_url(big, Sources(HUGE, HUGE, HUGE))) <= 8191


def test_a_log_is_cut_before_the_reproducer() -> None:
    program = "".join(f"x{number} = {number}\n" for number in range(2000))
    text = md(BUG, Sources(reproducer=program, error_log="noise\n" * 200_000))
    assert program in text
    assert "characters cut here; the whole text is in error.log ...]" in text


def filing_url(report: TriageReport, sources: Sources) -> str:
    text = render(report, "github", sources)
    return next(
        line.strip()
        for line in text.splitlines()
        if line.strip().startswith("https://github.com/pytorch/pytorch/issues/new")
    )


def test_the_address_opens_an_issue_with_the_body() -> None:
    query = parse_qs(urlsplit(filing_url(BUG, CODE)).query)
    assert query["title"] == [title(BUG)]
    assert query["body"] == [md(BUG)]


def test_an_address_too_long_loses_logs_but_no_program() -> None:
    url = filing_url(replace(BUG, collect_env="a b\n" * 9000), replace(CODE, error_log="noise\n" * 9000))
    body = parse_qs(urlsplit(url).query)["body"][0]
    assert len(url) <= 8191
    assert CODE.reproducer in body and "the whole text is in report.md" in body


def test_an_address_without_room_has_the_form_and_the_title() -> None:
    url = filing_url(BUG, Sources(reproducer="x = 1\n" * 3000))
    assert parse_qs(urlsplit(url).query) == {"template": ["pt2-bug-report.yml"], "title": [title(BUG)]}


def test_the_command_to_type_quotes_its_title() -> None:
    assert BUG.signature is not None
    report = replace(BUG, signature=replace(BUG.signature, message="it's $HOME `id`"))
    assert """--title '[inductor] LoweringException: it'"'"'s $HOME `id`' --body-file report.md""" in render(
        report, "github", CODE
    )


def test_an_unknown_format_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="md, json, github"):
        render(BUG, "pdf", CODE)


def test_templates_are_found_beside_the_package_or_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert templates_dir().name == "templates"
    module = tmp_path / "site" / "triage" / "report" / "issue.py"
    monkeypatch.setattr(issue_module, "__file__", str(module))
    with pytest.raises(TriageError, match="templates of triage are missing"):
        templates_dir()
    for place in (tmp_path / "site" / "templates", tmp_path / "site" / "triage" / "templates"):
        place.mkdir(parents=True)
        (place / "issue.md.j2").touch()
        assert templates_dir() == place


def test_the_redactor_needs_no_jinja_and_no_git() -> None:
    import subprocess

    code = "import sys, triage.report.redact, triage.report.repository; print('jinja2' in sys.modules, 'git' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "False"]


def test_each_format_is_a_row_and_a_file() -> None:
    folder = Path(formats_package.__file__).parent
    assert {row.name for row in FORMATS} == {file.stem for file in folder.glob("*.py")} - {"__init__"}
    for columns in zip(*((row.name, row.file, row.artifact) for row in FORMATS), strict=True):
        assert len(set(columns)) == len(FORMATS)
