"""The end of `triage explain` on a terminal: one line that sums up, a table of breaks, one of recompilations, the times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from triage.cli.result import show_result
from triage.cli.view import bare_table, shown, shown_bare

if TYPE_CHECKING:
    from triage.model.explanation import Explanation
    from triage.stories.explain import ExplainResult

MOST_ROWS = 12
STYLES = {True: "green", False: "yellow", None: "dim"}  # of a cure: works, does not help, was not tried


def show_explanation(done: ExplainResult, *, quiet: bool, as_json: bool) -> None:
    """explain.json, the directory alone, or the tables; behind them, where the script fails, the result of its triage."""
    if shown_bare(done.directory, "explain.json", quiet=quiet, as_json=as_json):
        return
    from rich.console import Console

    console = Console()
    for part in _parts(done):
        console.print(part)
    if done.run is not None:
        show_result(done.run, quiet=False, as_json=False)


def _parts(done: ExplainResult) -> Iterator[Any]:
    from rich.text import Text

    from triage.report.explanation import summary

    found = done.explanation
    yield Text(summary(found), "bold")
    if found.incomplete_reason:
        yield Text(f"incomplete: {found.incomplete_reason}", "yellow")
    yield from (Text(note, "yellow") for note in found.notes)
    if found.graph_breaks:
        yield _breaks(found)
    if found.fullgraph is not None:
        first = found.fullgraph
        yield Text(f"with fullgraph=True, {first.file}:{first.line} fails first: {first.reason}")
    elif found.fullgraph_passes:
        yield Text("with fullgraph=True the program passes", "green")
    if found.recompiles:
        yield _recompiles(found)
    for line in _times(found):
        yield Text(line, "dim")
    if found.modes:
        yield from _modes(found)
    if found.profile is not None or found.profile_note:
        yield from _profile(done)
    yield Text(f"{_next(done)}", "dim")


def _breaks(found: Explanation) -> Any:
    from rich.text import Text

    from triage.model.text import clip
    from triage.report.explanation import break_verdict

    table = _table("graph break", "times", "why", "what to do")
    for each in found.graph_breaks[:MOST_ROWS]:
        place = Text(f"{each.file}:{each.line}\n", "bold") + Text(each.code, "dim")
        why = f"{each.reason}{f' ({each.id})' if each.id else ''}"
        why += "\nthe rest of the function runs uncompiled" if each.skips_frame else ""
        verdict = break_verdict(each)
        cure = Text(clip(each.cure, 240)) + Text(f"\n{verdict}" if verdict else "", STYLES[each.cure_works])
        table.add_row(place, str(each.count), Text(why), cure)
    return table


def _recompiles(found: Explanation) -> Any:
    from rich.text import Text

    from triage.report.explanation import limit_of, verdict_of

    table = _table("recompiled", "times", "guard that failed", "what to do")
    for each in found.recompiles[:MOST_ROWS]:
        place = Text(f"{each.file}:{each.line}\n", "bold") + Text(each.function, "dim")
        cure = Text(f"{each.cure}\n") + Text(verdict_of(each), STYLES[each.cure_works])
        limit = f"\n{limit_of(each)}" if each.limit_hit or (each.left is not None and each.left < 3) else ""
        table.add_row(place, str(each.count), Text(each.guard + limit), cure)
    return table


def _modes(found: Explanation) -> Iterator[Any]:
    from rich.text import Text

    from triage.report import modes

    table = bare_table(header_style="dim")
    cells = [modes.cells(row) for row in found.modes]
    for place, name in enumerate(modes.HEAD):
        words = [word for row in cells for word in row[place].split()]
        whole = max(map(len, [name, *words])) if place else None  # a number is not torn apart; a mode's name may be
        table.add_column(name, overflow="fold", min_width=whole)
    for row in found.modes:
        style = "red" if row.wrong else "" if row.outcome == "measured" else "dim"
        table.add_row(*(Text(cell) for cell in modes.cells(row)), style=style)
    yield table
    yield from (Text(remark, "red" if "WRONG" in remark else "dim") for remark in modes.all_remarks(found.modes))
    yield Text(modes.verdict(found.modes), "bold")
    yield from (Text(note, "dim") for note in modes.notes(found.modes, found.step_function))


def _profile(done: ExplainResult) -> Iterator[Any]:
    from rich.text import Text

    from triage.report import profile as profiles

    found = done.explanation
    if found.profile_note:
        yield Text(found.profile_note, "yellow")
    if found.profile is None:
        return
    yield Text(profiles.headline(found.profile), "bold")
    yield from (Text(f"slower compiled: {each.replace('`', '')}", "yellow") for each in found.profile.slower)
    yield from (Text(f"outside of graphs: {each.replace('`', '')}", "dim") for each in found.outside)
    parts = [("uncompiled", profiles.HEAD, profiles.rows(found.profile.uncompiled))]
    parts += [("compiled", profiles.HEAD, profiles.rows(found.profile.compiled))]
    parts += [("fused", profiles.FUSED_HEAD, profiles.fused_rows(found.profile.fused))]
    for name, head, rows in parts:
        table = bare_table(header_style="dim")
        for number, column in enumerate(head):
            told = f"{name}: {column}" if not number else column
            table.add_column(told, overflow="fold", justify="left" if number < len(head) - 2 else "right")
        for row in rows:
            table.add_row(*map(Text, row))
        if rows:
            yield table
    traces = ", ".join(
        shown(done.directory / step.trace) for step in (found.profile.uncompiled, found.profile.compiled)
    )
    yield Text(f"Chrome traces: {traces}", "dim")


def _table(*names: str) -> Any:

    table = bare_table(padding=(0, 2, 1, 0), header_style="dim")
    for name, ratio in zip(names, (3, None, 4, 5), strict=True):
        table.add_column(name, ratio=ratio, overflow="fold")
    return table


def _times(found: Explanation) -> Iterator[str]:
    from triage.report.compile_cost import PHASES, cost
    from triage.report.explanation import duration, warm

    told = found.compile
    if not told.seconds:
        return
    parts = sorted(told.by_phase.items(), key=lambda item: -item[1])
    spent = ", ".join(f"{PHASES.get(name, name)} {seconds:.1f} s" for name, seconds in parts)
    yield f"compiling {told.seconds:.1f} s" + (f": {spent}" if spent else "")
    if told.first_call is not None and told.later_call is not None:
        yield f"first call {told.first_call:.2f} s, later ones {duration(told.later_call)} (median)"
    if told.warm_seconds is not None:
        yield warm(told)
    yield from cost(found)


def _next(done: ExplainResult) -> str:
    from triage.report.compile_cost import outweighs

    if done.run is not None:
        return "the script fails: it was triaged as `triage run` does"
    found = done.explanation
    page = shown(done.directory / "explain.md")
    if found.complete and not found.graph_breaks and not found.recompiles:
        held = "no line to mend, but compiling outweighs the steps" if outweighs(found.compile) else "nothing to mend"
        return f"{held} ({page})"
    return f"all of it, with the lines around: {page} (for a browser: explain.html)"
