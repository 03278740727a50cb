"""Removes what nothing needs any more: old images, states that no longer load, litter."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hisa.errors import EnvironmentFailed, UsageError
from hisa.plugins.desktop.runtime.state import list_desktops
from hisa.plugins.machines.profiles import store
from hisa.plugins.machines.profiles.recipe import PROFILES, recipe
from hisa.plugins.machines.qemu.build import find_image
from hisa.plugins.machines.qemu.machine import Shape, qemu_version
from hisa.plugins.machines.qemu.runtime import list_machines, reap_machines
from hisa.plugins.machines.qemu.template import guest_version
from hisa.plugins.machines.tree import tree_folder

__all__ = ["collect", "drop_snapshot", "taken"]


def drop_snapshot(name: str) -> None:
    """Remove a snapshot.

    Raises:
        UsageError: there is none of that name, or something stands on it.
    """
    folder = store.folder("snapshots") / store.check_name(name)
    if store.read_manifest(folder) is None:
        raise UsageError(f"no snapshot {name!r}", fix="hisa vm ls")
    kinds = (list_machines(), store.entries("snapshots"))
    users = [
        path.name for found in kinds for path, known in found if known["source"] == str(folder)
    ]
    if users:
        raise UsageError(f"snapshot {name!r} is in use by {', '.join(users)}", fix="hisa vm ls")
    shutil.rmtree(folder)


def collect() -> list[str]:
    """Remove it all and name what was removed; snapshots and what they stand on are kept."""
    removed = []
    if count := reap_machines():
        removed.append(f"machines that are gone: {count}")
    drafts = sum(
        store.sweep(store.folder(kind))
        for kind in ("trees", "wheels", "npm", "images", "ready", "snapshots")
    )
    if drafts:
        removed.append(f"cut off in the making: {drafts}")
    kept, guest = _kept_images(), guest_version()
    running = _needed_folders()
    for kind in ("ready", "images"):
        for path, manifest in store.entries(kind):
            stale = kind == "ready" and not (manifest.get("guest") == guest and _loads(manifest))
            if path not in running and (stale or _image_of(kind, path, manifest) not in kept):
                shutil.rmtree(path)
                removed.append(f"{kind}/{path.name}")
    return [*removed, *_collect_trees()]


def _collect_trees() -> Iterator[str]:
    """Remove trees of other recipes, and what was downloaded for them; yields their names."""
    # A desktop may show such a tree; the drafts that are left are of builds that go on.
    if list_desktops() or any(store.folder("trees").glob(".draft-*")):
        return
    current = {tree_folder(recipe(name)).name for name in PROFILES}
    for path, _ in store.entries("trees"):
        if path.name not in current:
            store.remove(path)
            yield f"trees/{path.name}"
    for kind in ("archives", "wheels", "npm"):
        if any(store.folder(kind).iterdir()):
            store.remove(store.folder(kind))
            yield f"{kind}: what was downloaded"


def _image_of(kind: str, path: Path, manifest: dict[str, Any]) -> str:
    return path.name if kind == "images" else str(manifest["image"])


def _kept_images() -> set[str]:
    """Images that a recipe still makes, or that a snapshot or a running machine stands on."""
    current = {image.name for name in PROFILES if (image := find_image(recipe(name)))}
    frozen = {manifest["image"] for _, manifest in store.entries("snapshots")}
    running = {Path(manifest["shape"]["image"]).name for _, manifest in list_machines()}
    return current | frozen | running


def _needed_folders() -> set[Path]:
    """Frozen states whose disks a snapshot or a running machine stands on."""
    found = {Path(manifest["source"]) for _, manifest in list_machines()}
    return found | {Path(manifest["source"]) for _, manifest in store.entries("snapshots")}


def _loads(manifest: dict[str, Any]) -> bool:
    try:
        known = Shape(**manifest["shape"])
        return known.qemu == qemu_version() and known.key == manifest["key"]
    except (TypeError, EnvironmentFailed):
        return False


def taken() -> int:
    """Bytes that trees, downloads, images, ready desktops, snapshots and machines take."""
    kinds = ("trees", "archives", "wheels", "npm", "images", "ready", "snapshots", "machines")
    return sum(store.sizes(store.folder(kind)) for kind in kinds)
