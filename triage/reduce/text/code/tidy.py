"""What is left over after an edit, cleaned up without a query: a pure function from text to text.

A deleted statement leaves a `pass`; here it goes, as do statements that are a mere constant (in the module: or a name), and
an `else` or `finally` that holds nothing else. Definitions, imports of the standard library and of torch, and plain
functions and classes that nothing names any more go as well, and blank lines are kept to one.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import re

from triage.reduce.text.code.edits import importing, is_elif
from triage.reduce.text.code.names import Occurrences, bound_globals, tells_its_base
from triage.reduce.text.code.nodes import bound_name, is_bare_constant, is_future, string_of
from triage.reduce.text.code.script import Block, Definition, Edit, Function, Script, blocks_of
from triage.reduce.text.code.weight import STANDARD

_HARMLESS = STANDARD - {"torchvision"}


def tidy(text: str) -> str:
    """The cleaned text; the same text where it does not parse."""
    try:
        for _ in range(50):
            script = Script(text)
            edits = _constants(script) or _superfluous_pass(script) or _empty_parts(script) or _unused(script)
            if not edits:
                break
            text = script.replaced(edits)
    except SyntaxError:
        return text
    return spaced(text)


def cleaned(text: str) -> str:
    """The text with its imports at the top, tidied. Raises SyntaxError where it does not parse."""
    return tidy(imports_first(text))


def imports_first(text: str) -> str:
    """Imports of the standard library and torch that stand between other statements, once and at the top."""
    script = Script(text)
    moved = [
        node
        for node in script.tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        and all(name.split(".")[0] in _HARMLESS for name in _modules(node))
    ]
    future = [node for node in moved if is_future(node)]
    rest = script.replaced([Edit(*script.lines_span(node)) for node in moved])
    others = [ast.unparse(node) for node in moved if node not in future]
    lines = [ast.unparse(node) for node in future] + sorted(others, key=lambda line: "torch" in line.split()[1])
    return "".join(f"{line}\n" for line in dict.fromkeys(lines)) + rest


def _modules(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return ["." if node.level else node.module or ""]
    return [alias.name for alias in node.names]


def spaced(text: str) -> str:
    """One blank line below the imports and around each definition at module level, at most one elsewhere."""
    try:
        tree = Script(text).tree
    except SyntaxError:
        return text
    inside = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant | ast.JoinedStr) and (node.end_lineno or 0) > node.lineno
        for line in range(node.lineno + 1, (node.end_lineno or 0) + 1)
    }
    apart = _lines_apart(text, tree)
    kept: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if number in inside:
            kept.append(line)
            continue
        line = line.rstrip()
        if not line and (not kept or not kept[-1] or kept[-1].endswith(":")):
            continue
        if number in apart and kept and kept[-1]:
            kept.append("")
        kept.append(line)
    return "\n".join(kept).rstrip() + "\n" if kept else ""


def _lines_apart(text: str, tree: ast.Module) -> set[int]:
    """First lines of the statements that stand apart from the one above."""
    lines, script, found = text.splitlines(), Script(text), set()
    for above, statement in itertools.pairwise(tree.body):
        imports = isinstance(above, ast.Import | ast.ImportFrom) and not isinstance(
            statement, ast.Import | ast.ImportFrom
        )
        if imports or any(isinstance(item, ast.FunctionDef | ast.ClassDef) for item in (above, statement)):
            first = script.first_line(statement)
            while first > 1 and lines[first - 2].lstrip().startswith("#"):
                first -= 1
            found.add(first)
    return found


def _constants(script: Script) -> list[Edit]:
    """Statements that are a constant, a docstring too, or a name of the module or a parameter (others the compiler meets)."""
    alone = [node for node in script.nodes if isinstance(node, ast.Expr)]
    named = [node for node in alone if isinstance(node.value, ast.Name) and script.parents[node] is script.tree]
    bound = bound_globals(script) if named else frozenset()
    known = bound | frozenset(dir(builtins))
    gone = [node for node in named if isinstance(node.value, ast.Name) and node.value.id in known]
    gone += [node for node in alone if isinstance(node.value, ast.Name) and node.value.id in _parameters(script, node)]
    gone += filter(is_bare_constant, alone)
    return [Edit(*script.span(node), "pass") for node in gone]


def _parameters(script: Script, statement: ast.stmt) -> set[str]:
    """Those of the function that a statement stands in."""
    inner = next((node for node in script.above(statement) if isinstance(node, Definition)), None)
    return (
        {item.arg for item in ast.walk(inner.args) if isinstance(item, ast.arg)}
        if isinstance(inner, Function)
        else set()
    )


def _superfluous_pass(script: Script) -> list[Edit]:
    edits = []
    for node in script.nodes:
        for block in blocks_of(node):
            empty = [item for item in block if isinstance(item, ast.Pass)]
            if len(empty) == len(block) and not isinstance(node, ast.Module):
                empty = empty[1:]
            edits += [Edit(*script.lines_span(item)) for item in empty]
    return edits


def _empty_parts(script: Script) -> list[Edit]:
    """One `else`, `finally` or `elif` that does nothing. One at a time, as they nest."""
    for node in script.nodes:
        orelse: Block = getattr(node, "orelse", None) or []
        if isinstance(orelse, list) and _does_nothing(orelse) and not is_elif(script, orelse[0]):
            return [_with_header(script, orelse, "else")]
        if isinstance(node, ast.Try) and node.handlers and _does_nothing(node.finalbody):
            return [_with_header(script, node.finalbody, "finally")]
        if isinstance(node, ast.If) and is_elif(script, node) and _does_nothing(node.body) and not node.orelse:
            return [Edit(script.offset(node.lineno, 0), script.lines_span(node)[1])]
    return []


def _does_nothing(block: Block) -> bool:
    return bool(block) and all(isinstance(item, ast.Pass) for item in block)


def _with_header(script: Script, block: Block, word: str) -> Edit:
    start, end = script.lines_span(block[0])[0], script.lines_span(block[-1])[1]
    header = list(re.finditer(rf"^[ \t]*{word}[ \t]*:.*\n", script.text[:start], re.MULTILINE))[-1]
    return Edit(header.start(), end)


def _unused(script: Script) -> list[Edit]:
    """Imports and definitions at module level that nothing names."""
    seen = Occurrences(script)
    quoted = " ".join(text for node in script.nodes if (text := string_of(node)) is not None)

    def needed(name: str, statement: ast.stmt) -> bool:
        start, end = script.lines_span(statement)
        used = any(not (start <= item.start < end) for item in seen.reads(name))
        bound_again = len(seen.of(name)) - len(seen.reads(name)) > 1
        return used or bound_again or re.search(rf"\b{re.escape(name)}\b", quoted) is not None

    edits: list[Edit] = []
    for statement in script.tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            edits += _without_unused_names(script, statement, needed)
        elif (
            isinstance(statement, ast.FunctionDef | ast.ClassDef)
            and not statement.decorator_list
            and not needed(statement.name, statement)
            and not (isinstance(statement, ast.ClassDef) and tells_its_base(script, statement))
        ):
            edits.append(Edit(*script.lines_span(statement)))
    return edits


def _without_unused_names(script: Script, statement: ast.Import | ast.ImportFrom, needed) -> list[Edit]:  # type: ignore[no-untyped-def]
    if isinstance(statement, ast.ImportFrom):
        if statement.level or (statement.module or "").split(".")[0] not in _HARMLESS or is_future(statement):
            return []
        removable = statement.names
    else:
        removable = [alias for alias in statement.names if alias.name.split(".")[0] in _HARMLESS]
    unused = [alias for alias in removable if alias.name != "*" and not needed(bound_name(alias), statement)]
    return [importing(script, statement, [alias for alias in statement.names if alias not in unused])] if unused else []
