"""The command line: one command per file, loaded only when it is called.

A command reads its options, calls the rooms below and prints; what it prints passes `out.py`, so
that no text of a model or a screen steers the terminal. Start with `run.py` and `episode.py`, one
run from the terminal's side; `doctor.py` checks what works on this machine.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from types import SimpleNamespace
from typing import Any, NoReturn

import click

from hisa.cli.open_group import PRESET, OpenGroup
from hisa.machine.plugins import Command

__all__ = ["cli", "main"]

_OWN = {
    "run": Command("hisa.cli.run:run", "Run an agent on a task."),
    "runs": Command("hisa.cli.runs:runs", "List, show, report, export and resume runs."),
    "patterns": Command("hisa.cli.patterns:patterns", "Inspect and edit learned patterns."),
    "tools": Command("hisa.cli.tools:tools", "List and show the tools a planner may call."),
    "install": Command("hisa.cli.install:install", "Install an optional part."),
    "settings": Command("hisa.cli.settings:show_settings", "Print every setting and its value."),
    "doctor": Command(
        "hisa.cli.doctor:doctor",
        "Check what works on this machine and print the commands that fix the rest.",
    ),
}


def _version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        from hisa.version import __version__

        click.echo(f"hisa {__version__}")
        ctx.exit()


_OF_A_PLACE = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR}
    | {errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP}
)
"""Errors that mean that a named folder or file cannot be used, whichever command writes there. A
missing file is not among them, because it may be a defect of HiSA."""


class _Refused(SimpleNamespace):
    """Stands in for unreadable settings while help is printed; reading one raises the error."""

    def __getattr__(self, name: str) -> Any:
        raise self.error


@click.group(cls=OpenGroup, own=_OWN, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--config", type=click.Path(), help="Settings file (default: ./hisa.toml).")
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="A.B=C",
    help="Change one setting, as in --set state.refine_every=3; repeatable.",
)
@click.option("--preset", metavar="NAME", help=PRESET)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version)
@click.pass_context
def cli(
    ctx: click.Context, config: str | None, preset: str | None, assignments: tuple[str, ...]
) -> None:
    """Agents that operate a computer through its screen.

    \b
    hisa run 'Open the text editor. Type "hello". Save the file as "hi.txt".'
    hisa run task.yaml --model gpt-5 --budget-usd 1
    hisa runs report
    hisa doctor

    Exit status: 0 done; 1 the task was not done; 2 wrong usage; 3 a machine, a model or
    the task's check is unavailable.

    \f
    Args:
        ctx: gets the settings, the file and the assignments for the commands.
        config: path of the settings file.
        preset: name of a paper's settings.
        assignments: ``a.b=c`` texts of --set.
    """
    from pathlib import Path

    from hisa.config import Settings, load
    from hisa.errors import ConfigError
    from hisa.text.prompts import Prompts, own_prompts

    file = Path(config) if config else None
    assignments = (*([f"preset={preset}"] if preset else ()), *assignments)
    ctx.meta["hisa.settings"] = (file, assignments)
    try:
        ctx.obj = load(file, assignments)
        ctx.with_resource(own_prompts(Prompts(ctx.obj.prompts.folder)))
    except ConfigError as error:
        asks_help = not {"-h", "--help"}.isdisjoint(ctx.meta["hisa.words"])
        if ctx.invoked_subcommand != "settings" and not asks_help:
            raise
        ctx.meta["hisa.refused"] = error
        ctx.obj = Settings() if ctx.invoked_subcommand == "settings" else _Refused(error=error)


def _say_defect() -> NoReturn:
    """Print the traceback of the current error and exit."""
    import traceback

    from hisa.cli.out import say_error

    say_error(traceback.format_exc().rstrip())
    sys.exit(1)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line: prints one line for an operator's error and exits with its code."""
    from hisa.errors import OperatorError, PluginFailed

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what its encoding cannot hold is shown as "?"
            with contextlib.suppress(OSError):  # it was a file and is a pipe now
                stream.reconfigure(errors="replace")
    try:
        status: Any = cli.main(args=arguments, prog_name="hisa", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except click.Abort:
        click.echo("stopped", err=True)
        sys.exit(130)
    except OperatorError as error:
        from hisa.cli.out import say_error

        say_error(f"hisa: {error}")
        if error.fix:
            say_error(f"  try: {error.fix}")
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        from hisa.cli.out import say_error

        if error.filename is None or error.errno not in _OF_A_PLACE:
            _say_defect()
        say_error(f"hisa: {os.fsdecode(error.filename)}: {error.strerror}")
        say_error("  try: name another path, or free space there, or change its owner or mode")
        sys.exit(2)
    except Exception as error:  # noqa: BLE001 - a defect; its traceback may quote a model
        from hisa.cli.out import say_error

        if isinstance(error, PluginFailed) and isinstance(error.__cause__, ImportError | None):
            say_error(f"hisa: {error}\n  try: hisa doctor")
            sys.exit(3)
        _say_defect()
    sys.exit(status if isinstance(status, int) else 0)
