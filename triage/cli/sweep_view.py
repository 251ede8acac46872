"""What a person sees while a sweep goes on: how far it is and what was found, on a terminal as a table; then the bugs."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from triage.cli.view import bare_table, listener_of, shown, shown_bare, typed
from triage.session.events import Event, Listener

if TYPE_CHECKING:
    from triage.model.sweep import Cluster
    from triage.stories.sweep import SweepResult

MOST_CLUSTERS = 20
_WORDS = {
    "passes": ("passes", "green"),
    "fails": ("fails", "bold red"),
    "flaky": ("fails at times", "bold red"),
    "rounding": ("rounding", "green"),
    "known_cause": ("fails, known cause", "yellow"),
    "script": ("fails uncompiled too", "yellow"),
    "unusable": ("could not be run", "yellow"),
    "unknown": ("not known", "yellow"),
}
_PASSES = {"screen": "screening", "reproducer": "reducing", "whole": "all about"}


def listener_for(*, quiet: bool) -> AbstractContextManager[Listener]:
    """The listener of a sweep for this terminal."""
    return listener_of(lambda console: View(), plain_line, silent=quiet, transient=True)


def plain_line(event: Event) -> str | None:
    """One event as one line, None where it is not worth one."""
    facts = event.facts
    if event.kind == "sweep_started":
        from triage.report.wording import plural

        where = f"results in {shown(facts['directory'])}"
        return f"{plural(facts['scripts'], 'script')}, {facts['slots']} side by side ({facts['engine']}); {where}"
    if event.kind == "pass_ended":
        done = f"{facts['screened']}/{facts['scripts']}" if facts["which"] == "screen" else _PASSES[facts["which"]]
        what = f": {facts['headline']}" if facts["headline"] and facts["fate"] not in ("passes", "rounding") else ""
        return f"{done} {facts['script']}: {_WORDS[facts['fate']][0]} ({facts['seconds']:.0f} s){what}"
    if event.kind == "pass_lost":
        return f"{facts['script']}: its machine went away ({facts['error']}); it is run again"
    return None


class View:
    """How far the sweep is: what runs, what was last found, how long it may still take."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.counts: dict[str, int] = {"screened": 0, "scripts": 0, "failing": 0, "clusters": 0, "open": 0}
        self.running: dict[str, tuple[str, float]] = {}
        self.spent: list[float] = []  # seconds of the passes that have ended
        self.slots = 1
        self.last = ""

    def listen(self, event: Event) -> None:
        facts = event.facts
        if event.kind == "sweep_started":
            self.slots, self.counts["scripts"] = facts["slots"], facts["scripts"]
        elif event.kind == "pass_started":
            self.running[facts["script"]] = (facts["which"], time.monotonic())
        elif event.kind == "pass_ended":
            self.running.pop(facts["script"], None)
            self.counts.update({name: facts[name] for name in self.counts})
            self.spent.append(facts["seconds"])
            self.last = plain_line(event) or ""

    def left(self) -> str:
        """How long what is known to be asked still takes, by the median of what was asked lately."""
        lately = sorted(self.spent[-20:])
        if not lately or not self.counts["open"]:
            return ""
        minutes = lately[len(lately) // 2] * self.counts["open"] / self.slots / 60
        return "less than a minute left" if minutes < 1 else f"some {minutes:.0f} minutes left, as far as is known"

    def render(self) -> Any:
        from rich.console import Group
        from rich.spinner import Spinner
        from rich.text import Text

        counts = self.counts
        told = (
            f"{counts['screened']} of {counts['scripts']} screened, {counts['failing']} fail, {counts['clusters']} bugs"
        )
        line = Text(
            f"{told}  {time.monotonic() - self.began:.0f} s  {self.left()}", "bold", no_wrap=True, overflow="ellipsis"
        )
        rows = [
            Text(
                f"  {_PASSES[which]} {name}  {time.monotonic() - since:.0f} s", "dim", no_wrap=True, overflow="ellipsis"
            )
            for name, (which, since) in list(self.running.items())[:12]
        ]
        last = [Text(self.last, no_wrap=True, overflow="ellipsis")] if self.last else []
        return Group(*last, *rows, Spinner("dots", text=line))


def show_sweep(done: SweepResult, *, quiet: bool, as_json: bool) -> None:
    """The end of a sweep: its data, the directory alone, or the bugs as a table."""
    if shown_bare(done.directory, "sweep.json", quiet=quiet, as_json=as_json):
        return
    from rich.console import Console
    from rich.text import Text

    from triage.report.sweep import summary

    found, console = done.report, Console()
    console.print(Text(summary(found), "bold"))
    if found.clusters:
        console.print(_table(found.clusters))
    if found.against is not None:
        kinds = {"new": "new", "fixed": "fixed", "changed": "changed", "still": "still failing", "flaky": "flaky"}
        told = ", ".join(f"{len(getattr(found.against, name))} {word}" for name, word in kinds.items())
        console.print(Text(f"against {shown(found.against.base)}: {told}"))
    page = shown(done.directory / "sweep.html")
    next_step = f"triage sweep --resume {typed(done.directory)}" if not found.complete else f"open {page}"
    console.print(Text(f"page     {page}\nnext     {next_step}"))


def _table(clusters: tuple[Cluster, ...]) -> Any:
    from rich.text import Text

    from triage.report.sweep import stage_of

    table = bare_table()
    for name in ("", "scripts", "stage", "what", "reproducer"):
        table.add_column(name, overflow="fold", justify="right" if name == "scripts" else "left")
    for cluster in clusters[:MOST_CLUSTERS]:
        style = "dim" if cluster.known_cause else ""
        made = f"{cluster.reproducer} ({cluster.lines} lines)" if cluster.reproducer else "none verified"
        table.add_row(
            cluster.id,
            str(len(cluster.members)),
            "known cause" if cluster.known_cause else stage_of(cluster),
            Text(cluster.title, style),
            Text(made, "dim"),
        )
    if len(clusters) > MOST_CLUSTERS:
        table.add_row("", "", "", f"and {len(clusters) - MOST_CLUSTERS} more, on the page", "")
    return table
