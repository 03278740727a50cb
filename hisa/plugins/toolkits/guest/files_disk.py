"""Lists, finds, copies, moves, renames and deletes files; runs inside the machine."""

from __future__ import annotations

import fnmatch
import hashlib
import mimetypes
import os
import re
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from .files_common import Refused, owner_of, path_of, serve, to_bin

LISTED = 400
"""Entries that are told one by one; chosen by hand: more is no longer read."""
VISITED = 300_000
"""Entries that a search visits, which takes about 3 s here."""
SEARCHED = 32 << 20
"""Bytes of the largest file whose content is searched: larger ones are seldom text."""
HASHED = 2 << 30
"""Bytes of the largest file that is hashed, which takes about 6 s here."""
DAY = 86_400.0
GIO_SECONDS = 30.0
"""A loaded machine takes about a second."""


def _there(text: str) -> Path:
    path = path_of(text)
    if not os.path.lexists(path):
        near = sorted(entry.name for entry in _entries(path.parent))[:20]
        raise Refused(f"there is no {str(path)!r}; {str(path.parent)!r} has {near}")
    return path


def _folder(text: str) -> Path:
    path = _there(text)
    if not path.is_dir():
        raise Refused(f"{str(path)!r} is no folder")
    return path


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "link"
    if stat.S_ISDIR(mode):
        return "folder"
    return "file" if stat.S_ISREG(mode) else "special"


def _time(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def _row(name: str, status: os.stat_result) -> dict[str, Any]:
    return {
        "name": name,
        "kind": _kind(status.st_mode),
        "bytes": status.st_size,
        "changed": _time(status.st_mtime),
    }


def list_folder(folder: str, hidden: bool) -> dict[str, Any]:
    """Returns what a folder holds: folders first, then by name."""
    path = _folder(folder)
    with os.scandir(path) as entries:
        all_ = [entry for entry in entries if hidden or not entry.name.startswith(".")]
    rows = [_row(entry.name, entry.stat(follow_symlinks=False)) for entry in all_]
    rows.sort(key=lambda row: (row["kind"] != "folder", row["name"].lower()))
    return {"path": str(path), "entries": rows[:LISTED], "count": len(rows)}


def find(
    folder: str,
    name: str,
    contains: str,
    *,
    kind: str,
    newer_days: float | None,
    older_days: float | None,
    hidden: bool,
) -> dict[str, Any]:
    """Returns the entries under a folder that fit all that is asked, by path."""
    root = _folder(folder)
    now = time.time()
    found: list[dict[str, Any]] = []
    visited = 0
    for path in _walk(root, hidden):
        visited += 1
        if visited > VISITED or len(found) >= LISTED:
            break
        if name and not fnmatch.fnmatchcase(path.name.lower(), name.lower()):
            continue
        status = path.lstat()
        age = (now - status.st_mtime) / DAY
        if newer_days is not None and age > newer_days:
            continue
        if older_days is not None and age < older_days:
            continue
        if kind and _kind(status.st_mode) != kind:
            continue
        line = _line_with(path, status, contains) if contains else ""
        if line is not None:
            found.append({**_row(str(path), status), "line": line})
    whole = visited <= VISITED and len(found) < LISTED
    return {"path": str(root), "entries": found, "visited": visited, "whole": whole}


def _walk(root: Path, hidden: bool) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        if not hidden:
            folders[:] = [each for each in folders if not each.startswith(".")]
            files = [each for each in files if not each.startswith(".")]
        folders.sort()
        for each in sorted([*folders, *files]):
            yield Path(folder, each)


def _line_with(path: Path, status: os.stat_result, text: str) -> str | None:
    """Returns the first line with a text, and its number; None where there is none."""
    if not stat.S_ISREG(status.st_mode) or status.st_size > SEARCHED:
        return None
    try:
        data = path.read_bytes()
    except OSError:
        return None
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    content = data.decode(encoding, "replace")
    at = content.lower().find(text.lower())
    if at < 0:
        return None
    begin = content.rfind("\n", 0, at) + 1
    end = content.find("\n", at)
    line = content[begin : end if end >= 0 else len(content)]
    return f"{content.count(chr(10), 0, at) + 1}: {line.strip()[:200]}"


def make_folder(folder: str) -> dict[str, Any]:
    """Makes a folder, and those above it as needed."""
    path = path_of(folder)
    if os.path.lexists(path):
        raise Refused(f"{str(path)!r} is there already, as a {_kind(path.lstat().st_mode)}")
    path.mkdir(parents=True)
    return {"path": str(path), "there": path.is_dir()}


def _target(source: Path, target: str, overwrite: bool) -> tuple[Path, str]:
    """Returns the place that a file goes to, and where what was there is now.

    Raises:
        Refused: something is there, and stays.
    """
    path = path_of(target)
    if path.is_dir() or target.endswith("/"):
        path = path / source.name
    if path == source or path.is_relative_to(source):
        raise Refused(f"{str(path)!r} is {str(source)!r} itself, or inside of it")
    moved = ""
    if os.path.lexists(path):
        if not overwrite:
            raise Refused(f"{str(path)!r} is there already; with overwrite it goes to the bin")
        to_bin(path)
        moved = "what was there is in the bin"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path, moved


def _measure(path: Path) -> tuple[int, int]:
    """Returns how many files there are at a path, and their bytes."""
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode):
        return 1, status.st_size
    sizes = [
        os.lstat(os.path.join(folder, each)).st_size
        for folder, _, files in os.walk(path)
        for each in files
    ]
    return len(sizes), sum(sizes)


