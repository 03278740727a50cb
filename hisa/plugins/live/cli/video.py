"""``hisa runs video``: writes a run as a video that can be watched without HiSA."""

from __future__ import annotations

from pathlib import Path

import click

from hisa.cli.open_group import pass_sections
from hisa.cli.out import examples, say
from hisa.config import RunSettings

__all__ = ["video"]


@click.command(epilog=examples("hisa runs video", "hisa runs video 20261121-0345 -o login.gif"))
@click.argument("run_id", metavar="[ID]", default="latest")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write, FILE.gif.")
@pass_sections("run")
def video(settings: RunSettings, run_id: str, output: Path | None) -> None:
    """Write run ID as a video (an animated GIF), and print its path.

    Each step is shown before its action, with clicks and the chosen element, and after it, with
    what changed; a person's actions are shown in between. Exit status: 2 if a run or a file
    cannot be used.
    """
    from hisa.plugins.live.run_video import write_video
    from hisa.runs.run_reader import load_run

    run = load_run(run_id, settings.folder.expanduser())
    click.echo(write_video(run, lambda text: say(text, err=True), output))
