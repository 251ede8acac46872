"""`triage report --open`: a browser only where one was asked for, and the address in any case."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from triage.cli.app import app
from triage.errors import UsageError

GOLDEN = Path(__file__).parents[1] / "golden"
RUNNER = CliRunner()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    urls: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: urls.append(url) or True)
    return urls


def test_it_opens_the_address_and_prints_it(opened: list[str]) -> None:
    done = RUNNER.invoke(app, ["report", str(GOLDEN / "inductor_exception"), "--open"])
    assert done.exit_code == 0
    (url,) = opened
    assert url.startswith("https://github.com/pytorch/pytorch/issues/new?title=") and len(url) <= 8191
    assert done.stdout.strip() == url


def test_without_it_no_browser(opened: list[str]) -> None:
    RUNNER.invoke(app, ["report", str(GOLDEN / "inductor_exception"), "-f", "github"])
    assert opened == []


def test_a_machine_without_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    done = RUNNER.invoke(app, ["report", str(GOLDEN / "inductor_exception"), "--open"])
    assert done.exit_code == 0 and "No browser could be opened" in done.stderr


def test_what_is_no_bug_is_not_filed(opened: list[str]) -> None:
    done = RUNNER.invoke(app, ["report", str(GOLDEN / "script_stage"), "--open"])
    assert opened == [] and isinstance(done.exception, UsageError)


def test_no_redact_warns(opened: list[str]) -> None:
    done = RUNNER.invoke(app, ["report", str(GOLDEN / "inductor_exception"), "--no-redact"])
    assert "redaction is off" in done.stderr and "**Not redacted:**" in done.stdout