def copy(source: str, target: str, overwrite: bool) -> dict[str, Any]:
    """Copies a file or a whole folder; times and modes stay."""
    there = _there(source)
    path, moved = _target(there, target, overwrite)
    if there.is_dir() and not there.is_symlink():
        shutil.copytree(there, path, symlinks=True)
    else:
        shutil.copy2(there, path, follow_symlinks=False)
    if _measure(there) != _measure(path):
        raise Refused(f"{str(path)!r} is not the same as {str(there)!r} after copying")
    files, size = _measure(path)
    return {"path": str(path), "files": files, "bytes": size, "note": moved}


def move(source: str, target: str, overwrite: bool) -> dict[str, Any]:
    """Moves or renames a file or a whole folder."""
    there = _there(source)
    before = _measure(there)
    path, moved = _target(there, target, overwrite)
    shutil.move(there, path)
    if os.path.lexists(there) or _measure(path) != before:
        raise Refused(f"{str(there)!r} was not wholly moved to {str(path)!r}")
    return {"path": str(path), "files": before[0], "bytes": before[1], "note": moved}


def rename(folder: str, pattern: str, replacement: str, preview: bool) -> dict[str, Any]:
    """Renames the entries of a folder whose names a regular expression finds something in."""
    path = _folder(folder)
    names = sorted(os.listdir(path), key=_natural)
    try:
        pairs = list(_new_names(names, re.compile(pattern), replacement))
    except (re.error, IndexError) as error:
        raise Refused(f"{pattern!r} with {replacement!r}: {error}") from error
    changed = [(old, new) for old, new in pairs if old != new]
    _check_names(names, changed)
    if not preview:
        _rename_all(path, changed)
        now = set(os.listdir(path))
        lost = [new for _, new in changed if new not in now]
        if lost:
            raise Refused(f"not renamed: {lost}")
    return {"path": str(path), "renamed": changed, "entries": len(names)}


def _natural(name: str) -> list[tuple[int, str]]:
    """Returns a key by which "2" sorts before "10"."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _new_names(
    names: Sequence[str], pattern: re.Pattern[str], replacement: str
) -> Iterator[tuple[str, str]]:
    found = [name for name in names if pattern.search(name)]
    width = len(str(len(found)))
    for number, name in enumerate(found, 1):
        template = _template(replacement).replace("{n}", f"{number:0{width}}")
        yield name, pattern.sub(template, name, count=1)


def _template(template: str) -> str:
    """Returns a template of `re.sub` in which a digit after a counter is no group's number."""
    return re.sub(r"\\(\d)", r"\\g<\1>", template)


def _check_names(names: Sequence[str], changed: Sequence[tuple[str, str]]) -> None:
    new = [each for _, each in changed]
    staying = set(names) - {old for old, _ in changed}
    for each in new:
        if not each or each in (".", "..") or "/" in each or "\0" in each:
            raise Refused(f"{each!r} is no file name; nothing was renamed")
        if new.count(each) > 1 or each in staying:
            raise Refused(f"two entries would be {each!r}; nothing was renamed")


