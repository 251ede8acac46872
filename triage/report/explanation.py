"""What `triage explain` found, in a reader's words, and as a page in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triage.model.explanation import CompileTime, Explanation, GraphBreak, Profile, Recompilation
from triage.model.text import clip
from triage.report import modes
from triage.report import profile as profiles
from triage.report.compile_cost import PHASES, cost
from triage.report.markdown import code, prose, table
from triage.report.templates import template_of
from triage.report.wording import plural

ROWS = 20


def view(found: Explanation) -> dict[str, Any]:
    """What both pages show, as plain text in which `code` is marked: a template of Markdown and one of HTML write it."""
    return {
        "found": found,
        "breaks": [_break(each) for each in found.graph_breaks],
        "fullgraph": _break(found.fullgraph) if found.fullgraph is not None else None,
        "recompiles": [_recompile(each) for each in found.recompiles],
        "times": times(found),
        "graphs_head": ("graph", "function", "seconds", "operations"),
        "graphs": _graphs(found),
        "modes_head": modes.HEAD,
        "modes_verdict": modes.verdict(found.modes) if found.modes else "",
        "modes_remarks": modes.all_remarks(found.modes),
        "modes_notes": modes.notes(found.modes, found.step_function),
        "profile": _profile(found.profile) if found.profile is not None else None,
        "environment": ", ".join(f"{name} {value}" for name, value in found.environment.items() if value),
        "command": " ".join(found.command),
    }


def explanation_page(found: Explanation) -> str:
    """The page, in Markdown."""
    return template_of("explain.md.j2").render(
        **view(found),
        summary=summary(found),
        grid=_grid,
        phases=_phases(found),
        modes=[modes.cells(row) for row in found.modes],
    )


def summary(found: Explanation) -> str:
    """`5 graphs, 4 graph breaks (on 3 lines), 2 recompilations, 12.1 s of compiling.`"""
    met = sum(each.count for each in found.graph_breaks)
    again = sum(each.count for each in found.recompiles)
    broken = plural(met, "graph break") + (f" (on {plural(broken_lines(found), 'line')})" if met > 1 else "")
    spent = f"{found.compile.seconds:.1f} s of compiling"
    return ", ".join([plural(found.graphs, "graph"), broken, plural(again, "recompilation"), spent])


def broken_lines(found: Explanation) -> int:
    """On how many lines of the program: one may break for several reasons."""
    return len({(each.file, each.line) for each in found.graph_breaks})


def _break(each: GraphBreak) -> dict[str, Any]:
    lines = [{"number": line.line, "code": line.code, "here": line.line == each.line} for line in each.source]
    return {
        "place": f"{each.file}:{each.line}",
        "function": each.function,
        "reason": clip(each.reason, 300),
        "id": each.id or "",
        "link": each.link if (each.link or "").startswith("https://") else "",
        "lines": lines,
        "code": each.code,
        "explanation": clip(each.explanation, 600),
        "cure": each.cure,
        "verdict": break_verdict(each),
        "hints": [clip(hint, 500) for hint in each.hints if hint != each.cure],
        "facts": break_facts(each),
    }


def break_facts(each: GraphBreak) -> str:
    """How often, what it costs, what breaks with it."""
    facts = [f"met {each.count} times" if each.count > 1 else ""]
    facts += ["the rest of the function is left to Python, uncompiled" if each.skips_frame else ""]
    facts += [f"compiling what follows took {each.seconds:.1f} s" if each.seconds and each.seconds >= 0.05 else ""]
    facts += [f"raised in {each.inside}" if each.inside else ""]
    if each.called_from:
        facts.append(f"reached from {', '.join(each.called_from[:6])}: these break with it, and are mended with it")
    return "; ".join(filter(None, facts))


def break_verdict(each: GraphBreak) -> str:
    """Whether the cure was seen to work, or why it could not be tried; empty where it changes the program's text."""
    if each.cure_works is None:
        return f"not tried: {clip(each.note, 300)}" if each.note else ""
    note = f"; {clip(each.note, 300)}" if each.note else ""
    return f"tried with {each.tried}: {'works' if each.cure_works else 'does not help'}{note}"


