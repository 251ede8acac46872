"""What `triage explain` found, in a reader's words, and as a page in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triage.model.explanation import CompileTime, Explanation, GraphBreak, Profile, Recompilation
from triage.report import modes
from triage.report import profile as profiles
from triage.report.issue import template_of
from triage.report.markdown import clip, code, fence, prose, table
from triage.report.wording import plural

ROWS = 20
PHASES = {
    "dynamo": "tracing (Dynamo)",
    "aot_autograd": "AOTAutograd",
    "inductor": "Inductor's passes and lowering",
    "code_generation": "code generation",
    "kernel_build": "building kernels",
}


def explanation_page(found: Explanation) -> str:
    """The page, in Markdown."""
    return template_of("explain.md.j2").render(
        summary=summary(found),
        incomplete=prose(found.incomplete_reason or ""),
        breaks=[_break(each) for each in found.graph_breaks],
        fullgraph=_break(found.fullgraph) if found.fullgraph is not None else None,
        fullgraph_passes=found.fullgraph_passes,
        recompiles=[_recompile(each) for each in found.recompiles],
        times=times(found),
        phases=_phases(found),
        graphs=_graphs(found),
        modes=_modes(found),
        modes_verdict=prose(modes.verdict(found.modes)) if found.modes else "",
        modes_remarks=[prose(remark) for remark in modes.all_remarks(found.modes)],
        modes_notes=[prose(note) for note in modes.notes(found.modes, found.step_function)],
        profile=_profile(found.profile) if found.profile is not None else None,
        profile_note=prose(found.profile_note or ""),
        outside=[prose(each) for each in found.outside],
        notes=[prose(note) for note in found.notes],
        environment=", ".join(f"{name} {value}" for name, value in found.environment.items() if value),
        command=code(" ".join(found.command)),
    )


def summary(found: Explanation) -> str:
    """`5 graphs, 4 graph breaks (on 3 lines), 2 recompilations, 12.1 s of compiling.`"""
    met = sum(each.count for each in found.graph_breaks)
    again = sum(each.count for each in found.recompiles)
    broken = plural(met, "graph break") + (f" (on {plural(len(found.graph_breaks), 'line')})" if met > 1 else "")
    spent = f"{found.compile.seconds:.1f} s of compiling"
    return ", ".join([plural(found.graphs, "graph"), broken, plural(again, "recompilation"), spent])


def _break(each: GraphBreak) -> dict[str, Any]:
    numbered = [f"{'>' if line.line == each.line else ' '} {line.line:>4}  {line.code}" for line in each.source]
    return {
        "heading": f"{code(f'{each.file}:{each.line}')} in {code(each.function or '?')}",
        "reason": prose(clip(each.reason, 300)),
        "id": f"[{each.id}]({each.link})" if each.id and each.link else each.id or "",
        "source": fence("\n".join(numbered) or each.code, "python"),
        "explanation": prose(clip(each.explanation, 600)),
        "cure": prose(each.cure),
        "verdict": prose(break_verdict(each)),
        "hints": [prose(clip(hint, 500)) for hint in each.hints if hint != each.cure],
        "facts": prose(break_facts(each)),
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
    return {
        "heading": f"{code(each.function)} ({code(f'{each.file}:{each.line}')})",
        "count": plural(each.count, "time"),
        "guard": code(clip(each.guard, 400)),
        "used_at": code(each.used_at or ""),
        "seen": ", ".join(code(value) for value in each.values),
        "limit": limit_of(each),
        "cure": prose(each.cure),
        "verdict": verdict_of(each),
        "note": prose(clip(each.note or "", 400)),
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
    return lines


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


def _modes(found: Explanation) -> str:
    return (
        table(modes.HEAD, [tuple(prose(cell) for cell in modes.cells(row)) for row in found.modes])
        if found.modes
        else ""
    )


def _profile(profile: Profile) -> dict[str, Any]:
    steps = (("Uncompiled", profile.uncompiled), ("Compiled", profile.compiled))
    return {
        "headline": prose(profiles.headline(profile)),
        "slower": [prose(each) for each in profile.slower],
        "fused": _told(profiles.FUSED_HEAD, profiles.fused_rows(profile.fused)),
        "steps": [
            {"name": name, "table": _told(profiles.HEAD, profiles.rows(step)), "trace": code(step.trace)}
            for name, step in steps
        ],
    }


def _told(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return table(head, [(code(first), *map(prose, rest)) for first, *rest in rows]) if rows else ""


def _graphs(found: Explanation) -> str:
    slow = sorted(found.compile.by_graph, key=lambda each: -each.seconds)[:ROWS]
    rows = [
        (
            code(each.graph),
            code(f"{each.function} ({each.file}:{each.line})"),
            f"{each.seconds:.2f}",
            size(each.ops, each.failed),
        )
        for each in slow
    ]
    return table(("graph", "function", "seconds", "operations"), rows) if rows else ""


def size(ops: int | None, failed: str | None) -> str:
    """Of a graph; why there is none where the frame was not compiled."""
    return f"not compiled ({failed})" if failed else "" if ops is None else str(ops)
