"""A command of an outside package."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from hisa.config import Settings


@click.command("count-runs")
@click.pass_obj
def count_runs(settings: Settings) -> None:
    """Print how many runs are kept."""
    click.echo(len(list(settings.run.folder.glob("*/run.json"))))
