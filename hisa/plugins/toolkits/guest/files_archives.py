"""Lists, packs and unpacks archives; runs inside the machine."""

from __future__ import annotations

import lzma
import os
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from .files_common import Refused, path_of, serve, to_bin

LISTED = 400
"""Entries that are told one by one; chosen by hand: more is no longer read."""
MOST_ENTRIES = 100_000
"""Entries of an archive that is unpacked: a source tree of a large program has about so many."""
MOST_BYTES = 4 << 30
"""Bytes that are unpacked at most."""
PLENTY = 128 << 20
"""Bytes that are unpacked however small the archive is."""
RATIO = 100
"""Beyond that, how many bytes one byte of the archive may become: text becomes ten to twenty."""
CHUNK = 1 << 20
TAR_MODES = {
    ".tar": "w", ".tar.gz": "w:gz", ".tgz": "w:gz", ".tar.bz2": "w:bz2", ".tar.xz": "w:xz"
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """One entry of an archive."""

    name: str
    kind: str
    size: int
    mode: int
    key: Any


@contextmanager
def _opened(path: Path) -> Iterator[tuple[list[Entry], Callable[[Entry], IO[bytes]]]]:
    """Gives the entries of an archive, and what opens one of them."""
    if not path.is_file():
        raise Refused(f"there is no file {str(path)!r}")
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as file:
            yield _zip_entries(file), lambda entry: file.open(entry.key)
    elif tarfile.is_tarfile(path):
        with tarfile.open(path) as tar:
            yield _tar_entries(tar), lambda entry: _member(tar, entry)
    else:
        raise Refused(f"{str(path)!r} is neither a zip nor a tar archive")


def _zip_entries(file: zipfile.ZipFile) -> list[Entry]:
    entries = []
    for each in file.infolist()[: MOST_ENTRIES + 1]:
        link = stat.S_ISLNK(each.external_attr >> 16)
        kind = "link" if link else "folder" if each.is_dir() else "file"
        kind = "locked" if each.flag_bits & 1 else kind
        entries.append(Entry(each.filename, kind, each.file_size, each.external_attr >> 16, each))
    return entries


def _tar_entries(tar: tarfile.TarFile) -> list[Entry]:
    entries = []
    read = 0
    for each in tar:
        kind = "file" if each.isreg() else "folder" if each.isdir() else "link"
        kind = kind if each.isreg() or each.isdir() or each.issym() or each.islnk() else "special"
        entries.append(Entry(each.name, kind, each.size, each.mode, each))
        read += each.size
        if len(entries) > MOST_ENTRIES or read > MOST_BYTES:
            break
    return entries


def _member(tar: tarfile.TarFile, entry: Entry) -> IO[bytes]:
    opened = tar.extractfile(entry.key)
    if opened is None:
        raise Refused(f"{entry.name!r} cannot be read")
    return opened


def list_archive(archive: str) -> dict[str, Any]:
    """Returns the entries of an archive."""
    path = path_of(archive)
    with _opened(path) as (entries, _):
        rows = [
            {"name": each.name, "kind": each.kind, "bytes": each.size} for each in entries[:LISTED]
        ]
        size = sum(each.size for each in entries)
        return {"path": str(path), "entries": rows, "count": len(entries), "bytes": size}


def unpack(archive: str, folder: str, overwrite: bool) -> dict[str, Any]:
    """Unpacks an archive into a folder: all of it, or nothing."""
    path, target = path_of(archive), path_of(folder)
    with _opened(path) as (entries, opener):
        wanted = _checked(entries, target, overwrite)
        target.mkdir(parents=True, exist_ok=True)
        between = Path(tempfile.mkdtemp(dir=target, prefix=".unpacking-"))
        try:
            written = _write_out(wanted, opener, between, _budget(path))
            replaced = _put_in_place(wanted, between, target)
        finally:
            shutil.rmtree(between, ignore_errors=True)
    missing = [name for name, _ in wanted if not os.path.lexists(target / name)]
    if missing:
        raise Refused(f"not there after unpacking: {missing[:10]}")
    left_out = [each.name for each in entries if each.kind not in ("file", "folder")]
    return {
        "path": str(target),
        "files": sum(entry.kind == "file" for _, entry in wanted),
        "bytes": written,
        "left_out": left_out,
        "replaced": replaced,
    }


def _budget(path: Path) -> int:
    return min(MOST_BYTES, max(PLENTY, RATIO * path.stat().st_size))


def _checked(
    entries: Sequence[Entry], target: Path, overwrite: bool
) -> list[tuple[PurePosixPath, Entry]]:
    """Returns the entries that are unpacked, each with its path below the folder.

    Raises:
        Refused: one would leave the folder, is locked, or would take another file's place.
    """
    if len(entries) > MOST_ENTRIES:
        raise Refused(f"it has more than {MOST_ENTRIES:,} entries; nothing was unpacked")
    wanted = []
    for entry in entries:
        if entry.kind == "locked":
            raise Refused(f"{entry.name!r} has a password; nothing was unpacked")
        if entry.kind not in ("file", "folder"):
            continue
        name = _inside(entry.name, target)
        if entry.kind == "file" and (target / name).is_dir():
            raise Refused(f"{str(target / name)!r} is a folder; nothing was unpacked")
        if entry.kind == "file" and os.path.lexists(target / name) and not overwrite:
            raise Refused(
                f"{str(target / name)!r} is there already; with overwrite it goes to the bin; "
                "nothing was unpacked"
            )
        if name.parts:
            wanted.append((name, entry))
    return wanted


def _inside(name: str, target: Path) -> PurePosixPath:
    path = PurePosixPath(name.replace("\\", "/"))
    windows = bool(path.parts) and len(path.parts[0]) == 2 and path.parts[0][1] == ":"
    if path.is_absolute() or ".." in path.parts or "\0" in name or windows:
        raise Refused(f"{name!r} would leave the folder; nothing was unpacked")
    real = Path(os.path.realpath(target))
    if not Path(os.path.realpath(target / path)).is_relative_to(real):
        raise Refused(f"{name!r} would leave the folder through a link; nothing was unpacked")
    return path


def _write_out(
    wanted: Sequence[tuple[PurePosixPath, Entry]],
    opener: Callable[[Entry], IO[bytes]],
    between: Path,
    budget: int,
) -> int:
    """Returns the bytes that were written."""
    written = 0
    for name, entry in wanted:
        place = between / name
        if entry.kind == "folder":
            place.mkdir(parents=True, exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        with opener(entry) as source, place.open("wb") as file:
            while chunk := source.read(CHUNK):
                written += len(chunk)
                if written > budget:
                    raise Refused(
                        f"it becomes more than {budget:,} bytes, as an archive does that is made "
                        "to fill a disk; nothing was unpacked"
                    )
                file.write(chunk)
        place.chmod(0o755 if entry.mode & 0o100 else 0o644)
    return written


def _put_in_place(
    wanted: Sequence[tuple[PurePosixPath, Entry]], between: Path, target: Path
) -> int:
    """Moves the unpacked files to their places; returns the number of those that it replaced."""
    replaced = 0
    for name, entry in wanted:
        place = target / name
        if entry.kind == "folder":
            place.mkdir(parents=True, exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(place) and (between / name).exists():
            to_bin(place)
            replaced += 1
        if (between / name).exists():  # an archive may hold a name twice
            os.rename(between / name, place)
    return replaced


def pack(paths: Sequence[str], archive: str, overwrite: bool) -> dict[str, Any]:
    """Packs files and folders into an archive whose name tells its kind."""
    target = path_of(archive)
    mode = next((way for end, way in TAR_MODES.items() if target.name.lower().endswith(end)), "")
    if not mode and target.suffix.lower() != ".zip":
        raise Refused(f"{target.name!r} must end in .zip, {', '.join(TAR_MODES)}")
    if os.path.lexists(target) and not overwrite:
        raise Refused(f"{str(target)!r} is there already; with overwrite it goes to the bin")
    members = list(_members([path_of(each) for each in paths], target))
    names = [name for name, _ in members]
    twice = sorted({name for name in names if names.count(name) > 1}) if len(names) < 1000 else []
    if twice:
        raise Refused(f"two of them would be {twice[0]!r} in the archive; nothing was packed")
    target.parent.mkdir(parents=True, exist_ok=True)
    number, between = tempfile.mkstemp(dir=target.parent, prefix=".packing-")
    os.close(number)
    try:
        left_out = _write_archive(members, Path(between), mode)
        if os.path.lexists(target):
            to_bin(target)
        os.chmod(between, 0o644)
        os.rename(between, target)
    finally:
        Path(between).unlink(missing_ok=True)
    return {**list_archive(str(target)), "packed": target.stat().st_size, "left_out": left_out}


def _members(paths: Sequence[Path], target: Path) -> Iterator[tuple[str, Path]]:
    """Gives the name in the archive of each file and folder."""
    for path in paths:
        if not os.path.lexists(path):
            raise Refused(f"there is no {str(path)!r}; nothing was packed")
        yield path.name, path
        if path.is_dir() and not path.is_symlink():
            for folder, folders, files in os.walk(path):
                folders.sort()
                for each in sorted([*folders, *files]):
                    inner = Path(folder, each)
                    if inner != target:
                        yield str(inner.relative_to(path.parent)), inner


def _write_archive(members: Sequence[tuple[str, Path]], between: Path, mode: str) -> list[str]:
    """Returns the names of what an archive has no place for: links, and what is no file."""
    plain = [
        (name, path)
        for name, path in members
        if not path.is_symlink() and (path.is_file() or path.is_dir())
    ]
    if mode:
        with tarfile.open(between, mode) as tar:  # type: ignore[call-overload]
            for name, path in plain:
                tar.add(path, name, recursive=False)
    else:
        with zipfile.ZipFile(between, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as file:
            for name, path in plain:
                file.write(path, name)
    kept = {name for name, _ in plain}
    return [name for name, _ in members if name not in kept]


FUNCTIONS: dict[str, Callable[..., dict[str, Any]]] = {
    "list": list_archive,
    "pack": pack,
    "unpack": unpack,
}
DAMAGED = "the archive is damaged, or of a kind that is not read: "
BROKEN: tuple[type[Exception], ...] = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, NotImplementedError
)  # fmt: skip


if __name__ == "__main__":
    serve(FUNCTIONS, dict.fromkeys(BROKEN, DAMAGED) | {ValueError: ""})
