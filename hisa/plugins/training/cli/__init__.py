"""The commands of ``hisa train``."""

import click

__all__ = ["train"]


@click.group()
def train() -> None:
    """Train small policies on pages, desktops and recorded runs, and look at the curves."""
