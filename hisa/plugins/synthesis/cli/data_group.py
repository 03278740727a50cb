"""``hisa data``: training data made of finished runs."""

from __future__ import annotations

import click

from hisa.plugins.synthesis.cli import data_sets
from hisa.plugins.synthesis.cli.collect import collect
from hisa.plugins.synthesis.cli.compress import compress
from hisa.plugins.synthesis.cli.data_build import build

__all__ = ["data"]


@click.group()
def data() -> None:
    """Collect runs of tasks, grade and compress them, and build data sets of them.

    \b
    hisa data collect own:pads/tasks --model reference -o collected
    hisa data compress collected
    hisa data build collected -o set --licence MIT
    hisa data show set
    """


for command in (
    collect, compress, build, data_sets.show, data_sets.stats, data_sets.export,
    data_sets.evaluate,
):  # fmt: skip
    data.add_command(command)
