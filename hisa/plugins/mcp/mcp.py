"""``hisa mcp``: HiSA for clients of the Model Context Protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hisa.cli.out import examples

if TYPE_CHECKING:
    from hisa.config import Settings

__all__ = ["mcp"]

_ALLOW = "An environment that clients may use, besides private desktops; a pattern."


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
        "hisa mcp serve --allow-env vm:office",
    )
)
@click.option("--allow-env", multiple=True, metavar="KIND", help=_ALLOW)
@click.pass_obj
def serve(settings: Settings, *, allow_env: tuple[str, ...]) -> None:
    """Serve HiSA to an MCP client over standard input and output: it has tasks done.

    Clients get private desktops and nothing else, unless --allow-env names more. Models, budgets,
    folders and rules are those of the settings; where these want a person asked, there is nobody,
    and it is not done.
    """
    import asyncio

    from hisa.plugins.mcp.client.open_tools import require_mcp

    require_mcp()
    from hisa.plugins.mcp.mcp_transport import serve_client  # imports the whole protocol

    asyncio.run(serve_client(settings, allow_env))
