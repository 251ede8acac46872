"""Argument trees: the JSON values of a `GraphCase` in which references, constants and sub-graphs are tagged objects.

The tags are listed in `triage.model.graphcase`. Everything here is pure and knows only the shape of a tree; a *path* is
the sequence of keys and indices that leads from the root to a place inside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Path = tuple[str | int, ...]


def refs(tree: Any) -> Iterator[str]:
    """Names of the values that a tree refers to, in reading order, with repetitions."""
    return _tagged(tree, "ref")


def graphs(tree: Any) -> Iterator[str]:
    """Names of the sub-graphs that a tree mentions."""
    return _tagged(tree, "graph")


def _tagged(tree: Any, tag: str) -> Iterator[str]:
    if isinstance(tree, dict):
        name = tree.get(tag)
        if isinstance(name, str) and len(tree) == 1:
            yield name
        else:
            for item in tree.values():
                yield from _tagged(item, tag)
    elif isinstance(tree, (list, tuple)):
        for item in tree:
            yield from _tagged(item, tag)


def ref(name: str) -> dict[str, str]:
    return {"ref": name}


def as_ref(tree: Any) -> str | None:
    """The name, where the whole tree is one reference."""
    if isinstance(tree, dict) and len(tree) == 1 and isinstance(tree.get("ref"), str):
        return str(tree["ref"])
    return None


def rewrite(tree: Any, change: Callable[[str], Any]) -> Any:
    """The tree with every reference to `name` replaced by the tree `change(name)`."""
    if isinstance(tree, dict):
        name = as_ref(tree)
        if name is not None:
            return change(name)
        return {key: rewrite(item, change) for key, item in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [rewrite(item, change) for item in tree]
    return tree


def walk(
    tree: Any, path: Path = (), *, whole: Callable[[Any], bool] = lambda tree: False
) -> Iterator[tuple[Path, Any]]:
    """Every sub-tree with its path, a tree before what it holds; what is `whole` is not taken apart."""
    yield path, tree
    if isinstance(tree, (dict, list, tuple)) and not whole(tree):
        for key, item in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from walk(item, (*path, key), whole=whole)


def is_complex(tree: Any) -> bool:
    """Whether it is one complex number, written as two."""
    return isinstance(tree, dict) and set(tree) == {"complex"}


def numbers(tree: Any) -> Iterator[tuple[Path, int | float]]:
    """Every plain number (booleans are not numbers here) with its path."""
    return (item for item in walk(tree, whole=is_complex) if type(item[1]) in (int, float))


def complexes(tree: Any) -> Iterator[tuple[Path, Any]]:
    """Every complex number with its path."""
    return (item for item in walk(tree, whole=is_complex) if is_complex(item[1]))


def at(tree: Any, path: Path) -> Any:
    """The sub-tree at `path`. Raises LookupError or TypeError where there is none."""
    for key in path:
        tree = tree[key]
    return tree


def put(tree: Any, path: Path, value: Any) -> Any:
    """The tree with the sub-tree at `path` replaced; the original is left alone."""
    if not path:
        return value
    if isinstance(tree, dict):
        return {key: put(item, path[1:], value) if key == path[0] else item for key, item in tree.items()}
    return [put(item, path[1:], value) if index == path[0] else item for index, item in enumerate(tree)]


def mapped(tree: Any, change: Callable[[Any], Any]) -> Any:
    """The tree in which each sub-tree that `change` answers with another one is that one, from the outside in."""
    made = change(tree)
    if made is not tree:
        return made
    if isinstance(tree, dict):
        return {key: mapped(item, change) for key, item in tree.items()}
    return [mapped(item, change) for item in tree] if isinstance(tree, (list, tuple)) else tree


def map_integers(tree: Any, change: Callable[[int], int]) -> Any:
    """The tree with every plain integer replaced by `change(integer)`."""
    return mapped(tree, lambda item: change(item) if type(item) is int else item)
