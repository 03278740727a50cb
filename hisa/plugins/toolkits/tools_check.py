"""``hisa tools check``: what models read of tools, validated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import click

from hisa.actions.effects import EFFECTS
from hisa.cli.out import json_option, print_json, say, say_error
from hisa.errors import InvalidReply
from hisa.models.tokens import estimate_tokens
from hisa.plugins.toolkits.tools_chosen import as_object, chosen_tools
from hisa.tools.base import BaseTool
from hisa.tools.offer import SUMMARY_CHARACTERS, offered_line

__all__ = ["ToolCheck", "check_tool", "check_tools"]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
"""Names that every server takes as that of a function."""


@dataclass(frozen=True)
class ToolCheck:
    """What is to be said of one tool."""

    name: str
    source: str
    problems: tuple[str, ...]
    """What is wrong; empty where nothing is."""
    tokens: int
    """What it takes in a prompt, by estimate."""


@click.command("check")
@click.argument("which", metavar="[NAME]", default="")
@json_option
@click.pass_context
def check_tools(ctx: click.Context, /, which: str, as_json: bool) -> None:
    """Check what models read of tools: names, first lines, types, examples, needs and effects.

    NAME is an installed tool, a toolkit or a pattern; without one, every tool that no part of HiSA
    itself brings is checked. Nothing is called. Exit status 1: something is wrong.

    \b
    hisa tools check word_count
    hisa tools check "calc_*"
    """
    tools, broken = chosen_tools(which)
    checks = list(map(check_tool, tools))
    if as_json:
        print_json({"tools": list(map(asdict, checks)), "broken": list(map(asdict, broken))})
    else:
        for check in checks:
            state = "FAILED" if check.problems else "ok"
            say(f"{state:<8}{check.name}  ({check.tokens} tokens in a prompt, by estimate)")
            for problem in check.problems:
                say(f"        wrong: {problem}")
        if not checks:
            say("no tool of another package is installed; name a tool or a toolkit")
        for plugin in broken:
            say_error(f"{plugin.name} ({plugin.source}) failed to load:\n{plugin.traceback}")
    ctx.exit(1 if broken or any(check.problems for check in checks) else 0)


def check_tool(tool: BaseTool) -> ToolCheck:
    """Check a description, its examples included, without calling anything."""
    shown = tool.describe() if tool.always else offered_line(tool)
    return ToolCheck(tool.name, tool.source, tuple(_problems(tool)), estimate_tokens(shown))


def _problems(tool: BaseTool) -> Iterator[str]:
    if not _NAME.fullmatch(tool.name):
        yield f"name {tool.name!r}: letters, digits, _ and - alone, at most 64, a letter first"
    first = tool.summary.strip().rstrip(".")
    if not first:
        yield "no first line: it is what a model sees first"
    elif len(first) > SUMMARY_CHARACTERS and not tool.always:
        yield (
            f"first line has {len(first)} characters: prompts show {SUMMARY_CHARACTERS}, so say "
            "what the tool does in one clause and the rest below"
        )
    typed = {"type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"}
    for name, field in tool.parameters.get("properties", {}).items():
        if not typed & set(field):
            yield f"argument {name!r}: any value fits; give it a type"
    yield from _wrong_traits(tool)
    yield from _wrong_examples(tool)


def _wrong_traits(tool: BaseTool) -> Iterator[str]:
    for app in tool.traits.needs.apps:
        if app != app.lower() or not app.strip():
            yield f"needs the application {app!r}: classes of windows are compared in small letters"
    for effect in sorted(set(tool.traits.effects) - set(EFFECTS)):
        yield f"effect {effect!r}: there are {', '.join(EFFECTS)}"
    if tool.traits.reads and tool.traits.effects:
        yield f"it only reads, and may {', '.join(tool.traits.effects)}: one of both is wrong"


def _wrong_examples(tool: BaseTool) -> Iterator[str]:
    for line in tool.examples:
        given = as_object(line)
        if given is None and not tool.takes_text:
            yield f"example {line[:200]}: no JSON object, and {tool.name} takes several values"
            continue
        try:
            tool.arguments(line if given is None else given)
        except InvalidReply as error:
            yield f"example {line}: {error}"
