"""The registry of tools: built-ins and plug-ins from the entry-point group ``hisa.tools``."""

from __future__ import annotations

import asyncio
import difflib
import json
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from typing import Any

from hisa.config import OFFERED_TOKENS
from hisa.errors import (
    ActionRefused,
    EnvironmentFailed,
    InvalidReply,
    PluginFailed,
    ScreenChanged,
    ToolFailed,
)
from hisa.machine.patience import patience
from hisa.machine.plugins import OpenedTools, blaming_package, points, source
from hisa.models.tokens import estimate_tokens
from hisa.protocols import Environment, GroundedCall, Outcome, Task, ToolCall
from hisa.screen.observation import Observation
from hisa.tools.base import BaseTool, Tool, ToolContext
from hisa.tools.isolation import run_isolated, shorten_output
from hisa.tools.offer import (
    TOOLS_ESTIMATE,
    best,
    fits_of,
    fitting,
    in_front,
    likeliest,
    offered_text,
    safe_signature,
)
from hisa.tools.person import Person
from hisa.tools.toolkit import Toolkit

__all__ = ["BrokenPlugin", "ToolRegistry", "discover", "load_tools"]


@dataclass(frozen=True)
class BrokenPlugin:
    """A plug-in that could not be loaded, with the original traceback."""

    name: str
    source: str
    traceback: str


def load_tools(point: EntryPoint) -> tuple[Tool, ...]:
    """Load the tools of an entry point: those of a toolkit, or of one function.

    Tools that are opened with a run are not among them.

    Raises:
        PluginFailed: the entry point cannot be loaded; names the package.
    """
    with blaming_package("tools", point):
        plugin = point.load()
        if isinstance(plugin, Toolkit):
            return plugin.tools(source(point))
        if isinstance(plugin, OpenedTools):
            return ()
        tool = Tool(plugin, source=source(point))
    tool.name = point.name
    return (tool,)


def discover() -> tuple[list[Tool], list[BrokenPlugin]]:
    """Returns all installed tools, built-ins included, and the plug-ins that failed to load."""
    tools: dict[str, Tool] = {}
    broken = []
    for point in points("tools"):  # ours come first, so that no plug-in can take a built-in's name
        try:
            for tool in load_tools(point):
                tools.setdefault(tool.name, tool)
        except PluginFailed as error:
            text = "".join(traceback.format_exception(error.__cause__ or error))
            broken.append(BrokenPlugin(point.name, point.value, text))
    return list(tools.values()), broken


_NEAREST = 8
"""Most names that an error for an unknown name lists besides the built-ins."""
_FEW = 16
"""With so many tools or fewer, such an error lists all."""
_OTHERS = 4
"""Most tools named besides the built-ins if one should not be called; chosen by hand."""
_FUNCTION_TOKENS = 1200
"""Most tokens of the functions that a step adds to the built-ins: about six."""
_LEAST_FUNCTION = 100
"""Tokens of a function with one argument."""
_FITTING = 5
"""Most tools that a small model is offered."""
_ACTING = frozenset(
    {"gui_action", "termination", "infeasible", "wait", "tool_help"}
    | {"click", "type", "press", "scroll", "drag", "fill", "check"}
)
"""Tools that a small model does not need, because it has actions of its own for them."""
_HELPED = 3
"""Most tools that `tool_help` describes in full."""


