"""Starts, lists and ends machines by name: of a profile, or of a snapshot."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hisa.errors import EnvironmentFailed, UsageError
from hisa.plugins.desktop.runtime.state import process_start
from hisa.plugins.machines.profiles import store
from hisa.plugins.machines.profiles.recipe import PROFILES, recipe
from hisa.plugins.machines.qemu.build import Image, find_image
from hisa.plugins.machines.qemu.machine import Machine, Shape
from hisa.plugins.machines.qemu.template import Template, freeze, ready
from hisa.screen.geometry import Size

__all__ = [
    "VmRuntime",
    "attach",
    "end",
    "find_machine",
    "list_machines",
    "reap_machines",
    "snapshot",
    "template",
]

_YOUNG_SECONDS = 120.0  # chosen by hand


def template(name: str, size: Size, tell: Callable[[str], None] = lambda line: None) -> Template:
    """Returns the template of a profile or a snapshot; a profile is booted and frozen at need.

    Raises:
        UsageError: neither a profile nor a snapshot.
        EnvironmentFailed: the profile's image is not built, or does not come up.
    """
    if name in PROFILES:
        return ready(_image(name), size, tell)
    folder = store.folder("snapshots") / store.check_name(name)
    manifest = store.read_manifest(folder)
    if manifest is None:
        taken = [path.name for path, _ in store.entries("snapshots")]
        known = ", ".join([*PROFILES, *taken])
        raise UsageError(f"no machine or snapshot {name!r}: there are {known}", fix="hisa vm ls")
    return Template(folder, manifest)


def _image(profile: str) -> Image:
    image = find_image(recipe(profile))
    if image is None:
        raise EnvironmentFailed(
            f"the image of {profile!r} is not built as its recipe now stands",
            fix=f"hisa vm build {profile}",
        )
    return image


class VmRuntime:
    """One machine, cloned from a profile's ready desktop or from a snapshot.

    Args:
        name: profile or snapshot.
        size: the screen of a profile's desktop; a snapshot keeps its own.
        stays: it goes on when this process ends, and can be frozen by `snapshot`.
    """

    def __init__(self, name: str, size: Size, *, stays: bool = False) -> None:
        self.name = name
        self.size = size
        self.stays = stays
        self.component_versions: dict[str, str] = {}
        """`Template.component_versions` of the last start."""
        self._machine: Machine | None = None

    @property
    def machine(self) -> Machine:
        """The running one.

        Raises:
            EnvironmentFailed: it was not started, or was stopped.
        """
        if self._machine is None:
            raise EnvironmentFailed(f"machine {self.name} is not running", fix="start it first")
        return self._machine

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._machine is not None and self._machine.alive

    def start(self, ident: str = "") -> None:
        """Clone it and wait until its guest answers. Blocks for a fraction of a second.

        Args:
            ident: what it is called; empty: a new random one.

        Raises:
            UsageError: no such name.
            EnvironmentFailed: it cannot be started.
        """
        reap_machines()
        source = template(self.name, self.size)
        folder = store.folder("machines") / (ident or secrets.token_hex(4))
        folder.mkdir(mode=0o700)
        try:
            self._machine = source.clone(folder, stays=self.stays)
            self._write_down(folder, source.folder)
            self.component_versions = source.component_versions
        except BaseException:
            self.stop()
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def stop(self) -> None:
        """End it and remove its files. Does nothing where it is not running."""
        machine, self._machine = self._machine, None
        if machine is not None:
            machine.kill()
            shutil.rmtree(machine.folder, ignore_errors=True)

    def _write_down(self, folder: Path, source: Path) -> None:
        machine = self.machine
        known: dict[str, Any] = {"name": self.name, "pid": machine.pid, "started": machine.started}
        known |= {"port": machine.port, "stays": self.stays, "created": time.time()}
        known["source"] = str(source)
        store.write_manifest(folder, {**known, "shape": asdict(machine.shape)})


def list_machines() -> list[tuple[Path, dict[str, Any]]]:
    """The running machines of this user: folder and manifest."""
    return [found for found in store.entries("machines") if _runs(found[1])]


def _runs(manifest: dict[str, Any]) -> bool:
    return process_start(int(manifest["pid"])) == int(manifest["started"])


def reap_machines() -> int:
    """Remove what machines that are gone left; returns their number."""
    removed = 0
    for path in store.folder("machines").iterdir():
        if _is_litter(path):
            shutil.rmtree(path, ignore_errors=True)
            removed += 1
    return removed


def _is_litter(path: Path) -> bool:
    manifest = store.read_manifest(path)
    if manifest is not None:
        return not _runs(manifest)
    try:
        return time.time() - path.stat().st_mtime > _YOUNG_SECONDS
    except FileNotFoundError:  # its owner removes it
        return False


def find_machine(ident: str) -> tuple[Path, dict[str, Any]]:
    """A running machine by the beginning of its id, or by its name where that is the only one.

    Raises:
        UsageError: none, or several.
    """
    running = list_machines()
    found = [entry for entry in running if entry[0].name.startswith(ident)]
    found = found or [entry for entry in running if entry[1]["name"] == ident]
    if len(found) != 1:
        names = ", ".join(path.name for path, _ in running) or "none"
        raise UsageError(f"machine {ident!r}: {len(found)} fit; running: {names}", fix="hisa vm ls")
    return found[0]


def attach(folder: Path, manifest: dict[str, Any]) -> Machine:
    """A machine that another process started."""
    machine = Machine(Shape(**manifest["shape"]), folder)
    machine.pid, machine.started = manifest["pid"], manifest["started"]
    return machine


def end(folder: Path, manifest: dict[str, Any], seconds: float = 10.0) -> None:
    """End a machine that another process started, and remove its files."""
    if _runs(manifest):
        os.killpg(manifest["pid"], signal.SIGKILL)
    deadline = time.monotonic() + seconds
    while _runs(manifest) and time.monotonic() < deadline:
        time.sleep(0.005)
    shutil.rmtree(folder, ignore_errors=True)


def snapshot(ident: str, name: str) -> Path:
    """Freeze a running machine under a name; it goes on after a moment's halt.

    Raises:
        UsageError: no such machine, not a new name, or a machine whose memory is not its own.
        EnvironmentFailed: it cannot be saved.
    """
    if store.check_name(name) in PROFILES:
        raise UsageError(f"{name!r} is a profile's name", fix=f"hisa vm snapshot {ident} my-{name}")
    folder, manifest = find_machine(ident)
    if not manifest["stays"]:
        raise UsageError(
            f"machine {folder.name} belongs to a run and shares its memory with others",
            fix=f"hisa vm start {manifest['name']}, then hisa vm snapshot",
        )
    target = store.folder("snapshots") / name
    if target.exists():
        raise UsageError(f"snapshot {name!r} exists", fix=f"hisa vm gc --snapshot {name}")
    with store.placed_whole(target) as draft:
        machine = attach(folder, manifest)
        about = {"name": name, "image": Path(machine.shape.image).name}
        freeze(machine, draft, about={**about, "source": manifest["source"]})
    return target
