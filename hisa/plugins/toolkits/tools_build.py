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

if TYPE_CHECKING:
    from hisa.config import Settings
    from hisa.plugins.toolkits.builder.build_records import Build
    from hisa.plugins.toolkits.builder.tool_builder import BuildRequest
    from hisa.protocols import Task

__all__ = ["accept_tools", "build_tools"]

_APP = re.compile(r"[a-z][a-z0-9._-]{0,59}")
_TASK = "A task file whose setup opens the application on a fresh desktop."
_ABOUT = "A text on how programs on the machine reach the application."


@click.command("build")
@click.argument("app")
@click.option("--examples", required=True, metavar="FILE", help="Example tasks, JSON Lines.")
@click.option("--task", "task_file", required=True, metavar="FILE", help=_TASK)
@click.option("--about", metavar="FILE", help=_ABOUT)
@click.option("--out", metavar="DIR", help="The review folder (APP-review); must not be there.")
@click.option("--model", metavar="NAME", help="Writes plans, tests and programs.")
@click.pass_context
def build_tools(ctx: click.Context, /, app: str, **how: Any) -> None:
    """Let a model write tools for APP, the class of the application's windows in small letters.

    It reads the example tasks and the tools that are there, plans what is lacking, and writes tests
    and programs. They run on the real application, in a private desktop and nowhere else; failures
    are fed back. What comes of it is a folder to review; nothing is installed. Exit status 1: no
    function passed its tests.

    \b
    hisa tools build mousepad --examples tasks.jsonl --task editor.yaml --model gpt-5
    hisa --set run.budget_usd=2 tools build libreoffice-calc --examples tasks.jsonl \\
        --task sheet.yaml --about uno.md
    hisa tools accept mousepad-review
    """
    from hisa.models.announced import announced
    from hisa.models.open_models import require_models
    from hisa.plugins.toolkits.tools_chosen import initial_task

    settings: Settings = ctx.obj
    if how["model"]:
        planner = settings.models.planner.model_copy(update={"model": how["model"]})
        models = settings.models.model_copy(update={"planner": planner})
        settings = settings.model_copy(update={"models": models})
    name = settings.models.planner.model
    if (brought := announced(name)) is not None and brought.by_rules:
        message = f"the {name} model follows rules and writes no programs"
        raise UsageError(message, fix=f"hisa tools build {app} … --model NAME")
    request = _request(app, how)
    task = initial_task(how["task_file"])
    require_models(settings.models, settings.planner)
    folder = Path(how["out"] or f"{app}-review")
    if folder.exists():
        raise UsageError(f"{folder} is there already, and is left as it is", fix="--out DIR")
    build = asyncio.run(_built(settings, request, task, folder))
    say(f"{len(build.passed)} of {len(build.functions)} functions pass; {folder}/report.md")
    if build.stopped:
        say(f"ended early: {build.stopped}")
    if build.passed:
        say(f"read the programs, then:\n  hisa tools accept {shlex.quote(str(folder))}")
    ctx.exit(0 if build.passed else 1)


def _request(app: str, how: Mapping[str, Any]) -> BuildRequest:
    from hisa.plugins.toolkits.builder.tool_builder import BuildRequest
    from hisa.tools.registry import discover

    if not _APP.fullmatch(app):
        message = f"application {app[:80]!r}: wanted is the class of its windows in small letters"
        raise UsageError(message, fix="hisa tools build libreoffice-calc …")
    about = _text(how["about"], "--about")[:20_000] if how["about"] else ""
    existing = [
        tool
        for tool in discover()[0]
        if any(fnmatchcase(app, pattern) for pattern in tool.traits.needs.apps)
    ]
    return BuildRequest(app, about, _examples(how["examples"]), tuple(existing))


def _text(path: str, option: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{option} {path}: {error}", fix=f"{option} FILE") from error


def _examples(path: str) -> tuple[str, ...]:
    """The instructions of a file, which has an object with one on each line."""
    try:
        lines = filter(str.strip, _text(path, "--examples").splitlines())
        instructions = tuple(str(json.loads(line)["instruction"]) for line in lines)
    except (ValueError, KeyError, TypeError):
        instructions = ()
    if not instructions:
        message = f"{path}: wanted is an object with an instruction a line, and at least one"
        raise UsageError(message, fix='{"instruction": "Make the first row bold."}')
    return instructions


async def _built(settings: Settings, request: BuildRequest, task: Task, folder: Path) -> Build:
    from hisa.environments.open_environment import open_environment
    from hisa.models.budget import Budget
    from hisa.models.open_models import open_models
    from hisa.models.spending import Ledger
    from hisa.plugins.toolkits.builder.review_folder import write_review
    from hisa.plugins.toolkits.builder.tool_builder import ToolBuilder
    from hisa.plugins.toolkits.scaffold import new_folder
    from hisa.tasks.scorer import TaskScorer

    run, ledger = settings.run, Ledger()
    budget = Budget(run.budget_usd, run.budget_tokens, seconds=run.budget_seconds)
    scorer = TaskScorer(settings=settings.tasks)
    async with (
        open_models(settings.models, settings.planner, lambda _: None, budget, ledger) as models,
        open_environment(settings.environment) as environment,
    ):
        builder = ToolBuilder(
            models["planner"],
            environment,
            request,
            prepare=lambda machine: scorer.prepare(task, machine),
            report=say_error,
        )
        build = await builder.build()
    write_review(new_folder(folder), build, ledger.total.as_dict())
    return build


@click.command("accept")
@click.argument("folder", metavar="DIR")
@click.option("--to", metavar="PACKAGE_DIR", help="The package's folder; must not be there.")
def accept_tools(folder: str, to: str | None) -> None:
    """Make a package of what passed in DIR, a review folder that "hisa tools build" wrote.

    The programs are data of the package and run inside the machine alone. A program that was
    changed after its tests ran is left out.

    \b
    hisa tools accept mousepad-review
    hisa tools accept mousepad-review --to plugins/mousepad-tools
    """
    from hisa.plugins.toolkits.builder.review_folder import accept, says_of_itself
    from hisa.plugins.toolkits.scaffold import install_command

    package, build, left_out = accept(Path(folder), Path(to) if to else None)
    say(f"wrote {package}; what each tool says that it does to a machine, unchecked:")
    for built in build.functions:
        say(f"  {built.described.name}: {says_of_itself(built.described)}")
    for line in left_out:
        say(f"left out: {line}")
    say("next:")
    say(f"  {install_command(shlex.quote(str(package)))}")
    say(f"  hisa tools check {build.kit} --no-run")