def _rename_all(folder: Path, changed: Sequence[tuple[str, str]]) -> None:
    """Renames in two rounds, so that names can be swapped."""
    held = [(folder / f".renaming-{os.getpid()}-{at}", new) for at, (_, new) in enumerate(changed)]
    for (old, _), (between, _) in zip(changed, held, strict=True):
        os.rename(folder / old, between)
    for between, new in held:
        os.rename(between, folder / new)


def delete(paths: Sequence[str], for_good: bool) -> dict[str, Any]:
    """Deletes files and folders: to the bin, or for good."""
    found = [_there(each) for each in paths]
    for path in found:
        if path == Path(path.anchor) or Path.home().is_relative_to(path):
            raise Refused(f"{str(path)!r} holds the home folder; nothing was deleted")
    measured = [(str(path), *_measure(path)) for path in found]
    for path in found:
        if not for_good:
            to_bin(path)
        elif path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    left = [str(path) for path in found if os.path.lexists(path)]
    if left:
        raise Refused(f"still there: {left}")
    return {"deleted": measured}


def info(path: str) -> dict[str, Any]:
    """Returns what can be told of a file or folder."""
    there = _there(path)
    status = there.lstat()
    kind = _kind(status.st_mode)
    files, size = _measure(there)
    told: dict[str, Any] = {
        "path": str(there),
        "kind": kind,
        "bytes": size,
        "files": files if kind == "folder" else None,
        "leads to": os.readlink(there) if kind == "link" else None,
        "type": _type(there) if kind == "file" else None,
        "changed": _time(status.st_mtime),
        "read": _time(status.st_atime),
        "mode": stat.filemode(status.st_mode),
        "owner": owner_of(status.st_uid),
    }
    if kind == "file" and size <= HASHED and os.access(there, os.R_OK):
        told["sha256"] = _hash(there)
    return {name: value for name, value in told.items() if value is not None}


def _type(path: Path) -> str:
    done = subprocess.run(
        ["gio", "info", "-a", "standard::content-type", "--", os.fspath(path)],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=GIO_SECONDS,
        check=False,
    )
    said = re.search(r"standard::content-type: (\S+)", done.stdout)
    return said[1] if said else mimetypes.guess_type(path.name)[0] or "not known"


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def open_file(path: str, app: str) -> dict[str, Any]:
    """Opens a file with its default application, or with a named one, and does not wait for it."""
    there = _there(path)
    if app and not shutil.which(app):
        raise Refused(f"there is no program {app!r}")
    words = [app, os.fspath(there)] if app else ["gio", "open", os.fspath(there)]
    with tempfile.TemporaryFile() as errors:  # a pipe would stay open as long as the program runs
        started = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
            cwd=Path.home(),
        )
        if not app and started.wait(timeout=GIO_SECONDS):
            errors.seek(0)
            said = errors.read(2000).decode(errors="replace").strip()
            able = ", ".join(_programs_for(_type(there))) or "none that says so"
            raise Refused(f"{said or 'it was not opened'}; programs that can open it: {able}")
    return {"path": str(there)}


def _programs_for(kind: str) -> list[str]:
    """Returns the programs whose menu entries say that they open files of a type."""
    found = set()
    folders = os.environ.get("XDG_DATA_DIRS", "/usr/local/share:/usr/share").split(":")
    for entry in (
        each for folder in folders for each in Path(folder).glob("applications/*.desktop")
    ):
        try:
            text = entry.read_text("utf-8", "replace")
        except OSError:
            continue
        kinds = re.search(r"^MimeType=(.*)$", text, re.MULTILINE)
        command = re.search(r"^Exec=\"?([^\s\"]+)", text, re.MULTILINE)
        if kinds and command and kind in kinds[1].split(";"):
            found.add(Path(command[1]).name)
    return sorted(found)


FUNCTIONS: dict[str, Callable[..., dict[str, Any]]] = {
    "list": list_folder, "find": find, "make_folder": make_folder, "copy": copy, "move": move,
    "rename": rename, "delete": delete, "info": info, "open": open_file,
}  # fmt: skip


if __name__ == "__main__":
    serve(FUNCTIONS, {shutil.Error: ""})
