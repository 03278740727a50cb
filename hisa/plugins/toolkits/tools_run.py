"""``hisa tools run``: one call of any tool from the shell."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.out import print_json, say, say_error
from hisa.environments.open_environment import open_environment
from hisa.errors import InvalidReply, ModelFacingError, UsageError
from hisa.plugins.toolkits.no_machine import NoMachine
from hisa.plugins.toolkits.tool_selection import (
    load_initial_task,
    parse_object,
    require_tool,
    with_kind,
)
from hisa.tasks.scorer import TaskScorer
from hisa.tools.base import BaseTool
from hisa.tools.tool_call import Input, build_grounded_call, call_tool

if TYPE_CHECKING:
    from hisa.config import Settings
    from hisa.protocols import Outcome, Task

__all__ = ["input_of_words", "run_tool"]

_TASK = "Bring the machine to the initial state of this task file first."


@click.command("run")
@click.argument("name")
@click.argument("words", nargs=-1, metavar="[JSON | ARG=VALUE ...]")
@click.option("--env", metavar="KIND", help="Where it acts (default: a fresh private desktop).")
@click.option("--task", "task_file", metavar="FILE", help=_TASK)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def run_tool(ctx: click.Context, /, name: str, words: tuple[str, ...], **options: Any) -> None:
    """Call a tool, on a fresh private desktop if it needs a machine.

    Its output is printed as a model would read it. Exit status 1: the tool failed.

    \b
    hisa tools run word_count path=/etc/os-release
    hisa tools run bash_execution "uname -a"
    hisa tools run calc_read '{"cells": "A1:B2"}' --task sheet.yaml
    """
    tool = require_tool(name)
    settings = with_kind(ctx.obj, options["env"])
    task = load_initial_task(options["task_file"]) if options["task_file"] else None
    try:
        outcome = asyncio.run(_outcome(tool, words, settings, task))
    except ModelFacingError as error:
        raise UsageError(str(error), fix=f"hisa tools show {name}") from error
    _print(tool, outcome, as_json=options["as_json"])
    ctx.exit(0 if outcome.ok else 1)


async def _outcome(
    tool: BaseTool, words: tuple[str, ...], settings: Settings, task: Task | None
) -> Outcome:
    value = input_of_words(tool, words)
    if tool.always and isinstance(value, dict) and tool.takes_text:
        value = str(next(iter(value.values()), ""))
    build_grounded_call(tool, value)
    tool.arguments(value)  # before a machine starts
    needs = tool.traits.needs
    if not (tool.uses_machine or needs.apps or needs.capabilities or task):
        return await call_tool(tool, value, NoMachine())
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


def input_of_words(tool: BaseTool, words: Sequence[str]) -> Input:
    """Returns the input that the words of a command line stand for.

    They are one JSON object, or NAME=VALUE for each argument, or, if the tool takes one text, the
    plain value.

    Raises:
        InvalidReply: the words are none of these.
    """
    if len(words) == 1 and (json_input := parse_object(words[0])) is not None:
        return json_input
    fields: Mapping[str, Any] = tool.parameters.get("properties", {})
    pairs = [word.partition("=") for word in words]
    if all(equals and name in fields for name, equals, _ in pairs):
        return {name: _parse_value(fields[name], text) for name, _, text in pairs}
    if tool.takes_text and len(words) == 1:
        name = next(iter(fields))
        return {name: _parse_value(fields[name], words[0])}
    wrong = next((name for name, equals, _ in pairs if not equals or name not in fields), "")
    raise InvalidReply(
        f"{wrong[:80]!r}: expected one JSON object, or NAME=VALUE with the names "
        f"{', '.join(fields) or '(none: it takes no input)'}"
    )


def _parse_value(field: Mapping[str, Any], text: str) -> Any:
    """Returns the value of an argument: the text itself if text fits, else its JSON value."""
    kinds = {field.get("type"), *(schema.get("type") for schema in field.get("anyOf", ()))}
    if "string" in kinds or kinds == {None}:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
