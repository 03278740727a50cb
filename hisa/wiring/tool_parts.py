"""The tools of a run: the installed and allowed ones, and those of servers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase

from hisa.config import ToolSettings
from hisa.errors import ConfigError
from hisa.events import Noted
from hisa.machine import plugins
from hisa.protocols import Emit
from hisa.tools.base import BaseTool
from hisa.tools.registry import discover

__all__ = ["allowed_tools", "open_served_tools"]


def allowed_tools(settings: ToolSettings, more: Iterable[BaseTool] = ()) -> list[BaseTool]:
    """Returns the built-in tools, and the other tools that ``tools.allow`` names."""
    listed = (*discover()[0], *more)
    patterns = settings.allow
    return [
        tool
        for tool in listed
        if tool.always or any(fnmatchcase(tool.name, pattern) for pattern in patterns)
    ]


@asynccontextmanager
async def open_served_tools(
    settings: ToolSettings, emit: Emit
) -> AsyncIterator[Sequence[BaseTool]]:
    """Yields the tools of the servers that the settings name and that ``tools.allow`` may allow.

    Raises:
        LibraryLacking: a required library is not installed.
        ConfigError: a server cannot be reached, or no package opens servers.
        PluginFailed: the package that opens servers fails.
    """
    servers = settings.mcp
    if not servers or not settings.allow:
        yield ()
        return
    point = plugins.find("tools", "mcp")
    if point is None:
        raise ConfigError(
            f"tools.mcp names {', '.join(servers)}, but no installed package opens servers: none "
            "announces 'mcp' in hisa.tools",
            fix="omit tools.mcp, or run hisa doctor",
        )

    def note(text: str) -> None:
        emit(Noted(where="mcp", text=text))

    reserved = {tool.name for tool in discover()[0]} | {"tool_help"}
    announced = plugins.load("tools", point)
    with plugins.blaming_package("tools", point):
        open_tools = announced.load()
    async with open_tools(servers, note, reserved=reserved) as tools:
        yield tools
