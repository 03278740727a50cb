"""Builds the tree of a profile: a folder with Debian's packages and HiSA's own files.

A private desktop is an overlay on it, as on the host's own system, and a virtual machine's disk is
made from it. Downloaded packages are kept, so a build that was interrupted does not fetch them
again.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import tarfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hisa.errors import EnvironmentFailed, UsageError
from hisa.machine.parts import install_command
from hisa.plugins.machines.profiles import store
from hisa.plugins.machines.profiles.process import Progress, run
from hisa.plugins.machines.profiles.recipe import Recipe, recipe
from hisa.plugins.machines.profiles.wheels import fetch_wheels

__all__ = [
    "Tree",
    "as_root_of_namespace",
    "build_tree",
    "built_tree",
    "find_tree",
    "on_path",
    "pack_files",
    "tree_folder",
]

_BUILDER = "mmdebstrap"
_FIX = install_command("vm")
_WHEELS = "/var/cache/hisa-wheels"
_ARCHIVES = "var/cache/apt/archives"


class Tree:
    """A built tree.

    Args:
        folder: the folder of the tree and its manifest.
        manifest: how the tree was built, and what is in it.
    """

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder = folder
        self.manifest = manifest

    @property
    def root(self) -> Path:
        """The folder that is ``/`` inside."""
        return self.folder / "root"

    @property
    def name(self) -> str:
        """Profile and version."""
        return self.folder.name


def on_path(name: str) -> bool:
    """Whether a program is installed, including those for root alone."""
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
    return shutil.which(name, path=path) is not None


def tree_folder(recipe: Recipe) -> Path:
    """Returns the folder of a recipe's tree, whether it was built or not."""
    return store.folder("trees") / f"{recipe.profile}-{recipe.version}"


def find_tree(recipe: Recipe) -> Tree | None:
    """Returns the tree of exactly this recipe; None if it is not built."""
    folder = tree_folder(recipe)
    manifest = store.read_manifest(folder)
    return Tree(folder, manifest) if manifest is not None else None


def built_tree(profile: str) -> Tree:
    """Returns the built tree of a profile.

    Raises:
        UsageError: there is no such profile, or it is not built.
    """
    tree = find_tree(recipe(profile))
    if tree is None:
        raise UsageError(f"profile {profile!r} is not built", fix=f"hisa machine build {profile}")
    return tree


def build_tree(recipe: Recipe, tell: Progress) -> Tree:
    """Returns the tree of a recipe; builds it if it does not exist, which takes minutes.

    Args:
        recipe: the profile's packages and files.
        tell: called with a line for each step of progress.

    Raises:
        EnvironmentFailed: a program is missing or failed; the message ends with its last output.
    """
    target = tree_folder(recipe)
    with store.hold_lock(target, tell):
        tree = find_tree(recipe)
        if tree:
            tell(f"tree {tree.name} is built")
            return tree
        if not on_path(_BUILDER):
            raise EnvironmentFailed(
                f"not installed: {_BUILDER}, from the package {_BUILDER}", fix=_FIX
            )
        begun = time.monotonic()
        with store.place_atomically(target) as draft:
            tell(f"{len(recipe.packages)} packages of Debian {recipe.suite}, with dependencies")
            _fill(draft, recipe, tell)
            manifest = _describe_tree(draft, recipe)
            manifest["seconds"] = round(time.monotonic() - begun, 1)
            store.write_manifest(draft, manifest)
    tell(f"tree {target.name}: {manifest['bytes'] / 1e6:.0f} MB, {manifest['seconds']:.0f} s")
    return Tree(target, manifest)


