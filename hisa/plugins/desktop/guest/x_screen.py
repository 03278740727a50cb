"""Reads pixels, pointer and windows from the X server."""

from __future__ import annotations

import io
import os
import threading
from dataclasses import dataclass
from typing import Any, NamedTuple

from PIL import Image
from Xlib import X, Xatom
from Xlib.display import Display
from Xlib.error import XError

from .node import plain_title
from .shm import SharedCapture

__all__ = ["Frame", "Screen", "TopWindow", "Under", "as_png"]


@dataclass(frozen=True)
class Frame:
    """The screen's pixels, BGRX, without the pointer."""

    width: int
    height: int
    pixels: bytes

    def image(self) -> Image.Image:
        """Returns the pixels as an RGB image."""
        size = (self.width, self.height)
        return Image.frombuffer("RGB", size, self.pixels, "raw", "BGRX", 0, 1)


@dataclass(frozen=True)
class TopWindow:
    """A window under the window manager; the box is its client area, in screen pixels."""

    id: int
    title: str
    app: str
    box: tuple[int, int, int, int]
    active: bool
    hidden: bool
    outlines: tuple[tuple[int, int, int, int], ...] = ()
    """Other boxes that toolkits report for it: with the manager's frame, or without the shadow that
    the toolkit itself draws around it."""
    dialog: bool = False
    """Whether its program marks it as a dialog."""

    def to_json(self) -> dict[str, Any]:
        """Returns the window as a JSON object."""
        return {
            "id": hex(self.id),
            "title": self.title,
            "app": self.app,
            "box": None if self.hidden else self.box,
            "active": self.active,
            "dialog": self.dialog,
        }


class Under(NamedTuple):
    """The part of the screen that the pointer covers, without the pointer."""

    left: int
    top: int
    picture: Image.Image


