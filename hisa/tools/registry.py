"""The registry: built-ins and plug-ins come through the entry-point group ``hisa.tools``."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from typing import Any

from hisa.errors import (
    ActionRefused,
    EnvironmentFailed,
    InvalidReply,
    PluginFailed,
    ScreenChanged,
    ToolFailed,
)
from hisa.events import Acted
from hisa.machine.plugins import blaming_package, points, source
from hisa.protocols import Emit, Environment, GroundedCall, Outcome, ToolCall
from hisa.screen.observation import Observation
from hisa.tools.base import Tool, ToolContext

__all__ = ["BrokenPlugin", "ToolRegistry", "discover"]


@dataclass(frozen=True)
class BrokenPlugin:
    """A plug-in that could not be loaded, with the original traceback."""

    name: str
    source: str
    traceback: str


def _load(point: EntryPoint) -> Tool:
    with blaming_package("tools", point):
        tool = Tool(point.load(), source=source(point))
    tool.name = point.name
    return tool


def discover() -> tuple[list[Tool], list[BrokenPlugin]]:
    """All installed tools, built-ins included, and the plug-ins that failed to load."""
    tools: dict[str, Tool] = {}
    broken = []
    for point in points("tools"):  # ours come first, so that no plug-in can take a built-in's name
        try:
            tools.setdefault(point.name, _load(point))
        except PluginFailed as error:
            text = "".join(traceback.format_exception(error.__cause__ or error))
            broken.append(BrokenPlugin(point.name, point.value, text))
    return list(tools.values()), broken


class ToolRegistry:
    """The tools of one run; see `hisa.protocols.Toolbox`.

    Args:
        tools: by default all that are installed.
        emit: gets an `Acted` for each execution.
    """

    def __init__(self, tools: Iterable[Tool] | None = None, *, emit: Emit) -> None:
        self._tools = {tool.name: tool for tool in (discover()[0] if tools is None else tools)}
        self._emit = emit

    def describe(self) -> str:
        """All tools, as the planner's prompt shows them."""
        return "\n\n".join(self._tools[name].describe() for name in self.names())

    def names(self) -> tuple[str, ...]:
        """Known names, sorted."""
        return tuple(sorted(self._tools))

    def functions(self) -> tuple[Mapping[str, Any], ...]:
        """The tools but gui_action, as the Responses API takes them."""
        return tuple(
            {
                "type": "function",
                "name": name,
                "description": self._tools[name].documentation,
                "parameters": dict(self._tools[name].parameters),
                "strict": False,
            }
            for name in self.names()
            if name != "gui_action"
        )

    def check(self, call: ToolCall, /) -> None:
        """Refuse an unknown name or a wrong input; nothing is executed."""
        tool = self._tools.get(call.tool)
        if tool is None:
            raise InvalidReply(f"unknown tool {call.tool!r}; known: {', '.join(self.names())}")
        tool.arguments(call.input)

    async def execute(
        self, call: GroundedCall, observation: Observation, environment: Environment
    ) -> Outcome:
        """Do it; see `hisa.protocols.Toolbox.execute`."""
        began, started = time.time(), time.monotonic()
        outcome = await self._attempt(ToolContext(call, observation, environment))
        outcome = replace(outcome, seconds=time.monotonic() - started, began=began)
        self._emit(
            Acted(
                tool=call.call.tool,
                input=call.input,
                points=tuple((point.x, point.y) for point in outcome.points),
                ok=outcome.ok,
                output=outcome.output,
                error=outcome.error,
                exit_code=outcome.exit_code,
                seconds=outcome.seconds,
                ends=outcome.ends,
            )
        )
        return outcome

    async def _attempt(self, context: ToolContext) -> Outcome:
        try:
            return await self._tools[context.call.call.tool].run(context)
        except (EnvironmentFailed, ScreenChanged):  # of the second, nothing was done
            raise
        except (ActionRefused, InvalidReply, ToolFailed) as error:
            return Outcome(ok=False, error=str(error))
        except Exception as error:  # noqa: BLE001 - a plug-in may raise anything; the model hears it
            return Outcome(ok=False, error=f"{type(error).__name__}: {error}")
