"""``hisa data compress``: actions merged into sequences that were played again."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.out import examples, json_option, print_json, say, say_error
from hisa.text.safe_text import safe_line

if TYPE_CHECKING:
    from hisa.config import Settings
    from hisa.plugins.synthesis.data.compressed_folder import CompressedFolder
    from hisa.plugins.synthesis.model_instructions import Writer

__all__ = ["compress"]

_EXAMPLES = examples(
    "hisa data compress collected",
    "hisa data compress collected --model gpt-5 --budget-usd 2",
    "hisa data compress bench -o loose --without region",
)
_CHECK = click.Choice(["similarity", "rule", "region"])
_FOLDER = click.Path(path_type=Path)


@click.command("compress", epilog=_EXAMPLES)
@click.argument("folder", metavar="DIR", type=_FOLDER)
@click.option("-o", "--out", metavar="DIR", type=_FOLDER, help="Where to write; DIR itself.")
@click.option("--model", metavar="NAME", help="Writes the thoughts; without one, rules do.")
@click.option("--profile", metavar="NAME", help="What the model takes; by default by its name.")
@click.option("--budget-usd", type=float, metavar="X", help="End before a call that costs more.")
@click.option("--budget-tokens", type=int, metavar="N", help="Likewise, by tokens in and out.")
@click.option("--without", type=_CHECK, multiple=True, help="Switch a check off; more than one.")
@click.option("--most", type=click.IntRange(1, 20), default=5, help="Actions of a sequence (5).")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Do so many runs at most, now.")
@json_option
@click.pass_context
def compress(
    ctx: click.Context, /, folder: Path, out: Path | None, limit: int | None, as_json: bool,
    **how: Any,
) -> int:  # fmt: skip
    """Merge actions of the runs in DIR that need no look in between into sequences.

    DIR is a bench, a folder of runs, or what "hisa data collect" made. Two actions are merged
    where the first changes little on the screen and nothing of the second's target. The compressed
    run is then played on a fresh machine, the places of a sequence all found on the look before
    it; what does not end in the same state is marked, and not learned from. Steps go to
    sequences.jsonl as they come; the same command goes on where it was stopped.

    Exit status: 0 what was begun is done; 1 stopped; 3 a machine broke, its run is left.
    """
    from hisa.config import load
    from hisa.plugins.synthesis.cli.write import model_settings
    from hisa.plugins.synthesis.data.compressed_folder import CompressedFolder
    from hisa.plugins.synthesis.data.compression import summary

    settings = model_settings(load(*ctx.meta["hisa.settings"]), how) if how["model"] else None
    status = 1
    with CompressedFolder(folder, out or folder) as compressed:
        try:
            work = _run(compressed, settings, limit, how, quiet=as_json)
            status = asyncio.run(work)
        except (KeyboardInterrupt, asyncio.CancelledError):
            say_error("stopped: what was in hand is lost, the same command goes on")
        numbers = summary(compressed.runs, compressed.sequences) | {"left": len(compressed.left)}
    if as_json:
        print_json(numbers)
    else:
        _say(numbers)
    return status


async def _run(
    compressed: CompressedFolder, settings: Settings | None, limit: int | None,
    how: dict[str, Any], *, quiet: bool,
) -> int:  # fmt: skip
    """Compress what is left, one run after the other; the exit status."""
    from hisa.errors import EnvironmentFailed
    from hisa.plugins.synthesis.data.compression import compress as compress_run

    if task := asyncio.current_task():
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    broken, turn = 0, compressed.left[:limit]
    async with _writer(settings, compressed.folder) as writer:
        for number, trajectory in enumerate(turn, 1):
            outcome = "a machine broke"
            try:
                run, sequences = await compress_run(
                    trajectory, compressed.folder, writer, without=how["without"], most=how["most"]
                )
                compressed.add(run, sequences)
                outcome = run.left_out or f"{run.atoms} actions in {run.sequences} steps"
            except EnvironmentFailed as error:
                broken, outcome = broken + 1, f"{outcome} ({str(error)[:200]})"
            if not quiet:
                words = f"{number}/{len(turn)}  {trajectory.task}: {outcome}"
                say(safe_line(words, 200), err=True)
    return 3 if broken else 0


@asynccontextmanager
async def _writer(settings: Settings | None, folder: Path) -> AsyncIterator[Writer | None]:
    """The model that writes thoughts; its calls go to ``calls.jsonl``."""
    if settings is None:
        yield None
        return
    from hisa.machine.storage import AppendOnlyFile
    from hisa.models.budget import Budget
    from hisa.models.open_models import open_models, require_models
    from hisa.models.spending import Ledger
    from hisa.plugins.synthesis.exploration import append_record
    from hisa.plugins.synthesis.model_instructions import Writer

    require_models(settings)
    budget = Budget(settings.run.budget_usd, settings.run.budget_tokens)
    with closing(AppendOnlyFile(folder / "calls.jsonl")) as calls:
        opened = open_models(settings, lambda call: append_record(calls, call), budget, Ledger())
        async with opened as models:
            sees = models.profiles["planner"].sees_pictures
            yield Writer(models["planner"], sees and "planner" not in models.picture_changes)


def _say(numbers: dict[str, Any]) -> None:
    steps, merged = numbers["steps"], numbers["merged"]
    say(f"{numbers['trajectories']} trajectories, {numbers['left']} are left to do")
    for name in ("atoms", "compressed"):
        count, runs = steps[name], max(1, numbers["trajectories"])
        say(f"  {name:10}  {count / runs:.2f} steps a trajectory, "
            f"{steps['atoms'] / max(1, count):.2f} actions a step")  # fmt: skip
    for check, count in numbers["refused"].items():
        say(f"{count} of {numbers['pairs']} pairs refused by {check}")
    for replayed, count in numbers["replayed"].items():
        say(f"{count} of {merged} merged sequences replayed: {replayed}")
    for reason, count in numbers["left_out"].items():
        say(safe_line(f"{count} left out: {reason}", 200))
