"""Serves one MCP client over standard input and output."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

from hisa.config import Settings
from hisa.plugins.mcp.mcp_tasks import TaskRuns
from hisa.version import __version__

__all__ = ["serve_client"]

_INSTRUCTIONS = """HiSA operates computers through their screens. run_task has an agent do a task on
a desktop of its own, and reports each step as progress; cancelling it stops the run, whose folder
is kept."""
_WORKS = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=True)


async def serve_client(settings: Settings) -> None:
    """Serve until the client is gone or a signal comes; then stop the runs, and keep their folders.

    Args:
        settings: those of all runs; clients can only lower the limit of steps.
    """
    runs = TaskRuns(settings)
    server: MCPServer[object] = MCPServer(
        "hisa", instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING"
    )
    server.add_tool(runs.run_task, annotations=_WORKS)
    loop = asyncio.get_running_loop()
    stop: asyncio.Future[int] = loop.create_future()

    def request_stop(number: int) -> None:
        if not stop.done():
            stop.set_result(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, request_stop, number)
    # The package's own standard output is for the protocol alone; prints go to standard error.
    serving = asyncio.create_task(server.run_stdio_async())
    waits: list[asyncio.Future[Any]] = [serving, stop]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    await runs.close()
    if stop.done():
        os._exit(128 + stop.result())  # a thread waits for standard input, and cannot be ended
    serving.result()
