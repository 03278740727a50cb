"""``hisa record``: a demonstration on a machine that a person takes over on the live page."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from hisa.cli.out import examples, say

__all__ = ["record"]


@click.command(
    epilog=examples(
        'hisa record "Save a note with today\'s shopping in ~/list.txt."',
        "hisa record task.yaml --env vm:office",
    )
)
@click.argument("task")
@click.option("--env", metavar="KIND", help="The machine, as for hisa run.")
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser.")
@click.pass_context
def record(ctx: click.Context, task: str, env: str | None, opens: bool) -> None:
    """Show a task once: what you do on a machine becomes a run, which `hisa compile` takes.

    TASK is as for `hisa run`: a text that says what you are about to show, or a task file, whose
    setup is done first. A machine starts and waits. On the page whose address is printed you take
    it over, do the task, and give it back. That ends the recording.

    Text that is typed into password fields is not logged. Ctrl-C keeps what was shown so far.
    \f

    Args:
        ctx: the context of the command, with the file and the options of the settings.
        task: the instruction, or the path of a task file.
        env: the environment of the machine; None for that of the settings.
        opens: whether to open the page in the browser.
    """
    import hisa
    from hisa.cli.episode import exit_code, score_line
    from hisa.cli.run import read_task
    from hisa.config import Settings, load
    from hisa.errors import UsageError
    from hisa.machine.parts import install_command, list_missing

    if lacking := list_missing("live"):
        raise UsageError(f"the page needs {', '.join(lacking)}", fix=install_command("live"))
    file, options = ctx.meta["hisa.settings"]
    settings = load(file, options, overrides={"environment": {"kind": env}} if env else {})
    tree = settings.model_dump(mode="json")
    tree["models"] |= {"planner": {"model": "person"}, "state": {"model": "offline"}}
    tree["patterns"]["enabled"] = False
    chosen = read_task(task, domain="", seed=settings.run.seed)
    with _page(settings.run.folder, opens=opens):
        result = asyncio.run(hisa.Agent(settings=Settings.model_validate(tree)).run(chosen))
    scored = "" if result.score_state == "no_check" else f", score {score_line(result)}"
    say(f"{result.folder}: {result.status}{scored}")
    if result.success:
        say(f"next: hisa compile {result.folder.name} -o NAME", err=True)
    ctx.exit(exit_code(result))


@contextmanager
def _page(folder: Path, *, opens: bool) -> Iterator[None]:
    """Serves the live page over a folder of runs during the block, and prints its address."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "hisa", "serve", "--root", str(folder)]
    server = subprocess.Popen(
        command + ["--open"] * opens, stdin=subprocess.DEVNULL, start_new_session=True
    )
    try:
        say("open the address, choose the run, take it over, show the task, give it back", err=True)
        yield
    finally:
        server.terminate()
        with suppress(subprocess.TimeoutExpired):
            server.wait(10)
