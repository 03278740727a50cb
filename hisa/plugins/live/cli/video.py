"""``hisa runs video``: a run as a film that needs no HiSA to be watched."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hisa.cli.out import examples, say

if TYPE_CHECKING:
    from hisa.config import Settings

__all__ = ["video"]


@click.command(
    epilog=examples(
        "hisa runs video latest",
        "hisa runs video 20261121-0345 -o login.gif --seconds 1.5 --width 800",
        "hisa runs video 20261121-0345 --beside 20261122-1012 -o compare.webm",
    ),
)
@click.argument("run_id", metavar="[ID]", default="latest")
@click.option(
    "--root", type=click.Path(path_type=Path), help="Folder of all runs; by default run.folder."
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path),
    help="File.webm or FILE.gif; by default video.webm (or .gif) in the run's folder.",
)  # fmt: skip
@click.option("--beside", metavar="ID", help="A second run, shown at the right, step by step.")
@click.option("--seconds", type=click.FloatRange(0.5, 30), default=3.0, help="Of each step; 3.")
@click.option("--width", type=click.IntRange(320, 1920), default=960, help="In pixels; 960.")
@click.pass_obj
def video(
    settings: Settings, run_id: str, root: Path | None, output: Path | None,
    beside: str | None, seconds: float, width: int,
) -> None:  # fmt: skip
    """Write run ID as a video, and print its path.

    Each step is shown before its act, with the clicks and the chosen element marked, and after it,
    with what changed; what a person did comes between. A WebM needs the program ffmpeg, or the
    Python package imageio-ffmpeg that brings one; without them a GIF is written, which needs
    nothing more. Ctrl-C leaves no half file. The exit status is 0, and 2 where a run or a file
    is not as it should be.
    """
    from hisa.plugins.live.run_video import write_video
    from hisa.runs.read import load_run

    folder = root if root is not None else settings.run.folder.expanduser()
    runs = [load_run(name, folder) for name in (run_id, beside) if name is not None]

    def progress(text: str) -> None:
        say(text, err=True)

    film = write_video(runs, output, seconds=seconds, width=width, progress=progress)
    click.echo(film)
