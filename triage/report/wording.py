"""Parts of a report in a reader's words: outcomes, tables, sentences. Pure functions; cells and facts are Markdown.

Every text that comes from outside is clipped here, so that what is not a quoted part has a bounded size.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from triage.model.own_code import OperatorCheck
from triage.model.report import (
    SAYS_NOTHING,
    AblationRow,
    Control,
    Culprit,
    LadderRow,
    ReportSignature,
    Reproducer,
    SubsystemSearch,
    TriageReport,
)
from triage.model.stage import Stage
from triage.model.text import clip, clip_sentences, quoted
from triage.report.markdown import code, one_line, prose, table

ROWS = 24
NOTE = 600  # characters of what is said of a reproducer
STAGES = {
    Stage.SCRIPT: "the script itself",
    Stage.DYNAMO: "Dynamo",
    Stage.AOT_AUTOGRAD: "AOTAutograd",
    Stage.DECOMP_PARTITION: "decompositions and partitioner",
    Stage.INDUCTOR: "Inductor",
    Stage.BACKEND: "a custom backend",
}
_OUTCOMES = {
    "ok": "passes", "exception": "fails", "wrong_result": "wrong result", "crash": "crashes", "hang": "hangs",
    "oom": "runs out of memory", "invalid": "could not be run", "not_run": "not run",
    "nothing_compiled": "nothing was compiled",
}  # fmt: skip
_ABLATED = {
    "ok": "passes",
    "same_failure": "**same failure**",
    "other_failure": "another failure",
    "not_run": "not run",
}
# A workaround that is an argument of torch.compile, or one less.
_ARGUMENT = re.compile(r"`?torch\.compile\(\.\.\.(?:, (?P<argument>.*))?\)`?(?: (?P<rest>.*))?")
_QUOTES = re.compile(r"=?`")  # of a name: "without `options=`"
_NAMED = re.compile(r"`([\w.]+)`")
_UNQUOTED = re.compile(r"[\w@%+=:,./~<>-]+")


def operator_check(check: OperatorCheck) -> str:
    """What `torch.library.opcheck` says of one operator, in a line."""
    where = f" ({code(clip(PurePath(check.where).name, 80))})" if check.where else ""
    given = f", given {prose(clip(check.inputs, 160))}" if check.inputs else ""
    told = [
        f"{' and '.join(map(code, tests))} {'fail' if len(tests) > 1 else 'fails'}: {prose(clip(message, 240))}"
        for message, tests in list(check.by_message.items())[:6]
    ]
    if check.note:
        told.append(f"not checked further: {prose(clip(check.note, 160))}")
    return f"{code(clip(check.operator, 80))}{where}{given}: " + ("; ".join(told) or "every test passes")


def part_named(search: SubsystemSearch, shown: Callable[[str], str]) -> str:
    """The part of the compiler, and which application of it, names as `shown`: `lowerings, application 2, avg_pool3d`."""
    told = " and ".join(shown(clip(name, 60)) for name in search.names)
    if search.application is None:
        return told
    what = f", {shown(clip(search.what, 160))}" if search.what else ""
    return f"{told}, application {search.application}{what}"


def modules_alike(culprit: Culprit) -> str:
    """What follows the module that is told, where it is one of several."""
    more = culprit.modules_alike
    return (
        f", or one of {more} more that do the same" if more > 1 else ", or another that does the same" if more else ""
    )


def line_title(signature: ReportSignature) -> str:
    """What the program's line is: where it fails, or where its own check finds that compiled code went wrong before."""
    return "Noticed at" if signature.noticed else "Line"


