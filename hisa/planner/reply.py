"""The planner's reply: from text to a checked `ToolCall`, or an error the model can act on.

A pure function of the text: nothing is grounded, called or executed here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hisa.actions import Action, parse, slots
from hisa.errors import ActionRefused, InvalidReply
from hisa.protocols import ToolCall
from hisa.text.prompt_text import broken_character, printable

__all__ = ["REPLY_SCHEMA", "find_object", "parse_reply"]

MAX_REPLY = 200_000
"""Characters; a longer reply is refused unread."""
_MAX_STARTS = 64
"""How many opening braces are tried when JSON stands in prose."""


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid")
    thought: str = Field(max_length=8000)
    tool: str = Field(min_length=1, max_length=100)
    input: str | dict[str, Any]
    description: str | None = Field(None, max_length=2000)
    description_2: str | None = Field(None, max_length=2000)


REPLY_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "thought": {"type": "string"},
        "tool": {"type": "string"},
        "input": {"anyOf": [{"type": "string"}, {"type": "object"}]},
        "description": {"type": "string"},
        "description_2": {"type": "string"},
    },
    "required": ["thought", "tool", "input"],
    "additionalProperties": False,
}
"""JSON schema of a reply, as sent to models and shown in a correction."""


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_decoder = json.JSONDecoder(parse_constant=_no_constant)


def find_object(text: str, key: str = "tool") -> dict[str, Any]:
    """The first JSON object in the text that has that key; else the first object at all."""
    first: dict[str, Any] | None = None
    problem = "no JSON object in it"
    start = text.find("{")
    for _ in range(_MAX_STARTS):
        if start < 0:
            break
        end = start + 1
        try:
            value, end = _decoder.raw_decode(text, start)
        except RecursionError:
            problem = "JSON nested too deeply"
        except ValueError as error:
            problem = f"not valid JSON: {error}"
        else:
            if isinstance(value, dict) and key in value:
                return value
            if isinstance(value, dict) and first is None:
                first = value
        start = text.find("{", end)
    if first is not None:
        return first
    raise InvalidReply(problem)


def _explain(error: ValidationError) -> str:
    parts = []
    for item in error.errors():
        key = str(item["loc"][0])
        match item["type"]:
            case "extra_forbidden":
                allowed = ", ".join(_Reply.model_fields)
                parts.append(f"unknown key {key!r}; allowed: {allowed}")
            case "missing":
                parts.append(f"key {key!r} is missing")
            case _:
                parts.append(f"{key!r}: {item['msg']}")
    return "; ".join(dict.fromkeys(parts))


def _gui_actions(reply: _Reply) -> tuple[Action, ...]:
    if not isinstance(reply.input, str):
        raise InvalidReply("'input' of gui_action must be a string of PyAutoGUI source")
    try:
        actions = parse(reply.input)
    except ActionRefused as error:
        raise InvalidReply(f"'input' refused: {error}") from error
    needed = slots(actions)
    if 1 in needed and not reply.description:
        raise InvalidReply("X_COORD, Y_COORD need a 'description' of the element")
    if 2 in needed and not reply.description_2:
        raise InvalidReply("X_COORD_2, Y_COORD_2 need a 'description_2' of the element")
    return actions


_PROSE = frozenset({"thought", "description", "description_2"})


def _whole_characters(found: dict[str, Any]) -> dict[str, Any]:
    """The object without what no screen or file can hold; JSON can write halves of characters.

    Prose is cleaned. Anything that would be executed is refused, not changed.
    """
    checked = {}
    for key, value in found.items():
        if key in _PROSE and isinstance(value, str):
            checked[key] = printable(value)
        elif wrong := next(filter(None, map(broken_character, _strings([key, value]))), ""):
            raise InvalidReply(
                f"{printable(key)[:40]!r} holds the character {wrong}: half of a character, a "
                "control character or a mark that turns the reading order; leave it out"
            )
        else:
            checked[key] = value
    return checked


def _strings(value: object) -> Iterator[str]:
    """Every string inside a decoded JSON value, keys included."""
    match value:
        case str():
            yield value
        case dict():
            for key, item in value.items():
                yield key
                yield from _strings(item)
        case list():
            for item in value:
                yield from _strings(item)
        case _:
            pass


def parse_reply(text: str) -> ToolCall:
    """Check a reply.

    Prose or a code fence around the object is tolerated; an unknown key, a wrong type or an action
    outside the closed set is not.

    Raises:
        InvalidReply: what is wrong and what is allowed.
    """
    if not text.strip():
        raise InvalidReply("the reply is empty")
    if len(text) > MAX_REPLY:
        raise InvalidReply(f"the reply is {len(text)} characters; at most {MAX_REPLY}")
    found = _whole_characters(find_object(printable(text)))
    if isinstance(found.get("input"), int | float) and not isinstance(found["input"], bool):
        found["input"] = str(found["input"])
    try:
        reply = _Reply.model_validate(found)
    except ValidationError as error:
        raise InvalidReply(_explain(error)) from error
    actions = _gui_actions(reply) if reply.tool == "gui_action" else ()
    return ToolCall(
        thought=reply.thought,
        tool=reply.tool,
        input=reply.input,
        description=reply.description or "",
        description_2=reply.description_2 or "",
        actions=actions,
    )
