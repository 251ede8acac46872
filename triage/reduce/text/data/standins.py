"""Made-up contents in the place of a program's data: of the same form, with other words and numbers in it.

What the program's own text names (keys, columns, values that it asks for) and what torch calls its functions is no secret
and stays: such a word stands in the reproducer's code as well. Any other word becomes a made-up one of its length, the same
one wherever it stands, and any other number a small one, or one of its size. So JSON, YAML, CSV, INI and plain lines keep
their form, and nothing has to know which of them it is. Pure functions over text.
"""

from __future__ import annotations

import ast
import json
import re
import string
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from triage.model.syntax import parse
from triage.model.text import words

# In the order they are looked for: an escape as JSON and Python write it, a word (with its digits), a number.
_TOKEN = re.compile(
    r"(?P<escape>\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.))|(?P<word>[^\W\d]\w*)|(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
)
_OF_FORMATS = words("true false null none yes no on off nan inf infinity")
_PLAIN_NUMBERS = ("0", "1", "0.0", "1.0")
LARGEST_TEXT = 20_000  # characters of a stand-in


@dataclass(frozen=True)
class Form:
    """How much of a text's form a stand-in keeps. `lines` (of JSON: elements of each list) None for all of them."""

    lines: int | None
    sizes: bool  # numbers keep their order of magnitude


# The least first: what is made up most, and shortest.
FORMS = (Form(1, False), Form(2, True), Form(None, True))


def public_words(texts: Iterable[str], more: Iterable[str] = ()) -> frozenset[str]:
    """The words and numbers that stand in code: names, and what its strings hold, but neither comments nor docstrings."""
    found = {*_PLAIN_NUMBERS, *more}
    for text in texts:
        try:
            tree = parse(text)
        except (SyntaxError, ValueError):
            continue
        found |= set(_words_of(tree))
    return frozenset(found)


def told_by_torch(names: Iterable[str]) -> Iterator[str]:
    """Those of torch's names that nothing else is called by: `gelu` and `LayerNorm`, but not `Adam`."""
    return (name for name in names if name.islower() or sum(map(str.isupper, name)) > 1 or "_" in name)


def standins(text: str, public: Collection[str]) -> Iterator[str]:
    """Made-up texts of this form, the least first, none longer than LARGEST_TEXT."""
    seen = set[str]()
    for form in FORMS:
        made = Masking(public, sizes=form.sizes).of(shortened(text, form.lines))
        if made not in seen and len(made) <= LARGEST_TEXT:
            seen.add(made)
            yield made


def words_in(text: str) -> Iterator[str]:
    """The words and numbers of a text."""
    return (found.group() for found in _TOKEN.finditer(text) if found.lastgroup != "escape")


def private_words(text: str, public: Collection[str]) -> tuple[str, ...]:
    """What a stand-in replaces, each once, in the order it stands there."""
    return tuple(dict.fromkeys(found.group() for found in _TOKEN.finditer(text) if _is_private(found, public)))


def shortened(text: str, lines: int | None) -> str:
    """The first lines, or of JSON the first elements of each list."""
    if lines is None:
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return "".join(text.splitlines(keepends=True)[:lines])
    fewer = _fewer(value, lines)
    return text if fewer == value else json.dumps(fewer, ensure_ascii=False)


@dataclass
class Masking:
    """Replaces words and numbers: one that comes again is replaced by the same."""

    public: Collection[str]
    kept: Collection[str] = ()
    sizes: bool = True
    _made: dict[str, str] = field(default_factory=dict)

    def of(self, text: str) -> str:
        """The text with made-up words and numbers."""
        return _TOKEN.sub(self._replaced, text)

    def _replaced(self, found: re.Match[str]) -> str:
        token = found.group()
        if found.lastgroup == "escape":
            return "a" if len(token) > 2 else token
        if token in self.kept or not _is_private(found, self.public):
            return token
        if found.lastgroup == "number":
            return _of_this_size(token) if self.sizes else _small(token)
        if token not in self._made:
            self._made[token] = self._new_word(token)
        return self._made[token]

    def _new_word(self, like: str) -> str:
        used = {*self._made.values(), like}
        candidates = (_spelled(number, like) for number in range(len(self._made), len(self._made) + 30))
        return next((word for word in candidates if word not in used and word not in self.public), "a" * len(like))


def _is_private(found: re.Match[str], public: Collection[str]) -> bool:
    token = found.group()
    return found.lastgroup != "escape" and token not in public and token.lower() not in _OF_FORMATS


def _spelled(number: int, like: str) -> str:
    """The n-th made-up word with the capitals, digits and underscores of another one."""
    letters = string.ascii_lowercase
    told = ""
    for sign in reversed(like):
        if sign == "_" or sign.isdigit():
            told += "_" if sign == "_" else "1"
            continue
        told += letters[number % 26].upper() if sign.isupper() else letters[number % 26]
        number //= 26
    return told[::-1]


def _small(number: str) -> str:
    return "1.0" if "." in number or "e" in number.lower() else "1".zfill(len(number) if number[0] == "0" else 1)


def _of_this_size(number: str) -> str:
    """The power of two below a whole number, as many digits where it begins with zeros; of others the half of one."""
    if "." in number or "e" in number.lower():
        whole = int(min(float(number), 1e9))
        return f"{_power_below(whole)}.5" if whole else "0.5"
    return str(_power_below(int(number))).zfill(len(number) if number[0] == "0" else 1)


def _power_below(number: int) -> int:
    return 1 << (number.bit_length() - 1) if number else 0


def _fewer(value: Any, count: int) -> Any:
    if isinstance(value, dict):
        return {key: _fewer(item, count) for key, item in value.items()}
    return [_fewer(item, count) for item in value[:count]] if isinstance(value, list) else value


def _words_of(tree: ast.AST) -> Iterator[str]:
    documentation = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        value = getattr(node, "value", None) if id(node) not in documentation else None
        if isinstance(node, ast.Constant) and isinstance(value, str | int | float):
            yield from (found.group() for found in _TOKEN.finditer(str(value)))
        for name in ("id", "attr", "arg", "name"):
            told = getattr(node, name, None)
            if isinstance(told, str):
                yield from told.split(".")