def function_to_blame(report: TriageReport) -> tuple[str, str] | None:
    """The function of the program without which, left uncompiled, the script passes, and its place; None where none was tried.

    ("Controller.push", "train.py:13"), or the only one that is compiled at that place, where the program compiles at others too:
    that a program passes where nothing of it is compiled tells no more than that it fails compiled.
    """
    way = next((way for way in report.ways_round if way.kind == "function"), None)
    if way is None:
        return None
    if named := _NAMED.search(way.change):
        return named.group(1), way.where or ""
    if len({call.get("where") for call in report.compile_calls}) < 2:
        return None
    told = {
        str(call.get("name") or "") for call in report.compile_calls if way.where and call.get("where") == way.where
    }
    name = told.pop().rpartition("<locals>.")[2] if len(told) == 1 else ""
    return (name, way.where or "") if name and "<" not in name else None


def function_alone(report: TriageReport) -> str | None:
    """The function to blame, in Markdown, where no line of it is known."""
    found = function_to_blame(report)
    if found is None or report.signature is None or not report.signature.noticed:
        return None
    where = f" ({code(clip(found[1], 120))})" if found[1] else ""
    return f"{code(clip(found[0], 120))}{where}: the script passes where it is not compiled"


def another_on_that_line(report: TriageReport) -> str:
    """What follows the operation of the reproducer where the line that is told does another, with which values differ first."""
    told = str(((report.accuracy or {}).get("first_diverging") or {}).get("operation") or "")
    operation, _, place = told.partition(" (")
    if not place or report.culprit is None or operation == report.culprit.op:
        return ""
    line = report.signature.user_line if report.signature is not None else None
    return f" in the reproducer; on that line {operation}" if line and place == f"{line})" else ""


def workarounds(report: TriageReport) -> list[tuple[str, tuple[str, ...]]]:
    """What makes the failure go away and is not among the ways round, by what was run with it."""
    names = ("the script itself", "the reproducer alone")
    found = zip(names, workarounds_of_each(report), strict=True)
    return [(f"with each {name} was run, and the failure was gone", texts) for name, texts in found if texts]


def workarounds_of_each(report: TriageReport) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Those with which the script was run, and those with which its reproducer alone was."""
    rungs = [f'backend="{row.rung}"' for row in report.ladder if row.on == "script" and row.outcome == "ok"]
    ways = [_plainly(way.change) for way in report.ways_round]
    given = {text: _given(text) for text in report.workarounds}
    others = [text for text in given if not any(given[text] in way for way in ways)]
    alone = [text for text in others if report.reproducer is not None and given[text] not in rungs]
    return tuple(text for text in others if text not in alone), tuple(alone)


def _given(workaround: str) -> str:
    """The argument that it is, plainly; all of it where it is none."""
    argument = _ARGUMENT.fullmatch(workaround)
    parts = [argument["argument"], argument["rest"]] if argument is not None else [workaround]
    return _plainly(" ".join(part for part in parts if part))


def _plainly(words: str) -> str:
    """A change of a program without what marks names in it, quotes as torch's documentation has them."""
    return _QUOTES.sub("", words).replace("'", '"')


def compile_call(call: Mapping[str, Any]) -> str:
    """`torch.compile(mode='max-autotune')`: the arguments that are not torch's defaults; a function by its name alone."""
    given = [
        f"{name}={call[name] if name == 'backend' and not call.get('backend_by_name', True) else repr(call[name])}"
        for name in ("backend", "mode", "fullgraph", "dynamic")
        if call.get(name) not in (None, False, "") or (name == "dynamic" and call.get(name) is False)
    ]
    options = call.get("options")
    given += [f"options={list(options)!r}"] if isinstance(options, Sequence) and options else []
    return f"torch.compile({', '.join(given)})"


def shell(command: Sequence[str]) -> str:
    """A command line to read and to type; placeholders such as `<secret>` and `~` stay unquoted."""
    return " ".join(part if _UNQUOTED.fullmatch(part) else quoted(part) for part in command)


def regression(window: Mapping[str, Any]) -> str:
    """The versions between which the outcome changes; an empty text where none were found."""
    named = [
        f"{name.replace('_', ' ')} torch {code(clip(str(window[name]), 40))}"
        for name in ("last_good", "first_bad", "last_bad", "first_fixed")
        if window.get(name)
    ]
    return ", ".join(named)


