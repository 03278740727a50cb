"""Calls one tool by itself, within its limits: for the command line and for checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hisa.actions import parse, slots
from hisa.errors import InvalidReply
from hisa.protocols import Environment, GroundedCall, Outcome, ToolCall
from hisa.tools.base import BaseTool
from hisa.tools.registry import ToolRegistry

__all__ = ["build_grounded_call", "call_tool"]

Input = str | Mapping[str, Any]


async def call_tool(tool: BaseTool, value: Input, environment: Environment) -> Outcome:
    """Call a tool on a machine as it is now; a failure of the tool is an outcome.

    Args:
        tool: the tool.
        value: its input: an object, or a string if it takes one.
        environment: the machine.

    Raises:
        InvalidReply: the input does not fit, or the machine lacks what the tool needs.
        EnvironmentFailed: the machine broke.
    """
    registry = ToolRegistry([tool], capabilities=environment.capabilities)
    call = build_grounded_call(tool, value)
    registry.check(call.call)
    return await registry.execute(call, await environment.observe(), environment)


def build_grounded_call(tool: BaseTool, value: Input) -> GroundedCall:
    """Returns the call of a tool with that input.

    Raises:
        InvalidReply: a GUI action cannot be parsed, or needs a grounder to find its place.
    """
    if tool.name != "gui_action" or not tool.always or not isinstance(value, str):
        return GroundedCall(ToolCall("", tool.name, value), value)
    actions = parse(value)
    if slots(actions):
        raise InvalidReply("X_COORD needs a grounder, which only a run has; give numbers here")
    return GroundedCall(ToolCall("", tool.name, value, actions=actions), value, actions)
