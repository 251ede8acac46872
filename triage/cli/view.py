"""What a person sees while a run goes on: a live ladder on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from triage.cli.heartbeat import beating
from triage.session.events import Event, Listener

SPINNER = 2  # columns it takes
_CUT = "nothing is known of it"  # of a run that was ended at a limit which says nothing of the script
_IDLE = "but it compiled nothing"  # so it says nothing of its rung
OFTEN = ("query", "ablated", "part_asked")  # there are many: one is a line only after so many seconds of silence
SILENCE = 15.0
QUIET = 30.0  # seconds without a line, after which one says what is waited for
MOST_NAMED = 3  # operations of a reproducer, in a line
STEPS_TOLD = ("ablate", "diverge", "conditions")  # of which nothing else may be told for a long time
_STEPS = {
    "script": "running the script as it is",
    "locate": "walking the ladder of backends",
    "confirm": "waiting for the script's own answers",
    "capture": "reading the captured graphs",
    "reduce": "reducing",
    "ablate": "trying settings on the reproducer, and parts of the compiler",
    "blame": "searching the part of the compiler to blame",
    "diverge": "looking where values go wrong in the program's own graph",
    "conditions": "asking what the failure needs",
    "fakes": "asking what the compiler was told of results",
    "compare": "comparing compiled graphs with eager",
    "opcheck": "checking custom operators",
    "ways_round": "trying ways round on a copy of your script",
    "report": "writing the report",
    # of `triage explain`
    "explain": "watching what is compiled",
    "try": "trying a cure",
    "modes": "measuring modes",
    "profile": "profiling",
}


def listener_for(*, quiet: bool) -> AbstractContextManager[Listener]:
    """The listener of a run for this terminal."""
    return listener_of(lambda console: _State(lambda: console.width), plain_line, silent=quiet, waiting=_State())


def listener_of(
    view: Callable[[Any], Any],
    line: Callable[[Event], str | None],
    *,
    silent: bool,
    transient: bool = False,
    waiting: _State | None = None,
) -> AbstractContextManager[Listener]:
    """On a terminal a view that listens and renders, one `line` per event elsewhere, nothing where only the result is wanted.

    `view` is made for a console; a `transient` one leaves nothing behind. `waiting` knows what is waited for between two lines.
    """
    if silent:
        return contextlib.nullcontext(lambda event: None)
    return _live(view, transient) if sys.stderr.isatty() else _plain(line, waiting)


@contextmanager
def _plain(line: Callable[[Event], str | None], waiting: _State | None = None) -> Iterator[Listener]:
    began = last = time.monotonic()

    def say(text: str | None) -> None:
        nonlocal last
        if text:
            last = time.monotonic()
            print(f"[{last - began:6.1f} s] {text}", file=sys.stderr, flush=True)  # noqa: T201

    def show(event: Event) -> None:
        if waiting is not None:
            waiting.listen(event)
        say(line(event) if event.kind not in OFTEN or time.monotonic() - last >= SILENCE else None)

    def still() -> None:
        if waiting is not None and time.monotonic() - last >= QUIET:
            say(waiting.waits_for())

    with beating(still):
        yield show


def plain_line(event: Event) -> str | None:
    """One event as one line, None where it is not worth one."""
    line = _LINES.get(event.kind)
    return line(event.facts) if line is not None else None


def _probe_ended(facts: dict[str, Any]) -> str | None:
    if facts.get("cut"):
        return f"{_run_name(facts)}: had not ended within {facts['seconds']:.0f} s ({_CUT})"
    if facts.get("told_early"):
        return None
    idle = f", {_IDLE}" if facts.get("idle") else ""
    later = f", {_later(facts)}" if facts.get("later") else ""
    return f"{_run_name(facts)}: {_outcome(facts)} after {facts['seconds']:.1f} s{_telling(facts)}{idle}{later}"


def _located(facts: dict[str, Any]) -> str | None:
    operation = f", the error names {facts['operation']}" if facts.get("operation") else ""
    door = f"fails in {facts['door']}, " if facts.get("door") else ""
    return f"{door}stage: {facts['stage']}{operation}" if facts["settled"] and facts["fails"] else None


def _asked(facts: dict[str, Any]) -> str:
    asked = f"with {facts['setting']}" if "setting" in facts else f"for the guilty part ({facts['part']})"
    ended = "passes" if facts["outcome"] == "ok" else facts["outcome"].replace("_", " ")
    return f"reproducer asked {asked}: {ended}, {facts['seconds']:.1f} s"


def _query(facts: dict[str, Any]) -> str:
    return f"candidate {facts['number']} ({facts['phase']}): {_first_line(facts['reason'])}, {facts['seconds']:.1f} s"


def _reduced(facts: dict[str, Any]) -> str | None:
    size = f"{ops_told(facts.get('ops'))}{facts.get('lines')} lines"
    if facts.get("smaller"):
        return f"smaller: {size}"
    place = f" ({shown(facts['path'])}, not verified yet)" if facts.get("path") else ""
    return f"fails the same way: {size}{place}" if facts.get("first") else None


def _reproducer_found(facts: dict[str, Any]) -> str:
    size = f"{ops_told(facts['ops'])}{facts['lines']} lines"
    return f"reproducer{_with(facts.get('operations') or ())}, not verified yet: {shown(facts['path'])} ({size})"


def _run_name(facts: dict[str, Any]) -> str:
    """What was run: a rung with its number, the graph on a rung, or the changed script."""
    if facts.get("on") == "graph":
        return f"{facts['rung']} (the captured graph)"
    return f"script {facts['rung']}" if facts["name"].startswith("way-") else facts["name"]


def _data_needed(facts: dict[str, Any]) -> str:
    """For the person's own terminal alone: what of the data is needed. Reports do not have these words."""
    words = ", ".join(facts["words"][:12])
    told = f"no made-up data fails the same way; needed as it is: {facts['told']}{f' ({words})' if words else ''}"
    return told if facts["included"] else f"{told}; it is not included (--include-data puts it in)"


