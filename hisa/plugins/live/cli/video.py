"""``hisa runs video``: a run as a film that needs no HiSA to be watched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hisa.cli.open_group import pass_sections
from hisa.cli.out import examples, say
from hisa.config import RunSettings

__all__ = ["video"]


@click.command(
    epilog=examples(
        "hisa runs video latest -o login.gif --seconds 1.5 --width 800",
        "hisa runs video 20261121-0345 -o run.webm",
    )
)
@click.argument("run_id", metavar="[ID]", default="latest")
@click.option("--root", type=click.Path(path_type=Path), help="Folder of runs; else run.folder.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="FILE.webm or .gif.")
@click.option("--seconds", type=click.FloatRange(0.5, 30), default=3.0, help="Of a step; 3.")
@click.option("--width", type=click.IntRange(320, 1920), default=960, help="In pixels; 960.")
@pass_sections("run")
def video(settings: RunSettings, /, run_id: str, root: Path | None, **how: Any) -> None:
    """Write run ID as a video, and print its path.

    Each step is shown before its act, with clicks and the chosen element, and after it, with what
    changed; what a person did comes between. A WebM needs ffmpeg, or the Python package
    imageio-ffmpeg; else it is a GIF. Exit status: 2 where a run or a file is not as it should be.
    """
    from hisa.plugins.live.run_video import write_video
    from hisa.runs.read import load_run

    folder = root if root is not None else settings.folder.expanduser()
    run = load_run(run_id, folder)
    click.echo(write_video(run, lambda text: say(text, err=True), **how))
