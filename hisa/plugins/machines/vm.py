"""``hisa vm``: build images, and start, freeze and end machines by hand."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from hisa.cli.open_group import pass_sections
from hisa.cli.out import examples, json_option, print_json
from hisa.config import EnvironmentSettings
from hisa.environments.screen import screen_of
from hisa.plugins.machines.console import attach_console
from hisa.plugins.machines.profiles import store
from hisa.plugins.machines.profiles.recipe import recipe
from hisa.plugins.machines.qemu import build as building
from hisa.plugins.machines.qemu.gc import collect, drop_snapshot, taken
from hisa.plugins.machines.qemu.machine import Machine
from hisa.plugins.machines.qemu.runtime import (
    VmRuntime,
    attach,
    end,
    find_machine,
    list_machines,
    template,
)
from hisa.plugins.machines.qemu.runtime import snapshot as freeze
from hisa.plugins.machines.qemu.template import ready
from hisa.screen.geometry import Size

__all__ = ["vm"]


def _tell(line: str) -> None:
    click.echo(line, err=True)


@click.group(
    epilog=examples(
        "hisa vm build minimal",
        "hisa run --env vm:minimal 'Open the text editor. Type \"hello\".'",
        "hisa vm start minimal",
    )
)
def vm() -> None:
    """Build, start, freeze and end virtual machines.

    A NAME is a profile (hisa machine ls) or a snapshot; an ID is a running machine, by
    the beginning of its id.
    """


@vm.command(epilog=examples("hisa vm build minimal", "hisa vm build office"))
@click.argument("profile")
@pass_sections("environment")
def build(settings: EnvironmentSettings, profile: str) -> None:
    """Build the image of PROFILE, boot it once and freeze the ready desktop.

    Takes minutes the first time; does nothing where all of it is there.
    """
    image = building.build(recipe(profile), _tell)
    size = _screen(settings, profile)
    template = ready(image, size, _tell)
    click.echo(f"{profile}: ready ({template.shape.accel})")
    click.echo(f"  try: hisa run --env vm:{profile} 'Open the text editor.'")


@vm.command("ls", epilog=examples("hisa vm ls", "hisa vm ls --json | jq .machines"))
@json_option
def list_command(as_json: bool) -> None:
    """List images, snapshots and running machines."""
    found = {
        "images": [_row(path, known, store.sizes(path)) for path, known in store.entries("images")],
        "ready": [_row(path, known, store.sizes(path)) for path, known in store.entries("ready")],
        "snapshots": [
            _row(path, known, store.sizes(path)) for path, known in store.entries("snapshots")
        ],
        "machines": [_row(path, known, store.sizes(path)) for path, known in list_machines()],
    }
    if as_json:
        print_json(found)
        return
    for kind, rows in found.items():
        click.secho(kind, bold=True)
        for row in rows:
            click.echo(f"  {_line(row)}")
        if not rows:
            click.echo("  none")


def _row(path: Path, known: dict[str, Any], size: int) -> dict[str, Any]:
    wanted = ("name", "profile", "version", "suite", "created", "port", "pid", "stays", "image")
    return {"id": path.name, "bytes": size, **{key: known[key] for key in wanted if key in known}}


def _line(row: dict[str, Any]) -> str:
    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(row["created"]))
    where = f"  {row['name']} at http://127.0.0.1:{row['port']}" if "port" in row else ""
    return f"{row['id']:<44} {row['bytes'] / 1e6:7.0f} MB  {made}{where}"


@vm.command(epilog=examples("hisa vm start minimal", "hisa vm start with-data"))
@click.argument("name")
@json_option
@pass_sections("environment")
def start(settings: EnvironmentSettings, name: str, as_json: bool) -> None:
    """Start a machine that stays up, and say how it is reached."""
    size = _screen(settings, name)
    runtime = VmRuntime(name, size, stays=True)
    runtime.start()
    _say_where(runtime, as_json)


def _screen(settings: EnvironmentSettings, name: str) -> Size:
    return screen_of(name, settings.width, settings.height)


def _say_where(runtime: VmRuntime, as_json: bool) -> None:
    machine = runtime.machine
    token = machine.folder / "token"
    url = f"http://127.0.0.1:{machine.port}"
    if as_json:
        print_json({"id": machine.folder.name, "url": url, "token_file": str(token)})
        return
    click.echo(f"{machine.folder.name}: {runtime.name} at {url}")
    example = f"hisa run --env guest={url} 'Open the text editor.'"
    click.echo(f"  HISA_GUEST_TOKEN=$(cat {token}) {example}")


@vm.command(epilog=examples("hisa vm stop 3f"))
@click.argument("ident", metavar="ID")
def stop(ident: str) -> None:
    """End a machine; what was not frozen is lost."""
    folder, manifest = find_machine(ident)
    end(folder, manifest)
    click.echo(f"{folder.name}: ended")


@vm.command(
    epilog=examples(
        "hisa vm snapshot 3f with-data", "hisa run --env vm:with-data 'Open the text editor.'"
    )
)
@click.argument("ident", metavar="ID")
@click.argument("name")
def snapshot(ident: str, name: str) -> None:
    """Freeze a machine under NAME; it goes on after a moment's halt."""
    begun = time.monotonic()
    freeze(ident, name)
    click.echo(f"{name}: frozen in {time.monotonic() - begun:.1f} s")


@vm.command(epilog=examples("hisa vm restore 3f with-data", "hisa vm restore 3f minimal"))
@click.argument("ident", metavar="ID")
@click.argument("name")
@json_option
@pass_sections("environment")
def restore(settings: EnvironmentSettings, ident: str, name: str, as_json: bool) -> None:
    """Put a machine back to NAME; it keeps its id and gets a new port."""
    folder, manifest = find_machine(ident)
    size = _screen(settings, name)
    template(name, size).check()
    end(folder, manifest)
    runtime = VmRuntime(name, size, stays=True)
    runtime.start(folder.name)
    _say_where(runtime, as_json)


@vm.command(
    context_settings={"ignore_unknown_options": True},
    epilog=examples("hisa vm shell 3f", "hisa vm shell 3f -- ls -l Documents"),
)
@click.argument("ident", metavar="ID")
@click.argument("command", nargs=-1)
def shell(ident: str, command: tuple[str, ...]) -> int:
    """A shell on the machine's console, or one command; its exit code is this one's."""
    machine = attach(*find_machine(ident))
    if command:
        return _execute(machine, command)
    attach_console(machine.folder / "console")
    return 0


def _execute(machine: Machine, command: Sequence[str]) -> int:
    done = machine.execute(command, seconds=600.0, limit=1_000_000)
    click.echo(done["output"], nl=False)
    click.echo(done["error"], nl=False, err=True)
    return int(done["exit_code"])


@vm.command(epilog=examples("hisa vm gc"))
@click.option("--snapshot", "names", multiple=True, help="Also remove this snapshot.")
def gc(names: tuple[str, ...]) -> None:
    """Remove old images, states that no longer load, and what machines left that are gone."""
    before = taken()
    removed = [f"snapshots/{name}" for name in names]
    for name in names:
        drop_snapshot(name)
    removed += collect()
    for line in removed:
        click.echo(f"removed {line}")
    freed = f"{(before - taken()) / 1e6:.0f} MB freed" if removed else "nothing to remove"
    click.echo(f"{freed}; {taken() / 1e6:.0f} MB in use")
