"""SARIF 2.1.0, what code-scanning views read: one result at the line of the program, known again by its fingerprint.

Source: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0", and GitHub's "SARIF support for code scanning".
"""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from triage.judge.naming import headline
from triage.model.places import line_told
from triage.model.report import TriageReport
from triage.model.stage import Stage, Symptom
from triage.model.text import clip
from triage.report import wording
from triage.report.sources import Sources
from triage.report.titles import title

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_HELP = (
    "The stage is the first backend on the ladder eager, aot_eager, aot_eager_decomp_partition, inductor with which the program "
    "fails where it passed with the one below. The run directory has a reproducer, the log and the ways round that were tried."
)
_LONGEST = 4_000  # characters of a message: views show its first paragraph


def render(report: TriageReport, sources: Sources) -> str:
    results = [] if report.verdict.symptom is Symptom.NONE else [_result(report)]
    run = {"tool": {"driver": _driver(report)}, "invocations": [_invocation(report)], "results": results}
    tree = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(tree, indent=2, ensure_ascii=False).encode("utf-8", "replace").decode() + "\n"


def _driver(report: TriageReport) -> dict[str, Any]:
    """The tool, with a rule for each stage that can be to blame."""
    rules = [_described(stage) for stage in Stage]
    return {"name": report.tool.get("name", "triage"), "version": report.tool.get("version", ""), "rules": rules}


def _described(stage: Stage) -> dict[str, Any]:
    """What GitHub asks of a rule: both descriptions, and a text for who wants to know more."""
    blamed = wording.STAGES.get(stage)
    told = (
        f"The program fails under torch.compile; to blame is {blamed}."
        if blamed
        else "No stage of the compiler is to blame."
    )
    return {
        "id": _rule(stage),
        "shortDescription": {"text": f"A failure under torch.compile: {stage.value}"},
        "fullDescription": {"text": told},
        "help": {"text": f"{told} {_HELP}"},
    }


def _rule(stage: Stage) -> str:
    return f"torch-compile/{stage.value}"


def _invocation(report: TriageReport) -> dict[str, Any]:
    line = wording.shell(report.command)
    note = {"level": "warning", "message": {"text": report.incomplete_reason}}
    told = {"toolExecutionNotifications": [note]} if report.incomplete_reason else {}
    return {"executionSuccessful": report.complete, "commandLine": line, **told}


def _result(report: TriageReport) -> dict[str, Any]:
    signature, stages = report.signature, list(Stage)
    fingerprint = signature.fingerprint if signature is not None else ""
    return {
        "ruleId": _rule(report.verdict.stage),
        "ruleIndex": stages.index(report.verdict.stage),
        "level": "note" if report.verdict.symptom is Symptom.ROUNDING else "error",
        "message": {"text": clip(_message(report), _LONGEST)},
        "locations": _locations(report),
        # GitHub knows an alert again by the first of these alone, and makes one of the line where it is missing.
        **(
            {"partialFingerprints": {"primaryLocationLineHash": fingerprint, "triage/v1": fingerprint}}
            if fingerprint
            else {}
        ),
    }


def _message(report: TriageReport) -> str:
    """Title, summary, error, ways round: paragraphs of plain text."""
    signature = report.signature
    error = headline(signature.exception_type, signature.message) if signature is not None else ""
    ways = "".join(f"\nPasses with {way}" for way in report.workarounds)
    return "\n\n".join(part for part in (title(report), report.verdict.summary, error, ways.strip()) if part)


def _locations(report: TriageReport) -> list[dict[str, Any]]:
    """The line of the program; where none is known the first of its script; nothing where there is no script either."""
    texts = [report.signature.user_line if report.signature is not None else None, report.verdict.line]
    told = filter(None, (line_told(text or "") for text in texts))
    found = next((line for line in told if line.function and not line.file.startswith("<")), None)  # a cell is no file
    script = next((word for word in report.command if word.endswith(".py")), None)
    if found is None:
        return [_location(script, 1)] if script is not None else []
    named = script if script is not None and PurePath(script).name == PurePath(found.file).name else found.file
    return [_location(named, max(1, found.line))]


def _location(file: str, line: int) -> dict[str, Any]:
    uri = quote(PurePath(file).as_posix(), safe="/~.-_")
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": line}}}
