"""Stores trees, images and running machines on disk; an entry appears whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = [
    "entries",
    "folder",
    "hold_lock",
    "place_atomically",
    "read_manifest",
    "remove",
    "sizes",
    "sweep",
    "write_manifest",
]

_MANIFEST = "manifest.json"
_DRAFT = ".draft-"


def folder(kind: str) -> Path:
    """Returns the folder of a kind (trees, images, ready, machines); makes it if needed."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    path = cache / "hisa" / "vm" / kind
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


@contextlib.contextmanager
def place_atomically(target: Path) -> Iterator[Path]:
    """Yields a draft folder beside ``target``, renamed to ``target`` at the end of the block.

    If the block is cut off by an error or a kill, ``target`` does not exist. The next call or
    ``hisa vm gc`` removes the drafts of processes that are gone. An existing ``target`` is never
    replaced: disks may be overlays on it.
    """
    sweep(target.parent)
    prefix = f"{_DRAFT}{os.getpid()}-"
    draft = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
    try:
        yield draft
        draft.rename(target)
    except BaseException:
        remove(draft)
        raise


@contextlib.contextmanager
def hold_lock(target: Path, tell: Callable[[str], None] = lambda line: None) -> Iterator[None]:
    """Locks the making of ``target`` for one process; the lock ends with the process.

    Args:
        target: what is made; need not exist.
        tell: called with a line before waiting for another process that has the lock.
    """
    with (target.parent / f".lock-{target.name}").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell(f"waiting for another process, which is working on {target.name}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def sweep(parent: Path) -> int:
    """Removes drafts whose process is gone; returns their number."""
    removed = 0
    for path in parent.glob(f"{_DRAFT}*"):
        pid = path.name.removeprefix(_DRAFT).partition("-")[0]
        if not Path("/proc", pid).exists():
            remove(path)
            removed += 1
    return removed


def remove(path: Path) -> None:
    """Removes a folder, as far as possible; raises nothing."""
    shutil.rmtree(path, ignore_errors=True)
    if path.exists() and os.getuid() != 0:  # without root, other users own a tree's files
        line = ["unshare", "--map-root-user", "--map-auto", "rm", "-rf", "--", str(path)]
        with contextlib.suppress(OSError):
            subprocess.run(line, check=False, capture_output=True)


def sizes(path: Path) -> int:
    """Returns the bytes that a folder takes on the disk; ignores holes and files that vanish."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += os.lstat(os.path.join(folder, name)).st_blocks * 512
    return total


def write_manifest(path: Path, manifest: Mapping[str, Any]) -> None:
    """Writes the manifest of a folder."""
    text = json.dumps(manifest, indent=2, sort_keys=True)
    (path / _MANIFEST).write_text(text + "\n", encoding="utf-8")


def read_manifest(path: Path) -> dict[str, Any] | None:
    """Reads the manifest of a folder; None if it is missing or damaged."""
    try:
        manifest = json.loads((path / _MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) else None


def entries(kind: str) -> list[tuple[Path, dict[str, Any]]]:
    """Returns all complete entries of a kind with their manifests, by name."""
    pairs = []
    for path in sorted(folder(kind).iterdir()):
        manifest = None if path.name.startswith(_DRAFT) else read_manifest(path)
        if manifest is not None:
            pairs.append((path, manifest))
    return pairs
