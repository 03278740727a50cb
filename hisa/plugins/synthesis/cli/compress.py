"""``hisa data compress``: actions merged into sequences that were played again."""

from __future__ import annotations

from pathlib import Path

import click

from hisa.cli.out import say, say_error

__all__ = ["compress"]

_FOLDER = click.Path(path_type=Path)


@click.command()
@click.argument("folder", metavar="DIR", type=_FOLDER)
@click.option("-o", "--out", metavar="DIR", type=_FOLDER, help="Where to write; DIR itself.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Do so many runs at most, now.")
def compress(folder: Path, out: Path | None, limit: int | None) -> int:
    """Merge actions of the runs in DIR that need no look in between into sequences.

    DIR is a bench, a folder of runs, or what "hisa data collect" made. Two actions are merged
    where the first changes little on the screen and nothing of the second's target. The compressed
    run is then played on a fresh machine, the places of a sequence all found on the look before it;
    what does not end in the same state is marked, and not learned from. Runs go to compressed.jsonl
    as they come; the same command goes on where it was stopped.

    \b
    hisa data compress collected
    hisa data compress benches/miniwob -o sequences

    Exit status: 0 what was begun is done; 1 stopped; 3 a machine broke, its run is left.
    """
    from hisa.errors import UsageError
    from hisa.plugins.synthesis.data.compression import CompressedRun, compress_all, summary
    from hisa.plugins.synthesis.data.trajectories import read_trajectories
    from hisa.plugins.synthesis.exploration import read_records, run_alone

    trajectories, unusable = read_trajectories([folder])
    if not trajectories:
        raise UsageError(f"{folder}: no finished run: {dict(unusable) or 'empty'}")
    out = out or folder
    out.mkdir(parents=True, exist_ok=True)
    runs: list[CompressedRun] = []

    async def work() -> bool:
        runs.extend(read_records(out / "compressed.jsonl", CompressedRun))
        done = {run.run for run in runs}
        left = [one for one in trajectories if one.id not in done][:limit]
        return await compress_all(left, runs, out, say_error) > 0

    if (broken := run_alone(work, out / ".compress.lock")) is None:
        say_error("stopped: what was in hand is lost, the same command goes on")
    for name, number in (summary(runs) | {"left": len(trajectories) - len(runs)}).items():
        counts = number.items() if isinstance(number, dict) else ()
        words = ", ".join(f"{count} × {key}" for key, count in counts) or number or 0
        say(f"{name.replace('_', ' ')}: {words}")
    return {None: 1, True: 3, False: 0}[broken]
