"""``hisa machine``: lists and builds the systems of private desktops and virtual machines."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import click

from hisa.cli.out import examples, json_option, print_json, say
from hisa.plugins.machines.profiles.recipe import PROFILES, Recipe, recipe
from hisa.plugins.machines.qemu.build import find_image
from hisa.plugins.machines.tree import build_tree, find_tree

__all__ = ["machine"]

_TITLES = {
    "libreoffice-calc": "Calc",
    "libreoffice-writer": "Writer",
    "libreoffice-impress": "Impress",
    "chromium": "Chromium",
    "gimp": "GIMP",
    "vlc": "VLC",
    "thunderbird": "Thunderbird",
    "gnome-terminal": "Terminal",
    "nemo": "Files",
    "eog": "Image Viewer",
    "evince": "Document Viewer",
    "mate-calc": "Calculator",
    "gedit": "gedit",
    "mousepad": "Mousepad",
    "file-roller": "Archive Manager",
    "gnome-control-center": "Settings",
}
"""The names of applications by Debian package."""


@click.group(
    epilog=examples(
        "hisa machine ls",
        "hisa machine build osworld",
        "hisa run --env desktop:osworld 'Open the text editor. Type \"hello\".'",
    )
)
def machine() -> None:
    """List and build systems with applications.

    A profile is built once, into a folder of the user's cache. --env desktop:NAME runs a private
    desktop with it; `hisa vm build NAME` makes a virtual machine's disk from the same folder.
    """


@machine.command("ls", epilog=examples("hisa machine ls", "hisa machine ls --json"))
@json_option
def list_command(as_json: bool) -> None:
    """List the profiles: whether each is built, its size, and how to run it."""
    rows = [_about(recipe(name)) for name in PROFILES]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        say(f"{row['profile']:<9} {_state(row)}")
        say(f"{'':<9} {', '.join(row['applications'])}")


@machine.command(epilog=examples("hisa machine build osworld"))
@click.argument("profile")
def build(profile: str) -> None:
    """Build the system of PROFILE from Debian's packages; does nothing if it is built already.

    Prints what it downloads. Downloads are kept, so a build that was interrupted continues from
    there.
    """
    build_tree(recipe(profile), _tell)
    say(f"{profile}: built")
    say(f"  try: hisa run --env desktop:{profile} 'Open the text editor.'")


def _about(recipe: Recipe) -> dict[str, Any]:
    tree = find_tree(recipe)
    image = find_image(recipe)
    known: dict[str, Any] = tree.manifest if tree else {}
    disk: dict[str, Any] = image.manifest if image else {}
    row = {
        "profile": recipe.profile,
        "version": recipe.version,
        "built": tree is not None,
        "applications": list(_applications(recipe)),
        "desktop": tree is not None,
        "vm": image is not None,
        "disk_bytes": disk.get("bytes"),
        "disk_seconds": disk.get("seconds"),
        "folder": str(tree.folder) if tree else "",
    }
    return {**row, **{name: known.get(name) for name in ("bytes", "seconds", "created")}}


def _applications(recipe: Recipe) -> Iterator[str]:
    """Yield the names of the applications in the recipe's packages."""
    for package in recipe.packages:
        if package in _TITLES:
            yield _TITLES[package]
    if "jupyter" in recipe.requirements:
        yield "JupyterLab"


def _state(row: dict[str, Any]) -> str:
    name = row["profile"]
    if not row["built"]:
        image = "; a virtual machine's disk exists" if row["vm"] else ""
        return f"not built: hisa machine build {name}{image}"
    created = time.strftime("%Y-%m-%d %H:%M", time.localtime(row["created"]))
    disk = f"no disk yet: hisa vm build {name}"
    if row["vm"]:
        size, seconds = row["disk_bytes"] / 1e6, row["disk_seconds"]
        disk = f"--env vm:{name}, its disk {size:.0f} MB, made in {seconds:.0f} s"
    return (
        f"{row['bytes'] / 1e6:.0f} MB, built {created} in {row['seconds']:.0f} s; "
        f"--env desktop:{name}; {disk}"
    )


def _tell(line: str) -> None:
    say(line, err=True)
