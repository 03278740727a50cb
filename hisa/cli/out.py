"""Printing: text of models, tasks, screens and logs never steers the terminal."""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from hisa.text.redact import redact
from hisa.text.safe_text import safe_json, safe_text

__all__ = ["examples", "json_option", "print_json", "say", "say_error", "say_json"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


def json_option(command: _Command) -> _Command:
    """Gives a command the option ``--json``, as the argument ``as_json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def examples(*commands: str) -> str:
    """Returns an epilog of commands; its first character stops click from joining the lines."""
    return "\n".join(["\b", *commands])


def print_json(value: object) -> None:
    """Print a value as JSON; what would steer the terminal or cannot be shown is escaped."""
    say_json(json.dumps(value, indent=2, ensure_ascii=False))


def say_json(document: str) -> None:
    """Print a JSON document as `print_json` does."""
    ascii_only = codecs.lookup(sys.stdout.encoding or "ascii").name != "utf-8"
    text = json.dumps(json.loads(document), indent=2) if ascii_only else safe_json(document)
    click.echo(text, file=sys.stdout)


def say(text: object, *, err: bool = False) -> None:
    """Print a text and a line break; characters that would steer the terminal are made visible."""
    click.echo(safe_text(str(text)), file=sys.stderr if err else sys.stdout)


def say_error(text: object) -> None:
    """`say` on standard error, without secrets that a server's or program's message quotes."""
    say(redact(str(text)), err=True)
