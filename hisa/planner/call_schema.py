"""JSON schemas of replies that name a step's tools, with keywords that every server knows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hisa.protocols import Task
from hisa.screen.observation import Observation

__all__ = ["NOTE", "Functions", "Schema", "bound_schema", "one_of", "reply_schema", "text"]

Schema = Mapping[str, Any]
Functions = Callable[[Task, Observation], Sequence[Schema]]
"""Returns the tools for a step: objects with ``name``, ``description`` and ``parameters``."""

THOUGHT, TEXT = 600, 2000
"""Most characters of a thought, and of any other text: several times the usual length."""
NOTE = 1000
"""Most characters of a note: several notes fit in some 300 tokens."""
_ITEMS = 30
_DEEP = 5
"""Levels of an argument that are described; deeper values may be anything."""
_LARGE = 4000
"""If a tool's schema has more characters, only "an object" is required: a server may send any."""
_COPIED_KEYS = ("type", "enum", "const", "required")


def text(most: int, *choices: str) -> Schema:
    """Returns the schema of a text of at most ``most`` characters, or of one of some choices."""
    return {"type": "string", "enum": list(choices)} if choices else _string(most)


def _string(most: int) -> dict[str, Any]:
    return {"type": "string", "maxLength": most}


def one_of(alternatives: Iterable[Mapping[str, Schema]], *, needed: int | None = None) -> Schema:
    """Returns the schema of an object with one of several sets of fields.

    Args:
        alternatives: fields by name, in the order in which they are written.
        needed: how many of the first fields are required; None: all.
    """
    forms = [
        {
            "type": "object",
            "properties": dict(fields),
            "required": list(fields)[:needed],
            "additionalProperties": False,
        }
        for fields in alternatives
    ]
    return forms[0] if len(forms) == 1 else {"anyOf": forms}


def bound_schema(parameters: Schema) -> Schema:
    """Returns the schema of a tool's input, reduced to what servers read, with limits on texts."""
    schema = _reduce_schema(parameters, parameters.get("$defs", {}), _DEEP)
    return schema if len(json.dumps(schema, default=str)) <= _LARGE else {"type": "object"}


def _reduce_schema(schema: object, defs: object, deep: int) -> dict[str, Any]:
    if not isinstance(schema, Mapping) or deep < 1:
        return {}
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return _reduce_schema(defs.get(name) if isinstance(defs, Mapping) else None, defs, deep - 1)
    reduced_schema: dict[str, Any] = {key: schema[key] for key in _COPIED_KEYS if key in schema}
    if reduced_schema.get("type") == "string" and "enum" not in reduced_schema:
        reduced_schema["maxLength"] = TEXT
    if isinstance(fields := schema.get("properties"), Mapping):
        reduced_schema["properties"] = {
            name: _reduce_schema(field, defs, deep - 1) for name, field in fields.items()
        }
        reduced_schema["additionalProperties"] = False
    elif isinstance(more := schema.get("additionalProperties"), Mapping):
        reduced_schema["additionalProperties"] = _reduce_schema(more, defs, deep - 1)
    if "items" in schema:
        reduced_schema |= {
            "items": _reduce_schema(schema["items"], defs, deep - 1),
            "maxItems": _ITEMS,
        }
    if isinstance(forms := schema.get("anyOf"), Sequence):
        reduced_schema["anyOf"] = [_reduce_schema(form, defs, deep - 1) for form in forms]
    return reduced_schema


def reply_schema(tools: Sequence[Schema], most: int) -> Schema:
    """Returns the schema of a reply that names one of these tools, or ``gui_action``."""
    description = {"description": text(TEXT), "description_2": text(TEXT)}
    thought = {"thought": text(THOUGHT)} if most == 1 else {}
    note = {"note": text(NOTE)}
    description |= note if most == 1 else {}
    calls: list[Mapping[str, Schema]] = [
        {**thought, "tool": text(0, "gui_action"), "input": text(TEXT), **description}
    ]
    for tool in tools:
        taken = bound_schema(tool["parameters"])
        calls.append({**thought, "tool": text(0, tool["name"]), "input": taken, **description})
    call = one_of(calls, needed=len(thought) + 2)
    if most == 1:
        return call
    actions = {"type": "array", "items": call, "minItems": 1, "maxItems": most}
    return one_of([{"thought": text(THOUGHT), "actions": actions, **note}], needed=2)