def _fill(draft: Path, recipe: Recipe, tell: Progress) -> None:
    """Make the tree in a draft, and keep the builder's output beside it."""
    work = draft / "work"
    work.mkdir()
    for folder in (work, draft):
        folder.chmod(0o755)
    files = work / "files.tar"
    files.write_bytes(pack_files({f".{place}": file for place, file in recipe.files.items()}))
    root = draft / "root"
    is_root = os.getuid() == 0
    out = root if is_root else work / "root.tar"
    wheels = None
    if recipe.requirements:
        requirement_files = tuple(recipe.requirements.values())
        wheels = fetch_wheels(requirement_files, tell, sources=recipe.sources)
    # The package manager fails if another build uses the folder of downloaded packages.
    with store.hold_lock(store.folder("archives"), tell) if is_root else contextlib.nullcontext():
        output = run(_bootstrap(recipe, files, wheels, out), work / "log", tell, fix=_FIX)
    if not is_root:
        tell("unpacking the tree")
        root.mkdir()
        root.chmod(0o755)
        unpack = ["tar", "-xf", str(out), "-C", str(root), "--exclude=./dev/*"]
        run([*as_root_of_namespace(), *unpack], work / "log", tell, fix=_FIX)
    (work / "log").write_text(output, encoding="utf-8")
    (work / "log").rename(draft / "log")
    store.remove(work)


def _describe_tree(draft: Path, recipe: Recipe) -> dict[str, Any]:
    return {
        "profile": recipe.profile,
        "version": recipe.version,
        "suite": recipe.suite,
        "bytes": store.sizes(draft / "root"),
        "created": time.time(),
    }


def as_root_of_namespace() -> list[str]:
    """Returns the prefix that runs a command as root of a user namespace; empty for root."""
    return [] if os.getuid() == 0 else ["unshare", "--map-root-user", "--map-auto"]


def _bootstrap(recipe: Recipe, files: Path, wheels: Path | None, out: Path) -> list[str]:
    is_root = os.getuid() == 0
    laid = [
        f'--customize-hook=mkdir -p "$1{_WHEELS}"',
        f"--customize-hook=sync-in {wheels} {_WHEELS}",
    ]
    hooks = _build_archive_hooks() if is_root else {"before": [], "after": []}
    return [
        *(["unshare", "--mount"] if is_root else []),
        _BUILDER,
        "--verbose",
        f"--mode={'root' if is_root else 'unshare'}",
        "--variant=minbase",
        f"--format={'directory' if is_root else 'tar'}",
        f"--include={','.join(recipe.packages)}",
        '--aptopt=Acquire::Languages "none"',
        '--aptopt=APT::Install-Recommends "false"',
        "--dpkgopt=force-unsafe-io",  # an interrupted build is thrown away
        "--dpkgopt=path-exclude=/usr/share/man/*",
        "--dpkgopt=path-exclude=/usr/share/doc/*",
        "--dpkgopt=path-exclude=/usr/share/locale/*",
        *hooks["before"],
        f"--customize-hook=tar-in {files} /",
        *(laid if wheels else ()),
        *hooks["after"],
        '--customize-hook=chroot "$1" sh /usr/lib/hisa/setup.sh',
        recipe.suite,
        str(out),
    ]


def _build_archive_hooks() -> dict[str, list[str]]:
    """Return hooks that keep downloaded packages in a folder that outlives the build.

    The folder is mounted over the new system's own, in a mount namespace that ends with the
    builder.
    """
    folder = store.folder("archives")
    place = f'"$1/{_ARCHIVES}"'
    lay = f"mkdir -p {place} && mount --bind '{folder}' {place}"
    return {
        "before": [
            "--skip=download/empty",
            "--skip=essential/unlink",
            f"--setup-hook={lay}",
        ],
        "after": [f"--customize-hook=umount {place}"],
    }


def pack_files(files: Mapping[str, Path]) -> bytes:
    """Packs files into a tar, all owned by root; the same files always give the same bytes.

    Args:
        files: the file for each path in the tar.
    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for place, file in sorted(files.items()):
            info = tarfile.TarInfo(place)
            info.size = file.stat().st_size
            info.mode = 0o755 if place.startswith("./usr/local/bin/") else 0o644
            with file.open("rb") as stream:
                archive.addfile(info, stream)
    return buffer.getvalue()
