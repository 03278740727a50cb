"""``hisa record``: records a person who does a task on a machine, on the live page."""

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
    """Record yourself doing a task; the recording becomes a run, ready for `hisa compile`.

    TASK is as for `hisa run`: a text that says what you are going to show, or a task file, whose
    setup is made first. A machine starts and waits. Open the printed address, take the machine
    over, do the task, and give it back: that ends the recording.

    Text typed into password fields is not recorded. Ctrl-C keeps what was recorded so far.
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
    """Serve the live page of a folder of runs within this context; its address is printed."""
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