def ladder_table(rows: Sequence[LadderRow]) -> str:
    """One line per backend; a column for the script and one for the reproducer, where it was run as well.

    A backend that did not do the same each time has all that it did in its cell.
    """
    shown = rows[: 2 * ROWS]
    places = list(dict.fromkeys(row.on for row in shown))
    by_rung: dict[str, list[LadderRow]] = {}
    for row in shown:
        by_rung.setdefault(row.rung, []).append(row)
    notes = any(row.note for row in shown)
    lines = []
    for rung, found in list(by_rung.items())[:ROWS]:
        cells = [
            _rung_name(rung),
            *(", then ".join(rung_outcome(row) for row in found if row.on == place) for place in places),
        ]
        told = dict.fromkeys(row.note for row in found if row.note)
        lines.append([*cells, "; ".join(prose(clip(note, 120)) for note in told)] if notes else cells)
    headers = ["backend", *(prose(clip(place, 40)) for place in places)] + (["note"] if notes else [])
    return table(headers, lines)


def ladder_line(rows: Sequence[LadderRow]) -> str:
    """The ladder as a sentence's part: `uncompiled passes, eager passes, inductor **fails**`; a part for each place."""
    parts = []
    for place in dict.fromkeys(row.on for row in rows[: 2 * ROWS]):
        told: dict[str, list[str]] = {}
        for row in rows[: 2 * ROWS]:
            if row.on == place and row.outcome != "not_run":
                told.setdefault(row.rung, []).append(_rung_words(row))
        if told:
            line = ", ".join(f"{_rung_name(rung)} {', then '.join(found)}" for rung, found in told.items())
            parts.append((place, line))
    names = {"script": "the script", "graph": "its captured graph"}
    if len(parts) == 1:
        return parts[0][1]
    return "; ".join(f"{names.get(place, prose(clip(place, 40)))}: {line}" for place, line in parts)


def ablation_table(rows: Sequence[AblationRow]) -> str:
    """A line per setting; of a long table, what changes nothing and what was not run stand together, after the rest."""
    if len(rows) <= ROWS - 8:
        shown = [([row.setting], row.outcome, row.note) for row in rows]
    else:
        told = [row for row in rows if row.outcome not in ("same_failure", "not_run")]
        shown = [([row.setting], row.outcome, row.note) for row in told]
        for outcome in ("same_failure", "not_run"):
            # Why nothing came of it differs only where it was not run.
            notes_of = list(dict.fromkeys(_note_of(row) for row in rows if row.outcome == outcome))
            shown += [
                ([row.setting for row in rows if row.outcome == outcome and _note_of(row) == note], outcome, note)
                for note in notes_of
            ]
    shown = shown[:ROWS]
    notes = any(note for _, _, note in shown)
    lines = []
    for settings, outcome, note in shown:
        named = ", ".join(code(clip(setting, 80)) for setting in settings[:ROWS])
        cells = [named, _ABLATED.get(outcome, prose(clip(outcome, 40)))]
        lines.append([*cells, prose(clip(note or "", 120))] if notes else cells)
    return table(["setting", "result", "note"] if notes else ["setting", "result"], lines)


def _note_of(row: AblationRow) -> str | None:
    return row.note if row.outcome == "not_run" else None


def rung_outcome(row: LadderRow) -> str:
    """What happened, and how long it took: `**fails** (2.0 s)`, `fails, another error (2.0 s)`."""
    told = _rung_words(row)
    return told if row.outcome.partition(" ")[0] in SAYS_NOTHING else f"{told} ({seconds(row.seconds)})"


def _rung_words(row: LadderRow) -> str:
    kind, _, detail = row.outcome.partition(" ")  # "crash (SIGSEGV)"
    told = " ".join(filter(None, [_OUTCOMES.get(kind, prose(clip(kind, 40))), prose(clip(detail, 40))]))
    if kind == "ok" or kind in SAYS_NOTHING:
        return told
    return f"{told}, another error" if row.face == "other" else f"**{told}**"


