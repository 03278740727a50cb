"""The published server's routes for files."""

from __future__ import annotations

import os

from .stock_messages import Reply, Request, Routes, json_reply, page, text_reply

__all__ = ["FileRoutes"]


class FileRoutes:
    """Real files, of the user who serves.

    Args:
        makes_folders: an upload makes the folders it lacks, as newer published servers do.
    """

    def __init__(self, *, makes_folders: bool = False) -> None:
        self._makes_folders = makes_folders

    def routes(self) -> Routes:
        """By method and path."""
        return {
            ("POST", "/file"): self._file,
            ("POST", "/setup/upload"): self._upload,
            ("POST", "/list_directory"): self._list_directory,
            ("POST", "/desktop_path"): self._desktop_path,
        }

    def _file(self, asked: Request) -> Reply:
        """Open whatever it is, a pipe too."""
        path = _place(asked.form().get("file_path", b""))
        if not path:
            return json_reply({"error": "file_path is required"}, 400)
        try:
            with open(path, "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return json_reply({"error": "File not found"}, 404)
        attached = {"Content-Disposition": f"attachment; filename={os.path.basename(path)!a}"}
        return Reply(data, "application/octet-stream", more=attached)

    def _upload(self, asked: Request) -> Reply:
        fields = asked.form()
        if not {"file_path", "file_data"} <= set(fields):
            return json_reply({"error": "file_path and file_data are required"}, 400)
        path = _place(fields["file_path"])
        try:
            if self._makes_folders:
                os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            with open(path, "wb") as file:
                file.write(fields["file_data"])
        except OSError:
            return page(500, "Internal Server Error")
        return text_reply("File Uploaded")

    def _list_directory(self, asked: Request) -> Reply:
        path = str(asked.json().get("path", ""))
        if not os.path.isdir(path):
            return json_reply({"error": "The provided path is not a directory"}, 400)
        return json_reply({"directory_tree": _tree(path)})

    def _desktop_path(self, _: Request) -> Reply:
        path = os.path.expanduser("~/Desktop")
        if not os.path.isdir(path):
            return json_reply({"error": "Desktop path not found"}, 404)
        return json_reply({"desktop_path": path})


def _place(path: bytes) -> str:
    return os.path.expandvars(os.path.expanduser(path.decode()))


def _tree(path: str) -> dict[str, object]:
    name = os.path.basename(path)
    if not os.path.isdir(path):
        return {"type": "file", "name": name}
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        return {"error": str(error)}
    children = [_tree(os.path.join(path, child)) for child in names]
    return {"type": "directory", "name": name, "children": children}
