"""``hisa data compress``: actions merged into sequences that were played again."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.out import examples, json_option, print_json, say, say_error
from hisa.text.safe_text import safe_line

if TYPE_CHECKING:
    from hisa.config import Settings
    from hisa.plugins.synthesis.data.compression import CompressedRun
    from hisa.plugins.synthesis.data.trajectories import Trajectory

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
    ctx: click.Context, /, folder: Path, out: Path | None, *, as_json: bool, **how: Any
) -> int:
    """Merge actions of the runs in DIR that need no look in between into sequences.

    DIR is a bench, a folder of runs, or what "hisa data collect" made. Two actions are merged
    where the first changes little on the screen and nothing of the second's target. The compressed
    run is then played on a fresh machine, the places of a sequence all found on the look before
    it; what does not end in the same state is marked, and not learned from. Steps go to
    sequences.jsonl as they come; the same command goes on where it was stopped.

    Exit status: 0 what was begun is done; 1 stopped; 3 a machine broke, its run is left.
    """
    from hisa.errors import UsageError
    from hisa.machine.storage import Lock
    from hisa.plugins.synthesis.cli.write import model_settings
    from hisa.plugins.synthesis.data.compression import CompressedRun, summary
    from hisa.plugins.synthesis.data.trajectories import read_trajectories
    from hisa.plugins.synthesis.exploration import read_records

    settings = model_settings(ctx.obj, how) if how["model"] else None
    trajectories, unusable = read_trajectories([folder])
    if not trajectories:
        reasons = "; ".join(unusable) or "there are none"
        raise UsageError(f"{folder}: no finished runs ({reasons})", fix="hisa data collect --help")
    out = out or folder
    out.mkdir(parents=True, exist_ok=True)
    lock = Lock.take(out / ".compress.lock")
    if lock is None:
        raise UsageError(f"{out}: process {Lock.holder(out / '.compress.lock')} is at work there")
    try:
        runs = read_records(out / "compressed.jsonl", CompressedRun)
        known = {run.run for run in runs}
        left = [one for one in trajectories if one.id not in known]
        status = asyncio.run(
            _run(left[: how.pop("limit")], runs, settings, out, quiet=as_json, **how)
        )
    except (KeyboardInterrupt, asyncio.CancelledError):
        say_error("stopped: what was in hand is lost, the same command goes on")
        status = 1
    finally:
        lock.release()
    numbers = summary(runs) | {"left": len(trajectories) - len(runs)}
    print_json(numbers) if as_json else _say(numbers)
    return status


async def _run(
    left: Sequence[Trajectory], runs: list[CompressedRun], settings: Settings | None, out: Path,
    *, without: Any, most: int, quiet: bool, **_: Any,
) -> int:  # fmt: skip
    """Compress the runs left, one after the other. Returns the exit status."""
    from hisa.errors import EnvironmentFailed
    from hisa.machine.storage import AppendOnlyFile, replace_file
    from hisa.models.spending import Ledger
    from hisa.plugins.synthesis.data.compression import compress as compress_run
    from hisa.plugins.synthesis.exploration import append_record
    from hisa.plugins.synthesis.writing import open_writer

    if task := asyncio.current_task():
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    opened = open_writer(settings, out, Ledger()) if settings else nullcontext()
    broken = 0
    async with opened as writer:
        with closing(AppendOnlyFile(out / "compressed.jsonl")) as file:
            for number, trajectory in enumerate(left, 1):
                try:
                    run = await compress_run(trajectory, out, writer, without=without, most=most)
                    append_record(file, run)
                    runs.append(run)
                    lines = [s.model_dump_json() for run in runs for s in run.sequences]
                    replace_file(out / "sequences.jsonl", "".join(f"{x}\n" for x in lines).encode())
                    outcome = run.left_out or f"{len(run.sequences)} steps"
                except EnvironmentFailed as error:
                    broken, outcome = broken + 1, f"a machine broke ({error})"
                if not quiet:
                    words = f"{number}/{len(left)}  {trajectory.task}: {outcome}"
                    say(safe_line(words, 200), err=True)
    return 3 if broken else 0


def _say(numbers: dict[str, Any]) -> None:
    actions, runs = numbers["actions"], max(1, numbers["trajectories"])
    say(f"{numbers['trajectories']} trajectories, {numbers['left']} more are left")
    for name in ("actions", "compressed_steps"):
        count = numbers[name]
        say(f"  {name.replace('_', ' '):16}  {count / runs:.2f} steps a trajectory, "
            f"{actions / max(1, count):.2f} actions a step")  # fmt: skip
    for check, count in numbers["refused"].items():
        say(f"{count} of {numbers['pairs']} pairs refused by {check}")
    for replayed, count in numbers["replayed"].items():
        say(f"{count} of {numbers['merged']} merged sequences replayed: {replayed}")
    for reason, count in numbers["left_out"].items():
        say(safe_line(f"{count} left out: {reason}", 200))
