"""``hisa runs show --live``: what a run does, until it ends, and no more than that."""

from __future__ import annotations

import asyncio
import time

from rich.console import Console

from hisa.cli.out import say
from hisa.cli.progress import Progress
from hisa.events import StepFinished
from hisa.plugins.live.server.run_client import RunLine
from hisa.runs import wording
from hisa.runs.read import Run, command_on, is_running, load_run
from hisa.runs.terminal_view import summary

__all__ = ["show_live"]


def show_live(run: Run) -> None:
    """Print what a run does as it comes, and its summary once it is over; Ctrl-C leaves it be."""
    console = Console(highlight=False, markup=False)
    try:
        run = _followed(run, console) if run.running and not run.ended else run
    except KeyboardInterrupt:
        say(f"\nrun {run.id} goes on; look again: {command_on(run.folder, 'show')} --live")
        return
    for line in summary(run, console.width):
        console.print(line, soft_wrap=bool(line.no_wrap))
    if not run.ended:
        say(f"its process died after step {run.last_step}: {command_on(run.folder)}")


def _followed(run: Run, console: Console) -> Run:
    progress = Progress(console, run.manifest.settings.get("run", {}).get("max_steps", 0))
    shown, known = 0, ""
    while True:
        alive = is_running(run.folder)  # what it wrote before it died is read after this
        run = load_run(run.folder)
        for event in run.events[shown:]:
            if not isinstance(event, StepFinished):  # its line tells of this process's time
                progress(event)
        shown = len(run.events)
        if run.ended or not alive:
            return run
        status, _ = asyncio.run(RunLine(run.id).ask({"do": "status"}, 1.0))
        question = status.get("question") or {}
        state = f"{status.get('state', 'running')}, {run.last_step} steps done"
        state += f"; a person is asked: {question.get('text', '')}" if question else ""
        if state != known:
            spent = f"{run.totals.tokens} tokens, {wording.total_money(run.totals.roles)}"
            say(wording.one_line(f"{wording.clock(time.time())}: {state}, {spent}", 400))
        known = state
        time.sleep(0.5)
