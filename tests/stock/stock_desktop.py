"""A form in memory by the stock routes: quick tests of what goes wrong on the way to a guest.

Commands run for real, each in a namespace of bubblewrap with a home that is thrown away, and find
the programs of `tests.stock.form_programs`: a PyAutoGUI that plays on the form, and the tools that
list windows and keep a clipboard. As under the real PyAutoGUI, ``<`` is typed as ``>``, and what is
not ASCII is not typed at all.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import shutil
import socketserver
import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from hisa.actions import Action, Hotkey, Write, parse, to_space
from hisa.errors import ActionRefused
from hisa.protocols import CommandResult
from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Element
from hisa.testing.form import FakeEnvironment
from tests.stock import form_programs
from tests.stock.stock_commands import CommandRoutes
from tests.stock.stock_messages import (
    Reply,
    Request,
    json_reply,
    route_request,
    text_reply,
)

__all__ = ["Run", "StockDesktop"]

_SPACE = "https://accessibility.ubuntu.example.org/ns"
_INSIDE, _SEARCHED = "/tmp/stock", "/usr/local/bin:/usr/bin:/bin"
_NAMESPACE = [
    *("bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/"),
    *("--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/home"),
    *("--dir", "/home/user", "--chdir", "/home/user", "--clearenv"),
    *("--setenv", "HOME", "/home/user", "--setenv", "LANG", "C.UTF-8"),
    *("--setenv", "PATH", f"{_INSIDE}:{_SEARCHED}", "--setenv", "PYTHONPATH", _INSIDE),
]

Run = Callable[[Sequence[str]], CommandResult | None]
"""Answers a command instead of running it; None: it is run."""


class StockDesktop:
    """A form, some files, and the routes to them.

    Args:
        run: sees every command first.
    """

    def __init__(self, run: Run | None = None) -> None:
        self.form = FakeEnvironment()
        self._lock = threading.Lock()
        self._programs: _Programs | None = None
        self._commands = _Commands(self, run)
        self._routes: dict[tuple[str, str], Callable[[Request], Reply]] = {
            ("GET", "/screenshot"): self._screenshot,
            ("GET", "/accessibility"): self._accessibility,
            ("GET", "/platform"): lambda _: text_reply("Linux"),
            ("GET", "/cursor_position"): self._cursor_position,
            ("POST", "/file"): self._file,
            ("POST", "/setup/upload"): self._upload,
        }

    def restore(self) -> None:
        """Everything as at the start."""
        with self._lock:
            asyncio.run(self.form.reset())

    def close(self) -> None:
        """Leave nothing of what commands needed."""
        if self._programs is not None:
            self._programs.close()

    def answer(self, request: Request) -> Reply:
        """Do what is asked; commands run side by side, and everything else one by one."""
        commands = self._commands.routes()
        if (request.method, request.path) in commands:
            return route_request(commands, request)
        with self._lock:
            return route_request(self._routes, request)

    def windows(self) -> list[str]:
        """Each window as "number|place|class|title", the active one last.

        Under a frame wmctrl tells twice the frame's width for the place.
        """
        front = asyncio.run(self.form.observe()).windows[0]
        box = front.box or BoundingBox(0, 0, 0, 0)
        place = f"{2 * box.left:.0f} {2 * box.top:.0f} {box.width:.0f} {box.height:.0f}"
        return [f"0x0160000{front.id}|{place}|{front.app}.{front.app.title()}|{front.title}"]

    # ---------------------------------------------------------------- what it shows

    def _screenshot(self, _: Request) -> Reply:
        return Reply(asyncio.run(self.form.observe()).screenshot.png, "image/png")

    def _accessibility(self, _: Request) -> Reply:
        elements = asyncio.run(self.form.observe(elements=True)).elements or ()
        root = ElementTree.Element("desktop-frame", {"name": "main"})
        app = ElementTree.SubElement(root, "application", {"name": elements[0].app})
        window = ElementTree.SubElement(app, "frame", {"name": elements[0].window})
        for element in elements:
            node = ElementTree.SubElement(
                window, element.role.replace(" ", "-"), _attributes(element)
            )
            node.text = element.text or None
        return json_reply({"AT": ElementTree.tostring(root, encoding="unicode")})

    def _cursor_position(self, _: Request) -> Reply:
        cursor = asyncio.run(self.form.observe()).cursor
        return json_reply(list(cursor.to_pixels() if cursor else (0, 0)))

    def _size(self) -> Size:
        return asyncio.run(self.form.observe()).screen

    # ---------------------------------------------------------------- commands

    def programs(self) -> Path:
        """The folder with the programs that commands find, brought up to date."""
        with self._lock:
            if self._programs is None:
                self._programs = _Programs(self._play)
            listed = self.windows()
            (self._programs.folder / "windows").write_text(
                "".join(f"{window}\n" for window in listed)
            )
            return self._programs.folder

    def _play(self, name: str, words: Sequence[Any], more: dict[str, Any]) -> None:
        """One call of PyAutoGUI on the form."""
        shown = [*map(repr, words), *(f"{key}={value!r}" for key, value in more.items())]
        with self._lock:
            size = self._size()
            called = parse(f"pyautogui.{name}({', '.join(shown)})")
            placed = to_space(called, "screen", screen=size, image=size)
            asyncio.run(self.form.act([self._apply_keyboard(action) for action in placed]))

    def _apply_keyboard(self, action: Action) -> Action:
        match action:
            case Write(text=text):
                plain = text.encode("ascii", "ignore").decode()
                return Write(plain.replace("<", ">"))
            case Hotkey(keys=("shift", ",")):
                return Write("<")
            case Hotkey(keys=("ctrl", "v")) if self._programs is not None:
                (self._programs.folder / "pasted").touch()
                return Write((self._programs.folder / "clipboard").read_text("utf-8"))
            case _:
                return action

    # ---------------------------------------------------------------- files

    def _file(self, request: Request) -> Reply:
        path = request.form().get("file_path", b"").decode()
        if not path:
            return json_reply({"error": "file_path is required"}, 400)
        try:
            data = asyncio.run(self.form.read_file(path))
        except FileNotFoundError:
            return json_reply({"error": "File not found"}, 404)
        attached = {"Content-Disposition": f"attachment; filename={path.rpartition('/')[2]}"}
        return Reply(data, "application/octet-stream", more=attached)

    def _upload(self, request: Request) -> Reply:
        fields = request.form()
        if not {"file_path", "file_data"} <= set(fields):
            return json_reply({"error": "file_path and file_data are required"}, 400)
        asyncio.run(self.form.write_file(fields["file_path"].decode(), fields["file_data"]))
        return text_reply("File Uploaded")


class _Commands(CommandRoutes):
    """The published command routes, in a namespace for each command."""

    def __init__(self, desktop: StockDesktop, run: Run | None) -> None:
        super().__init__(wrap=self._wrap_command)
        self._desktop = desktop
        self._first = run or (lambda _: None)

    def _wrap_command(self, words: Sequence[str]) -> list[str]:
        folder = self._desktop.programs()
        if shutil.which(words[0], path=f"{folder}:{_SEARCHED}") is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), words[0])
        return [*_NAMESPACE, "--bind", str(folder), _INSIDE, "--", *words]

    def _run(
        self, words: Sequence[str], seconds: float, **more: Any
    ) -> subprocess.CompletedProcess[str]:
        scripted = self._first(words)
        if scripted is not None:
            result = (scripted.exit_code, scripted.output, scripted.error)
            return subprocess.CompletedProcess(list(words), *result)
        return super()._run(words, seconds, **more)


class _Caller(socketserver.StreamRequestHandler):
    server: _Calls

    def handle(self) -> None:
        """Play one call; answer nothing where it was done, else why not."""
        try:
            self.server.play(*json.loads(self.rfile.readline()))
        except (ActionRefused, ValueError, TypeError, OSError) as error:
            self.wfile.write(str(error).encode())


class _Calls(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    play: Callable[[str, Sequence[Any], dict[str, Any]], None]


class _Programs:
    """A folder with the programs, and the socket to which their PyAutoGUI calls."""

    def __init__(self, play: Callable[[str, Sequence[Any], dict[str, Any]], None]) -> None:
        self._temporary_folder = tempfile.TemporaryDirectory(prefix="hisa-form-")
        self.folder = Path(self._temporary_folder.name)
        for source in Path(form_programs.__path__[0]).iterdir():
            if source.suffix == ".sh":
                place = self.folder / source.stem
                shutil.copy(source, place)
                place.chmod(0o755)
        shutil.copy(Path(form_programs.__path__[0]) / "pyautogui.py", self.folder)
        (self.folder / "python").symlink_to("/usr/bin/python3")
        self._server = _Calls(str(self.folder / "calls"), _Caller)
        self._server.play = play
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        """End it, and remove the folder."""
        self._server.shutdown()
        self._server.server_close()
        self._temporary_folder.cleanup()


def _attributes(element: Element) -> dict[str, str]:
    left, top, right, bottom = (
        round(side)
        for side in (element.box.left, element.box.top, element.box.right, element.box.bottom)
    )
    return {
        "name": element.name or element.label,
        **{f"{{{_SPACE}/state}}{state}": "true" for state in sorted(element.states)},
        f"{{{_SPACE}/component}}screencoord": f"({left}, {top})",
        f"{{{_SPACE}/component}}size": f"({right - left}, {bottom - top})",
    }