def _recompile(each: Recompilation) -> dict[str, Any]:
    facts = (
        ("Guard", f"`{clip(each.guard, 400).replace('`', '')}`"),
        ("Used at", f"`{each.used_at}`" if each.used_at else ""),
        ("Values", ", ".join(f"`{value}`" for value in each.values)),
        ("Limit", limit_of(each)),
        ("Cure", f"{each.cure} ({verdict_of(each)})"),
        ("Note", clip(each.note or "", 400)),
    )
    return {
        "function": each.function,
        "place": f"{each.file}:{each.line}",
        "count": plural(each.count, "time"),
        "facts": [(name, told) for name, told in facts if told],
    }


def limit_of(each: Recompilation) -> str:
    """How near the limit is, after which Dynamo gives the function up."""
    if each.limit is None:
        return ""
    if each.limit_hit:
        return f"the limit of {each.limit} versions was reached: new inputs run uncompiled"
    return f"{each.left} more until the limit of {each.limit} versions, where new inputs run uncompiled"


def verdict_of(each: Recompilation) -> str:
    """Whether the cure was seen to work."""
    if each.cure_works is None:
        return "not tried"
    left = f"recompiled {each.count} times before, {each.remaining or 0} times with it"
    return f"tried with {each.tried}: {'works' if each.cure_works else 'does not help'}; {left}".replace(
        "1 times", "once"
    )


def times(found: Explanation) -> list[str]:
    """What compiling took, in sentences."""
    told = found.compile
    if not told.seconds:
        return []
    lines = [f"{told.seconds:.1f} s of compiling in all."]
    if told.first_call is not None:
        later = f", later ones {duration(told.later_call)} (median of {told.calls - 1})" if told.later_call else ""
        lines.append(f"The first call of a compiled function took {told.first_call:.2f} s{later}.")
    if told.warm_seconds is not None:
        lines.append(warm(told))
    return [*lines, *cost(found)]


def warm(told: CompileTime) -> str:
    """What a run costs that finds the caches full."""
    call = f"; its first call took {told.warm_first_call:.2f} s" if told.warm_first_call is not None else ""
    return f"A run that found the caches of this one compiled for {told.warm_seconds or 0.0:.1f} s{call}."


def duration(seconds: float) -> str:
    """Of a call: `4.95 ms`, `9.32 s`."""
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"


def _phases(found: Explanation) -> str:
    whole = sum(found.compile.by_phase.values())
    rows = [
        (PHASES.get(name, name), f"{seconds:.2f}", f"{100 * seconds / whole:.0f} %")
        for name, seconds in sorted(found.compile.by_phase.items(), key=lambda item: -item[1])
    ]
    return table(("phase", "seconds", "share"), rows) if rows else ""


def _profile(profile: Profile) -> dict[str, Any]:
    both = (("Uncompiled", profile.uncompiled), ("Compiled", profile.compiled))
    return {
        "headline": profiles.headline(profile),
        "slower": profile.slower,
        "fused_head": profiles.FUSED_HEAD,
        "fused": profiles.fused_rows(profile.fused),
        "head": profiles.HEAD,
        "steps": [{"name": name, "rows": profiles.rows(step), "trace": step.trace} for name, step in both],
    }


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]], codes: int = 1) -> str:
    """A table in Markdown; of each row the first so many cells are code."""
    return table(head, [[*map(code, row[:codes]), *map(prose, row[codes:])] for row in rows]) if rows else ""


def _graphs(found: Explanation) -> list[tuple[str, ...]]:
    """The slowest, under their head."""
    slow = sorted(found.compile.by_graph, key=lambda each: -each.seconds)[:ROWS]
    return [
        (each.graph, f"{each.function} ({each.file}:{each.line})", f"{each.seconds:.2f}", _size(each.ops, each.failed))
        for each in slow
    ]


def _size(ops: int | None, failed: str | None) -> str:
    """Of a graph; why there is none where the frame was not compiled."""
    return f"not compiled ({failed})" if failed else "" if ops is None else str(ops)
