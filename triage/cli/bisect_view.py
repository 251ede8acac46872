"""What a person sees while a bisection goes on: a table of versions on a terminal, plain lines elsewhere, then the answer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from triage.cli.view import bare_table, listener_of, shown, shown_bare, typed
from triage.session.events import Event, Listener

if TYPE_CHECKING:
    from triage.stories.bisect import BisectResult

_MARKS = {"good": ("passes", "green"), "bad": ("fails", "bold red"), "skip": ("skipped", "yellow")}
MIB = 1024**2


def listener_for(*, quiet: bool) -> AbstractContextManager[Listener]:
    """The listener of a bisection for this terminal."""
    return listener_of(lambda console: View(), plain_line, silent=quiet)


def plain_line(event: Event) -> str | None:
    """One event as one line, None where it is not worth one."""
    facts = event.facts
    if event.kind == "bisect_started":
        first, last = facts["versions"][0], facts["versions"][-1]
        said = [
            f"{len(facts['versions'])} versions from {first} to {last}; results in {shown(facts['directory'])}",
            *facts["notes"],
        ]
        return "\n           ".join(said)
    if event.kind == "install_started":
        size = f" (torch wheel: {facts['bytes'] / MIB:.0f} MiB)" if facts.get("bytes") else ""
        return f"{facts['version']}: making an environment{size}"
    if event.kind == "install_ended":
        return f"{facts['version']}: made in {facts['seconds']:.0f} s, {facts['bytes'] / MIB:.0f} MiB on disk"
    if event.kind == "smoke_ended":
        return f"{facts['version']}: smoke test {facts['problem'] or 'passed'} ({facts['seconds']:.0f} s)"
    if event.kind == "bisect_run":
        return f"{facts['name']}: {_told(facts)} ({facts['seconds']:.1f} s)"
    if event.kind == "version_ended":
        left = f", at most {facts['left']} more to test" if facts["left"] else ""
        return f"{facts['version']}: {_told(facts)}{left}"
    return None


def _told(facts: dict[str, Any]) -> str:
    mark = _MARKS[facts["verdict"]][0]
    return f"{mark}: {facts['error'][:140]}" if facts.get("error") else mark


class View:
    """The table as it fills in, and the line below it: what is going on, what is left."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self.order: list[str] = []
        self.sizes: dict[str, int | None] = {}
        self.began = time.monotonic()
        self.doing = "asking the package index"
        self.left: int | None = None
        self.seconds: list[float] = []
        self.ended = False

    def listen(self, event: Event) -> None:
        facts = event.facts
        version = facts.get("version", "")
        if event.kind == "bisect_started":
            self.order, self.sizes = facts["versions"], facts["sizes"]
        elif event.kind == "version_started":
            self.rows.setdefault(version, {})["since"] = time.monotonic()
            self.left = facts.get("left") or self.left
        elif event.kind == "install_started":
            self.doing = f"installing {version}"
        elif event.kind == "smoke_started":
            self.doing = f"smoke test of {version}"
        elif event.kind in ("install_ended", "smoke_ended"):
            self.doing = f"running the script with {version}"
        elif event.kind == "bisect_run":
            self.doing = f"ran {facts['name']}"
        elif event.kind == "version_ended":
            self.rows[version] = dict(facts)
            self.left = facts["left"]
            self.seconds.append(facts["seconds"])

    def render(self) -> Any:
        from rich.console import Group
        from rich.spinner import Spinner
        from rich.text import Text

        table = bare_table(show_header=False)
        for name in self.order or list(self.rows):
            if name in self.rows:
                table.add_row(*_cells(name, self.rows[name]))
        if self.ended:
            return table
        line = Text(
            f"{self.doing}  {time.monotonic() - self.began:.0f} s{self.outlook()}", overflow="ellipsis", no_wrap=True
        )
        return Group(table, Spinner("dots", text=line))

    def outlook(self) -> str:
        """`  at most 3 more versions, about 2 min and 580 MiB`: from what the versions so far took."""
        if not self.left:
            return ""
        text = f"  at most {self.left} more version{'s' if self.left > 1 else ''}"
        parts = []
        if self.seconds:
            minutes = self.left * sum(self.seconds) / len(self.seconds) / 60
            parts.append(f"about {minutes:.0f} min" if minutes >= 1 else "about a minute")
        known = sorted(size for name, size in self.sizes.items() if size and name not in self.rows)
        if known:
            parts.append(f"{self.left * known[len(known) // 2] / MIB:.0f} MiB of torch wheels")
        return f"{text}, {' and '.join(parts)}" if parts else text


def _cells(name: str, row: dict[str, Any]) -> tuple[Any, ...]:
    from rich.text import Text

    if "verdict" not in row:
        return (
            Text(name, "bold"),
            Text("testing", "cyan"),
            Text(f"{time.monotonic() - row['since']:.0f} s", "dim"),
            Text(""),
        )
    mark, style = _MARKS[row["verdict"]]
    error = Text((row.get("error") or "")[:100], "dim", overflow="ellipsis", no_wrap=True)
    return Text(name), Text(mark, style), Text(f"{row['seconds']:.0f} s", "dim"), error


def show_result(done: BisectResult, *, quiet: bool, as_json: bool) -> None:
    """The answer: a panel, the path alone, or the tree."""
    if shown_bare(done.directory, "bisect.json", quiet=quiet, as_json=as_json):
        return
    from rich.console import Console

    Console().print(_panel(done))


def _panel(done: BisectResult) -> Any:
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    found = done.found
    lines: list[Any] = [Text(found.summary, "bold")]
    for name, value in _facts(done):
        lines.append(Text.assemble((f"{name:<11}", "dim"), value))
    settled = found.before is not None and found.complete
    return Panel(
        Group(*lines), title="triage bisect", title_align="left", border_style="green" if settled else "yellow"
    )


def _facts(done: BisectResult) -> Iterator[tuple[str, str]]:
    from triage.report.bisection import what_next

    found = done.found
    if found.failure:
        yield "failure", found.failure
    if found.commits is not None and found.commits.url:
        yield "commits", f"{found.commits.before[:12]} to {found.commits.after[:12]} (link in bisect.md)"
    for commit in (found.commits.commits if found.commits else ())[:3]:
        yield "suspect", f"{commit.sha[:12]} {commit.subject[:80]}"
    for row in found.skipped[:4]:
        yield "skipped", f"{row.version}: {row.reason[:100]}"
    if len(found.skipped) > 4:
        yield "skipped", f"and {len(found.skipped) - 4} more, see bisect.json"
    for note in found.notes[:4]:
        yield "note", note
    yield (
        "tested",
        f"{len(found.tested)} of {len(found.versions)}, environments made: {found.installs}, {found.seconds:.0f} s",
    )
    yield "result", shown(done.directory / "bisect.md")
    if done.report is not None:
        yield "report", f"{shown(done.report)} (the section is in it)"
    if (instead := what_next(found)) is not None:
        yield "next", instead
    if not found.complete:
        yield "incomplete", found.incomplete_reason or ""
        yield "next", f"triage bisect --resume {typed(done.directory)}"
