"""``hisa desktop``: lists and ends the private desktops that run on this machine."""

from __future__ import annotations

import time
from typing import Any

import click

from hisa.cli.out import json_option, print_json
from hisa.errors import UsageError
from hisa.plugins.desktop.runtime import Handle, list_desktops, reap
from hisa.plugins.desktop.runtime.state import end, read_owner, usage

__all__ = ["desktop"]


@click.group(epilog="\b\nhisa desktop ls\nhisa desktop stop --all")
def desktop() -> None:
    """List and end private desktops, such as those of runs that were stopped or killed.

    An unused desktop ends itself after environment.idle seconds.
    """


@desktop.command("ls", epilog="\b\nhisa desktop ls\nhisa desktop ls --json | jq '.[].id'")
@json_option
def list_command(as_json: bool) -> None:
    """List the private desktops of this user: run, age, memory, and whether its HiSA still runs.

    Memory includes the processes and the files that were written inside.
    """
    rows = [_row(handle) for handle in list_desktops()]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        click.echo(_line(row))
    if not rows:
        click.echo("none")


def _row(handle: Handle) -> dict[str, Any]:
    known = read_owner(handle)
    used = usage(handle)
    return {
        "id": handle.id,
        "pid": handle.pid,
        "run": known.run if known else "",
        "age_seconds": round(max(0.0, time.time() - handle.created), 1),
        "processes": used.processes,
        "memory_bytes": used.memory,
        "hisa_pid": known.pid if known else None,
        "hisa_alive": known is not None and known.alive,
    }


def _line(row: dict[str, Any]) -> str:
    usage_text = (
        f"used by process {row['hisa_pid']}" if row["hisa_alive"] else "left over: its HiSA is gone"
    )
    age = f"{row['age_seconds'] / 60:.0f} min"
    memory = f"{row['memory_bytes'] / 1e6:.0f} MB"
    run = row["run"] or "no run"
    return f"{row['id']}  pid {row['pid']:<8} {age:>8} {memory:>8}  {run}; {usage_text}"


@desktop.command(epilog="\b\nhisa desktop stop 3f\nhisa desktop stop --all")
@click.argument("ident", metavar="ID", required=False)
@click.option("--all", "everyone", is_flag=True, help="End all of them, including those in use.")
def stop(ident: str | None, everyone: bool) -> None:
    """End the desktop whose id begins with ID, and remove all its files."""
    if everyone == (ident is not None):
        raise UsageError("which desktop? give an ID, or --all", fix="hisa desktop ls")
    handles = [
        handle for handle in list_desktops() if everyone or handle.id.startswith(ident or "")
    ]
    if not everyone and len(handles) != 1:
        raise UsageError(
            f"{len(handles)} desktops have an id that begins with {ident!r}", fix="hisa desktop ls"
        )
    for handle in handles:
        end(handle)
        click.echo(f"{handle.id}: ended")
    reap()
    if not handles:
        click.echo("none was running")
