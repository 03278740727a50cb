"""Getters that give the screen's size, a window's size and the files of a folder."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from hisa.tasks.clean import clean
from hisa.tasks.context import Context
from hisa.tasks.getters.base import getter
from hisa.tasks.setup.base import Parameters
from hisa.tasks.setup.files import GuestPath

__all__ = ["Folder", "WindowSize"]


class _Nothing(Parameters):
    pass


@getter("vm_screen_size", _Nothing)
async def vm_screen_size(context: Context, wanted: _Nothing) -> dict[str, int]:
    """Width and height of the screen, in pixels."""
    screen = await context.screen()
    return {"width": screen.width, "height": screen.height}


class WindowSize(Parameters):
    """A window by the class of its application."""

    app_class_name: Annotated[str, Field(min_length=1, max_length=200)]


@getter("vm_window_size", WindowSize)
async def vm_window_size(context: Context, wanted: WindowSize) -> dict[str, int] | None:
    """Width and height of a window, in pixels; None where there is no such window."""
    for window in await context.windows():
        if wanted.app_class_name.lower() in window.app.lower() and window.box is not None:
            return {"width": round(window.box.width), "height": round(window.box.height)}
    return None


class Folder(Parameters):
    """A folder of the machine."""

    path: GuestPath


@getter("list_directory", Folder)
async def list_directory(context: Context, wanted: Folder) -> dict[str, Any] | None:
    """The folder as a tree of {type, name, children}; None where there is none."""
    line = await context.line(["find", wanted.path, "-printf", "%y\\t%P\\0"])
    listed = clean(["/bin/bash", "--norc", "-c", line])
    result = await context.environment.execute(listed, limit=5_000_000)
    if not result.output:
        return None
    name = wanted.path.rstrip("/").rpartition("/")[2]
    root: dict[str, Any] = {"type": "directory", "name": name, "children": []}
    folders = {"": root}
    for entry in sorted(part for part in result.output.split("\0") if "\t" in part):
        kind, path = entry.split("\t", 1)
        if path:
            _hang(folders, path, "directory" if kind == "d" else "file")
    return root


def _hang(folders: dict[str, dict[str, Any]], path: str, kind: str) -> None:
    above, _, name = path.rpartition("/")
    node: dict[str, Any] = {"type": kind, "name": name}
    if kind == "directory":
        node["children"] = []
        folders[path] = node
    if above in folders:
        folders[above]["children"].append(node)
