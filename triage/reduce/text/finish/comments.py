"""Comments that still hold: those on or above a line that stands in the program as it stands in the candidate."""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Collection, Iterable

from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.code.weight import tokens_of


def lines_of(texts: Iterable[str]) -> frozenset[str]:
    """The lines of a program, without their indentation."""
    return frozenset(line.strip() for text in texts for line in text.splitlines())


def without_stale(script: Script, known: Collection[str]) -> Script:
    """The script without comments on what was changed, and without those above imports, which are about the file."""
    lines = script.text.splitlines()
    imports = {node.lineno for node in script.nodes if isinstance(node, ast.Import | ast.ImportFrom)}
    edits = []
    for token in tokens_of(script.text):
        if token.type != tokenize.COMMENT:
            continue
        line, column = token.start
        alone = not lines[line - 1][:column].strip()
        about = next((n for n in range(line, len(lines) + 1) if not _is_comment(lines[n - 1])), None) if alone else line
        holds = (
            about is not None
            and about not in imports
            and lines[about - 1].strip() in known
            and lines[about - 1].strip()
        )
        if not holds:
            edits.append(_gone(script, line, column, alone=alone))
    return Script(script.replaced(edits)) if edits else script


def _gone(script: Script, line: int, column: int, *, alone: bool) -> Edit:
    start, end = script.offset(line, 0), script.offset(line + 1, 0)
    if alone:
        return Edit(start, end)
    text = script.text[start:end]
    return Edit(start + len(text[:column].rstrip()), end, "\n")


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")
