"""What is left of brackets when their contents became short: lines that fit into one, a comma at the end, needless ones.

Nothing here changes what the text means: each step is taken only if the syntax tree stays the same.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import keyword
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.code.tokens import tokens_of
from triage.reduce.text.passes.choice import Choice, one

WIDEST = 100
_ATOMS = (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript, ast.List, ast.Dict, ast.ListComp)
_LAYOUT = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
_OPENING, _CLOSING = ("(", "[", "{"), (")", "]", "}")
_BEFORE = ("=", ",", "return", *_OPENING)  # between these a whole expression stands
_AFTER = (",", "", *_CLOSING)


def propose(script: Script) -> Iterator[Choice]:
    """All of it at once: it needs one query."""
    text = script.text
    with contextlib.suppress(tokenize.TokenError):
        while (plainer := _plainer(Script(text))) is not None:
            text = plainer
    if text != script.text:
        yield one(Edit(0, len(script.text), text))


@dataclass(frozen=True)
class _Pair:
    """Brackets, by the indices of their tokens."""

    opening: int
    closing: int


def _plainer(script: Script) -> str | None:
    """The text after the first step that can be taken; None where there is none."""
    tokens = list(tokens_of(script.text))
    same = ast.dump(script.tree)
    atoms = {script.span(node) for node in script.nodes if isinstance(node, _ATOMS)}
    for pair in _pairs(tokens):
        steps = (_in_one_line(script, tokens, pair, comma=comma) for comma in (False, True))
        for edits in (_without(script, tokens, pair, atoms), *steps):
            text = script.replaced(edits)
            if text != script.text and _dumped(text) == same:
                return text
    return None


def _dumped(text: str) -> str:
    try:
        return ast.dump(Script(text).tree)
    except SyntaxError:
        return ""


def _pairs(tokens: list[tokenize.TokenInfo]) -> list[_Pair]:
    """The outermost first."""
    found, opened = [], list[int]()
    for index, token in enumerate(tokens):
        if token.type == tokenize.OP and token.string in _OPENING:
            opened.append(index)
        elif token.type == tokenize.OP and token.string in _CLOSING and opened:
            found.append(_Pair(opened.pop(), index))
    return sorted(found, key=lambda pair: pair.opening)


def _without(script: Script, tokens: list[tokenize.TokenInfo], pair: _Pair, atoms: set[tuple[int, int]]) -> list[Edit]:
    """`x + 1` for `(x) + 1`, `y = x + 1` for `y = (x + 1)`; a tuple keeps them."""
    before = next((t.string for t in reversed(tokens[: pair.opening]) if t.type not in _LAYOUT), "")
    after = tokens[pair.closing + 1].string.strip()
    calls = before in _CLOSING or (before.isidentifier() and not keyword.iskeyword(before))
    if tokens[pair.opening].string != "(" or calls or before[-1:] in ("'", '"') or _has_comma(tokens, pair):
        return []
    opening, closing = _offset(script, tokens[pair.opening].start), _offset(script, tokens[pair.closing].start)
    whole = before in _BEFORE and after in _AFTER
    if not whole and (opening + 1, closing) not in atoms:
        return []
    return [Edit(opening, opening + 1), Edit(closing, closing + 1)]


def _has_comma(tokens: list[tokenize.TokenInfo], pair: _Pair) -> bool:
    depth = 0
    for token in tokens[pair.opening + 1 : pair.closing]:
        if token.type == tokenize.OP and token.string in (*_OPENING, *_CLOSING):
            depth += 1 if token.string in _OPENING else -1
        elif token.string == "," and depth == 0:
            return True
    return False


def _in_one_line(script: Script, tokens: list[tokenize.TokenInfo], pair: _Pair, *, comma: bool) -> list[Edit]:
    """In one line, if it fits and there is no comment within; without a `comma` at the end."""
    kept = [token for token in tokens[pair.opening : pair.closing + 1] if token.type != tokenize.NL]
    if any(token.type == tokenize.COMMENT or token.start[0] != token.end[0] for token in kept):
        return []
    if not comma and kept[-2].string == ",":
        kept.pop(-2)
    text = kept[0].string
    for above, token in itertools.pairwise(kept):
        between = script.text[_offset(script, above.end) : _offset(script, token.start)]
        if above.string in _OPENING or token.string in _CLOSING:
            between = ""
        text += (" " if "\n" in between else between) + token.string
    first, last = kept[0], kept[-1]
    rest = script.text[_offset(script, last.end) :].partition("\n")[0]
    fits = first.start[1] + len(text) + len(rest) <= WIDEST
    return [Edit(_offset(script, first.start), _offset(script, last.end), text)] if fits else []


def _offset(script: Script, place: tuple[int, int]) -> int:
    return script.offset(place[0], 0) + place[1]
