"""``hisa tools run``: one call of any tool from the shell."""

from __future__ import annotations

import asyncio
import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.out import print_json, say, say_error
from hisa.errors import ModelFacingError, UsageError

if TYPE_CHECKING:
    from hisa.config import Settings
    from hisa.protocols import Outcome, Task
    from hisa.tools.base import BaseTool

__all__ = ["run_tool"]

_TASK = "Bring the machine to the initial state of this task file first."
_HELP = "Show the tool's own help; without NAME, this one."


@click.command("run", add_help_option=False)
@click.argument("name", required=False)
@click.argument("words", nargs=-1, metavar="[JSON | ARG=VALUE ...]")
@click.option("--env", metavar="KIND", help="Where it acts: by default a fresh private desktop.")
@click.option("--task", "task_file", metavar="FILE", help=_TASK)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("-h", "--help", "help_", is_flag=True, help=_HELP)
@click.pass_context
def run_tool(ctx: click.Context, /, name: str | None, words: tuple[str, ...], **how: Any) -> None:
    """Call a tool, on a fresh private desktop if it needs a machine.

    Its output is printed as a model would read it. Exit status 1: the tool failed.

    \b
    hisa tools run word_count --help
    hisa tools run word_count path=/etc/os-release
    hisa tools run bash_execution "uname -a"
    hisa tools run calc_read '{"cells": "A1:B2"}' --task sheet.yaml
    """
    if name is None:
        if how["help_"]:
            click.echo(ctx.get_help())
            ctx.exit()
        raise UsageError("name a tool", fix="hisa tools ls")
    from hisa.plugins.toolkits.tools_chosen import initial_task, one_tool

    tool = one_tool(name)
    if how["help_"]:
        for line in _help(tool):
            say(line)
        ctx.exit()
    settings: Settings = ctx.obj
    if how["env"]:
        kind = settings.environment.model_copy(update={"kind": how["env"]})
        settings = settings.model_copy(update={"environment": kind})
    task = initial_task(how["task_file"]) if how["task_file"] else None
    try:
        outcome = asyncio.run(_outcome(tool, words, settings, task))
    except ModelFacingError as error:
        raise UsageError(str(error), fix=f"hisa tools run {name} --help") from error
    _print(tool, outcome, as_json=how["as_json"])
    ctx.exit(0 if outcome.ok else 1)


async def _outcome(
    tool: BaseTool, words: tuple[str, ...], settings: Settings, task: Task | None
) -> Outcome:
    from hisa.plugins.toolkits.no_machine import NoMachine
    from hisa.plugins.toolkits.tool_inputs import input_of_words
    from hisa.tools.calling import call_tool, grounded

    value = input_of_words(tool, words)
    if tool.always and isinstance(value, dict) and tool.takes_text:
        value = str(next(iter(value.values()), ""))
    grounded(tool, value)
    tool.arguments(value)  # before a machine starts
    needs = tool.traits.needs
    if not (tool.uses_machine or needs.apps or needs.capabilities or task):
        return await call_tool(tool, value, NoMachine())
    from hisa.environments.open_environment import open_environment
    from hisa.tasks.scorer import TaskScorer

    async with open_environment(settings.environment, settings.run.image_limit) as environment:
        if task is not None:
            await TaskScorer(settings=settings.tasks).prepare(task, environment)
        return await call_tool(tool, value, environment)


def _print(tool: BaseTool, outcome: Outcome, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "tool": tool.name,
                "ok": outcome.ok,
                "output": outcome.output,
                "error": outcome.error,
                "exit_code": outcome.exit_code,
                "seconds": round(outcome.seconds, 3),
            }
        )
        return
    if outcome.output:
        say(outcome.output.rstrip("\n"))
    if outcome.error:
        say_error(outcome.error.rstrip("\n"))
    elif not outcome.ok:
        say_error(f"{tool.name} failed, exit status {outcome.exit_code}")


def _help(tool: BaseTool) -> Iterator[str]:
    """Lines of a tool's help: all from its one description."""
    yield f"Usage: hisa tools run {tool.name} [JSON | ARG=VALUE ...]"
    yield ""
    yield textwrap.indent(tool.documentation.strip(), "  ")
    fields: Mapping[str, Any] = tool.parameters.get("properties", {})
    if fields:
        required = frozenset(tool.parameters.get("required", ()))
        width = max(len(name) for name in fields)
        yield ""
        yield "Arguments:"
        for name, field in fields.items():
            yield f"  {name:<{width}}  {_argument(field, required=name in required)}"
    yield ""
    yield f"  {tool.signature()}"
    for line in _stated(tool):
        yield f"  {line}"


def _argument(field: Mapping[str, Any], *, required: bool) -> str:
    choices = field.get("enum")
    kinds = field.get("type") or " or ".join(
        str(each.get("type", "?")) for each in field.get("anyOf", ())
    )
    kind = " | ".join(map(str, choices)) if choices else str(kinds or "any value")
    told = f": {field['description']}" if field.get("description") else ""
    default = "required" if required else f"by default {json.dumps(field.get('default'))}"
    return f"{kind} ({default}){told}"


def _stated(tool: BaseTool) -> Iterator[str]:
    """Lines on what a tool needs and may do."""
    needs, traits = tool.traits.needs, tool.traits
    if needs.apps:
        yield f"needs in front: {' or '.join(needs.apps)}"
    if needs.capabilities:
        yield f"needs of the machine: {', '.join(sorted(needs.capabilities))}"
    if needs.packages:
        yield f"needs installed: {', '.join(needs.packages)}"
    if traits.reads:
        yield "only reads"
    if traits.effects:
        yield f"may {', '.join(traits.effects)}"
    yield f"time limit {traits.seconds:g} s; from {tool.source or 'a package without a name'}"
