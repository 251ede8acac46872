"""The user's own template: what it is given, what it cannot do, and what is said of a slip in it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from triage.cli.app import app
from triage.errors import UsageError
from triage.model.codec import decode
from triage.model.report import TriageReport
from triage.report import issue
from triage.report.redact import Redactor
from triage.report.sources import Sources
from triage.report.store import render_again, write_report
from triage.report.templates import FILTERS, VARIABLES, user_template
from triage.session.settings import load_settings

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "inductor_exception"


def rendered(tmp_path: Path, source: str, fmt: str = "md") -> str:
    file = tmp_path / "mine.md.j2"
    file.write_text(source)
    return render_again(GOLDEN, fmt, Redactor(), file)


def test_it_takes_the_place_of_the_body(tmp_path: Path) -> None:
    text = rendered(
        tmp_path, "# {{ title }}\n{{ report.verdict.stage.value }}, {{ kind }}\n{{ reproducer | fence('python') }}\n"
    )
    assert text.startswith("# [inductor] `aten.convolution_backward.default`: AssertionError")
    assert "\ninductor, bug\n```python\n# torch 2.13.0+cpu" in text


def test_the_github_format_files_it(tmp_path: Path) -> None:
    assert rendered(tmp_path, "only this\n", "github").startswith("only this\n\n<!--\nHow to file this.")


def test_it_may_include_ours(tmp_path: Path) -> None:
    ours = render_again(GOLDEN, "md", Redactor())
    assert rendered(tmp_path, 'Dear team,\n{% include "issue.md.j2" %}') == "Dear team,\n" + ours


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("a\n{{ reprot.verdict }}\n", r"mine\.md\.j2, line 2: there is no variable 'reprot'"),
        ("a\nb\n{{ report.verdikt.stage }}\n", r"mine\.md\.j2, line 3: .*has no attribute 'verdikt'"),
        ("{% if title %}\n", r"mine\.md\.j2, line 1: it is no template: Unexpected end of template"),
        ("\n{{ title | shout }}\n", r"mine\.md\.j2, line 2: it is no template: No filter named 'shout'"),
        ("{{ 1 / 0 }}", r"mine\.md\.j2, line 1: division by zero"),
        ('{% include "/etc/passwd" %}', r"mine\.md\.j2, line 1: '?/etc/passwd"),
        ("{{ title.__class__.__mro__ }}", r"mine\.md\.j2, line 1: access to attribute '__class__' .* is unsafe"),
        ("{{ attachments.append('x') }}", r"mine\.md\.j2, line 1: .* is not safely callable|is unsafe"),
    ],
)
def test_a_slip_is_told_with_its_place(tmp_path: Path, source: str, says: str) -> None:
    with pytest.raises(UsageError) as told:
        rendered(tmp_path, source)
    assert re.search(says, told.value.why), told.value.why
    assert told.value.what.startswith("The template ") and "report, kind, wanted, title" in told.value.next


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        user_template(tmp_path / "none.j2")


def test_a_text_that_is_too_long(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="too long for an issue"):
        rendered(tmp_path, "x" * 70_000)


def test_a_slip_does_not_cost_the_report_of_a_run(tmp_path: Path) -> None:
    file = tmp_path / "mine.md.j2"
    file.write_text("{{ report.nothing }}")
    report = decode(TriageReport, json.loads((GOLDEN / "report.json").read_text()))
    written = write_report(tmp_path, report, ["md"], Redactor(), file)
    assert "### Describe the bug" in (tmp_path / "report.md").read_text()
    assert "line 1" in written.notes[-1] and "mine.md.j2" in written.notes[-1]


def test_a_slip_is_told_before_a_run_begins(tmp_path: Path) -> None:
    (tmp_path / "mine.j2").write_text("{{ reprot }}")
    (tmp_path / "x.py").write_text("")
    done = CliRunner().invoke(app, ["run", "--template", str(tmp_path / "mine.j2"), str(tmp_path / "x.py")])
    assert isinstance(done.exception, UsageError) and not (tmp_path / "triage-out").exists()


def test_the_setting_is_beside_the_file_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.triage]\ntemplate = "docs/mine.j2"\n')
    (tmp_path / "sub").mkdir()
    assert load_settings({}, environ={}, directory=tmp_path / "sub").template == tmp_path / "docs" / "mine.j2"


def test_what_is_passed_is_what_is_documented(monkeypatch: pytest.MonkeyPatch) -> None:
    report = decode(TriageReport, json.loads((GOLDEN / "report.json").read_text()))
    passed: dict[str, object] = {}
    monkeypatch.setattr(issue, "user_template", lambda file: lambda variables: passed.update(variables) or "text")
    issue.issue_body(report, Sources(template=Path("mine.j2")))
    section = (ROOT / "docs" / "report.md").read_text().partition("\n## Templates\n")[2].partition("\n## ")[0]
    documented = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", section, flags=re.MULTILINE))
    assert documented == VARIABLES
    assert passed.keys() == VARIABLES.keys()
    assert set(FILTERS) <= set(re.findall(r"`(\w+)`", section))
