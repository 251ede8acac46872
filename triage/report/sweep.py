"""What `triage sweep` found, in a reader's words: one sentence, and `sweep.md`, fit for a comment on a pull request.

GitHub takes 65,536 characters: lists are bounded, and say what they leave out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from markupsafe import escape

from triage.model.sweep import Against, Cluster, Fate, ScriptResult, SweepReport
from triage.model.text import clip
from triage.report.markdown import code, one_line, prose, table
from triage.report.wording import plural

MOST_CLUSTERS = 60  # rows of the table
MOST_SCRIPTS = 40  # of a list
MOST = 60_000  # characters of the whole
FATES = {
    Fate.PASSES: "pass",
    Fate.FAILS: "fail",
    Fate.FLAKY: "fail at times",
    Fate.ROUNDING: "differ by rounding",
    Fate.KNOWN: "fail for a known cause",
    Fate.SCRIPT: "fail uncompiled too",
    Fate.UNUSABLE: "could not be run",
    Fate.UNKNOWN: "not run to an end",
}
_OF_ONE = {"pass": "passes", "fail": "fails", "differ": "differs"}
DIFFERENCES = {
    "new": "fail now and did not",
    "changed": "fail in another way than they did",
    "fixed": "pass now and did not",
    "still": "fail as they did",
    "flaky": "fail at times, here or there",
}


def summary(found: SweepReport) -> str:
    """`71 of 200 scripts fail under torch.compile: 24 bugs, 2 known causes`"""
    if not found.failing:
        none = f"None of {found.scripts} scripts is" if found.scripts > 1 else "The script is not"
        told = f"{none} known to fail under torch.compile"
        others = Counter(result.fate for result in found.results if result.fate not in (Fate.PASSES, Fate.ROUNDING))
        return told + "".join(f"; {_so_many(count, fate)}" for fate, count in others.items())
    causes = len({cluster.known_cause for cluster in found.clusters if cluster.known_cause})
    bugs = found.bugs
    parts = [plural(len(bugs), "bug")] if bugs else []
    parts += [plural(causes, "known cause")] if causes else []
    verb = "fails" if found.failing == 1 else "fail"
    told = f"{found.failing} of {plural(found.scripts, 'script')} {verb} under torch.compile: {', '.join(parts)}"
    unlocated = sum(not cluster.located for cluster in bugs)
    if unlocated:
        told += f"; the stage of {unlocated} is not known, so it may not be torch.compile that fails there"
    return told


def _so_many(count: int, fate: Fate) -> str:
    """`2 fail at times`, `1 fails at times`."""
    verb, *rest = FATES[fate].split(" ")
    verb = _OF_ONE.get(verb, verb) if count == 1 else verb
    return " ".join([str(count), verb, *rest])


def stage_of(cluster: Cluster) -> str:
    """As a reader is told it."""
    return cluster.stage if cluster.located else "not known"


def sweep_markdown(found: SweepReport) -> str:
    """The text of `sweep.md`: what differs first, then the bugs by size, then what is none."""
    parts: list[str] = []
    length = 0
    for part in _parts(found):
        if length + len(part) > MOST:
            parts.append("The rest is left out here: `sweep.html` and `sweep.json` have it.")
            break
        parts.append(part)
        length += len(part)
    return "\n\n".join(parts) + "\n"


def _parts(found: SweepReport) -> Iterator[str]:
    yield f"**{prose(summary(found))}**"
    if not found.complete:
        yield f"It is not complete: {prose(found.incomplete_reason or 'it is not known why')}."
    yield _counts(found)
    if found.against is not None:
        yield from _against(found.against)
    bugs = found.bugs
    if bugs:
        yield _clusters(bugs)
        yield from _members(bugs)
    yield from _known([cluster for cluster in found.clusters if cluster.known_cause is not None])
    for fate in (Fate.SCRIPT, Fate.UNUSABLE, Fate.UNKNOWN):
        yield from _others(fate, [result for result in found.results if result.fate is fate])
    if found.notes:
        yield "\n".join(f"- {prose(clip(note, 300))}" for note in found.notes[:8])


def _counts(found: SweepReport) -> str:
    fates = Counter(result.fate for result in found.results)
    told = ", ".join(_so_many(fates[fate], fate) for fate in FATES if fates[fate])
    surroundings = ", ".join(f"{name} {value}" for name, value in found.environment.items())
    return prose(f"{told}. {surroundings}.".removesuffix(" ."))


def _against(against: Against) -> Iterator[str]:
    yield f"### Against {code(clip(against.base, 200))}"
    rows = [(name, scripts) for name in DIFFERENCES if (scripts := getattr(against, name))]
    if not rows:
        yield "Nothing differs."
    for name, scripts in rows:
        yield _folded(
            f"{len(scripts)} {name}: {DIFFERENCES[name]}", _listed(scripts), opened=name in ("new", "changed")
        )
    if not_compared(against):
        yield not_compared(against)


def not_compared(against: Against) -> str:
    """The scripts that only one of the two sweeps has, as a sentence; empty where there are none."""
    alone = [(against.only_here, "here"), (against.only_there, "there")]
    told = [f"{plural(len(scripts), 'script')} {where} alone" for scripts, where in alone if scripts]
    return f"Not compared: {', '.join(told)}." if told else ""


def _clusters(bugs: Sequence[Cluster]) -> str:
    rows = []
    for cluster in bugs[:MOST_CLUSTERS]:
        made = (
            f"{code(clip(cluster.reproducer, 160))} ({cluster.lines} lines)" if cluster.reproducer else "none verified"
        )
        rows.append(
            (
                prose(cluster.id),
                str(len(cluster.members)),
                stage_of(cluster),
                prose(clip(cluster.title, 200)),
                code(cluster.op or ""),
                made,
            )
        )
    left = len(bugs) - MOST_CLUSTERS
    more = f"\n\nAnd {left} more." if left > 0 else ""
    return table(("", "scripts", "stage", "what", "operation", "reproducer"), rows) + more


def _members(bugs: Sequence[Cluster]) -> Iterator[str]:
    """Of clusters of several scripts which they are, why, and what speaks against it."""
    for cluster in bugs[:MOST_CLUSTERS]:
        if len(cluster.members) > 1:
            lines = [prose(clip(cluster.why, 400)), "", *_listed(cluster.members)]
            doubts = [
                f"- doubtful: {code(clip(doubt.script, 160))}, {prose(clip(doubt.why, 200))}"
                for doubt in cluster.doubtful[:10]
            ]
            yield _folded(f"{cluster.id}: {plural(len(cluster.members), 'script')}", [*lines, *doubts])


def _known(causes: Sequence[Cluster]) -> Iterator[str]:
    if not causes:
        return
    yield "### Known causes: no bugs of the compiler"
    for cluster in causes[:MOST_CLUSTERS]:
        told = [prose(clip(cluster.cure, 600)), ""] if cluster.cure else []
        yield _folded(
            f"{plural(len(cluster.members), 'script')}: {clip(cluster.title, 200)}", [*told, *_listed(cluster.members)]
        )


def _others(fate: Fate, results: Sequence[ScriptResult]) -> Iterator[str]:
    if results:
        told = {result.script: result.note or result.headline for result in results}
        yield _folded(_so_many(len(results), fate), _listed(list(told), told))


def _listed(scripts: Sequence[str], told: dict[str, str] | None = None) -> list[str]:
    lines = []
    for script in scripts[:MOST_SCRIPTS]:
        why = f": {prose(clip(told[script], 200))}" if told and told[script] else ""
        lines.append(f"- {code(clip(script, 160))}{why}")
    left = len(scripts) - MOST_SCRIPTS
    return [*lines, f"- and {left} more"] if left > 0 else lines


def _folded(head: str, lines: Sequence[str], *, opened: bool = False) -> str:
    told = "\n".join(lines)
    return f"<details{' open' if opened else ''}><summary>{escape(one_line(head))}</summary>\n\n{told}\n\n</details>"
