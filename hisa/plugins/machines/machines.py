"""``hisa machine``: the systems that private desktops and virtual machines are made of."""

from __future__ import annotations

import time
from typing import Any

import click

from hisa.cli.out import examples, json_option, print_json, say
from hisa.plugins.machines.app_in_tree import is_in_tree
from hisa.plugins.machines.known_apps import APPS
from hisa.plugins.machines.profiles.applications import applications
from hisa.plugins.machines.profiles.recipe import PROFILES, Recipe, recipe
from hisa.plugins.machines.qemu.build import find_image
from hisa.plugins.machines.tree import Tree, build_tree, find_tree

__all__ = ["machine"]


@click.group(
    epilog=examples(
        "hisa machine ls",
        "hisa machine build osworld",
        "hisa run --env desktop:osworld 'Open the text editor. Type \"hello\".'",
    )
)
def machine() -> None:
    """List and build systems with applications.

    A profile is built once, into a folder of the user's cache. A private desktop shows it as
    --env desktop:NAME; `hisa vm build NAME` makes a virtual machine's disk of the same folder.
    """


@machine.command("ls", epilog=examples("hisa machine ls", "hisa machine ls --json"))
@json_option
def list_command(as_json: bool) -> None:
    """List the profiles: what was built of each, how large it is, and for which machines."""
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
    """Build the system of PROFILE from Debian's packages; does nothing where it is there.

    Says what it downloads. What was downloaded is kept, so that a build that was cut off goes on
    from there.
    """
    build_tree(recipe(profile), _tell)
    say(f"{profile}: built")
    say(f"  try: hisa run --env desktop:{profile} 'Open the text editor.'")


@machine.command(epilog=examples("hisa machine show osworld", "hisa machine show osworld --json"))
@click.argument("profile")
@json_option
def show(profile: str, as_json: bool) -> None:
    """Show what is in PROFILE: applications with their versions, size, and whom it serves."""
    row = _about(recipe(profile))
    if as_json:
        print_json(row)
        return
    say(f"{profile} {row['version']}: {_state(row)}")
    for title, version in row["applications"].items():
        say(f"  {title:<18} {version or '(not built)'}")
    for name, version in row["python"].items():
        say(f"  {name:<18} {version}")
    if row["built"]:
        say(f"  {row['package_count']} packages; in {row['folder']}")
        say(f"  serves tasks about: {', '.join(row['serves']) or 'none'}")
        say(f"  has nothing for:    {', '.join(row['lacks']) or 'none'}")


def _about(wanted: Recipe) -> dict[str, Any]:
    tree = find_tree(wanted)
    image = find_image(wanted)
    known: dict[str, Any] = tree.manifest if tree else {}
    disk: dict[str, Any] = image.manifest if image else {}
    versions = {
        name: version
        for kind in ("packages", "python", "npm")
        for name, version in known.get(kind, {}).items()
    }
    row = {
        "profile": wanted.profile,
        "version": wanted.version,
        "built": tree is not None,
        "applications": {
            each.title: versions.get(each.package, "") for each in applications(wanted)
        },
        "python": known.get("python", {}),
        "desktop": tree is not None,
        "vm": image is not None,
        "disk_bytes": disk.get("bytes"),
        "disk_seconds": disk.get("seconds"),
        "folder": str(tree.folder) if tree else "",
    }
    copied = ("bytes", "seconds", "downloaded", "created", "package_count")
    return {**row, **{name: known.get(name) for name in copied}, **_served(tree)}


def _served(tree: Tree | None) -> dict[str, list[str]]:
    """Applications by what tasks are about: those that the tree has, and those that it lacks."""
    if tree is None:
        return {"serves": [], "lacks": []}
    there = {app.title: is_in_tree(app, tree.root) for app in APPS}
    return {
        "serves": [title for title, here in there.items() if here],
        "lacks": [title for title, here in there.items() if not here],
    }


def _state(row: dict[str, Any]) -> str:
    name = row["profile"]
    if not row["built"]:
        image = "; a virtual machine's disk is there" if row["vm"] else ""
        return f"not built: hisa machine build {name}{image}"
    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(row["created"]))
    disk = f"no disk yet: hisa vm build {name}"
    if row["vm"]:
        size, seconds = row["disk_bytes"] / 1e6, row["disk_seconds"]
        disk = f"--env vm:{name}, its disk {size:.0f} MB, made in {seconds:.0f} s"
    return (
        f"{row['bytes'] / 1e6:.0f} MB, built {made} in {row['seconds']:.0f} s; "
        f"--env desktop:{name}; {disk}"
    )


def _tell(line: str) -> None:
    say(line, err=True)
