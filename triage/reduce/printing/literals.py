"""Recorded elements as Python text. They are nested lists of numbers, with nan, inf and -inf as strings."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

LONG = 12  # elements of a table, from which runs of one number are told as that


def element(data: Any) -> str:
    """Nested lists of numbers as Python text; nan, inf and -inf as `float("nan")` and so on."""
    if isinstance(data, list):
        return "[" + ", ".join(element(item) for item in data) + "]"
    if isinstance(data, str):
        return f'float("{data}")'
    if isinstance(data, dict):
        real, imag = data["complex"]
        return f"complex({element(real)}, {element(imag)})"
    return repr(data)


def in_runs(flat: Sequence[Any]) -> str:
    """`[0.0] * 17 + [float("nan"), 1.0] + [0.0] * 5`"""
    parts: list[str] = []
    single: list[str] = []
    for number, times in [*_runs(flat), ("", 0)]:
        if times == 1:
            single.append(number)
            continue
        parts += [f"[{', '.join(single)}]"] if single else []
        parts += [f"[{number}] * {times}"] if times else []
        single = []
    return " + ".join(parts)


def written(flat: Sequence[Any]) -> int:
    """How many numbers stand in the text for a table: runs of one number are told as that, where few are left then."""
    runs = 2 * len(_runs(flat))
    return runs if len(flat) >= LONG and 3 * runs <= 2 * len(flat) else len(flat)


def _runs(flat: Sequence[Any]) -> list[tuple[str, int]]:
    return [(text, len(list(same))) for text, same in itertools.groupby(flat, key=element)]


def zero_like(number: Any) -> Any:
    """0 of the kind that a recorded element is."""
    if isinstance(number, dict):
        return {"complex": [0.0, 0.0]}
    return 0.0 if isinstance(number, str) else type(number)(0)


def numbers_in(data: Any) -> Iterator[Any]:
    """The elements of recorded values, in order."""
    if isinstance(data, list):
        for item in data:
            yield from numbers_in(item)
    elif data is not None:
        yield data


def fits(data: Any, shape: Sequence[int]) -> bool:
    """Whether nested lists have a shape."""
    if not shape:
        return not isinstance(data, list)
    return isinstance(data, list) and len(data) == shape[0] and all(fits(item, shape[1:]) for item in data)


def has_float(data: Any) -> bool:
    if isinstance(data, list):
        return any(has_float(item) for item in data)
    return isinstance(data, (float, str))


def has_bool(data: Any) -> bool:
    return any(has_bool(item) for item in data) if isinstance(data, list) else isinstance(data, bool)
