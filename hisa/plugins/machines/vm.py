"""``hisa vm``: builds images of virtual machines, lists them and removes old ones."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from hisa.cli.open_group import pass_sections
from hisa.cli.out import examples, json_option, print_json
from hisa.config import EnvironmentSettings
from hisa.plugins.desktop.profile_screens import screen_of
from hisa.plugins.machines.profiles import store
from hisa.plugins.machines.profiles.recipe import recipe
from hisa.plugins.machines.qemu import build as building
from hisa.plugins.machines.qemu.gc import collect, measure_storage
from hisa.plugins.machines.qemu.runtime import list_machines
from hisa.plugins.machines.qemu.template import ready

__all__ = ["vm"]


def _tell(line: str) -> None:
    click.echo(line, err=True)


@click.group(
    epilog=examples(
        "hisa vm build minimal",
        "hisa run --env vm:minimal 'Open the text editor. Type \"hello\".'",
        "hisa vm gc",
    )
)
def vm() -> None:
    """Build virtual machines of profiles (see hisa machine ls), list them, remove old ones."""


@vm.command(epilog=examples("hisa vm build minimal", "hisa vm build office"))
@click.argument("profile")
@pass_sections("environment")
def build(settings: EnvironmentSettings, profile: str) -> None:
    """Build the image of PROFILE, boot it once and freeze the ready desktop.

    Takes minutes the first time; does nothing if all of it is there already.
    """
    image = building.build(recipe(profile), _tell)
    size = screen_of(profile, settings.width, settings.height)
    template = ready(image, size, _tell)
    click.echo(f"{profile}: ready ({template.shape.accel})")
    click.echo(f"  try: hisa run --env vm:{profile} 'Open the text editor.'")


@vm.command("ls", epilog=examples("hisa vm ls", "hisa vm ls --json | jq .machines"))
@json_option
def list_command(as_json: bool) -> None:
    """List images, ready desktops and running machines."""
    kinds = {"images": store.entries("images"), "ready": store.entries("ready")}
    kinds["machines"] = list_machines()
    listing = {kind: [_row(*entry) for entry in entries] for kind, entries in kinds.items()}
    if as_json:
        print_json(listing)
        return
    for kind, rows in listing.items():
        click.secho(kind, bold=True)
        for row in rows:
            click.echo(f"  {_line(row)}")
        if not rows:
            click.echo("  none")


def _row(path: Path, known: dict[str, Any]) -> dict[str, Any]:
    names = ("name", "profile", "version", "suite", "created", "port", "pid", "image")
    fields = {key: known[key] for key in names if key in known}
    return {"id": path.name, "bytes": store.sizes(path), **fields}


def _line(row: dict[str, Any]) -> str:
    created = time.strftime("%Y-%m-%d %H:%M", time.localtime(row["created"]))
    where = f"  {row['name']} at http://127.0.0.1:{row['port']}" if "port" in row else ""
    return f"{row['id']:<44} {row['bytes'] / 1e6:7.0f} MB  {created}{where}"


@vm.command(epilog=examples("hisa vm gc"))
def gc() -> None:
    """Remove old images, states that no longer load, and files of machines that are gone."""
    before = measure_storage()
    removed = collect()
    for line in removed:
        click.echo(f"removed {line}")
    freed = f"{(before - measure_storage()) / 1e6:.0f} MB freed" if removed else "nothing to remove"
    click.echo(f"{freed}; {measure_storage() / 1e6:.0f} MB in use")
