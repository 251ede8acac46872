"""Frozen dataclasses <-> JSON-ready dictionaries.

`encode` keeps every field, in order, with enums as their values and paths as strings. `decode` is its inverse for the
dataclasses of this package: unknown keys are ignored (a newer writer may add fields), missing ones take their defaults.
Where nothing may be ignored, `unknown_fields` says what would be.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
import typing
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, TypeVar

T = TypeVar("T")


def encode(value: Any) -> Any:
    """`value` as dictionaries, lists, strings, numbers, booleans and None."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, dict):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [encode(item) for item in value]
    return value


def decode(kind: type[T], data: Any) -> T:
    """The `kind` that `encode` made `data` from. Raises TypeError or ValueError where the data do not fit."""
    return typing.cast(T, _decode(kind, data))


def unknown_fields(kind: Any, data: Any) -> list[str]:
    """What `decode` would ignore, as paths such as `nodes[3].colour`; of data that do not fit at all, nothing."""
    return list(_unknown(kind, data, ""))


def _unknown(kind: Any, data: Any, path: str) -> Iterator[str]:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        yield from _unknown(next(item for item in arguments if item is not type(None)), data, path)
    elif origin in (list, tuple) and isinstance(data, (list, tuple)) and arguments:
        for index, item in enumerate(data):
            yield from _unknown(arguments[0], item, f"{path}[{index}]")
    elif dataclasses.is_dataclass(kind) and isinstance(data, dict):
        hints = typing.get_type_hints(kind)
        known = {field.name for field in dataclasses.fields(kind)}
        for key, item in data.items():
            place = f"{path}.{key}".lstrip(".")
            yield from _unknown(hints[key], item, place) if key in known else [place]


def _decode(kind: Any, data: Any) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if data is None:
            return None
        return _decode(next(item for item in arguments if item is not type(None)), data)
    if origin in (list, tuple):
        items = [_decode(arguments[0] if arguments else Any, item) for item in data]
        return tuple(items) if origin is tuple else items
    if origin is dict:
        return {key: _decode(arguments[1], item) for key, item in data.items()}
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = typing.get_type_hints(kind)
        known = {field.name for field in dataclasses.fields(kind)}
        return kind(**{key: _decode(hints[key], item) for key, item in data.items() if key in known})
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return kind(data)
    if isinstance(kind, type) and issubclass(kind, PurePath):
        return kind(data)
    return data


@functools.cache
def field_names(kind: Any) -> frozenset[str]:
    """The names of the fields of a dataclass, and of those that it holds."""
    if not (dataclasses.is_dataclass(kind) and isinstance(kind, type)):
        return frozenset().union(*(field_names(each) for each in typing.get_args(kind) if each is not Ellipsis))
    hints = typing.get_type_hints(kind)
    return frozenset(hints).union(*(field_names(each) for each in hints.values()))
