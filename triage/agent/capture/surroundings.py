"""Environment variables that the program sets itself: torch reads some of them while it is imported, so a candidate, which
begins with torch imported, is told the settings that came of them.
"""

from __future__ import annotations

import ast
import os
from typing import Any, Dict, Iterator, List, Tuple

_before: Dict[str, str] = {}
_read: Dict[str, List[Tuple[str, set]]] = {}  # by config module


def remember() -> None:
    """The environment as the program finds it."""
    _before.clear()
    _before.update(os.environ)


def set_anew(wanted: Dict[str, str]) -> None:
    """Set the variables in which `wanted` is not as the program found them; those that it set itself otherwise stay."""
    different = {name: value for name, value in wanted.items() if _before.get(name) != value}
    os.environ.update(different)
    _before.update(different)


def changed() -> List[str]:
    """Names of variables that the program gave another value; none where nothing was remembered."""
    return [name for name, value in os.environ.items() if _before and _before.get(name) != value]


def settings_of(module: Any, names: List[str]) -> List[str]:
    """Dotted names of the settings of a config module that are read from these variables, e.g. `cpp.simdlen`."""
    if not names:
        return []
    wanted = set(names)
    return [key for key, strings in _settings(module) if strings & wanted]


def _settings(module: Any) -> List[Tuple[str, set]]:
    """The settings of a config module with the strings in what its file sets them to. Each graph asks; it is read once."""
    name = getattr(module, "__name__", "")
    if name not in _read:
        try:
            with open(module.__file__, encoding="utf-8") as file:
                tree = ast.parse(file.read())
            _read[name] = [(key, _strings(value)) for key, value in _assigned(tree.body, "")]
        except (OSError, SyntaxError, ValueError, AttributeError, TypeError):
            _read[name] = []
    return _read[name]


def _assigned(body: List[ast.stmt], prefix: str) -> Iterator[Tuple[str, ast.AST]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _assigned(node.body, "%s%s." % (prefix, node.name))
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    yield prefix + target.id, node.value


def _strings(node: ast.AST) -> set:
    return {item.value for item in ast.walk(node) if isinstance(item, ast.Constant) and isinstance(item.value, str)}