def reproducer_claim(reproducer: Reproducer, signature: ReportSignature | None = None) -> str:
    """What was shown about the reproducer, in a sentence or two. Never more than was shown."""
    same = reproducer.verified_runs
    runs = max(reproducer.runs, same)
    note = f" {prose(clip_sentences(reproducer.note, NOTE))}" if reproducer.note else ""
    if reproducer.needs and reproducer.verified_runs:
        names = ", ".join(code(clip(name, 60)) for name in reproducer.needs[:4])
        return f"Not complete: it failed the same way in {same} of {runs} runs with {names} of the program.{note}"
    if not reproducer.verified:
        reason = note or (f" It failed the same way in {same} of {runs} runs." if runs else " It was not run.")
        return f"**NOT verified.**{reason}"
    if not reproducer.same_signature:
        return f"**Fails in {same} of {runs} runs in fresh processes, but NOT with the error of this report.**{note}"
    minimal = " No single thing more can be taken away without losing the failure." if reproducer.minimal else ""
    passes = _passes(reproducer.control)
    how = "fails with this error" if reproducer.same_text else "fails the same way"
    if signature is not None and signature.wrong is not None:
        how = f"its own comparison fails, and it shows the same wrongness ({prose(signature.wrong.words())})"
    if reproducer.doubt:
        ran = f"Fails in {same} of {runs} runs, each in a fresh process{passes}"
        return f"{ran}, **but it may show another failure than the program does:** {prose(clip(reproducer.doubt, 300))}.{note}"
    return f"Verified: {how} in {same} of {runs} runs, each in a fresh process{passes}.{minimal}{note}"


def _passes(control: Control | None) -> str:
    """What the run on the passing rung showed; nothing where it was not run."""
    if control is None or control.outcome != "ok":
        return ""
    return "; passes uncompiled" if control.rung == "uncompiled" else f"; passes with {code(clip(control.rung, 60))}"


def fresh_runs(reproducer: Reproducer, environment: Mapping[str, str]) -> str:
    """`Fails in 3 of 3 fresh processes on torch 2.13.0; passes with ...`: what was counted, and no more."""
    if not reproducer.verified or not reproducer.same_signature or reproducer.needs:
        return reproducer_claim(reproducer)
    torch = f" on torch {prose(clip(one_line(environment['torch']), 40))}" if environment.get("torch") else ""
    runs = max(reproducer.runs, reproducer.verified_runs)
    doubt = f" It may show another failure: {prose(clip(reproducer.doubt, 300))}." if reproducer.doubt else ""
    return f"Fails in {reproducer.verified_runs} of {runs} fresh processes{torch}{_passes(reproducer.control)}.{doubt}"


def reproducer_name(reproducer: Reproducer) -> str:
    """The heading, `Minimal reproducer (1 op, 9 lines)`; it says minimal only where that was shown."""
    name = "Minimal reproducer" if reproducer.minimal and reproducer.verified else "Reproducer"
    ops = [plural(reproducer.ops, "op")] if reproducer.ops is not None else []
    lines = [plural(reproducer.lines, "line")] if reproducer.lines else []
    return f"{name} ({', '.join(ops + lines)})" if ops or lines else name


def environment_line(environment: Mapping[str, str]) -> str:
    """What fits on a line, as plain text: `torch 2.13.0+cpu, python 3.11.7, ...`."""
    short = [f"{name} {value}" for name, value in environment.items() if 0 < len(value) <= 32]
    return clip(one_line(", ".join(short[:6])), 200)


def plural(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


def seconds(value: float) -> str:
    return f"{value:.1f} s" if value < 100 else f"{value:.0f} s"


def _rung_name(rung: str) -> str:
    named = {"uncompiled": "uncompiled", "as_is": "as the script has it"}
    return named.get(rung) or code(clip(rung, 60))
