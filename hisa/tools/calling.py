"""Calls one tool by itself, within its limits: for the command line and for checks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hisa.actions import parse, slots
from hisa.errors import InvalidReply
from hisa.protocols import Environment, GroundedCall, Outcome, ToolCall
from hisa.tools.base import BaseTool
from hisa.tools.registry import ToolRegistry

__all__ = ["call_tool", "grounded", "input_of_example", "input_of_words"]

Input = str | Mapping[str, Any]


async def call_tool(tool: BaseTool, value: Input, environment: Environment) -> Outcome:
    """Call it on a machine as it is now; a failure of the tool is an outcome.

    Raises:
        InvalidReply: the input does not fit, or the machine lacks what the tool needs.
        EnvironmentFailed: the machine broke.
    """
    registry = ToolRegistry([tool], capabilities=environment.capabilities)
    call = grounded(tool, value)
    registry.check(call.call)
    return await registry.execute(call, await environment.observe(), environment)


def grounded(tool: BaseTool, value: Input) -> GroundedCall:
    """Returns the call of a tool with that input.

    Raises:
        InvalidReply: a GUI action that cannot be read, or whose place would have to be found first.
    """
    if tool.name != "gui_action" or not tool.always or not isinstance(value, str):
        return GroundedCall(ToolCall("", tool.name, value), value)
    actions = parse(value)
    if slots(actions):
        raise InvalidReply("X_COORD is found by a grounder, in a run; here, give numbers")
    return GroundedCall(ToolCall("", tool.name, value, actions=actions), value, actions)


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
