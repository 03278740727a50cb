"""Removes what nothing needs any more: old images, states that no longer load, leftovers."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hisa.errors import EnvironmentFailed
from hisa.plugins.desktop.runtime.state import list_desktops
from hisa.plugins.machines.profiles import store
from hisa.plugins.machines.profiles.recipe import PROFILES, recipe
from hisa.plugins.machines.qemu.build import find_image
from hisa.plugins.machines.qemu.machine import Shape, qemu_version
from hisa.plugins.machines.qemu.runtime import list_machines, reap_machines
from hisa.plugins.machines.qemu.template import guest_version
from hisa.plugins.machines.tree import tree_folder

__all__ = ["collect", "measure_storage"]


def collect() -> list[str]:
    """Removes all of it and returns what was removed; keeps what running machines depend on."""
    removed = []
    if count := reap_machines():
        removed.append(f"files of machines that are gone: {count}")
    drafts = sum(store.sweep(store.folder(kind)) for kind in ("trees", "wheels", "images", "ready"))
    if drafts:
        removed.append(f"unfinished builds: {drafts}")
    needed_images, guest = _find_needed_images(), guest_version()
    running = {Path(manifest["source"]) for _, manifest in list_machines()}
    for kind in ("ready", "images"):
        for path, manifest in store.entries(kind):
            stale = kind == "ready" and not (manifest.get("guest") == guest and _loads(manifest))
            if path not in running and (
                stale or _image_of(kind, path, manifest) not in needed_images
            ):
                shutil.rmtree(path)
                removed.append(f"{kind}/{path.name}")
    return [*removed, *_collect_trees()]


def _collect_trees() -> Iterator[str]:
    """Remove trees of outdated recipes, and all downloads; yields their names."""
    # A desktop may show such a tree; the drafts that are left belong to running builds.
    if list_desktops() or any(store.folder("trees").glob(".draft-*")):
        return
    current = {tree_folder(recipe(name)).name for name in PROFILES}
    for path, _ in store.entries("trees"):
        if path.name not in current:
            store.remove(path)
            yield f"trees/{path.name}"
    for kind in ("archives", "wheels"):
        if any(store.folder(kind).iterdir()):
            store.remove(store.folder(kind))
            yield f"{kind}: all downloads"


def _image_of(kind: str, path: Path, manifest: dict[str, Any]) -> str:
    return path.name if kind == "images" else str(manifest["image"])


def _find_needed_images() -> set[str]:
    """Returns the images of current recipes, and those that a running machine uses."""
    current = {image.name for name in PROFILES if (image := find_image(recipe(name)))}
    running = {Path(manifest["shape"]["image"]).name for _, manifest in list_machines()}
    return current | running


def _loads(manifest: dict[str, Any]) -> bool:
    try:
        known = Shape(**manifest["shape"])
        return known.qemu == qemu_version() and known.key == manifest["key"]
    except (TypeError, EnvironmentFailed):
        return False


def measure_storage() -> int:
    """Returns the bytes that trees, downloads, images, ready desktops and machines take."""
    kinds = ("trees", "archives", "wheels", "images", "ready", "machines")
    return sum(store.sizes(store.folder(kind)) for kind in kinds)
