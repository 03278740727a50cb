"""``hisa tools build`` and ``accept``: tools that a model writes and a person reviews."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.out import print_json, say, say_error
from hisa.errors import UsageError

if TYPE_CHECKING:
    from hisa.config import Settings
    from hisa.events import Event
    from hisa.models.spending import Ledger
    from hisa.plugins.toolkits.builder.stage_requests import BuildRequest
    from hisa.plugins.toolkits.builder.tool_builder import Build
    from hisa.protocols import Task

__all__ = ["accept_tools", "build_tools"]

_MOST_EXAMPLES = 200
_APP = re.compile(r"[a-z0-9][a-z0-9._-]{0,59}")
_KIT = re.compile(r"[a-z][a-z0-9]{0,19}")
_TASK = "A task file whose setup opens the application on a fresh desktop."
_ABOUT = "How programs on the machine reach the application; @FILE reads it from a file."


@click.command("build")
@click.argument("app")
@click.option(
    "--examples", "file", required=True, metavar="FILE", help="Example tasks, JSON Lines."
)
@click.option("--task", "task_file", required=True, metavar="FILE", help=_TASK)
@click.option("--about", default="", metavar="TEXT|@FILE", help=_ABOUT)
@click.option("--kit", default="", metavar="NAME", help="What the tools' names begin with.")
@click.option("--title", default="", metavar="TEXT", help="The application, as a person says it.")
@click.option("--functions", type=click.IntRange(1, 20), default=6, help="Most functions (6).")
@click.option("--tries", type=click.IntRange(1, 10), default=3, help="Programs for each (3).")
@click.option("--out", metavar="DIR", help="The review folder (APP-review); must not be there.")
@click.option("--env", metavar="KIND", help="Where programs are tried; it has to be thrown away.")
@click.option("--model", metavar="NAME", help="Writes plans, tests and programs.")
@click.option("--profile", metavar="NAME", help="What the model takes; by default by its name.")
@click.option("--budget-usd", type=float, metavar="X", help="End before a call that costs more.")
@click.option("--budget-tokens", type=int, metavar="N", help="Likewise, by tokens in and out.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and no progress.")
@click.pass_context
def build_tools(ctx: click.Context, /, app: str, **how: Any) -> None:
    """Let a model write tools for APP, the class of the application's windows in small letters.

    It reads the example tasks and the tools that are there, plans what is lacking, and writes tests
    and programs. They run on the real application, in a private desktop and nowhere else; failures
    are fed back. What comes of it is a folder to review; nothing is installed. Exit status 1: no
    function passed its tests.

    \b
    hisa tools build mousepad --examples tasks.jsonl --task editor.yaml --model gpt-5
    hisa tools build libreoffice-calc --examples tasks.jsonl --task sheet.yaml --about @uno.md
    hisa tools accept mousepad-review
    """
    from hisa.plugins.toolkits.tools_chosen import initial_task

    settings = _settings(ctx.obj, how)
    from hisa.models.announced import announced

    brought = announced(settings.models.planner.model)
    if brought is not None and brought.by_rules:
        raise UsageError(
            f"the {settings.models.planner.model} model follows rules and writes no "
            "programs: building tools takes a language model",
            fix=f"hisa tools build {app} --examples … --task … --model NAME, "
            "with OPENAI_BASE_URL and OPENAI_API_KEY",
        )
    request = _request(app, how)
    task = initial_task(how["task_file"])
    from hisa.models.open_models import require_models
    from hisa.plugins.toolkits.scaffold import new_folder

    require_models(settings.models, settings.planner)
    folder = new_folder(Path(how["out"] or f"{app}-review"))
    quiet = bool(how["as_json"])
    build, spent = asyncio.run(_built(settings, request, task, folder, quiet=quiet))
    _say_end(build, spent, folder, as_json=quiet)
    ctx.exit(0 if build.passed else 1)


def _settings(settings: Settings, how: Mapping[str, Any]) -> Settings:
    """The settings with those of the command line over them."""
    given = {key: how[name] for name, key in (("model", "model"), ("profile", "profile"))}
    planner = {key: value for key, value in given.items() if value is not None}
    limits = {key: how[key] for key in ("budget_usd", "budget_tokens") if how[key] is not None}
    place = {"kind": how["env"]} if how["env"] else {}
    models = settings.models.model_copy(
        update={"planner": settings.models.planner.model_copy(update=planner)}
    )
    return settings.model_copy(
        update={
            "models": models,
            "run": settings.run.model_copy(update=limits),
            "environment": settings.environment.model_copy(update=place),
        }
    )


def _request(app: str, how: Mapping[str, Any]) -> BuildRequest:
    from hisa.plugins.toolkits.builder.stage_requests import BuildRequest
    from hisa.tools.registry import discover

    if not _APP.fullmatch(app):
        raise UsageError(
            f"application {app[:80]!r}: wanted is the class of its windows in small letters, as "
            "`hisa run` shows it",
            fix="hisa tools build libreoffice-calc …",
        )
    kit = how["kit"] or re.sub(r"[^a-z0-9]", "", app)[:20]
    if not _KIT.fullmatch(kit):
        raise UsageError(f"toolkit {kit!r}: small letters and digits, a letter first", fix="--kit")
    request = BuildRequest(
        app=app,
        kit=kit,
        title=how["title"] or app,
        about=_about(how["about"]),
        examples=_examples(Path(how["file"])),
        functions=how["functions"],
        tries=how["tries"],
    )
    from hisa.tools.traits import Needs

    probe = Needs(apps=(app,))
    existing = [tool for tool in discover()[0] if not tool.always and tool.traits.needs.apps]
    fitting = [tool for tool in existing if _shares(tool.traits.needs, probe)]
    return replace(request, existing=tuple(fitting))


def _shares(needs: Any, probe: Any) -> bool:
    from fnmatch import fnmatchcase

    return any(fnmatchcase(app, pattern) for app in probe.apps for pattern in needs.apps)


def _about(text: str) -> str:
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text("utf-8")[:20_000]
    except (OSError, UnicodeError) as error:
        raise UsageError(f"--about {text}: {error}", fix="--about TEXT, or @FILE") from error


def _examples(path: Path) -> tuple[Mapping[str, Any], ...]:
    """The example tasks of a file: an object with "instruction" on each line, or a string."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        raise UsageError(f"--examples {path}: {error}", fix="name a file of JSON Lines") from error
    found: list[Mapping[str, Any]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError:
            value = None
        said = value.get("instruction") if isinstance(value, dict) else value
        if not isinstance(said, str) or not said.strip():
            raise UsageError(
                f"{path}, line {number}: wanted is an object with an instruction",
                fix='{"instruction": "Make the first row bold."}',
            )
        found.append({"instruction": said})
    if not found:
        raise UsageError(
            f"{path} holds no tasks", fix='{"instruction": "Make the first row bold."}'
        )
    return tuple(found[:_MOST_EXAMPLES])


async def _built(
    settings: Settings, request: BuildRequest, task: Task, folder: Path, *, quiet: bool
) -> tuple[Build, Mapping[str, int | float]]:
    from hisa.environments.open_environment import open_environment
    from hisa.events import ModelFailed, Noted
    from hisa.models.budget import Budget
    from hisa.models.open_models import open_models
    from hisa.models.spending import Ledger
    from hisa.plugins.toolkits.builder.tool_builder import ToolBuilder
    from hisa.tasks.scorer import TaskScorer

    def tell(line: str) -> None:
        if not quiet:
            say_error(line)

    def emit(event: Event, /) -> None:
        match event:
            case Noted():
                tell(event.text)
            case ModelFailed():
                tell(f"the model failed: {event.message}")

    run, ledger = settings.run, Ledger()
    budget = Budget(run.budget_usd, run.budget_tokens, seconds=run.budget_seconds)
    scorer = TaskScorer(settings=settings.tasks)
    async with (
        open_models(settings.models, settings.planner, emit, budget, ledger) as models,
        open_environment(settings.environment) as environment,
    ):
        builder = ToolBuilder(
            models["planner"],
            environment,
            prepare=lambda machine: scorer.prepare(task, machine),
            tell=tell,
        )
        try:
            return await builder.build(request), ledger.total.as_dict()
        finally:
            _keep(folder, builder.made, ledger)


def _keep(folder: Path, build: Build | None, ledger: Ledger) -> None:
    """Write down what there is, also of a build that is broken off; of nothing, no folder."""
    from hisa.plugins.toolkits.builder.review_folder import write_review

    if build is None:
        folder.rmdir()
    else:
        write_review(folder, build, ledger.total.as_dict())


def _say_end(
    build: Build, spent: Mapping[str, int | float], folder: Path, *, as_json: bool
) -> None:
    passed = [each.described.name for each in build.passed]
    if as_json:
        print_json(
            {
                "folder": str(folder),
                "model": build.model,
                "planned": [each.name for each in build.planned],
                "passed": passed,
                "stopped": build.stopped,
                "spent": dict(spent),
            }
        )
        return
    say(f"{len(passed)} of {len(build.planned)} functions pass their tests; {folder}/report.md")
    if build.stopped:
        say(f"ended early: {build.stopped}")
    if passed:
        say("read the programs, then:")
        say(f"  hisa tools accept {shlex.quote(str(folder))}")


@click.command("accept")
@click.argument("folder", metavar="DIR")
@click.option("--to", metavar="PACKAGE_DIR", help="The package's folder; must not be there.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def accept_tools(folder: str, to: str | None, *, as_json: bool) -> None:
    """Make a package of what passed in DIR, a review folder that "hisa tools build" wrote.

    The programs are data of the package and run inside the machine alone. A program that was
    changed after its tests ran is left out.

    \b
    hisa tools accept mousepad-review
    hisa tools accept mousepad-review --to plugins/mousepad-tools
    """
    from hisa.plugins.toolkits.builder.accepting import accept
    from hisa.plugins.toolkits.scaffold import install_command

    accepted = accept(Path(folder), Path(to) if to else None)
    if as_json:
        print_json(
            {
                "folder": str(accepted.folder),
                "package": accepted.package,
                "functions": dict(accepted.functions),
                "left_out": list(accepted.left_out),
            }
        )
        return
    say(f"wrote {accepted.folder}; what each tool says that it does to a machine, unchecked:")
    for name, says in accepted.functions.items():
        say(f"  {name}: {says}")
    for line in accepted.left_out:
        say(f"left out: {line}")
    say("next:")
    say(f"  {install_command(shlex.quote(str(accepted.folder)))}")
    say(f"  hisa tools check {shlex.quote(str(accepted.folder))} --no-run")