def shown(path: str | Path) -> str:
    """A path as a person would type it here."""
    with contextlib.suppress(ValueError, OSError):
        return str(Path(path).relative_to(Path.cwd()))
    return str(path)


def typed(path: str | Path) -> str:
    """The same in a command: quoted where a shell would take it for more than one word."""
    return shlex.quote(shown(path))


def _with(operations: Sequence[str]) -> str:
    """What a reproducer has: which of several operations is to blame is not known yet."""
    from triage.model.text import some

    return f" with {some(operations, MOST_NAMED)}" if operations else ""


def ops_told(count: int | None) -> str:
    """`3 ops, `; empty where nobody counted them."""
    return "" if count is None else "1 op, " if count == 1 else f"{count} ops, "


def _outcome(facts: dict[str, Any]) -> str:
    return f"{facts['outcome']} ({facts['signal']})" if facts.get("signal") else str(facts["outcome"])


def _telling(facts: dict[str, Any]) -> str:
    if not facts.get("exception"):
        return ""
    from triage.judge.naming import headline

    return f": {headline(facts['exception'], _first_line(facts.get('message')))}"


def _later(facts: dict[str, Any]) -> str:
    return f"past the point of the failure, where it fails by {facts['later']}"


def _first_line(text: str | None) -> str:
    from triage.model.text import clip, first_line

    return clip(first_line(str(text or "")), 100)


@contextmanager
def _live(view: Callable[[Any], Any], transient: bool) -> Iterator[Listener]:
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    state = view(console)
    with Live(console=console, refresh_per_second=8, get_renderable=state.render, transient=transient):
        yield state.listen
        state.ended = True


class _State:
    """The ladder as it fills in, and the line below it that says what is going on and for how long."""

    def __init__(self, width: Callable[[], int] = lambda: 80) -> None:
        self.width = width
        self.rows: dict[str, dict[str, Any]] = {}
        self.began = time.monotonic()
        self.step = "starting"
        self.detail = ""
        self.queries = 0
        self.directory = ""
        self.asked: tuple[float, float] | None = None  # when candidates were begun that may hang, and their limit
        self.news = ""  # the latest of what the run will end in
        self.ended = False

    def listen(self, event: Event) -> None:
        facts = event.facts
        if event.kind == "run_started":
            self.directory = facts["directory"]
        elif event.kind == "step_started":
            self.step, self.detail, self.asked = _STEPS.get(facts["step"], facts["step"]), "", None
        elif event.kind == "ladder":
            known = self.rows  # also of runs that began beside the first one
            self.rows = {name: known.get(name, {}) for name in facts["rungs"]}
            self.rows[facts["top"]] = known.get("as_is", {})
        elif event.kind == "probe_started":
            row = self.rows.setdefault(facts["rung"], {})
            row.update(running=time.monotonic(), limit=facts["timeout"], run=facts["name"])
        elif event.kind == "probe_cancelled":
            self.rows.setdefault(facts["rung"], {}).pop("running", None)
        elif event.kind == "probe_facts":
            # What it means is told later: of a run that began beside the first one, much later.
            probe = facts["probe"]
            for row in self.rows.values():
                if row.get("run") == probe["name"]:  # not each run is told of later, but each ends here
                    row.pop("running", None)
            if probe["name"] == probe["rung"] and probe["name"] in self.rows:
                self.rows[probe["name"]].update(outcome=probe["outcome"]["kind"], seconds=probe["outcome"]["seconds"])
        elif event.kind == "probe_ended":
            row = self.rows.setdefault(facts["rung"], {})
            row.pop("running", None)
            row.update(facts)
        elif event.kind == "asking":
            self.asked = time.monotonic(), facts["timeout"]
        elif event.kind == "query":
            self.queries += 1
            self.asked = None
            self.detail = f"{self.queries} candidates tried" + (
                f", {facts['left']} ops left" if facts.get("left") else ""
            )
        elif event.kind in ("located", "reproducer_found", "report_written"):
            self.news = plain_line(event) or ""
        elif plain_line(event):
            self.detail = str(plain_line(event))

    def render(self) -> Any:
        from rich.console import Group
        from rich.spinner import Spinner
        from rich.text import Text

        table = bare_table(show_header=False)
        for name, row in self.rows.items():
            table.add_row(*_cells(name, row))
        if self.ended:
            return table
        elapsed = time.monotonic() - self.began
        line = Text("  ".join(filter(None, [self.step, f"{elapsed:.0f} s", self.detail, self._asked_for()])))
        line.truncate(self.width() - SPINNER, overflow="ellipsis")
        news = [Text(self.news, "bold", overflow="fold")] if self.news else []
        return Group(table, *news, Spinner("dots", text=line))

    def _asked_for(self) -> str:
        """Of candidates that may hang."""
        if self.asked is None:
            return ""
        seconds = time.monotonic() - self.asked[0]
        return f"a candidate has run for {seconds:.0f} s ({_limit(seconds, self.asked[1])})"

    def waits_for(self) -> str:
        """What is waited for, and for how long, in a line."""
        runs = {
            name: (time.monotonic() - row["running"], row["limit"])
            for name, row in list(self.rows.items())
            if "running" in row
        }
        told = [f"{name}, for {seconds:.0f} s ({_limit(seconds, limit)})" for name, (seconds, limit) in runs.items()]
        told = told or list(filter(None, [self._asked_for() or self.detail]))
        return f"still {self.step}{': ' if told else ''}{'; '.join(told)}"


