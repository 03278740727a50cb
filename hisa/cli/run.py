"""``hisa run``: runs an agent on a task, with live progress, a score and a report."""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.open_group import PRESET

if TYPE_CHECKING:
    from hisa.config import Settings
    from hisa.protocols import Task

__all__ = ["read_task", "run"]


_FETCH = "Copy this file, folder or pattern from the machine into the run folder; repeatable."
_SEQUENCE = "Let the planner decide up to K actions per look (1 to 5; default 1)."
_SHARE = "Mount this folder in a private desktop at ~/shared/NAME; read-only without :rw."
_COMMANDS = "Let commands run as you on your own screen, where nothing cages them (not Linux)."
_DRY = "Do nothing: look, plan, print what would be done and the policy's verdict, and end."
_REUSE = "Replay a stored program that fits the task, and ask the model only after it ends."
_ATTEMPTS = "Run it N times (at most 8), each on its own machine, and take the best."


def _overrides(options: dict[str, Any]) -> dict[str, Any]:
    """Returns the named options as a settings tree."""
    tree: dict[str, dict[str, Any]] = {"run": {}, "environment": {}, "planner": {}, "policy": {}}
    for option, (section, key) in {
        "max_steps": ("run", "max_steps"),
        "budget_usd": ("run", "budget_usd"),
        "confirm": ("run", "confirm"),
        "folder": ("run", "folder"),
        "samples": ("planner", "samples"),
        "env": ("environment", "kind"),
        "allow_commands": ("environment", "allow_commands"),
        "sequence": ("planner", "sequence"),
        "dry_run": ("policy", "dry_run"),
    }.items():
        if options[option] is not None:
            tree[section][key] = options[option]
    if options["reuse"]:
        tree["planner"]["leads"] = "program:programs"
    if options["share"]:
        tree["environment"]["share"] = options["share"]
    planner = {
        key: options[option]
        for option, key in (("model", "model"), ("profile", "profile"))
        if options[option] is not None
    }
    models = {"models": {"planner": planner}} if planner else {}
    preset = {"preset": options["preset"]} if options["preset"] else {}
    return {**tree, **models, **preset}


def read_task(text: str, *, domain: str, seed: int) -> Task:
    """Returns the task that an argument names: an existing file, a page, or an instruction.

    Args:
        text: the argument; "-" is standard input.
        domain: the domain of a task that is only an instruction; empty: guessed.
        seed: seeds what a page draws.

    Raises:
        UsageError: there is no such file or page, or it is not a task.
    """
    from hisa.tasks.named_task import named_task
    from hisa.tasks.taskfile import task_from_text

    if text == "-":
        return task_from_text(_decode_text(sys.stdin.buffer.read()), domain=domain)
    if not os.path.exists(text):
        with contextlib.suppress(UnicodeEncodeError):
            text = _decode_text(os.fsencode(text))
    return named_task(text, domain=domain, seed=seed)


