"""``hisa mcp``: HiSA for clients of the Model Context Protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hisa.cli.out import examples
from hisa.errors import UsageError

if TYPE_CHECKING:
    from hisa.config import Settings

__all__ = ["mcp"]

_ENV = "Where runs act; by default on private desktops."


@click.group(epilog=examples("hisa mcp serve"))
def mcp() -> None:
    """Offer HiSA to MCP clients.

    A server of tools is named in hisa.toml, and each run has its tools:

    \b
    [tools.mcp.time]
    command = ["mcp-server-time"]
    """


@mcp.command(
    epilog=examples(
        "hisa mcp serve",
        "hisa mcp serve --env vm:office",
    )
)
@click.option("--env", metavar="KIND", help=_ENV)
@click.pass_obj
def serve(settings: Settings, *, env: str | None) -> None:
    """Serve HiSA to an MCP client over standard input and output, for tasks of the client.

    Clients get private desktops and nothing else, unless --env names another environment. Models,
    budgets, folders and rules are those of the settings. If these want a person asked, there is
    nobody to ask, and the act is not done.
    """
    import asyncio

    from hisa.plugins.mcp.client.open_tools import require_mcp

    require_mcp()
    from hisa.plugins.mcp.mcp_transport import serve_client  # imports the whole protocol

    if env:
        environment = settings.environment.model_copy(update={"kind": env})
        settings = settings.model_copy(update={"environment": environment})
    elif settings.environment.family != "desktop":
        message = f"environment {settings.environment.kind!r} is offered to clients only by --env"
        raise UsageError(message, fix=f"hisa mcp serve --env {settings.environment.kind}")
    asyncio.run(serve_client(settings))
