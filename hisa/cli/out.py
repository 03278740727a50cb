"""Printing: what comes from models, tasks, screens and logs never steers the terminal."""

from __future__ import annotations

import click

from hisa.text.redact import redact
from hisa.text.safe_text import safe_text

__all__ = ["say", "say_error"]


def say(text: object, *, err: bool = False) -> None:
    """Print a text with a line break; everything that would steer the terminal is shown instead."""
    click.echo(safe_text(str(text)), err=err)


def say_error(text: object) -> None:
    """`say` on standard error, without the secrets that messages of servers and programs quote."""
    say(redact(str(text)), err=True)