def _decode_text(data: bytes) -> str:
    """Decode as UTF-8, which terminals and files use whatever the locale; else as the locale."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode(sys.getfilesystemencoding(), "surrogateescape")


@click.command()
@click.argument("task")
@click.option(
    "--env", metavar="KIND", help="desktop[:NAME] (default), screen[:N], vm:NAME, guest=URL, …"
)
@click.option("--model", metavar="NAME", help="Model of the planner and the state manager.")
@click.option("--profile", metavar="NAME", help="Model profile (default: by the model's name).")
@click.option("--max-steps", type=int, metavar="N", help="Give up after N steps (default 50).")
@click.option("--sequence", type=click.IntRange(1, 5), metavar="K", help=_SEQUENCE)
@click.option("--samples", type=int, metavar="K", help="Sample up to K replies per step; 1: off.")
@click.option(
    "--budget-usd", type=float, metavar="X", help="End before a call that would exceed X."
)
@click.option(
    "--confirm",
    type=click.Choice(["auto", "always", "never"]),
    help="Ask before each action and command. auto: only on a machine that is not thrown away; "
    "never: ask nobody, and refuse what the policy would ask about.",
)
@click.option("--allow-commands", is_flag=True, default=None, help=_COMMANDS)
@click.option("--dry-run", is_flag=True, default=None, help=_DRY)
@click.option("--reuse", is_flag=True, help=_REUSE)
@click.option("--fetch", multiple=True, metavar="PATH", help=_FETCH)
@click.option("--share", multiple=True, metavar="DIR[:rw]", help=_SHARE)
@click.option("--attempts", type=int, default=1, metavar="N", help=_ATTEMPTS)
@click.option(
    "--domain", default="", metavar="NAME", help="Use the patterns and SOPs of this domain."
)
@click.option("--runs", "folder", metavar="DIR", help="Put run folders here (default: runs).")
@click.option("--set", "assignments", multiple=True, metavar="A.B=C", help="Change one setting.")
@click.option("--preset", metavar="NAME", help=PRESET)
@click.option("--report/--no-report", default=True, help="Write report.html into the run folder.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, and no progress.")
@click.pass_context
def run(ctx: click.Context, /, task: str, assignments: tuple[str, ...], **options: Any) -> None:
    """Run an agent on TASK: a text, a task file (.yaml), miniwob:NAME, browsergym:NAME, or -.

    \b
    hisa run 'Open the text editor. Type "hello". Save the file as "hi.txt".'
    hisa run task.yaml --model gpt-5 --budget-usd 1 --max-steps 30
    hisa run miniwob:click-test --set run.seed=3
    hisa run browsergym:miniwob.click-test --env browsergym
    hisa run "Open ~/shared/data/prices.csv and sort it by price." --share data
    hisa run task.yaml --fetch '~/Documents/*.ods' --fetch ~/list.txt
    hisa run task.yaml --reuse --model gpt-5  # first replay what `hisa compile` stored
    hisa run task.yaml --attempts 4 --model gpt-5 --fetch ~/list.txt
    hisa run "Sort the table by price." --env screen  # your own; asks before every action

    \b
    With a model on your own server:
    export OPENAI_BASE_URL=http://127.0.0.1:8000/v1 OPENAI_API_KEY=x
    hisa run "Sort the table by price." --model my-model --max-steps 30
    hisa run "Sort the table by price." --model my-model --set planner.sees=elements  # no picture

    \b
    A task file (id, domain, setup and results are optional):
        instruction: Open the text editor. Type "hello". Save the file as "hi.txt".
        check: [{file: ~/hi.txt, contains: hello}]

    With --attempts a judge (models.judge, by default the planner's model) reads what each attempt
    did, but not its score, and picks one; that attempt's score, files and exit status are the
    result. Limits such as --budget-usd apply to each attempt, and to judging, separately.

    Without --model no language model runs: rules follow a task that is written as steps.
    Ctrl-C stops the run and keeps everything; "hisa runs resume ID" continues it.

    \f
    Args:
        ctx: has the settings file and the assignments given before the command.
        task: an instruction, a file, a page's name, or "-".
        assignments: ``a.b=c`` texts of --set.
        options: the other options by name.
    """
    from hisa.cli.episode import episode
    from hisa.config import load

    file, earlier = ctx.meta["hisa.settings"]
    settings: Settings = load(file, [*earlier, *assignments], overrides=_overrides(options))
    task_to_run = read_task(task, domain=options["domain"], seed=settings.run.seed)
    task_to_run = replace(task_to_run, results=(*task_to_run.results, *options["fetch"]))
    output_options = {"as_json": options["as_json"], "report": options["report"]}
    if options["attempts"] == 1:
        ctx.exit(episode(settings, task_to_run, **output_options))
    from hisa.cli.open_group import load_announced

    several = load_announced("run.attempts", f"--attempts {options['attempts']}")
    ctx.exit(several(settings, task_to_run, options["attempts"], **output_options))