def _limit(seconds: float, limit: float) -> str:
    """The limit of what has run for so many seconds: a busy machine is given more."""
    return f"limit {limit:.0f} s{', more as the machine is busy' if seconds > limit + 1.0 else ''}"


def _cells(name: str, row: dict[str, Any]) -> tuple[Any, ...]:
    from rich.text import Text

    if "running" in row:
        seconds = time.monotonic() - row["running"]
        return (
            Text(name, "bold"),
            Text("running", "cyan"),
            Text(f"{seconds:.0f} s", "dim"),
            Text(_limit(seconds, row["limit"]), "dim"),
        )
    if "outcome" not in row:
        return Text(name, "dim"), Text("·", "dim"), "", ""
    good, cut = row["outcome"] == "ok", row.get("cut")
    style = "yellow" if cut or row.get("face") == "other" else "bold red"
    word = Text("passes" if good else "not ended" if cut else _outcome(row), "green" if good else style)
    telling = (_CUT if cut else _telling(row)[2:]) or (
        "stopped once past the failure" if row.get("stopped_early") else ""
    )
    if row.get("idle"):
        telling = _IDLE
    if row.get("later"):
        telling = _later(row)
    if row.get("on") == "graph":
        telling = f"the captured graph{': ' if telling else ''}{telling}"
    return (
        Text(name),
        word,
        Text(f"{row['seconds']:.1f} s", "dim"),
        Text(telling, "dim", overflow="ellipsis", no_wrap=True),
    )


def bare_table(**options: Any) -> Any:
    """A table without lines."""
    from rich.table import Table

    return Table(**{"box": None, "pad_edge": False, "padding": (0, 2, 0, 0), **options})


def shown_bare(directory: Path, file: str, *, quiet: bool, as_json: bool) -> bool:
    """Whether the end was told to machines: this file of the directory, or the directory alone."""
    if as_json:
        sys.stdout.write((directory / file).read_text(encoding="utf-8"))
    elif quiet:
        print(directory)  # noqa: T201
    return quiet or as_json


# By the kind of event; others are not worth a line. They stand last since they name what stands above.
_LINES: dict[str, Callable[[dict[str, Any]], str | None]] = {
    "run_started": lambda facts: f"run directory {shown(facts['directory'])}",
    "stdin_kept": lambda facts: f"standard input: {facts['bytes']} bytes, given to every run of the script",
    "probe_started": lambda facts: f"{_run_name(facts)}: running (limit {facts['timeout']:.0f} s)",
    "probe_ended": _probe_ended,
    "beside_ended": lambda facts: (
        f"{_run_name(facts)}: {_outcome(facts)} after {facts['seconds']:.1f} s{_telling(facts)} (as_is goes on)"
    ),
    "located": _located,
    "engine_started": lambda facts: f"reducing {facts['subject']}",
    "engine_step": lambda facts: str(facts.get("text")),
    "step_started": lambda facts: _STEPS[facts["step"]] if facts["step"] in STEPS_TOLD else None,
    "ablated": _asked,
    "part_asked": _asked,
    "query": _query,
    "reduced": _reduced,
    "data_needed": _data_needed,
    "reproducer_found": _reproducer_found,
    "report_written": lambda facts: f"the report can be read: {shown(facts['directory'])}; {facts['added']}",
    "way_round": lambda facts: f"way round: {facts['change']} ({facts['patch']})",
    "verify_started": lambda facts: f"verifying in {facts['runs']} fresh processes",
    "verify_ended": lambda facts: (
        f"verified in fresh processes: {facts['same']} of {facts['runs']} fail the same way"
        if facts["runs"]
        else "not verified: no fresh process ran it to an end"
    ),
}
