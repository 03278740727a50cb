"""Saves documents, writes copies of them, and undoes their steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import uno  # type: ignore[import-not-found]

from .office_bridge import Desk, Refused, setting, works

__all__ = ["describe_file", "save", "target_file", "undo", "write_copy"]


def target_file(path: str, endings: Mapping[str, str], *, overwrite: bool) -> Path:
    """Returns the file that a text names, if it can be written.

    Args:
        path: absolute, or with ~ in front.
        endings: the endings that can be written, each with its filter.
        overwrite: whether the file may exist already.

    Raises:
        Refused: it cannot be written there.
    """
    target = Path(path).expanduser()
    if not target.is_absolute():
        raise Refused(f"{path!r}: expected a whole path, such as '~/Documents/{target.name}'")
    if target.suffix.lower() not in endings:
        raise Refused(f"{path!r}: expected a name that ends in {', '.join(endings)}")
    if not target.parent.is_dir():
        raise Refused(f"there is no folder {str(target.parent)!r}")
    if target.exists() and not overwrite:
        raise Refused(f"{str(target)!r} already exists; overwrite=true replaces it")
    return target


def save(kind: str, endings: Mapping[str, str]) -> Callable[..., str]:
    """Returns a function that saves a kind of document in its file, or in another from now on."""

    @works(kind)
    def store(desk: Desk, path: str, overwrite: bool) -> str:
        document = desk.document
        if path and uno.systemPathToFileUrl(str(Path(path).expanduser())) != document.URL:
            target = target_file(path, endings, overwrite=overwrite)
            name = setting("FilterName", endings[target.suffix.lower()])
            document.storeAsURL(uno.systemPathToFileUrl(str(target)), (name,))
        elif not document.hasLocation():
            raise Refused("the document was never saved; give a path, such as '~/Documents/a.ods'")
        elif document.isReadonly():
            raise Refused("the document is open read-only; give another path")
        else:
            document.store()
        changed = "; it still has unsaved changes" if document.isModified() else ""
        return f"{describe_file(Path(uno.fileUrlToSystemPath(document.URL)))}{changed}"

    return store


def write_copy(desk: Desk, target: Path, filter_name: str, **settings: Any) -> None:
    """Write a copy of a document to a file; the document itself stays as it is.

    Args:
        desk: LibreOffice, with the document in front.
        target: the file, in a folder that is there; one of that name is replaced.
        filter_name: the export filter, as LibreOffice names it.
        settings: further properties of the filter.
    """
    properties = [setting("FilterName", filter_name)]
    properties += [setting(name, value) for name, value in settings.items()]
    desk.document.storeToURL(uno.systemPathToFileUrl(str(target)), tuple(properties))


def describe_file(path: Path) -> str:
    """Returns path, size and age of a file that was just written."""
    if not path.is_file():
        raise Refused(f"{str(path)!r} was not written")
    status = path.stat()
    age = max(0.0, time.time() - status.st_mtime)
    return f"{path}: {status.st_size} bytes, written {age:.0f} s ago"


def undo(kind: str) -> Callable[..., str]:
    """Returns a function that undoes steps of a kind of document."""

    @works(kind)
    def walk(desk: Desk, steps: int) -> str:
        manager = desk.document.UndoManager
        titles = list(manager.getAllUndoActionTitles())[:steps]
        if not titles:
            raise Refused("nothing can be taken back")
        for _ in titles:
            manager.undo()
        left = len(manager.getAllUndoActionTitles())
        return f"taken back: {', '.join(titles)}; {left} more can be"

    return walk
