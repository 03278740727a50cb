"""``hisa run``: an agent on a task, with live progress, a score and a report."""

from __future__ import annotations

import difflib
import shlex
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from hisa.config import Settings
    from hisa.protocols import Task

__all__ = ["read_task", "run"]


_MAX_PATH = 4096
"""Bytes of a path, on Linux."""
_FETCH = "Bring this of the machine home, into the run folder: a file, folder or pattern."
_SHARE = "Put this folder into a private desktop, at ~/shared/NAME; read-only without :rw."
_SUFFIXES = (".yaml", ".yml", ".json")


def _overrides(options: dict[str, Any]) -> dict[str, Any]:
    """Named options as a settings tree."""
    tree: dict[str, dict[str, Any]] = {"run": {}, "environment": {}}
    for option, (section, key) in {
        "max_steps": ("run", "max_steps"),
        "budget_usd": ("run", "budget_usd"),
        "confirm": ("run", "confirm"),
        "folder": ("run", "folder"),
        "env": ("environment", "kind"),
    }.items():
        if options[option] is not None:
            tree[section][key] = options[option]
    if options["share"]:
        tree["environment"]["share"] = options["share"]
    planner = {
        key: options[option]
        for option, key in (("model", "model"), ("profile", "profile"))
        if options[option] is not None
    }
    models = {"models": {"planner": planner}} if planner else {}
    return {**tree, **models}


def read_task(text: str, *, domain: str, seed: int) -> Task:
    """The task that an argument names: a file that is there, a page, or an instruction.

    Args:
        text: the argument; "-" is standard input.
        domain: of a task that is only an instruction; empty: guessed.
        seed: of what a page draws.

    Raises:
        UsageError: no such file or page, or not a task.
    """
    from hisa.errors import UsageError
    from hisa.tasks.taskfile import MINIWOB, load_task, task_from_text

    if text == "-":
        return task_from_text(sys.stdin.read(), domain=domain)
    if text.startswith(MINIWOB) and len(text.split()) == 1:
        return load_task(text, seed=seed)
    path = _as_path(text)
    if path is not None and path.is_file():
        return load_task(path)
    if path is not None and path.is_dir():
        raise UsageError(
            f"{text!r} is a folder, and a task is one file", fix=f"hisa bench run own:{text}"
        )
    if path is not None and _means_a_file(text, path):
        raise UsageError(f"no task file {text!r}", fix=_what_is_there(path))
    return task_from_text(text, domain=domain)


def _as_path(text: str) -> Path | None:
    """The text as a path that can be looked up; None where it can be none."""
    if not text.strip() or "\n" in text or "\0" in text or len(text) > _MAX_PATH:
        return None
    path = Path(text)
    with suppress(RuntimeError):  # "~" and a name that no user has
        path = path.expanduser()
    try:
        path.exists()
    except OSError:
        return None
    return path


def _means_a_file(text: str, path: Path) -> bool:
    """Whether a text without a file of that name was meant as one, and not as an instruction.

    With white space in it, it has to begin as paths do, lie in a folder that is there, or be
    nearly the name of a file that is.
    """
    if path.suffix.lower() not in _SUFFIXES:
        return False
    begins_so = text.startswith(("/", "./", "../", "~"))
    in_a_folder = path.parent != Path() and path.parent.is_dir()
    return len(text.split()) == 1 or begins_so or in_a_folder or bool(_alike(path))


def _alike(path: Path) -> list[str]:
    """Task files in the same folder with nearly that name, best first."""
    try:
        names = [file.name for file in path.parent.iterdir() if file.suffix.lower() in _SUFFIXES]
    except OSError:
        return []
    return difflib.get_close_matches(path.name, names, n=3)


def _what_is_there(path: Path) -> str:
    if alike := _alike(path):
        return f"hisa run {shlex.quote(str(path.with_name(alike[0])))}"
    return f"ls {shlex.quote(str(path.parent))}"


@click.command()
@click.argument("task")
@click.option("--env", metavar="KIND", help="desktop (default), display=:N, vm:NAME, guest=URL.")
@click.option("--model", metavar="NAME", help="The planner's and state manager's model.")
@click.option("--profile", metavar="NAME", help="What the model takes; by default by its name.")
@click.option("--max-steps", type=int, metavar="N", help="Give up after so many steps (50).")
@click.option("--budget-usd", type=float, metavar="X", help="End before a call that costs more.")
@click.option(
    "--confirm",
    type=click.Choice(["auto", "always", "never"]),
    help="Ask before each act and command; auto: on a display that is not thrown away.",
)
@click.option("--fetch", multiple=True, metavar="PATH", help=_FETCH)
@click.option("--share", multiple=True, metavar="DIR[:rw]", help=_SHARE)
@click.option("--domain", default="", metavar="NAME", help="Whose patterns and SOPs to use.")
@click.option("--runs", "folder", metavar="DIR", help="Where run folders are made (runs).")
@click.option("--set", "assignments", multiple=True, metavar="A.B=C", help="One setting.")
@click.option("--report/--no-report", default=True, help="Write report.html into the run folder.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, and no progress.")
@click.pass_context
def run(ctx: click.Context, /, task: str, assignments: tuple[str, ...], **options: Any) -> None:
    """Run an agent on TASK: a text, a task file (.yaml), miniwob:NAME, or - for standard input.

    \b
    hisa run 'Open the text editor. Type "hello". Save the file as "hi.txt".'
    hisa run task.yaml --model gpt-5 --budget-usd 1 --max-steps 30
    hisa run miniwob:click-test --set run.seed=3
    hisa run "Open ~/shared/data/prices.csv and sort it by price." --share data
    hisa run task.yaml --fetch '~/Documents/*.ods' --fetch ~/list.txt
    hisa run "Sort the table by price." --env display=:0  # your own screen; asks before every act

    \b
    With a model that a server of your own serves:
    export OPENAI_BASE_URL=http://127.0.0.1:8000/v1 OPENAI_API_KEY=x
    hisa run "Sort the table by price." --model my-model --max-steps 30

    \b
    A task file, which may also have id, domain, setup and results:
        instruction: Open the text editor. Type "hello". Save the file as "hi.txt".
        check: [{file: ~/hi.txt, contains: hello}]

    Without --model the offline model runs: rules, no language model; it follows tasks that are
    written as steps. Ctrl-C stops the run and keeps everything; "hisa runs resume ID" goes on.
    """
    from hisa.cli.episode import episode
    from hisa.config import load

    file, earlier = ctx.meta["hisa.settings"]
    settings: Settings = load(file, [*earlier, *assignments], overrides=_overrides(options))
    chosen = read_task(task, domain=options["domain"], seed=settings.run.seed)
    chosen = replace(chosen, results=(*chosen.results, *options["fetch"]))
    status = episode(settings, chosen, as_json=options["as_json"], report=options["report"])
    ctx.exit(status)
