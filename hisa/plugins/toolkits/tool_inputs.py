"""Reads the input of a tool from an example's line or from the words of a command line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hisa.errors import InvalidReply
from hisa.tools.base import BaseTool
from hisa.tools.calling import Input

__all__ = ["input_of_example", "input_of_words"]


def input_of_example(tool: BaseTool, line: str) -> Input:
    """Returns the input that an example's line stands for.

    An object, or the line itself where the tool takes a string.

    Raises:
        InvalidReply: it is neither.
    """
    found = _as_object(line)
    if found is not None:
        return found
    if tool.takes_text:
        return line
    raise InvalidReply(f"{line[:200]!r} is not a JSON object, and {tool.name} takes several values")


def input_of_words(tool: BaseTool, words: Sequence[str]) -> Input:
    """Returns the input that words of a command line stand for.

    One JSON object, or NAME=VALUE for each argument, or the plain value where there is one alone.

    Raises:
        InvalidReply: none of these.
    """
    if len(words) == 1 and (found := _as_object(words[0])) is not None:
        return found
    fields: Mapping[str, Any] = tool.parameters.get("properties", {})
    pairs = [word.partition("=") for word in words]
    if all(equals and name in fields for name, equals, _ in pairs):
        return {name: _value(fields[name], text) for name, _, text in pairs}
    if tool.takes_text and len(words) == 1:
        name = next(iter(fields))
        return {name: _value(fields[name], words[0])}
    wrong = next((name for name, equals, _ in pairs if not equals or name not in fields), "")
    raise InvalidReply(
        f"{wrong[:80]!r}: wanted is one JSON object, or NAME=VALUE with the names "
        f"{', '.join(fields) or '(none: it takes no input)'}"
    )


def _as_object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _value(field: Mapping[str, Any], text: str) -> Any:
    """The value of an argument: text where text fits, else what its JSON says."""
    kinds = {field.get("type"), *(each.get("type") for each in field.get("anyOf", ()))}
    if "string" in kinds or kinds == {None}:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
