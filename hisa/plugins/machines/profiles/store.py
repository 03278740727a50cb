"""Where trees, images and running machines are kept, and how they get there whole."""

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
    """The folder of a kind (trees, images, ready, machines), made as needed."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    path = cache / "hisa" / "vm" / kind
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


@contextlib.contextmanager
def place_atomically(target: Path) -> Iterator[Path]:
    """A draft folder beside ``target`` that takes its place at the end of the block.

    Cut off in the middle, by an error or a kill, ``target`` does not exist; drafts of processes
    that are gone are removed by the next call or by ``hisa vm gc``. What is in place is never
    replaced: disks may stand on it.
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
    """One process at a time makes ``target``; the lock falls with the process.

    Args:
        target: need not be there.
        tell: called with a line where another process has the lock, before it is waited for.
    """
    with (target.parent / f".lock-{target.name}").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell(f"another process is at work on {target.name}; this one goes on when it is done")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def sweep(parent: Path) -> int:
    """Remove drafts whose process is gone; returns their number."""
    removed = 0
    for path in parent.glob(f"{_DRAFT}*"):
        pid = path.name.removeprefix(_DRAFT).partition("-")[0]
        if not Path("/proc", pid).exists():
            remove(path)
            removed += 1
    return removed


def remove(path: Path) -> None:
    """Remove a folder, as far as that can be done."""
    shutil.rmtree(path, ignore_errors=True)
    if path.exists() and os.getuid() != 0:  # without root, a tree's files are other users'
        line = ["unshare", "--map-root-user", "--map-auto", "rm", "-rf", "--", str(path)]
        with contextlib.suppress(OSError):
            subprocess.run(line, check=False, capture_output=True)


def sizes(path: Path) -> int:
    """Bytes that a folder takes on the disk; holes take none, nor do files that go meanwhile."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += os.lstat(os.path.join(folder, name)).st_blocks * 512
    return total


def write_manifest(path: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest of a folder."""
    text = json.dumps(manifest, indent=2, sort_keys=True)
    (path / _MANIFEST).write_text(text + "\n", encoding="utf-8")


def read_manifest(path: Path) -> dict[str, Any] | None:
    """Read the manifest of a folder; None where it is missing or damaged."""
    try:
        manifest = json.loads((path / _MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) else None


def entries(kind: str) -> list[tuple[Path, dict[str, Any]]]:
    """All whole things of a kind with their manifests, by name."""
    pairs = []
    for path in sorted(folder(kind).iterdir()):
        manifest = None if path.name.startswith(_DRAFT) else read_manifest(path)
        if manifest is not None:
            pairs.append((path, manifest))
    return pairs
