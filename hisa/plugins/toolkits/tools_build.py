"""``hisa tools build`` and ``accept``: tools that a model writes and a person reviews."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.out import say, say_error
from hisa.errors import UsageError
from hisa.text.prompt_text import one_line

if TYPE_CHECKING:
    from hisa.config import Settings
    from hisa.plugins.toolkits.builder.build_records import Build
    from hisa.protocols import Task

__all__ = ["accept_tools", "build_tools"]

_APP = re.compile(r"[a-z][a-z0-9._-]{0,59}")
_TASK = "A task file whose setup opens the application on a fresh desktop."
_ABOUT = "A text that says how programs on the machine reach the application."


@click.command("build")
@click.argument("app")
@click.option("--examples", required=True, metavar="FILE", help="Example tasks, as JSON Lines.")
@click.option("--task", "task_file", required=True, metavar="FILE", help=_TASK)
@click.option("--about", metavar="FILE", help=_ABOUT)
@click.option("--out", metavar="DIR", help="The new review folder (default: APP-review).")
@click.option("--model", metavar="NAME", help="The model that writes plans, tests and programs.")
@click.pass_context
def build_tools(ctx: click.Context, /, app: str, **options: Any) -> None:
    """Let a model write tools for APP, the application's window class in lower case.

    Tests and programs run on the real application, in a private desktop and nowhere else. The
    result is a folder to review; nothing is installed. Exit status 1: no function passed.

    \b
    hisa tools build mousepad --examples tasks.jsonl --task editor.yaml --model gpt-5
    hisa tools accept mousepad-review
    """
    from hisa.plugins.toolkits.tool_selection import load_initial_task

    settings = _select_model(ctx.obj, options["model"])
    if not _APP.fullmatch(app):
        message = f"application {app[:80]!r}: expected its window class in lower case"
        raise UsageError(message, fix="hisa tools build libreoffice-calc …")
    about = _read_text(options["about"])[:20_000] if options["about"] else ""
    builder_arguments = {
        "app": app,
        "about": about,
        "examples": _read_examples(_read_text(options["examples"])),
    }
    task = load_initial_task(options["task_file"])
    folder = Path(options["out"] or f"{app}-review")
    if folder.exists():
        raise UsageError(f"{folder} already exists; it was not changed", fix="--out DIR")
    build = asyncio.run(_run_build(settings, builder_arguments, task, folder))
    say(f"{len(build.passed)} of {len(build.functions)} functions pass")
    for built in build.functions:
        problems = "; ".join(built.failures[-1]) if built.failures else built.given_up
        state = "passed" if built.passed else f"failed: {one_line(problems)}"
        say(f"  {built.described.name}: {state}")
    if build.stopped:
        say(f"ended early: {build.stopped}")
    if build.passed:
        say(f"read the programs, then:\n  hisa tools accept {shlex.quote(str(folder))}")
    ctx.exit(0 if build.passed else 1)


def _select_model(settings: Settings, model: str | None) -> Settings:
    from hisa.models.announced_model import find_announced
    from hisa.models.open_models import require_models

    planner = settings.models.planner.model_copy(update={"model": model} if model else {})
    models = settings.models.model_copy(update={"planner": planner})
    if (announcement := find_announced(planner.model)) is not None and announcement.by_rules:
        message = f"the {planner.model} model follows rules and writes no programs"
        raise UsageError(message, fix="hisa tools build APP … --model NAME")
    require_models(models, settings.planner)
    return settings.model_copy(update={"models": models})


def _read_text(path: str) -> str:
    try:
        return Path(path).read_text("utf-8", "replace")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", fix="name a text file") from error


def _read_examples(text: str) -> list[str]:
    """Returns the instructions of a file that has a JSON object with one on each line."""
    try:
        lines = filter(str.strip, text.splitlines())
        instructions = [str(json.loads(line)["instruction"]) for line in lines]
    except (ValueError, KeyError, TypeError):
        instructions = []
    if not instructions:
        message = (
            "--examples: expected a JSON object with an instruction on each line, at least one"
        )
        raise UsageError(message, fix='{"instruction": "Make the first row bold."}')
    return instructions


async def _run_build(
    settings: Settings, builder_arguments: Mapping[str, Any], task: Task, folder: Path
) -> Build:
    from hisa.environments.open_environment import open_environment
    from hisa.models.budget import Budget
    from hisa.models.open_models import open_models
    from hisa.models.spending import Ledger
    from hisa.plugins.toolkits.builder.built_toolkit import write_review
    from hisa.plugins.toolkits.builder.tool_builder import ToolBuilder
    from hisa.plugins.toolkits.tools_new import new_folder
    from hisa.tasks.scorer import TaskScorer
    from hisa.tools.registry import discover

    run, ledger = settings.run, Ledger()
    budget = Budget(run.budget_usd, run.budget_tokens, seconds=run.budget_seconds)
    scorer = TaskScorer(settings=settings.tasks)
    existing = [
        tool
        for tool in discover()[0]
        if any(fnmatchcase(builder_arguments["app"], pattern) for pattern in tool.traits.needs.apps)
    ]
    async with (
        open_models(settings.models, settings.planner, lambda _: None, budget, ledger) as models,
        open_environment(settings.environment) as environment,
    ):
        builder = ToolBuilder(
            models["planner"],
            environment,
            prepare=lambda machine: scorer.prepare(task, machine),
            existing=existing,
            report=say_error,
            **builder_arguments,
        )
        build = await builder.build()
    write_review(new_folder(folder), build)
    say(", ".join(f"{name}: {value}" for name, value in ledger.total.as_dict().items()))
    return build


@click.command("accept")
@click.argument("folder", metavar="DIR")
def accept_tools(folder: str) -> None:
    """Make a package of the tools that passed in DIR, a review folder from "hisa tools build".

    The package is written beside DIR. Its programs are data, and run only inside the machine. A
    program that was changed after its tests ran is left out.

    \b
    hisa tools accept mousepad-review
    """
    from hisa.plugins.toolkits.builder.built_toolkit import accept_review
    from hisa.plugins.toolkits.tools_new import install_command

    package, build, left_out = accept_review(Path(folder))
    say(f"wrote {package}; the effects that each tool declares, unchecked:")
    for built in build.functions:
        effects = ", ".join(built.described.effects)
        say(f"  {built.described.name}: {effects or 'none, such as delete or send'}")
    for line in left_out:
        say(f"left out: {line}")
    say(f"next:\n  {install_command(shlex.quote(str(package)))}")
