"""``hisa tools``: lists and shows the tools that a planner may call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.open_group import OpenGroup
from hisa.cli.out import json_option, print_json, say
from hisa.errors import UsageError
from hisa.text.safe_text import safe_text

if TYPE_CHECKING:
    from hisa.tools.base import BaseTool

__all__ = ["refuse_path", "tools"]

_MANY = 40
"""With more tools than this, the error for an unknown name lists only similar names."""


@click.group(cls=OpenGroup, prefix="tools.")
def tools() -> None:
    """List, show, run, check, write and build the tools that a planner may call.

    A tool is a typed function with a docstring, announced by its package in the entry-point group
    "hisa.tools".

    \b
    hisa tools ls
    hisa tools ls --kit calc
    hisa tools show bash_execution
    hisa tools new word-count
    hisa tools check word_count
    hisa tools run word_count path=/etc/os-release
    """


@tools.command("ls")
@click.option("--kit", default="", metavar="NAME", help="Only this toolkit.")
@json_option
def list_tools(kit: str, as_json: bool) -> None:
    """List the tools by toolkit, and the plug-ins that failed to load.

    \b
    hisa tools ls
    hisa tools ls --kit files
    """
    from hisa.tools.registry import discover

    tools, broken = discover()
    chosen = [tool for tool in tools if not kit or tool.kit == kit]
    if as_json:
        bad = [{"name": b.name, "source": b.source, "traceback": b.traceback} for b in broken]
        print_json({"tools": [_record(tool) for tool in chosen], "broken": bad})
        return
    if not chosen and kit:
        kits = ", ".join(sorted({tool.kit for tool in tools if tool.kit})) or "none"
        raise UsageError(f"no toolkit {kit!r}; toolkits: {kits}", fix="hisa tools ls")
    group = ""
    for tool in sorted(chosen, key=lambda tool: (not tool.always, tool.kit, tool.name)):
        title = "built in" if tool.always else tool.kit or "tools by themselves"
        if title != group:
            say(
                f"{title} ({tool.title}, {tool.source}{_describe_needs(tool)})"
                if tool.kit
                else title
            )
        group = title
        say(_row(tool))
    for plugin in broken:
        reason = plugin.traceback.strip().splitlines()[-1]
        say(f"{plugin.name:<16} {plugin.source:<20} FAILED TO LOAD: {reason}", err=True)
        click.echo(f"  try: hisa tools show {plugin.name}", err=True)


def _record(tool: BaseTool) -> Mapping[str, Any]:
    needs = tool.traits.needs
    return {
        "name": tool.name,
        "source": tool.source,
        "kit": tool.kit,
        "title": tool.title,
        "summary": tool.summary,
        "needs": {
            "capabilities": sorted(needs.capabilities),
            "apps": list(needs.apps),
        },
        "effects": list(tool.traits.effects),
        "reads": tool.traits.reads,
        "seconds": tool.traits.seconds,
        "schema": tool.parameters,
    }


def _describe_needs(tool: BaseTool) -> str:
    """Returns a tool's needs as the end of a line; empty if it needs nothing."""
    needs = tool.traits.needs
    parts = [f"needs {' or '.join(needs.apps)} in front"] * bool(needs.apps)
    parts += [f"needs {', '.join(sorted(needs.capabilities))}"] * bool(needs.capabilities)
    return "".join(f"; {part}" for part in parts)


def _row(tool: BaseTool) -> str:
    marks = ["reads"] * tool.traits.reads + [f"may {effect}" for effect in tool.traits.effects]
    details = "; ".join(marks) + ("" if tool.kit else _describe_needs(tool))
    details = f"  [{details.removeprefix('; ')}]" if details else ""
    return f"  {tool.name:<24}  {tool.summary.rstrip('.')}{details}"


def refuse_path(name: str) -> None:
    """Raises UsageError if a path was given instead of a tool's name."""
    if "/" in name:
        raise UsageError(f"{name[:80]!r} is a path, not a tool's name", fix="hisa tools ls")


@tools.command("show")
@click.argument("name")
@json_option
def show_tool(name: str, as_json: bool) -> None:
    """Show one tool as a model reads it, or why it failed to load."""
    from hisa.tools.registry import discover

    tools, broken = discover()
    for plugin in broken:
        if plugin.name == name:
            raise UsageError(f"tool {name!r} ({plugin.source}) failed to load:\n{plugin.traceback}")
    for tool in tools:
        if tool.name == name:
            record = {"name": tool.name, "source": tool.source, "schema": tool.parameters}
            click.echo(json.dumps(record, indent=2) if as_json else safe_text(tool.describe()))
            return
    refuse_path(name)
    names = sorted(tool.name for tool in tools)
    always = [tool.name for tool in tools if tool.always]
    near = names if len(names) <= _MANY else sorted({*always, *get_close_matches(name, names, n=5)})
    raise UsageError(f"no tool {name!r}; known: {', '.join(near)}", fix="hisa tools ls")
