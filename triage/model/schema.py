"""The JSON schema of a file that triage writes, generated from the dataclasses that the file is encoded from.

The schemas lie beside this file as `NAME.schema.json`, so that other tools need no Python of ours; a test compares them with
what is generated here. `python -m triage.model.schema` writes them anew. What is not known may stand anywhere: fields are
added without a new schema version. Required are the fields that have no default.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import types
import typing
from pathlib import Path
from typing import Any

from triage.model import explanation, report, sweep

DRAFT = "https://json-schema.org/draft/2020-12/schema"
SCALARS = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
ROOTS = {
    "report": (report.TriageReport, report.SCHEMA_VERSION),
    "explain": (explanation.Explanation, explanation.SCHEMA_VERSION),
    "sweep": (sweep.SweepReport, sweep.SCHEMA_VERSION),
}


def schema_of(name: str) -> dict[str, Any]:
    """The schema of `report.json`, `explain.json` or `sweep.json` (`name` without its ending). Raises KeyError for another."""
    root, version = ROOTS[name]
    definitions: dict[str, Any] = {}
    whole = _object(root, definitions)
    whole["properties"]["schema_version"] = {"const": version}
    whole["required"] = [*whole["required"], "schema_version"]
    return {"$schema": DRAFT, "title": f"{name}.json", **whole, "$defs": dict(sorted(definitions.items()))}


def schema_text(name: str) -> str:
    return json.dumps(schema_of(name), indent=2, ensure_ascii=False) + "\n"


def schema_file(name: str) -> Path:
    """Where the generated schema lies in an installed triage."""
    return Path(__file__).with_name(f"{name}.schema.json")


def _object(kind: type, definitions: dict[str, Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    fields = dataclasses.fields(kind)
    words = {"description": " ".join(str(kind.__doc__).split())} if _has_words(kind) else {}
    return {
        "type": "object",
        **words,
        "properties": {field.name: _schema(hints[field.name], definitions) for field in fields},
        "required": [field.name for field in fields if _without_default(field)],
    }


def _has_words(kind: type) -> bool:
    """Whether somebody wrote the docstring: that of a dataclass is its signature otherwise."""
    return not (kind.__doc__ or f"{kind.__name__}(").startswith(f"{kind.__name__}(")


def _without_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _schema(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Raises TypeError for an annotation that `codec.encode` would not write in one way."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return {}
    if kind in SCALARS:
        return {"type": SCALARS[kind]}
    if origin in (typing.Union, types.UnionType):
        return _either([_schema(each, definitions) for each in arguments])
    if origin in (tuple, list) and arguments[1:] in ((), (...,)):
        return {"type": "array", "items": _schema(arguments[0], definitions)}
    if origin is dict and arguments[0] is str:
        return {"type": "object", "additionalProperties": _schema(arguments[1], definitions)}
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return {"enum": [member.value for member in kind]}
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _reference(kind, definitions)
    raise TypeError(f"{kind} has no place in a schema")


def _either(choices: list[dict[str, Any]]) -> dict[str, Any]:
    if all(list(choice) == ["type"] for choice in choices):
        return {"type": [choice["type"] for choice in choices]}
    return {"anyOf": choices}


def _reference(kind: type, definitions: dict[str, Any]) -> dict[str, Any]:
    if kind.__name__ not in definitions:
        definitions[kind.__name__] = {}  # first, so that one which holds itself ends
        definitions[kind.__name__] = _object(kind, definitions)
    return {"$ref": f"#/$defs/{kind.__name__}"}


if __name__ == "__main__":
    for written in ROOTS:
        schema_file(written).write_text(schema_text(written), encoding="utf-8")