class ToolRegistry:
    """The tools of one run; see `hisa.protocols.Toolbox`.

    Args:
        tools: the tools; None: all that are installed.
        capabilities: capabilities of the run's environment; tools that need others are left out.
        person: the person who can be asked; adds the capability "person".
    """

    def __init__(
        self,
        tools: Iterable[BaseTool] | None = None,
        *,
        capabilities: Iterable[str] = ("elements", "execute"),
        person: Person | None = None,
    ) -> None:
        listed = list(discover()[0] if tools is None else tools)
        able = frozenset(capabilities) | ({"person"} if person else set())
        self._person = person
        fitting = [tool for tool in listed if not tool.traits.needs.describe_missing(able)]
        self._tools: dict[str, BaseTool] = {}
        for tool in fitting:
            self._tools.setdefault(tool.name, tool)
        self._lacking = {
            tool.name: tool.traits.needs.describe_missing(able)
            for tool in listed
            if tool.name not in self._tools
        }
        self._further = [tool for tool in self._tools.values() if not tool.always]
        self._help_matches: Sequence[BaseTool] = ()
        self._last_look: tuple[Observation | None, list[BaseTool]] = (None, [])
        if self._further:
            help_ = Tool(self._help_function(), source="hisa")
            self._tools.setdefault(help_.name, help_)
        described = estimate_tokens(self.describe()) + 1
        self._room = min(OFFERED_TOKENS, TOOLS_ESTIMATE - described)

    def _offered_on(self, observation: Observation) -> list[BaseTool]:
        """Returns the further tools that a look offers, computed once per look."""
        if self._last_look[0] is not observation:
            self._last_look = observation, in_front(self._further, observation)
        return self._last_look[1]

    def _likeliest(self, listed: Sequence[BaseTool], scores: Sequence[float]) -> Sequence[BaseTool]:
        """Returns the tools in the order of a prompt, the last matches of `tool_help` first."""
        first = [tool for tool in self._help_matches if tool in self._further]
        return [*first, *(tool for tool in likeliest(listed, scores) if tool not in first)]

    def others(self, name: str, observation: Observation | None = None) -> list[str]:
        """Returns names of a few tools to use instead of one: built-ins, then offered ones."""
        more = (self._further if observation is None else self._offered_on(observation))[:_OTHERS]
        known = dict.fromkeys((*self.names(), *[tool.name for tool in more]))
        return [tool for tool in known if tool not in {name, "termination", "infeasible"}]

    def describe(self) -> str:
        """Returns the built-in tools as the planner's prompt shows them."""
        return "\n".join(_in_short(self._tools[name]) for name in self.names())

    def names(self) -> tuple[str, ...]:
        """Returns the names of the built-in tools, sorted."""
        return tuple(sorted(name for name, tool in self._tools.items() if tool.always))

    def find(self, name: str) -> BaseTool | None:
        """Returns the tool of a name; None if there is none."""
        return self._tools.get(name)

    def offer(self, task: Task, observation: Observation, /) -> str:
        """See `hisa.protocols.Toolbox.offer`."""
        listed = self._offered_on(observation)
        scores = fits_of(listed, task.instruction)
        return offered_text(self._likeliest(listed, scores), room=self._room)

    def functions(self, task: Task, observation: Observation) -> tuple[Mapping[str, Any], ...]:
        """Returns the tools for this step, without gui_action, as the Responses API takes them.

        The built-ins come first, then as many others as there is room for, the likeliest first.
        """
        names = [name for name in self.names() if name != "gui_action"]
        room = _FUNCTION_TOKENS
        listed = self._offered_on(observation)
        ranked = self._likeliest(listed, fits_of(listed, task.instruction))
        for tool in (self._tools["tool_help"], *ranked) if ranked else ():
            size = estimate_tokens(json.dumps(_function(tool)))
            if size <= room:
                names.append(tool.name)
                room -= size
            if room < _LEAST_FUNCTION:
                break
        return tuple(_function(self._tools[name]) for name in names)

    def fitting(self, task: Task, observation: Observation) -> tuple[Mapping[str, Any], ...]:
        """Returns the few tools that fit the task, in the form of `functions`.

        Tools that a click or a key replaces are left out: a model that names its actions by numbers
        of a list has those actions without a tool.
        """
        available = [*(self._tools[name] for name in self.names()), *self._further]
        tools = [t for t in available if not {t.name, t.name.removeprefix(f"{t.kit}_")} & _ACTING]
        listed = in_front(tools, observation)
        ranked = likeliest(listed, fits_of(listed, task.instruction))
        return tuple(_function(tool) for tool in fitting(ranked, task.instruction, _FITTING))

    def check(self, call: ToolCall, /) -> None:
        """Refuse an unknown name or a wrong input; nothing is executed."""
        tool = self._tools.get(call.tool)
        if tool is None:
            raise InvalidReply(self._unknown(call.tool))
        try:
            tool.arguments(call.input)
        except InvalidReply as error:
            raise InvalidReply(_with_form(tool, str(error))) from error

    def _unknown(self, name: str) -> str:
        if name in self._lacking:
            return f"tool {name!r} cannot be used here: {self._lacking[name]}"
        is_short = len(self._tools) <= _FEW
        near = self._tools if is_short else difflib.get_close_matches(name, self._tools, n=_NEAREST)
        known = sorted({*self.names(), *near})
        return f"unknown tool {name!r}; known: {', '.join(known)}"

    def _help_function(self) -> Callable[[str], str]:
        def tool_help(about: str) -> str:
            """Tell all about a tool, or find tools for a subject.

            The input is a tool's name, or some words on what is to be done.
            """
            named = self._tools.get(about.strip())
            matches = [named] if named else best(self._further, about)
            self._help_matches = matches[:_HELPED]
            descriptions = [tool.describe() for tool in matches[:_HELPED]]
            more = [tool.name for tool in matches[_HELPED : _HELPED + _NEAREST]]
            return "\n\n".join([*descriptions, *(["Also: " + ", ".join(more)] if more else [])])

        return tool_help

    async def execute(
        self, call: GroundedCall, observation: Observation, environment: Environment
    ) -> Outcome:
        """Execute a call; see `hisa.protocols.Toolbox.execute`.

        Args:
            call: the grounded call.
            observation: the look on which it was decided.
            environment: the machine.
        """
        began, started = time.time(), time.monotonic()
        outcome = await self._attempt(ToolContext(call, observation, environment, self._person))
        return replace(outcome, seconds=time.monotonic() - started, began=began)

    async def _attempt(self, context: ToolContext) -> Outcome:
        name = context.call.call.tool
        if (tool := self._tools.get(name)) is None:
            return Outcome(ok=False, error=self._unknown(name))
        try:
            needs = tool.traits.needs
            if needs.apps and not needs.is_open(context.observation):
                return Outcome(ok=False, error=_not_open(tool, context.observation))
            return await _within_limits(tool, context)
        except (EnvironmentFailed, ScreenChanged):  # after ScreenChanged, nothing was done
            raise
        except (ActionRefused, InvalidReply, ToolFailed) as error:
            own = tool.trusted and tool.kit  # only HiSA's toolkits refuse because of the input
            message = _with_form(tool, str(error)) if own else str(error)
            return Outcome(ok=False, error=shorten_output(message))
        except Exception as error:  # noqa: BLE001 - a plug-in may raise anything; the model reads it
            return Outcome(ok=False, error=shorten_output(f"{type(error).__name__}: {error}"))


