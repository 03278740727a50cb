"""A virtual X display with a window manager: its windows, its picture, its pointer."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from PIL import Image

__all__ = ["XDisplay"]

Box = tuple[int, int, int, int]

_OPENBOX = (
    "<openbox_config><theme><name>{theme}</name></theme><placement><policy>Smart</policy>"
    "</placement><focus><focusNew>yes</focusNew></focus></openbox_config>"
)
_XFWM4 = (
    '<?xml version="1.0"?><channel name="xfwm4" version="1.0"><property name="general" '
    'type="empty"><property name="theme" type="string" value="{theme}"/><property '
    'name="use_compositing" type="bool" value="{composite}"/></property></channel>'
)
_XFWM4_SETTINGS = "xfce4/xfconf/xfce-perchannel-xml"
_XWD_STRIDE, _XWD_COLOURS = 12, 19
"""The places of the bytes of a row and the number of colours in the head of an XWD file."""
_BUTTON_SIDES = range(8, 61)
"""Pixels; the sides of a title bar's buttons, also of themes for dense screens."""


class XDisplay:
    """An Xvfb with a window manager; both end with the context.

    Args:
        width: of the screen, in pixels.
        height: of the screen, in pixels.
        manager: "openbox", "xfwm4" or "icewm"; empty: none, so windows have no frames.
        theme: the window manager's theme.
        composite: whether windows may be translucent.
    """

    def __init__(
        self, width: int, height: int, manager: str, theme: str, *, composite: bool
    ) -> None:
        self.width, self.height = width, height
        self._manager, self._theme, self._composite = manager, theme, composite
        self._processes: list[subprocess.Popen[bytes]] = []
        self._folder = tempfile.TemporaryDirectory(
            prefix="hisa-display-", ignore_cleanup_errors=True
        )

    def __enter__(self) -> Self:
        reading, writing = os.pipe()
        screen = f"{self.width}x{self.height}x24"
        self._start(
            [
                *("Xvfb", "-displayfd", str(writing), "-screen", "0", screen),
                *("-nolisten", "tcp", "-fbdir", self._folder.name),
            ],
            keep=writing,
        )
        os.close(writing)
        with os.fdopen(reading) as numbers:
            self.name = f":{numbers.readline().strip()}"
        self._x = self._connect()
        self._root = self._x.screen().root
        if self._manager:
            self._start(self._manage())
            self._await_manager()
        if self._composite and self._manager != "xfwm4":
            self._start(["xcompmgr"])
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._x.close()
        for process in reversed(self._processes):
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(10)
        self._folder.cleanup()

    def _connect(self) -> Any:
        """Connect without a cookie: python-xlib insists on a file of cookies, even an empty one."""
        from Xlib import display

        cookies = Path(self._folder.name) / "cookies"
        cookies.touch()
        before = os.environ.get("XAUTHORITY")
        os.environ["XAUTHORITY"] = str(cookies)
        try:
            return display.Display(self.name)
        finally:
            if before is None:
                del os.environ["XAUTHORITY"]
            else:
                os.environ["XAUTHORITY"] = before

    @property
    def environment(self) -> dict[str, str]:
        """The variables for a program on this display; no buses, and settings of its own."""
        home = self._folder.name
        return {
            **os.environ,
            "DISPLAY": self.name,
            "HOME": home,
            "XDG_CONFIG_HOME": home,
            "XDG_RUNTIME_DIR": home,
            "ICEWM_PRIVCFG": home,
            "DBUS_SESSION_BUS_ADDRESS": "disabled:",
            "NO_AT_BRIDGE": "1",
            "GTK_A11Y": "none",
            "GSETTINGS_BACKEND": "memory",
            "GDK_BACKEND": "x11",
            "GSK_RENDERER": "cairo",
            "LC_ALL": "C.UTF-8",
        }

    def _start(self, command: list[str], keep: int | None = None) -> None:
        self._processes.append(
            subprocess.Popen(
                command,
                env=self.environment if keep is None else None,
                start_new_session=True,
                pass_fds=() if keep is None else (keep,),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )

    def _manage(self) -> list[str]:
        """Write the window manager's settings; return its command."""
        folder = Path(self._folder.name)
        if self._manager == "icewm":
            (folder / "preferences").write_text("ShowTaskBar=0\n")
            return ["icewm", f"--theme={self._theme}/default.theme"]
        if self._manager == "xfwm4":
            (folder / _XFWM4_SETTINGS).mkdir(parents=True)
            text = _XFWM4.format(theme=self._theme, composite=str(self._composite).lower())
            (folder / _XFWM4_SETTINGS / "xfwm4.xml").write_text(text)
            return ["dbus-run-session", "xfwm4"]
        (folder / "rc.xml").write_text(_OPENBOX.format(theme=self._theme))
        return ["openbox", "--config-file", str(folder / "rc.xml")]

    def _await_manager(self) -> None:
        atom = self._x.intern_atom("_NET_SUPPORTING_WM_CHECK")
        for _ in range(200):
            if self._root.get_full_property(atom, 0) is not None:
                return
            time.sleep(0.05)
        raise RuntimeError(f"{self._manager} did not start")

    def take_picture(self) -> Image.Image:
        """Return what the screen shows, from Xvfb's own file: asking by X takes seconds."""
        data = (Path(self._folder.name) / "Xvfb_screen0").read_bytes()
        head = struct.unpack(">25I", data[:100])
        pixels = head[0] + 12 * head[_XWD_COLOURS]
        size = (self.width, self.height)
        stride = head[_XWD_STRIDE]
        rows = data[pixels : pixels + stride * self.height]
        return Image.frombuffer("RGB", size, rows, "raw", "BGRX", stride, 1).copy()

    def list_windows(self) -> list[tuple[int, Box]]:
        """Return the mapped top-level windows and their boxes, from the bottom to the top."""
        from Xlib import X

        windows = []
        for window in self._root.query_tree().children:
            shape = window.get_geometry()
            attributes = window.get_attributes()
            if attributes.map_state == X.IsViewable and attributes.win_class == X.InputOutput:
                edge = 2 * shape.border_width
                right, bottom = shape.x + shape.width + edge, shape.y + shape.height + edge
                left, top, right_less, less = self._shadow_of(window)
                box = (shape.x + left, shape.y + top, right - right_less, bottom - less)
                windows.append((window.id, box))
        return windows

    def _shadow_of(self, frame: Any) -> tuple[int, int, int, int]:
        """Return how far the shadow that GTK itself draws reaches into a window's sides."""
        extents = self._x.intern_atom("_GTK_FRAME_EXTENTS")
        for window in [frame, *frame.query_tree().children]:
            if (sides := window.get_full_property(extents, 0)) is not None:
                left, right, top, bottom = sides.value[:4]
                return left, top, right, bottom
        return 0, 0, 0, 0

    def frame_of(self, xid: int) -> int:
        """Return the top-level window in which a window lies."""
        window = self._window(xid)
        while (parent := window.query_tree().parent) and parent.id != self._root.id:
            window = parent
        return int(window.id)

    def origin_of(self, xid: int) -> tuple[int, int]:
        """Return where a window's corner lies on the screen."""
        place = self._root.translate_coords(self._window(xid), 0, 0)
        return place.x, place.y

    def move_window(self, xid: int, left: int, top: int) -> None:
        """Ask the window manager to move the window ``xid`` to ``left`` and ``top``, in pixels."""
        self._client_of(xid).configure(x=left, y=top)
        self._x.sync()

    def list_title_buttons(self, frame: int, xid: int) -> list[Box]:
        """Return the boxes of the buttons that a window manager draws above a window.

        Args:
            frame: the window manager's frame.
            xid: the program's window inside it.
        """
        if frame == xid:
            return []
        top = self.origin_of(self._client_of(xid).id)[1]
        edge = self.origin_of(frame)
        boxes = []
        for window in self._descendants(self._window(frame)):
            shape = window.get_geometry()
            left, above = self.origin_of(window.id)
            is_square = 0.6 < shape.width / max(1, shape.height) < 1.7
            corner = (left, above) == edge or above + shape.height > top
            if (
                is_square
                and not corner
                and shape.width in _BUTTON_SIDES
                and shape.height in _BUTTON_SIDES
            ):
                boxes.append((left, above, left + shape.width, above + shape.height))
        return boxes

    def _descendants(self, window: Any) -> list[Any]:
        """Return the mapped windows inside a window that take part in its picture."""
        from Xlib import X

        inside = []
        for child in window.query_tree().children:
            attributes = child.get_attributes()
            if attributes.map_state == X.IsViewable and attributes.win_class == X.InputOutput:
                inside += [child, *self._descendants(child)]
        return inside

    def click(self, left: int, top: int) -> None:
        """Press and release the first button at a place."""
        from Xlib import X
        from Xlib.ext import xtest

        self.point(left, top)
        xtest.fake_input(self._x, X.ButtonPress, 1)
        xtest.fake_input(self._x, X.ButtonRelease, 1)
        self._x.sync()

    def point(self, left: int, top: int) -> None:
        """Move the pointer."""
        from Xlib import X
        from Xlib.ext import xtest

        xtest.fake_input(self._x, X.MotionNotify, x=left, y=top)
        self._x.sync()

    def press_escape(self) -> None:
        """Press and release Escape, which closes menus."""
        from Xlib import XK, X
        from Xlib.ext import xtest

        code = self._x.keysym_to_keycode(XK.XK_Escape)
        xtest.fake_input(self._x, X.KeyPress, code)
        xtest.fake_input(self._x, X.KeyRelease, code)
        self._x.sync()

    def _client_of(self, xid: int) -> Any:
        """Return the window around ``xid`` that the window manager knows; Tk's lies deeper."""
        state = self._x.intern_atom("WM_STATE")
        window = self._window(xid)
        while window.id != self._root.id:
            if window.get_full_property(state, 0) is not None:
                return window
            window = window.query_tree().parent
        return self._window(xid)

    def _window(self, xid: int) -> Any:
        return self._x.create_resource_object("window", xid)
