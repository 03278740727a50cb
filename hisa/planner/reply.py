"""Reads the planner's reply: from text to a checked `ToolCall`, or an error for the model.

The result depends on the text alone: nothing is grounded, called or executed here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hisa.actions import Action, parse, slots
from hisa.errors import ActionRefused, InvalidReply
from hisa.planner.call_schema import NOTE
from hisa.protocols import ToolCall
from hisa.text.prompt_text import broken_character, printable
from hisa.text.thinking import without_thinking

__all__ = ["REPLY_SCHEMA", "check_characters", "find_object", "parse_reply", "sequence_schema"]

MAX_REPLY = 200_000
"""Most characters of a reply; a longer one is refused unread."""
_MAX_STARTS = 64
"""Most opening braces to try when JSON is surrounded by prose."""
_Form = TypeVar("_Form", bound=BaseModel)


_ENDING = frozenset({"termination", "infeasible"})
"""Tools that end the run; no other call is allowed beside them."""


class _Call(BaseModel):
    model_config = ConfigDict(extra="forbid")
    tool: str = Field(min_length=1, max_length=100)
    input: str | dict[str, Any]
    description: str | None = Field(None, max_length=2000)
    description_2: str | None = Field(None, max_length=2000)


class _Thinking(BaseModel):
    model_config = ConfigDict(extra="forbid")
    thought: str = Field(max_length=8000)
    note: str | None = Field(None, max_length=NOTE)


class _Reply(_Call, _Thinking):
    pass


class _Sequence(_Thinking):
    actions: list[_Call] = Field(min_length=1)


_CALL_FIELDS: Mapping[str, Any] = {
    "tool": {"type": "string"},
    "input": {"anyOf": [{"type": "string"}, {"type": "object"}]},
    "description": {"type": "string"},
    "description_2": {"type": "string"},
}
REPLY_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"thought": {"type": "string"}, **_CALL_FIELDS, "note": {"type": "string"}},
    "required": ["thought", "tool", "input"],
    "additionalProperties": False,
}
"""JSON schema of a reply with one call, as sent to models."""


def sequence_schema(most: int) -> Mapping[str, Any]:
    """Returns the JSON schema of a reply with up to ``most`` calls."""
    call = {
        "type": "object",
        "properties": _CALL_FIELDS,
        "required": ["tool", "input"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {
            "thought": {"type": "string"},
            "actions": {"type": "array", "items": call, "minItems": 1, "maxItems": most},
            "note": {"type": "string"},
        },
        "required": ["thought", "actions"],
        "additionalProperties": False,
    }


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_decoder = json.JSONDecoder(parse_constant=_no_constant)


def find_object(text: str, *keys: str, several: str = "give one") -> dict[str, Any]:
    """Returns the JSON object that has one of the keys; if there is none, the first object.

    Text in thinking tags is not read. Objects with the same call count as one: models repeat
    themselves, and every reading of such a reply includes doing it once.

    Args:
        text: the reply.
        keys: keys of which the object must have at least one.
        several: the advice in the error if several objects differ.

    Raises:
        InvalidReply: there is no object, or several with a key that differ; none of them is
            chosen. A broken object with a key counts as one of them.
    """
    answer = without_thinking(text)
    values, gaps, problem = _decode_objects(answer)
    objects = [value for value in values if isinstance(value, dict)]
    fitting = [value for value in objects if any(key in value for key in keys)]
    instructions = [{key: value[key] for key in value.keys() - _REMARKS} for value in fitting]
    begins = re.compile(rf"""\{{[^{{}}]*"(?:{"|".join(keys)})"\s*:\s*["\[]""")
    broken = any(begins.search(gap) for gap in gaps)
    if (broken and fitting) or any(other != instructions[0] for other in instructions):
        number = len(instructions) + broken
        raise InvalidReply(f"{number} objects where one is due, and none was used: {several}")
    if broken or not objects:
        unread = "" if answer == text else "; what stands in thinking tags is not read"
        raise InvalidReply(problem + unread)
    return (fitting or objects)[0]


def _decode_objects(text: str) -> tuple[list[Any], list[str], str]:
    """Returns the JSON values that begin with a brace, the texts around them, and a problem.

    The problem is that of the last text that could not be decoded.
    """
    values: list[Any] = []
    gaps: list[str] = []
    problem, after = "no JSON object in it", 0
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
            values.append(value)
            gaps.append(text[after:start])
            after = end
        start = text.find("{", end)
    return values, [*gaps, text[after:]], problem


def _explain(error: ValidationError, form: type[BaseModel]) -> str:
    parts = []
    for item in error.errors():
        first, *inner = item["loc"]
        listed = first == "actions" and len(inner) > 1
        key, prefix = (inner[1], f"action {int(inner[0]) + 1}: ") if listed else (first, "")
        match item["type"]:
            case "extra_forbidden":
                allowed = ", ".join((_Call if listed else form).model_fields)
                parts.append(f"{prefix}unknown key {key!r}; allowed: {allowed}")
            case "missing":
                parts.append(f"{prefix}key {key!r} is missing")
            case _:
                parts.append(f"{prefix}{key!r}: {item['msg']}")
    return "; ".join(dict.fromkeys(parts))


def _gui_actions(reply: _Call) -> tuple[Action, ...]:
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


_REMARKS = frozenset({"thought", "note"})
"""Keys of a reply that cause no action."""
_NUMBERED = {"element": "description", "element_2": "description_2"}
_PROSE = frozenset({"thought", "description", "description_2", "note"})


def check_characters(fields: dict[str, Any]) -> dict[str, Any]:
    """Returns the object without characters that no screen or file can hold.

    JSON can hold halves of characters. Prose is cleaned; values that would be executed are refused
    instead of changed.

    Raises:
        InvalidReply: a key or a value other than prose has such a character.
    """
    checked = {}
    for key, value in fields.items():
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
    """Yields every string inside a decoded JSON value, keys included."""
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


def parse_reply(text: str, *, most: int = 1, numbered: bool = False) -> ToolCall:
    """Check a reply.

    Prose or a code fence around the object is tolerated; an unknown key, a wrong type or an action
    outside the closed set is not.

    Args:
        text: the model's reply.
        most: most calls of a reply; from 2 on they may be given in a list, ``actions``.
        numbered: whether ``"element": 17`` is allowed for the description "element: 17".

    Returns:
        The first call, with the others as its ``following``.

    Raises:
        InvalidReply: names the problem and what is allowed.
    """
    if not text.strip():
        raise InvalidReply("the reply is empty")
    if len(text) > MAX_REPLY:
        raise InvalidReply(f"the reply is {len(text)} characters; at most {MAX_REPLY}")
    several = "say one call" if most == 1 else "put the calls into one 'actions' list, in order"
    fields = find_object(printable(text), "tool", "actions", several=several)
    fields |= {"note": _note(fields["note"])} if "note" in fields else {}
    if "actions" in fields:
        return _read_sequence(fields, most, numbered)
    reply = _validate_form(_Reply, _prepare_fields(fields, numbered))
    return replace(_tool_call(reply.thought, reply), note=reply.note)


def _read_sequence(fields: dict[str, Any], most: int, numbered: bool) -> ToolCall:
    """Returns the first call of a list, with the others as its ``following``."""
    if most == 1:
        raise InvalidReply("one call a reply: give 'tool' and 'input', and no 'actions'")
    items = fields["actions"]
    if isinstance(items, list):
        items = [
            _prepare_fields(item, numbered) if isinstance(item, dict) else item for item in items
        ]
    reply = _validate_form(
        _Sequence, {**check_characters({**fields, "actions": []}), "actions": items}
    )
    if len(reply.actions) > most:
        raise InvalidReply(f"{len(reply.actions)} actions in one reply; at most {most}")
    calls = [
        _read_numbered_call(reply.thought, number, item)
        for number, item in enumerate(reply.actions, 1)
    ]
    ending = next((call.tool for call in calls if call.tool in _ENDING), "")
    if ending and len(calls) > 1:
        raise InvalidReply(
            f"{ending!r} ends the run: give it alone, once you have seen what came of the others"
        )
    return replace(calls[0], following=tuple(calls[1:]), note=reply.note)


def _note(value: object) -> object:
    """Returns a note as text: models also write several notes as a list or an object."""
    if isinstance(value, dict):
        value = [f"{name}: {item}" for name, item in value.items()]
    return "\n".join(map(str, value)) if isinstance(value, list) else value


def _read_numbered_call(thought: str, number: int, item: _Call) -> ToolCall:
    """Check a call of a list; errors name its number."""
    try:
        return _tool_call(thought, item)
    except InvalidReply as error:
        raise InvalidReply(f"action {number}: {error}") from error


def _prepare_fields(fields: dict[str, Any], numbered: bool) -> dict[str, Any]:
    """Returns a call's object with checked characters, and with its numbers as texts."""
    fields = check_characters(fields)
    for key, prose in _NUMBERED.items() if numbered else ():
        if key in fields and str(fields[key]).isdecimal():
            fields[prose] = f"element: {fields.pop(key)}"
    if isinstance(fields.get("input"), int | float) and not isinstance(fields["input"], bool):
        fields["input"] = str(fields["input"])
    return fields


def _validate_form(form: type[_Form], fields: dict[str, Any]) -> _Form:
    try:
        return form.model_validate(fields)
    except ValidationError as error:
        raise InvalidReply(_explain(error, form)) from error


def _tool_call(thought: str, reply: _Call) -> ToolCall:
    return ToolCall(
        thought=thought,
        tool=reply.tool,
        input=reply.input,
        description=reply.description or "",
        description_2=reply.description_2 or "",
        actions=_gui_actions(reply) if reply.tool == "gui_action" else (),
    )