async def _within_limits(tool: BaseTool, context: ToolContext) -> Outcome:
    """Run a tool within its time limit; built-ins have their own, and plug-ins are isolated."""
    if tool.always:
        return await tool.run(context)
    if tool.trusted:
        outcome = await asyncio.wait_for(tool.run(context), patience(tool.traits.seconds))
        return replace(
            outcome, output=shorten_output(outcome.output), error=shorten_output(outcome.error)
        )
    return await run_isolated(tool, context, seconds=patience(tool.traits.seconds))


def _with_form(tool: BaseTool, error: str) -> str:
    """Returns an error with the form of a call, unless the prompt has it, as for built-ins."""
    return error if tool.always else f"{error}; its form: {safe_signature(tool)}"


def _not_open(tool: BaseTool, observation: Observation) -> str:
    open_apps = ", ".join(sorted({window.app for window in observation.windows})) or "none"
    return f"{tool.name} needs {tool.title or tool.traits.needs.apps[0]} open; open: {open_apps}"


def _in_short(tool: BaseTool) -> str:
    """Returns a tool's description, without a heading if its input is a text."""
    if not tool.takes_text:
        return tool.describe()
    documentation = "\n".join(line for line in tool.documentation.split("\n") if line.strip())
    return f"- {tool.signature()}: {documentation}"


def _function(tool: BaseTool) -> Mapping[str, Any]:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.documentation,
        "parameters": _strip_titles(tool.parameters),
        "strict": False,
    }


def _strip_titles(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a schema without the titles of its fields, which only repeat their names."""
    fields = {
        name: {key: value for key, value in field.items() if key != "title"}
        for name, field in schema.get("properties", {}).items()
    }
    return {**{k: v for k, v in schema.items() if k != "title"}, "properties": fields}
