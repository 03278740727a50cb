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
    """Call it on a machine as it is now; a failure of the tool is an outcome.

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
        InvalidReply: a GUI action that cannot be read, or whose place would have to be found first.
    """
    if tool.name != "gui_action" or not tool.always or not isinstance(value, str):
        return GroundedCall(ToolCall("", tool.name, value), value)
    actions = parse(value)
    if slots(actions):
        raise InvalidReply("X_COORD is found by a grounder, in a run; here, give numbers")
    return GroundedCall(ToolCall("", tool.name, value, actions=actions), value, actions)
