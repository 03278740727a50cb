"""``hisa mcp``: HiSA for clients of the Model Context Protocol, and a look at servers of tools."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hisa.cli.open_group import pass_sections
from hisa.cli.out import examples, json_option, print_json, say

if TYPE_CHECKING:
    from hisa.config import Settings, ToolSettings
    from hisa.plugins.mcp.client.mcp_tool import McpTool

__all__ = ["mcp"]

_TASKS = "The folder of the task files that clients may name; without it they may name none."
_ALLOW = "An environment that clients may use, besides private desktops; a pattern."


@click.group(epilog=examples("hisa mcp serve", "hisa mcp tools", "hisa mcp tools time"))
def mcp() -> None:
    """Offer HiSA to MCP clients, and look at the MCP servers of the settings.

    A server of tools is named in hisa.toml, and each run has its tools:

    \b
    [tools.mcp.time]
    command = ["mcp-server-time"]
    """


@mcp.command(
    epilog=examples(
        "hisa mcp serve",
        "hisa mcp serve --tasks .",
        "hisa mcp serve --allow-env vm:office",
    )
)
@click.option("--tasks", type=click.Path(exists=True, file_okay=False, path_type=Path), help=_TASKS)
@click.option("--allow-env", multiple=True, metavar="KIND", help=_ALLOW)
@click.pass_obj
def serve(settings: Settings, *, tasks: Path | None, allow_env: tuple[str, ...]) -> None:
    """Serve HiSA to an MCP client over standard input and output: it has tasks done.

    Clients get private desktops and nothing else, unless --allow-env names more. Models, budgets,
    folders and rules are those of the settings; where these want a person asked, there is nobody,
    and it is not done.
    """
    import asyncio

    from hisa.plugins.mcp.client.open_tools import require_mcp

    require_mcp()
    from hisa.plugins.mcp.mcp_offer import Offer  # imports the whole protocol
    from hisa.plugins.mcp.mcp_transport import serve_client

    asyncio.run(serve_client(Offer(settings, allow_env, tasks)))


@mcp.command("tools", epilog=examples("hisa mcp tools", "hisa mcp tools time --json"))
@click.argument("name", default="")
@json_option
@pass_sections("tools")
def list_tools(settings: ToolSettings, name: str, *, as_json: bool) -> None:
    """Connect to the server NAME of the settings, or to all, and show the tools it offers a run."""
    import asyncio

    from hisa.errors import UsageError

    servers = settings.mcp
    if name and name not in servers:
        known = ", ".join(servers) or "none"
        usable = re.fullmatch(r"[\w-]+", name, re.ASCII)
        what = "" if usable else ": a name is wanted, not a path, command or address"
        raise UsageError(
            f"no server of tools {name!r} in the settings{what}; known: {known}",
            fix=f"add [tools.mcp.{name if usable else 'NAME'}] to hisa.toml, with "
            'command = ["…"] or url = "…"',
        )
    if not servers:
        say('no servers in the settings; add one: [tools.mcp.NAME] with command = ["…"]', err=True)
        return
    tools, notes = asyncio.run(_looked_at(settings, [name] if name else list(servers)))
    if as_json:
        print_json({"tools": [_row(tool) for tool in tools], "notes": notes})
        return
    for tool in tools:
        say(f"{tool.name:<32} {_traits(tool)}\n    {tool.summary}" if not name else _whole(tool))
    for note in notes:
        say(f"note: {note}", err=True)


async def _looked_at(settings: ToolSettings, names: list[str]) -> tuple[list[McpTool], list[str]]:
    from hisa.plugins.mcp.client.open_tools import open_mcp_tools

    notes: list[str] = []
    servers = {name: settings.mcp[name] for name in names}
    async with open_mcp_tools(servers, notes.append) as tools:
        return list(tools), notes


def _whole(tool: McpTool) -> str:
    return f"{tool.describe()}\n{_traits(tool)}\n"


def _traits(tool: McpTool) -> str:
    """Tell what a tool does, by the settings and its server's stricter hints."""
    what = ["only looks"] if tool.traits.reads else [f"may {each}" for each in tool.traits.effects]
    return f"({', '.join(what)})" if what else "(what it does is not said in the settings)"


def _row(tool: McpTool) -> dict[str, object]:
    return {
        "name": tool.name,
        "server": tool.kit,
        "description": tool.documentation,
        "schema": tool.parameters,
        "reads": tool.traits.reads,
        "effects": list(tool.traits.effects),
    }
