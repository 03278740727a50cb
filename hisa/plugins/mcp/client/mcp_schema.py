"""Cleans the input schema of a server's tool, and checks inputs against it.

Prose in it is cleaned and cut. What must be passed on unchanged (names of arguments, values to
choose from) must be clean already, or else the tool is not taken. A check takes a limited number of
steps, and no regular expression of a server is ever run: either could be made to take forever.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from hisa.errors import InvalidReply
from hisa.text.prompt_text import excerpt, printable, without_tags

__all__ = ["InputCheck", "UnusableSchema", "clean_schema"]

_CHARACTERS = 20_000
"""Most characters of a schema as JSON; those of the public servers that were tried have 1,000."""
_DEEPEST = 24
"""Most levels of a schema; chosen by hand: an argument that is an object in a list has six."""
_PROSE = 240
"""Most characters of one description; chosen by hand: two sentences."""
_VALUE = 200
"""Most characters of a value to choose from; chosen by hand."""
_STEPS = 10_000
"""Most keywords that one check evaluates: about a hundred times those of an ordinary input."""
_PROBLEMS = 3
"""Most problems that one refusal names."""
_NAME = re.compile(r"[\w$@./-][\w $@./-]{0,63}")
_LOCAL = re.compile(r"#/(\$defs|definitions)/[\w.-]+")
_FORMAT = re.compile(r"[a-z-]{1,30}")

_PLAIN = frozenset(
    (
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
    )
)
_INNER = frozenset(("items", "additionalProperties"))
_INNERS = frozenset(("anyOf", "oneOf", "allOf", "prefixItems"))
_NAMED = frozenset(("properties", "$defs", "definitions"))
_TYPES = frozenset(("object", "array", "string", "number", "integer", "boolean", "null"))


class UnusableSchema(ValueError):
    """A schema that cannot be shown to a model or checked."""


def clean_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a server's schema for the input of a tool, cleaned and cut.

    Only the common keywords are kept: the server checks the rest itself.

    Raises:
        UnusableSchema: the tool cannot be taken; the message says why.
    """
    if schema.get("type", "object") != "object":
        raise UnusableSchema(f"its input is {excerpt(str(schema['type']), 40)!r}, not an object")
    try:
        size = len(json.dumps(schema))
    except (RecursionError, ValueError) as error:
        raise UnusableSchema("its schema is nested too deeply") from error
    if size > _CHARACTERS:
        raise UnusableSchema(f"its schema has {size:,} characters; the limit is {_CHARACTERS:,}")
    return {"type": "object", "properties": {}, **_clean(schema, 0)}


def _clean(schema: object, depth: int) -> dict[str, Any]:
    if isinstance(schema, bool):  # JSON Schema's "anything" and "nothing"
        return {} if schema else {"enum": []}
    if not isinstance(schema, Mapping):
        raise UnusableSchema("its schema is not a JSON schema")
    if depth > _DEEPEST:
        raise UnusableSchema(f"its schema is nested more than {_DEEPEST} levels deep")
    cleaned = {}
    for key, value in schema.items():
        clean_value = _clean_keyword(key, value, depth)
        if clean_value is not None:
            cleaned[key] = clean_value
    return cleaned


def _clean_keyword(key: str, value: Any, depth: int) -> Any:
    """Returns a keyword's value, cleaned; None if it is left out."""
    if key in _NAMED or key in _INNERS or key in _INNER:
        return _clean_nested(key, value, depth)
    if key in _PLAIN:
        usable = isinstance(value, int | float) and (key != "multipleOf" or value > 0)
        return value if usable else None
    match key, value:
        case "description", str():
            return excerpt(value, _PROSE)
        case "default", _:
            return value if _is_clean(value) else None
        case "format", str():
            return value if _FORMAT.fullmatch(value) else None
        case "required", list():
            return [_name(name) for name in value]
        case "enum", list():
            return [_value(item) for item in value]
        case "const", _:
            return _value(value)
        case "type", _:
            return _type(value)
        case "$ref", _:
            return _reference(value)
        case _:
            return None


def _clean_nested(key: str, value: Any, depth: int) -> Any:
    if key in _NAMED and isinstance(value, Mapping):
        return {_name(name): _clean(inner, depth + 1) for name, inner in value.items()}
    if key in _INNERS and isinstance(value, list) and value:
        return [_clean(inner, depth + 1) for inner in value]
    if key == "additionalProperties" and isinstance(value, bool):
        return value
    if key in _INNER:
        return _clean(value, depth + 1)
    raise UnusableSchema(f"{key!r} of its schema does not follow JSON Schema")


def _type(value: Any) -> Any:
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str) and name in _TYPES for name in names):
        raise UnusableSchema(f"its schema has a type {excerpt(str(value), 40)!r}")
    return value


def _reference(value: Any) -> str:
    if not isinstance(value, str) or not _LOCAL.fullmatch(value):
        raise UnusableSchema(f"its schema refers to {excerpt(str(value), 60)!r}")
    return value


def _name(name: Any) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UnusableSchema(f"it has an argument called {excerpt(str(name), 40)!r}")
    return name


def _value(value: Any) -> Any:
    if not _is_clean(value):
        raise UnusableSchema(f"one of its values to choose from is {excerpt(str(value), 40)!r}")
    return value


def _is_clean(value: Any) -> bool:
    """Whether a value may be put into a prompt unchanged."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return len(text) <= _VALUE and "\n" not in text and without_tags(printable(text)) == text


class InputCheck:
    """Checks inputs against a schema that `clean_schema` returned.

    Args:
        schema: the schema of an object.

    Raises:
        UnusableSchema: nothing can be checked against it, because it refers to itself in a circle.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        from jsonschema.validators import (  # type: ignore[import-untyped]
            Draft202012Validator,
            extend,
        )
        from referencing import Registry

        self._steps = 0
        counted = {
            name: self._count_steps(function)
            for name, function in Draft202012Validator.VALIDATORS.items()
        }
        # An empty registry: nothing is ever fetched for a reference.
        self._validator = extend(Draft202012Validator, counted)(schema, registry=Registry())
        try:
            self.problems({})
        except InvalidReply as error:
            raise UnusableSchema("its schema refers to itself in a circle") from error

    def problems(self, value: Mapping[str, Any]) -> list[str]:
        """Returns what does not fit the schema, with its place: at most `_PROBLEMS` problems.

        Raises:
            InvalidReply: the check takes too long.
        """
        from referencing.exceptions import Unresolvable

        self._steps = 0
        try:
            errors = list(islice(self._validator.iter_errors(value), _PROBLEMS))
        except (RecursionError, _TooLong) as error:
            raise InvalidReply("it takes too long to check it against the schema") from error
        except Unresolvable as error:
            raise UnusableSchema("its schema refers to a part that it does not have") from error
        return [
            f"{'.'.join(map(str, error.absolute_path)) or 'input'}: {excerpt(error.message, 200)}"
            for error in errors
        ]

    def _count_steps(self, function: Callable[..., Any]) -> Callable[..., Iterator[Any]]:
        def check(*arguments: Any) -> Iterator[Any]:
            self._steps += 1
            if self._steps > _STEPS:
                raise _TooLong
            yield from function(*arguments) or ()

        return check


class _TooLong(Exception):
    """A check that takes more than `_STEPS` steps."""
