"""``hisa runs video``: a run as a GIF, which can be watched without HiSA."""

from __future__ import annotations

from pathlib import Path

import click

from hisa.cli.open_group import pass_sections
from hisa.cli.out import examples, say
from hisa.config import RunSettings

__all__ = ["video"]


@click.command(epilog=examples("hisa runs video", "hisa runs video 20261121-0345 -o login.gif"))
@click.argument("run_id", metavar="[ID]", default="latest")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="FILE.gif.")
@pass_sections("run")
def video(settings: RunSettings, run_id: str, output: Path | None) -> None:
    """Write run ID as a video, a GIF file, and print its path.

    Each step is shown before its act, with clicks and the chosen element, and after it, with what
    changed; what a person did is shown between steps. Exit status: 2 if a run or a file is not as
    it should be.
    \f

    Args:
        settings: the section of the settings on runs, for the folder of the runs.
        run_id: the id of the run, or "latest".
        output: the file to write; None for ``video.gif`` in the run's folder.
    """
    from hisa.plugins.live.run_video import write_video
    from hisa.runs.run_reader import load_run

    run = load_run(run_id, settings.folder.expanduser())
    click.echo(write_video(run, lambda text: say(text, err=True), output))
