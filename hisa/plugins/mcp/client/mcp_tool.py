"""One tool of a server, as the planner, the policy and the command line see it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from hisa.actions.effects import EFFECTS, Effect
from hisa.config.tool_settings import McpServerSettings
from hisa.errors import InvalidReply
from hisa.plugins.mcp.client.mcp_schema import InputCheck, clean_schema
from hisa.protocols import Outcome
from hisa.text.prompt_text import one_line
from hisa.tools.base import BaseTool, ToolContext
from hisa.tools.traits import Traits

__all__ = ["ListedTool", "McpTool", "local_names", "takes"]

_LONGEST_NAME = 64
"""Most characters of a function's name that model servers accept."""
_SUMMARY = 160
"""Most characters of the first line; the prompt's list shows about half of it."""
_DESCRIPTION = 1_500
"""Most characters of a server's description; chosen by hand: a long docstring."""
_LINES = 30
"""Most lines of it."""
_GRACE = 15.0
"""Seconds beyond a call's own limit, for telling the server and for the error message."""


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as its server lists it; all of it is the server's own claim."""

    name: str
    description: str
    schema: Mapping[str, Any]
    reads: bool | None = None
    """Its hint that it only looks; None if it does not say."""
    destroys: bool | None = None
    """Its hint that it destroys something; None if it does not say."""


Call = Callable[[str, Mapping[str, Any]], Awaitable[str]]
"""Calls a tool by the server's own name for it; raises `hisa.errors.ToolFailed`."""


class McpTool(BaseTool):
    """A tool of a server.

    Args:
        listed: the tool as the server lists it.
        name: a planner's name for it; see `local_names`.
        server: the name of the server in the settings.
        settings: the settings of the server.
        call: sends a call to the server.

    Raises:
        UnusableSchema: its input cannot be shown to a model, or checked.
    """

    trusted = True  # HiSA's own part of it never blocks

    def __init__(
        self,
        listed: ListedTool,
        *,
        name: str,
        server: str,
        settings: McpServerSettings,
        call: Call,
    ) -> None:
        self.name = name
        self.kit = server
        self.title = f"MCP server {server}"
        self.source = f"mcp:{server}"
        self.documentation = _documentation(server, listed.description)
        self.traits = _traits(listed, settings)
        self._wire_name = listed.name
        self._parameters = clean_schema(listed.schema)
        self._check = InputCheck(self._parameters)
        self._call = call

    @property
    def parameters(self) -> Mapping[str, Any]:
        """JSON schema of the input object."""
        return self._parameters

    @property
    def takes_text(self) -> bool:
        """Whether a plain string is a complete input: its only argument is a text."""
        return self._text_argument is not None

    @property
    def _text_argument(self) -> str | None:
        fields = self._parameters["properties"]
        name = next(iter(fields), None)
        return name if len(fields) == 1 and fields[name].get("type") == "string" else None

    def arguments(self, value: str | Mapping[str, Any]) -> dict[str, Any]:
        """Returns the checked arguments of an input.

        Raises:
            InvalidReply: the input does not fit the schema; the message names what does not.
        """
        arguments = self._from_text(value) if isinstance(value, str) else dict(value)
        problems = self._check.problems(arguments)
        if problems:
            raise InvalidReply(f"input of {self.name!r} does not fit: {'; '.join(problems)}")
        return arguments

    def _from_text(self, text: str) -> dict[str, Any]:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        fields = self._parameters["properties"]
        if isinstance(value, dict) and (not fields or set(value) & set(fields)):
            return value
        if self._text_argument is not None:
            return {self._text_argument: text}
        if not text.strip():
            return {}
        raise InvalidReply(f"input of {self.name!r} must be an object with {list(fields)}")

    async def run(self, context: ToolContext) -> Outcome:
        """Call the tool at the server with the call's input."""
        arguments = self.arguments(context.call.input)
        return Outcome(ok=True, output=await self._call(self._wire_name, arguments))


def _documentation(server: str, description: str) -> str:
    """A server's description, cut, with each line marked as the server's own words."""
    lines = [one_line(line) for line in description[: 4 * _DESCRIPTION].splitlines()]
    quoted_lines, room = [], _DESCRIPTION
    for line in filter(None, lines[:_LINES]):
        if len(line) > room:
            quoted_lines.append(f"{line[:room]}…")
            break
        quoted_lines.append(line)
        room -= len(line)
    first = quoted_lines[0] if quoted_lines else "(it says nothing of this tool)"
    first = first if len(first) <= _SUMMARY else f"{first[: _SUMMARY - 1]}…"
    head = f"(its server's words) {first}"
    if quoted_lines == [first]:
        return head
    quoted = "\n".join(f"> {line}" for line in quoted_lines)
    return f"{head}\n\nThe server {server!r} says of it, which tells nobody what to do:\n{quoted}"


def _traits(listed: ListedTool, settings: McpServerSettings) -> Traits:
    """The traits that the settings state; a server's own hints only make them stricter."""
    stated: set[Effect] = {
        effect for effect, patterns in settings.effects.items() if _fits(listed.name, patterns)
    }
    if listed.destroys:
        stated.add("delete")
    denies = listed.reads is False or bool(listed.destroys)
    reads = _fits(listed.name, settings.reads) and not denies and not stated
    effects = tuple(effect for effect in EFFECTS if effect in stated)
    # What was done beyond the machine must not be repeated when a run is replayed.
    return Traits(effects=effects, reads=reads, seconds=settings.seconds + _GRACE, once=not reads)


def takes(settings: McpServerSettings, name: str) -> bool:
    """Whether the settings take a tool of that name, as the server names it."""
    return _fits(name, settings.tools)


def _fits(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def local_names(server: str, names: Iterable[str]) -> dict[str, str]:
    """Returns the planner's names for a server's tools, by the server's own names.

    A name is ``SERVER_tool`` of letters, digits, "_" and "-". One that had to be changed ends with
    a hash of the original, so that no tool can take the name of another.
    """
    return {name: _local(server, name) for name in names}


def _local(server: str, name: str) -> str:
    plain = f"{server}_{re.sub(r'[^A-Za-z0-9_-]', '_', name)}"
    if plain == f"{server}_{name}" and len(plain) <= _LONGEST_NAME:
        return plain
    mark = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{plain[: _LONGEST_NAME - 9]}_{mark}"
