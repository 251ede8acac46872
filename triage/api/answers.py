"""What the functions return: the trees of the model, with the directory they lie in and a short form for notebooks."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass, fields
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from triage.model.bisection import Bisection, from_json
from triage.model.report import TriageReport as Tree

if TYPE_CHECKING:
    from triage.stories.bisect import BisectResult
    from triage.stories.run import RunResult


@dataclass(frozen=True, repr=False)
class TriageReport(Tree):
    """`report.json` as an object, of the run in `directory`. `exit_code` is that of `triage run`.

    A notebook is saved and passed on with what it shows of this, as text and as HTML: no directory of this machine is in it.
    """

    directory: Path = Path()
    exit_code: int | None = None  # None of a report that was only loaded

    @property
    def path(self) -> Path:
        """What a person reads: report.html where it was written, else report.md, else report.json."""
        pages = (self.directory / name for name in ("report.html", "report.md"))
        return next((page for page in pages if page.is_file()), self.directory / "report.json")

    @property
    def reproducer_path(self) -> Path | None:
        """The script; None where the run has none."""
        return self.directory / self.reproducer.path if self.reproducer is not None else None

    @property
    def reproducer_text(self) -> str:
        """What stands in the script as the report quotes it, redacted; empty where the run has none."""
        from triage.report.redact import Redactor
        from triage.report.sources import read_sources

        redactor = Redactor.of_this_machine(os.environ, Path.cwd()).knowing(self.command)
        return read_sources(self.directory, self, redactor).reproducer

    @property
    def title(self) -> str:
        """The failure in a line of at most 120 characters."""
        from triage.report.titles import title

        return title(self)

    def _repr_html_(self) -> str:
        """Title, stage, reproducer, and where the whole report lies. Everything in it is text: nothing of the program runs."""
        stage = f"stage {self.verdict.stage.value}; {self.verdict.summary}"
        code = f"<pre><code>{escape(self.reproducer_text)}</code></pre>" if self.reproducer is not None else ""
        note = f"<p>No reproducer: {escape(self.reproducer_note)}</p>" if self.reproducer_note and not code else ""
        shown, beside = _shown(self.path)
        link = f'<a href="{escape(quote(shown))}">{escape(self.path.name)}</a>' if beside else escape(shown)
        return f"<div><p><b>{escape(self.title)}</b></p><p>{escape(stage)}</p>{code}{note}<p>{link}</p></div>"

    def __repr__(self) -> str:
        return f"<triage: {self.title}; stage {self.verdict.stage.value}; {_shown(self.path)[0]}>"


@dataclass(frozen=True, repr=False)
class BisectReport(Bisection):
    """`bisect.json` as an object, of the bisection in `directory`. `exit_code` is that of `triage bisect`."""

    directory: Path = Path()
    exit_code: int | None = None

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(row.version)}</td><td>{escape(row.verdict.value)}</td></tr>" for row in self.tested
        )
        return f"<div><p><b>{escape(self.summary)}</b></p><table>{rows}</table></div>"

    def __repr__(self) -> str:
        return f"<triage: {self.summary}; {_shown(self.directory / 'bisect.json')[0]}>"


def _shown(file: Path) -> tuple[str, bool]:
    """The path from here, and whether it lies below here, so that a link can lead to it; else what redaction leaves of it."""
    from triage.report.redact import Redactor

    here = Path.cwd()
    redactor = Redactor.of_this_machine(os.environ, here)
    above_home = here in Path(redactor.home).parents  # from there the path itself would name the user
    with contextlib.suppress(ValueError, OSError):
        if not above_home:
            return file.resolve().relative_to(here).as_posix(), True
    return redactor.text(str(file)), False


def report_of(done: RunResult) -> TriageReport:
    """As it was written: what the story has in hand is not redacted. Raises what a bug of triage itself raised."""
    from triage.report.store import load_report

    if done.bug is not None:
        raise done.bug
    return with_directory(load_report(done.directory), done.directory, done.exit_code)


def with_directory(tree: Tree, directory: Path, exit_code: int | None = None) -> TriageReport:
    return TriageReport(**_values(tree), directory=directory, exit_code=exit_code)


def bisection_of(done: BisectResult) -> BisectReport:
    """As it was written: what the story has in hand is not redacted."""
    written = from_json(json.loads((done.directory / "bisect.json").read_text(encoding="utf-8")))
    return BisectReport(**_values(written), directory=done.directory, exit_code=done.exit_code)


def _values(tree: Tree | Bisection) -> dict[str, Any]:
    return {field.name: getattr(tree, field.name) for field in fields(tree)}
