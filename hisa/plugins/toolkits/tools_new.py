"""``hisa tools new``: a plug-in package that works at once."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from hisa.cli.out import say

__all__ = ["new_tool"]


@click.command("new")
@click.argument("name")
@click.option("--dir", "parent", default=".", metavar="DIR", help="Where to make it (here).")
def new_tool(name: str, parent: str) -> None:
    """Write a small package with a tool of that NAME, and say what to do next.

    \b
    hisa tools new word-count
    hisa tools new word-count --dir plugins
    """
    from hisa.plugins.toolkits.scaffold import install_command, module_of, write_plugin

    folder, module = write_plugin(name, Path(parent)), module_of(name)
    shown = shlex.quote(str(folder) if folder.is_absolute() else f"./{folder}")
    say(f"wrote {folder}: edit {module}.py; its signature and docstring are all that is read")
    say("next:")
    for line in (
        install_command(shown),
        f"hisa tools check {module}",
        f"hisa tools run {module} path=/etc/os-release",
        'hisa run "Say how many lines /etc/os-release has." --model NAME',
    ):
        say(f"  {line}")
