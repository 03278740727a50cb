"""``hisa tools check``: descriptions validated, examples executed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from hisa.cli.out import json_option, print_json, say, say_error
from hisa.errors import UsageError

if TYPE_CHECKING:
    from hisa.config import EnvironmentSettings, TaskSettings
    from hisa.plugins.toolkits.checking import ToolCheck
    from hisa.protocols import Task
    from hisa.tools.base import BaseTool

__all__ = ["check_tools"]

_TASK = "Bring each fresh desktop to the initial state of this task file."


@click.command("check")
@click.argument("which", metavar="[NAME|PATH]", default="")
@click.option("--task", "task_file", metavar="FILE", help=_TASK)
@click.option("--env", metavar="KIND", help="Where to run examples; it has to be thrown away.")
@click.option("--run/--no-run", "execute", default=True, help="Execute the examples, or not.")
@json_option
@click.pass_context
def check_tools(
    ctx: click.Context, /, which: str, task_file: str | None, env: str | None, **how: bool
) -> None:
    """Check tools: what models read of them, and the examples in it, by executing those.

    NAME is a tool, a toolkit or a pattern; PATH the folder of a package that announces tools,
    installed or not. Without either, every tool that no part of HiSA itself brings is checked.
    Examples run on a fresh private desktop. Exit status 1: something is wrong.

    \b
    hisa tools check ./word-count
    hisa tools check word_count --no-run
    hisa tools check "calc_*" --task sheet.yaml
    """
    from hisa.plugins.toolkits.tools_chosen import chosen_tools, initial_task

    tools, others, broken = chosen_tools(which)
    machine = ctx.obj.environment.model_copy(update={"kind": env} if env else {})
    task = initial_task(task_file) if task_file else None
    checks = asyncio.run(
        _checked(tools, others, machine, ctx.obj.tasks, task, execute=how["execute"])
    )
    if how["as_json"]:
        print_json(
            {
                "tools": [{**asdict(check), "ok": check.ok} for check in checks],
                "broken": [asdict(each) for each in broken],
            }
        )
    else:
        for line in _lines(checks):
            say(line)
        for plugin in broken:
            say_error(f"{plugin.name} ({plugin.source}) failed to load:\n{plugin.traceback}")
    ctx.exit(1 if broken or not all(check.ok for check in checks) else 0)


async def _checked(
    tools: Sequence[BaseTool],
    others: Sequence[BaseTool],
    machine: EnvironmentSettings,
    tasks: TaskSettings,
    task: Task | None,
    *,
    execute: bool,
) -> list[ToolCheck]:
    from hisa.plugins.toolkits.checking import check_tool, run_examples

    taken = [tool.name for tool in others]
    checks = [check_tool(tool, taken) for tool in tools]
    tried = [t for t, c in zip(tools, checks, strict=True) if c.examples and not c.problems]
    if not execute or not tried:
        return checks
    from hisa.plugins.toolkits.no_machine import NoMachine

    if not any(tool.uses_machine for tool in tried):

        async def nothing(_: object) -> None: ...

        return await run_examples(tools, checks, NoMachine(), prepare=nothing)
    from hisa.environments.open_environment import open_environment
    from hisa.tasks.scorer import TaskScorer

    async with open_environment(machine) as environment:
        if "throw_away" not in environment.capabilities:
            raise UsageError(
                f"environment {environment.name!r} keeps what an example does to it",
                fix="leave --env out, or give --no-run",
            )
        scorer = TaskScorer(settings=tasks)

        async def prepare(_: object) -> None:
            if task is not None:
                await scorer.prepare(task, environment)

        return await run_examples(tools, checks, environment, prepare=prepare)


def _lines(checks: Sequence[ToolCheck]) -> Iterator[str]:
    if not checks:
        yield "no tool of another package loads here; name a tool, a toolkit or a folder"
        return
    for check in checks:
        cost = f"{check.line_tokens} tokens in a prompt, {check.whole_tokens} with all of it"
        yield f"{'ok' if check.ok else 'FAILED':<8}{check.name}  ({cost}, by estimate)"
        yield from (f"        wrong: {problem}" for problem in check.problems)
        yield from (f"        note: {note}" for note in check.notes)
        for each in check.examples:
            yield f"        example {each.input}: {each.state}{f': {each.said}' * bool(each.said)}"
    failed = sum(not check.ok for check in checks)
    runs = [each.state for check in checks for each in check.examples]
    counted = ", ".join(f"{runs.count(s)} {s}" for s in ("ok", "failed", "not run") if s in runs)
    yield f"{len(checks)} tools, {failed} failed; examples: {counted or 'none'}"
