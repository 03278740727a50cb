"""Opens the tools of the servers in the settings, for as long as a run lasts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from hisa.config.tool_settings import McpServerSettings
from hisa.errors import LibraryLacking
from hisa.machine.parts import install_command, list_missing
from hisa.plugins.mcp.client.mcp_schema import UnusableSchema
from hisa.plugins.mcp.client.mcp_tool import ListedTool, McpTool, local_names, takes
from hisa.text.prompt_text import excerpt

if TYPE_CHECKING:
    from hisa.plugins.mcp.client.mcp_connection import Connection

__all__ = ["open_mcp_tools", "require_mcp"]

_NAMED = 5
"""Most tools that one note names; chosen by hand."""


def require_mcp() -> None:
    """Refuse to go on without the ``mcp`` package.

    Raises:
        LibraryLacking: it is not installed.
    """
    if list_missing("mcp"):
        raise LibraryLacking(
            "servers of tools need the package mcp, which is not installed",
            fix=install_command("mcp"),
        )


@asynccontextmanager
async def open_mcp_tools(
    servers: Mapping[str, McpServerSettings],
    note: Callable[[str], None],
    *,
    reserved: Collection[str] = (),
) -> AsyncIterator[list[McpTool]]:
    """Yields the tools of all servers, and stays connected to these meanwhile.

    Args:
        servers: the settings of the servers, by name.
        note: takes a line that a reader of the run should know: on tools that are left out, or a
            server that ends during the run.
        reserved: names that tools of servers cannot have.

    Raises:
        LibraryLacking: the ``mcp`` package is not installed.
        ConfigError: a server cannot be reached.
    """
    if not servers:
        yield []
        return
    require_mcp()
    from hisa.plugins.mcp.client.mcp_connection import Connection  # imports the whole protocol

    connections = [Connection(name, settings, note) for name, settings in servers.items()]
    try:
        tasks = [asyncio.create_task(connection.open()) for connection in connections]
        try:
            await asyncio.wait(tasks)
        finally:
            for task in tasks:
                task.cancel()
            opened = await asyncio.gather(*tasks, return_exceptions=True)
        tools: list[McpTool] = []
        for connection, listed in zip(connections, opened, strict=True):
            if isinstance(listed, BaseException):
                raise listed
            tools += _tools(connection, listed, servers[connection.name], note, reserved)
        yield tools
    finally:
        await asyncio.gather(*(connection.close() for connection in connections))


def _tools(
    connection: Connection,
    listed: list[ListedTool],
    settings: McpServerSettings,
    note: Callable[[str], None],
    reserved: Collection[str],
) -> list[McpTool]:
    """The tools of one server that are taken; the others are noted."""
    chosen = [tool for tool in listed if takes(settings, tool.name)]
    names = local_names(connection.name, (tool.name for tool in chosen))
    tools, left_out = [], []
    for tool in chosen:
        try:
            if names[tool.name] in reserved:
                raise UnusableSchema(f"another tool is called {names[tool.name]!r}")
            tools.append(
                McpTool(
                    tool,
                    name=names[tool.name],
                    server=connection.name,
                    settings=settings,
                    call=connection.call,
                )
            )
        except UnusableSchema as error:
            left_out.append(f"{excerpt(tool.name, 60)!r}: {error}")
    if left_out:
        more = len(left_out) - _NAMED
        text = "; ".join([*left_out[:_NAMED], *([f"and {more} more"] if more > 0 else [])])
        note(f"tools of the server {connection.name!r} are left out: {text}")
    if not tools:
        note(f"no tool of the server {connection.name!r} is taken")
    return tools
