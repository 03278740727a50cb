"""Builds an image: packs the tree of a profile into ext4, and that into qcow2."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

from hisa.errors import EnvironmentFailed
from hisa.machine.parts import install_command
from hisa.plugins.machines.profiles import store
from hisa.plugins.machines.profiles.process import Progress, run
from hisa.plugins.machines.profiles.recipe import DISK_SCRIPT, Recipe
from hisa.plugins.machines.tree import (
    Tree,
    as_root_of_namespace,
    build_tree,
    find_tree,
    on_path,
)

__all__ = ["Image", "build", "find_image", "image_folder", "missing_programs"]

_PROGRAMS = ("mmdebstrap", "mkfs.ext4", "qemu-img", "qemu-system-x86_64")
_FIX = install_command("vm")


class Image:
    """A built image: its disk, and the kernel it boots by."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.disk = folder / "disk.qcow2"
        self.kernel = folder / "vmlinuz"
        self.initrd = folder / "initrd.img"

    @property
    def name(self) -> str:
        """Profile and version."""
        return self.folder.name

    @property
    def manifest(self) -> dict[str, Any]:
        """The record of its building: ``bytes`` of its disk, ``seconds``, packages."""
        return store.read_manifest(self.folder) or {}


def missing_programs() -> list[str]:
    """Returns the programs for building and running machines that are not installed."""
    return [name for name in _PROGRAMS if not on_path(name)]


def image_folder(recipe: Recipe) -> Path:
    """Returns the folder of a recipe's image, whether it was built or not."""
    return store.folder("images") / f"{recipe.profile}-{recipe.disk_version}"


def find_image(recipe: Recipe) -> Image | None:
    """Returns the image of exactly this recipe; None if it is not built."""
    folder = image_folder(recipe)
    return Image(folder) if store.read_manifest(folder) else None


def build(recipe: Recipe, tell: Progress) -> Image:
    """Returns the image of a recipe; builds it if it does not exist, which takes minutes.

    Args:
        recipe: the profile's packages and files.
        tell: called with a line for each step of progress.

    Raises:
        EnvironmentFailed: a program is missing or failed; the message ends with its last output.
    """
    target = image_folder(recipe)
    with store.hold_lock(target, tell):
        image = find_image(recipe)
        if image:
            tell(f"{image.name} is built")
            return image
        missing = missing_programs()
        if missing:
            raise EnvironmentFailed(f"not installed: {', '.join(missing)}", fix=_FIX)
        begun = time.monotonic()
        # These were frozen on an earlier image of the same name: they would read this one's disk.
        for stale in store.folder("ready").glob(f"{target.name}-*"):
            shutil.rmtree(stale)
        tell("1/3 the tree")
        tree = find_tree(recipe) or build_tree(recipe, tell)
        with store.place_atomically(target) as draft:
            _make_disk(draft, tree, recipe.disk_mib, tell)
            _describe(draft, recipe, round(time.monotonic() - begun, 1))
    tell(f"built {target.name} in {time.monotonic() - begun:.0f} s")
    return Image(target)


def _describe(draft: Path, recipe: Recipe, seconds: float) -> None:
    manifest = {
        "profile": recipe.profile,
        "version": recipe.disk_version,
        "tree": recipe.version,
        "suite": recipe.suite,
        "packages": sorted(recipe.packages),
        "bytes": (draft / "disk.qcow2").stat().st_size,
        "seconds": seconds,
        "created": time.time(),
    }
    store.write_manifest(draft, manifest)


def _make_disk(draft: Path, tree: Tree, mebibytes: int, tell: Progress) -> None:
    work = draft / "work"
    work.mkdir()
    work.chmod(0o755)
    log = work / "log"
    tell("2/3 file system")
    command = ["sh", str(DISK_SCRIPT), str(tree.root), str(work), str(mebibytes)]
    run([*as_root_of_namespace(), *command], log, tell, fix=_FIX)
    tell("3/3 compressing the disk")
    convert = ["qemu-img", "convert", "-O", "qcow2", "-c", "-o", "compression_type=zstd"]
    run([*convert, str(work / "disk.raw"), str(draft / "disk.qcow2")], log, tell, fix=_FIX)
    for name in ("vmlinuz", "initrd.img"):
        (work / name).rename(draft / name)
    shutil.rmtree(work)
