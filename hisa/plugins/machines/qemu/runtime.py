"""Starts machines of profiles, lists them, and removes the files of ended ones."""

from __future__ import annotations

import secrets
import shutil
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hisa.errors import EnvironmentFailed
from hisa.plugins.desktop.runtime.state import process_start
from hisa.plugins.machines.profiles import store
from hisa.plugins.machines.profiles.recipe import recipe
from hisa.plugins.machines.qemu.build import Image, find_image
from hisa.plugins.machines.qemu.machine import Machine
from hisa.plugins.machines.qemu.template import ready
from hisa.screen.geometry import Size

__all__ = ["end_machine", "list_machines", "reap_machines", "start_machine"]

_YOUNG_SECONDS = 120.0  # chosen by hand


def _image(profile: str) -> Image:
    image = find_image(recipe(profile))
    if image is None:
        raise EnvironmentFailed(
            f"the image of {profile!r} is not built, or not from its present recipe",
            fix=f"hisa vm build {profile}",
        )
    return image


def start_machine(profile: str, size: Size) -> Machine:
    """Clones a machine from a profile's ready desktop, which is made if needed.

    Returns:
        The machine, whose guest answers.

    Raises:
        UsageError: no such profile.
        EnvironmentFailed: the image is not built, or the machine cannot be started.
    """
    reap_machines()
    source = ready(_image(profile), size)
    folder = store.folder("machines") / secrets.token_hex(4)
    folder.mkdir(mode=0o700)
    try:
        machine = source.clone(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    try:
        known: dict[str, Any] = {"name": profile, "pid": machine.pid, "started": machine.started}
        known |= {"port": machine.port, "created": time.time(), "source": str(source.folder)}
        store.write_manifest(folder, {**known, "shape": asdict(machine.shape)})
    except BaseException:
        end_machine(machine)
        raise
    return machine


def end_machine(machine: Machine) -> None:
    """Ends a machine and removes its files."""
    machine.kill()
    shutil.rmtree(machine.folder, ignore_errors=True)


def list_machines() -> list[tuple[Path, dict[str, Any]]]:
    """Returns the running machines of this user, as folder and manifest."""
    return [entry for entry in store.entries("machines") if _runs(entry[1])]


def _runs(manifest: dict[str, Any]) -> bool:
    return process_start(int(manifest["pid"])) == int(manifest["started"])


def reap_machines() -> int:
    """Removes the folders of machines that are gone; returns their number."""
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
