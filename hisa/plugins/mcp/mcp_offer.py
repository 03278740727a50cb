"""The tool that ``hisa mcp serve`` offers, and the limits of what clients may use."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

from hisa.config import Settings
from hisa.plugins.mcp.mcp_allowed import chosen
from hisa.plugins.mcp.mcp_tasks import TaskRuns
from hisa.version import __version__

__all__ = ["Offer"]

_INSTRUCTIONS = """HiSA operates computers through their screens. run_task has an agent do a task on
a desktop of its own, and tells of each step as progress; cancelling it stops the run, whose folder
is kept."""
_WORKS = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=True)


class Offer:
    """HiSA as a server, with the runs that clients have asked for.

    Args:
        settings: the effective settings; clients can change none but those that the tool names.
        allow_env: patterns of environments that clients may use, besides private desktops.
        tasks: the folder of the task files that they may name; None: they may name none.
    """

    def __init__(
        self, settings: Settings, allow_env: Sequence[str] = (), tasks: Path | None = None
    ) -> None:
        self._runs = TaskRuns(partial(chosen, settings, allow_env), tasks)
        self.server: MCPServer[object] = MCPServer(
            "hisa", instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING"
        )
        self.server.add_tool(self._runs.run_task, annotations=_WORKS)

    async def close(self) -> None:
        """Stop the runs, which are kept."""
        await self._runs.close()
