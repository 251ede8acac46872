"""A block in place of the statement around it: `with`, `if`, `for`, `while`, `try`, `match`; loops become one turn."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.reduce.text.code.edits import is_elif
from triage.reduce.text.code.nodes import names_within
from triage.reduce.text.code.script import Block, Edit, Script
from triage.reduce.text.passes.choice import Choice, one

# Python 3.11 and newer has except*.
_TRY: tuple[type[ast.AST], ...] = tuple(kind for kind in (ast.Try, getattr(ast, "TryStar", None)) if kind is not None)


def propose(script: Script) -> Iterator[Choice]:
    for statement, _ in script.statements():
        texts = list(_texts(script, statement))
        if texts:
            start = script.offset(statement.lineno, 0)
            end = script.lines_span(statement)[1]
            yield Choice(tuple((Edit(start, end, text),) for text in texts))
        parts = [*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]
        yield from (one(_without_part(script, part)) for part in parts if len(parts) > 1)
        for handler in getattr(statement, "handlers", ()):
            if handler.name is not None and not any(handler.name in names_within(item) for item in handler.body):
                end = script.span(handler.type)[1]
                yield one(Edit(end, script.text.index(":", end)))
        if isinstance(statement, ast.With):
            for item in statement.items:
                if item.optional_vars is not None:
                    end = script.span(item.context_expr)[1]
                    yield one(Edit(end, script.span(item.optional_vars)[1]))
        if isinstance(statement, ast.With) and len(statement.items) > 1:
            for item in statement.items:
                fewer = ", ".join(ast.unparse(other) for other in statement.items if other is not item)
                head_end = script.offset(statement.body[0].lineno, 0)
                start = script.span(statement)[0]
                yield one(Edit(start, _header_end(script, start, head_end), f"with {fewer}:\n"))


def _texts(script: Script, statement: ast.stmt) -> Iterator[str]:
    """What could stand in its place, simplest first."""
    indent = script.indent(statement)
    if isinstance(statement, ast.With | ast.AsyncWith):
        body = script.body_text(statement.body, indent)
        yield body
        named = [item for item in statement.items if item.optional_vars is not None]
        if named:
            yield "".join(f"{indent}{_assigned(item)}\n" for item in named) + body
    elif isinstance(statement, ast.If) and not is_elif(script, statement):
        yield script.body_text(statement.body, indent)
        if statement.orelse:
            yield _else_text(script, statement.orelse, indent)
    elif isinstance(statement, ast.For | ast.AsyncFor):
        body = script.body_text(statement.body, indent)
        yield body
        target, values = script.source(statement.target), statement.iter
        yield from (f"{head}{body}" for head in _one_turn(script, statement, indent))
        if isinstance(values, ast.List | ast.Tuple) and values.elts:
            yield f"{indent}{target} = {script.source(values.elts[0])}\n{body}"
            yield f"{indent}{target} = {script.source(values.elts[-1])}\n{body}"
        elif isinstance(values, ast.Call) and script.source(values.func) == "range":
            yield f"{indent}{target} = {script.source(values.args[0]) if len(values.args) > 1 else 0}\n{body}"
        yield f"{indent}{target} = next(iter({script.source(values)}))\n{body}"
    elif isinstance(statement, ast.Match):
        for case in statement.cases:
            yield script.body_text(case.body, indent)
            if isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and case.pattern.name:
                value = f"{indent}{case.pattern.name} = {script.source(statement.subject)}\n"
                yield value + script.body_text(case.body, indent)
    elif isinstance(statement, ast.While):
        yield script.body_text(statement.body, indent)
    elif isinstance(statement, _TRY):
        parts: list[Block] = [statement.body, statement.orelse, statement.finalbody]  # type: ignore[attr-defined]
        texts = [script.body_text(block, indent) for block in parts if block]
        yield texts[0]
        if len(texts) > 1:
            yield "".join(texts)
        for handler in statement.handlers:  # type: ignore[attr-defined]
            yield script.body_text(handler.body, indent)


def _one_turn(script: Script, loop: ast.For | ast.AsyncFor, indent: str) -> Iterator[str]:
    """Bindings in place of a loop over `zip` or `enumerate`: what is iterated over itself, then its first element."""
    values, target = loop.iter, loop.target
    over = script.source(values.func) if isinstance(values, ast.Call) else ""
    if over == "zip" and isinstance(values, ast.Call) and isinstance(target, ast.Tuple):
        pairs = list(zip(map(script.source, target.elts), map(script.source, values.args), strict=False))
        if any(name.startswith("*") for pair in pairs for name in pair):
            return
        yield "".join(f"{indent}{name} = {given}\n" for name, given in pairs)
        yield "".join(f"{indent}{name} = {given}[0]\n" for name, given in pairs)
    elif over == "enumerate" and isinstance(values, ast.Call) and isinstance(target, ast.Tuple) and values.args:
        if len(target.elts) == 2:
            number, name = map(script.source, target.elts)
            given = script.source(values.args[0])
            for value in (f"{given}[0]", f"next(iter({given}))"):  # a generator has no places
                yield f"{indent}{name} = {value}\n"
                yield f"{indent}{number} = 0\n{indent}{name} = {value}\n"
    elif isinstance(values, ast.Name | ast.Attribute):
        yield f"{indent}{script.source(target)} = {script.source(values)}\n"
        yield f"{indent}{script.source(target)} = {script.source(values)}[0]\n"


def _else_text(script: Script, orelse: Block, indent: str) -> str:
    if is_elif(script, orelse[0]):
        start, end = script.span(orelse[0])[0], script.lines_span(orelse[-1])[1]
        return indent + script.text[start + 2 : end]
    return script.body_text(orelse, indent)


def _assigned(item: ast.withitem) -> str:
    assert item.optional_vars is not None
    return f"{ast.unparse(item.optional_vars)} = {ast.unparse(item.context_expr)}"


def _header_end(script: Script, start: int, body: int) -> int:
    """The end of the line with the colon, which may have comments below it."""
    place = script.text.rfind(":", start, body)
    return script.text.index("\n", place) + 1


def _without_part(script: Script, part: ast.ExceptHandler | ast.match_case) -> Edit:
    first = part.lineno if isinstance(part, ast.ExceptHandler) else part.pattern.lineno
    return Edit(script.offset(first, 0), script.lines_span(part.body[-1])[1])