def as_png(image: Image.Image) -> bytes:
    """Encodes a picture as PNG, fast rather than small."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


class Screen:
    """A connection for reading the screen; usable from any thread.

    Raises:
        OSError: the display has no shared memory, or pixels that are not 24 bits in 32.
    """

    def __init__(self, name: str | None = None) -> None:
        self.name = name or os.environ["DISPLAY"]
        self.lock = threading.RLock()
        self.display: Any = Display(self.name)
        self.root: Any = self.display.screen().root
        self.width: int = self.display.screen().width_in_pixels
        self.height: int = self.display.screen().height_in_pixels
        self._has_cursor = self.display.has_extension("XFIXES")
        if self._has_cursor:
            self.display.xfixes_query_version()
        self._atoms: dict[str, int] = {}
        self._capture = SharedCapture(self.name)

    # ---------------------------------------------------------------- pixels

    def grab(self) -> Frame:
        """Returns the screen without the pointer."""
        with self.lock:
            return Frame(self.width, self.height, self._capture.grab())

    def look(self, frame: Frame | None = None) -> tuple[Image.Image, Under | None]:
        """Returns the screen with the pointer, RGB, and the part that the pointer covers.

        That part is None if the pointer is not visible.

        Args:
            frame: the screen as it was grabbed a moment ago; None: it is grabbed now.
        """
        image = (frame or self.grab()).image()
        with self.lock:
            return image, self._paint_cursor(image)

    def _paint_cursor(self, image: Image.Image) -> Under | None:
        if not self._has_cursor:
            return None
        cursor = self.display.xfixes_get_cursor_image(self.root)
        size = (cursor.width, cursor.height)
        if not all(size):
            return None
        words = b"".join((word & 0xFFFFFFFF).to_bytes(4, "little") for word in cursor.cursor_image)
        shape = Image.frombuffer("RGBA", size, words, "raw", "BGRA", 0, 1)
        place = (cursor.x - cursor.xhot, cursor.y - cursor.yhot)
        left, top = (max(0, side) for side in place)
        right = min(image.width, place[0] + size[0])
        bottom = min(image.height, place[1] + size[1])
        if right <= left or bottom <= top:
            return None
        under = Under(left, top, image.crop((left, top, right, bottom)))
        image.paste(shape.convert("RGB"), place, shape.getchannel("A"))
        return under

    # ---------------------------------------------------------------- pointer and windows

    def pointer(self) -> tuple[int, int]:
        """Returns the pointer's position in screen pixels."""
        with self.lock:
            answer = self.root.query_pointer()
        return answer.root_x, answer.root_y

    def active_id(self) -> int:
        """Returns the id of the window that has the focus; 0 if there is none."""
        with self.lock:
            value = self._numbers(self.root, "_NET_ACTIVE_WINDOW", Xatom.WINDOW)
        return value[0] if value else 0

    def windows(self) -> list[TopWindow]:
        """Returns the top-level windows, the topmost last."""
        with self.lock:
            active = self.active_id()
            ids = self._numbers(self.root, "_NET_CLIENT_LIST_STACKING", Xatom.WINDOW)
            windows = (self._window(number, number == active) for number in ids)
            return [window for window in windows if window is not None]

    def _window(self, number: int, active: bool) -> TopWindow | None:
        window = self.display.create_resource_object("window", number)
        try:
            geometry = window.get_geometry()
            corner = self.root.translate_coords(window, 0, 0)
            kinds = window.get_wm_class() or ("", "")
            title = self._text(window, "_NET_WM_NAME") or window.get_wm_name() or ""
            states = self._numbers(window, "_NET_WM_STATE", Xatom.ATOM)
            frame = self._numbers(window, "_NET_FRAME_EXTENTS", Xatom.CARDINAL)
            shadow = self._numbers(window, "_GTK_FRAME_EXTENTS", Xatom.CARDINAL)
            types = self._numbers(window, "_NET_WM_WINDOW_TYPE", Xatom.ATOM)
        except XError:
            return None
        left, top = corner.x, corner.y
        box = (left, top, left + geometry.width, top + geometry.height)
        if isinstance(title, bytes):
            title = title.decode("utf-8", "replace")
        return TopWindow(
            id=number,
            title=plain_title(title),
            app=kinds[1],
            box=box,
            active=active,
            hidden=self.atom("_NET_WM_STATE_HIDDEN") in states,
            outlines=(_grow_box(box, frame), _grow_box(box, [-edge for edge in shadow])),
            dialog=self.atom("_NET_WM_WINDOW_TYPE_DIALOG") in types,
        )

    def popups(self) -> list[tuple[int, int, int, int]]:
        """Returns the boxes of windows on the screen without a manager's frame, such as menus."""
        boxes = []
        with self.lock:
            for window in self.root.query_tree().children:
                try:
                    about = window.get_attributes()
                    if not about.override_redirect or about.map_state != X.IsViewable:
                        continue
                    place = window.get_geometry()
                except XError:
                    continue
                box = (place.x, place.y, place.x + place.width, place.y + place.height)
                boxes.append(box)
        return boxes

    def atom(self, name: str) -> int:
        """Returns the number of an atom."""
        with self.lock:
            if name not in self._atoms:
                self._atoms[name] = self.display.intern_atom(name)
            return self._atoms[name]

    def _numbers(self, window: Any, name: str, kind: int) -> list[int]:
        answer = window.get_full_property(self.atom(name), kind)
        return list(answer.value) if answer is not None else []

    def _text(self, window: Any, name: str) -> str:
        answer = window.get_full_property(self.atom(name), self.atom("UTF8_STRING"))
        if answer is None:
            return ""
        value = answer.value
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)

    def has_window_manager(self) -> bool:
        """Whether a window manager has announced itself."""
        with self.lock:
            return bool(self._numbers(self.root, "_NET_SUPPORTING_WM_CHECK", Xatom.WINDOW))

    def manager_supports(self, hint: str) -> bool:
        """Whether the window manager announces a hint."""
        with self.lock:
            return self.atom(hint) in self._numbers(self.root, "_NET_SUPPORTED", Xatom.ATOM)

    def paint_background(self, colour: int) -> None:
        """Paints the background in one colour, as 0xRRGGBB."""
        with self.lock:
            self.root.change_attributes(background_pixel=colour)
            self.root.clear_area(0, 0, 0, 0)
            self.display.sync()


def _grow_box(box: tuple[int, int, int, int], edges: list[int]) -> tuple[int, int, int, int]:
    """Return a box enlarged by pixels at left, right, top and bottom; unchanged if not all four."""
    if len(edges) != 4:
        return box
    left, right, top, bottom = edges
    return box[0] - left, box[1] - top, box[2] + right, box[3] + bottom
