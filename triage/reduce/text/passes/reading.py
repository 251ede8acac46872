"""What a file holds in the place of reading it: no file is written then, and the reader sees the data where it is used."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator

from triage.reduce.text.code.edits import deletion, outermost
from triage.reduce.text.code.nodes import calls, is_future, string_of
from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.passes.choice import Choice


def propose(script: Script) -> Iterator[Choice]:
    written = list(_written(script))
    for statement, name, text in written:
        reads = [edit for node in script.nodes for edit in _read(script, node, name, text)]
        outer = outermost(reads)
        gone = [deletion(script, statement)]
        if len(written) == 1:
            gone += [deletion(script, item) for item in script.tree.body if _is_place(script, item)]
        imported = [Edit(0, 0, "import io\n")] if any("io.StringIO(" in edit.text for edit in outer) else []
        if outer and not any(map(is_future, script.tree.body)):
            yield Choice(((*gone, *outer, *imported), (gone[0], *outer, *imported)))


def _written(script: Script) -> Iterator[tuple[ast.stmt, str, str]]:
    """(statement, file, contents) of each `pathlib.Path("a").write_text("...")`."""
    for statement in script.tree.body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or len(call.args) != 1:
            continue
        place, text = _constant_path(call.func.value), string_of(call.args[0])
        if call.func.attr == "write_text" and place is not None and text is not None:
            yield statement, place, text


def _read(script: Script, node: ast.AST, name: str, text: str) -> Iterator[Edit]:
    """The edit that puts the contents in the place of an expression that reads them."""
    if not isinstance(node, ast.Call):
        return
    called = ast.unparse(node.func)
    if called in ("json.load", "json.loads") and len(node.args) == 1 and _contents(node.args[0], name):
        try:
            yield Edit(*script.span(node), repr(json.loads(text)))
        except ValueError:
            return
    elif _contents(node, name) == "text":
        yield Edit(*script.span(node), repr(text))
    elif _contents(node, name) == "file":
        yield Edit(*script.span(node), f"io.StringIO({text!r})")


def _contents(node: ast.AST, name: str) -> str:
    """`text` or `file`, where an expression is that of this file; empty for any other."""
    if not isinstance(node, ast.Call):
        return ""
    if calls(node, "open") and node.args and _is_path(node.args[0], name):
        modes = [*node.args[1:2], *(item.value for item in node.keywords if item.arg == "mode")]
        return "file" if all((string_of(mode) or "b") in ("r", "rt") for mode in modes) else ""
    if isinstance(node.func, ast.Attribute) and not node.args:
        if node.func.attr == "read" and _contents(node.func.value, name) == "file":
            return "text"
        if node.func.attr in ("read_text", "open") and _is_path(node.func.value, name):
            return "text" if node.func.attr == "read_text" else "file"
    return ""


def _is_path(node: ast.AST, name: str) -> bool:
    """`"a"`, `Path("a")`, `here / "a"`, `os.path.join(here, "a")`: the last name of a path is enough."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return _ends(string_of(node.right), name)
    if isinstance(node, ast.Call) and node.args:
        return _ends(string_of(node.args[-1]), name)
    return _ends(string_of(node), name)


def _ends(text: str | None, name: str) -> bool:
    return bool(text) and (text == name or name.endswith(f"/{text}"))


def _constant_path(node: ast.AST) -> str | None:
    return string_of(node.args[0]) if isinstance(node, ast.Call) and len(node.args) == 1 else None


def _is_place(script: Script, statement: ast.stmt) -> bool:
    """What provides the directory that the file was written to."""
    text = script.source(statement)
    return text.startswith(("os.chdir(", "os.makedirs(", "__file__ = ")) or "= tempfile.TemporaryDirectory()" in text
