"""Frozen dataclasses <-> JSON-ready dictionaries.

`encode` keeps every field, in order, with enums as their values and paths as strings. `decode` is its inverse for the
dataclasses of this package: unknown keys are ignored (a newer writer may add fields), missing ones take their defaults.
"""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
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
