"""The published server's routes that show a screen, over a real X display."""

from __future__ import annotations

import io
from typing import Any
from xml.etree import ElementTree

from PIL import Image, ImageGrab
from Xlib.display import Display

from .stock_messages import Reply, Request, Routes, json_reply, text_reply

__all__ = ["ScreenRoutes"]

_SPACE = "https://accessibility.ubuntu.example.org/ns"
_MOST_CHILDREN, _DEEPEST = 1024, 50  # the published server's
_UNSAID = str.maketrans(dict.fromkeys("\ufffc\ufffd"))


class ScreenRoutes:
    """Picture, pointer, size and elements of the display in DISPLAY."""

    def routes(self) -> Routes:
        """By method and path."""
        return {
            ("GET", "/screenshot"): self._screenshot,
            ("GET", "/accessibility"): self._accessibility,
            ("GET", "/platform"): lambda _: text_reply("Linux"),
            ("GET", "/cursor_position"): self._cursor_position,
            ("POST", "/screen_size"): self._screen_size,
        }

    def _screenshot(self, _: Request) -> Reply:
        """Paints the pointer in with its corner, not its tip, at its place."""
        picture = ImageGrab.grab(xdisplay="")
        display = Display()
        try:
            display.xfixes_query_version()
            cursor = display.xfixes_get_cursor_image(display.screen().root)
        finally:
            display.close()
        rows = b"".join(int(pixel).to_bytes(4, "little") for pixel in cursor.cursor_image)
        shape = Image.frombytes("RGBA", (cursor.width, cursor.height), rows, "raw", "BGRA")
        picture.paste(shape, (cursor.x, cursor.y), shape)
        data = io.BytesIO()
        picture.save(data, "PNG", compress_level=1)
        return Reply(data.getvalue(), "image/png")

    def _cursor_position(self, _: Request) -> Reply:
        display = Display()
        try:
            place = display.screen().root.query_pointer()
        finally:
            display.close()
        return json_reply([place.root_x, place.root_y])

    def _screen_size(self, _: Request) -> Reply:
        display = Display()
        try:
            screen = display.screen()
        finally:
            display.close()
        size = {"width": screen.width_in_pixels, "height": screen.height_in_pixels}
        return json_reply(size)

    def _accessibility(self, _: Request) -> Reply:
        import pyatspi

        root = ElementTree.Element("desktop-frame", {"name": "main"})
        for app in pyatspi.Registry.getDesktop(0):
            if app is not None:
                _add(root, app, pyatspi, 0)
        return json_reply({"AT": ElementTree.tostring(root, encoding="unicode")})


def _add(above: ElementTree.Element, node: Any, pyatspi: Any, depth: int) -> None:
    """The node and what is below it; what fails on the way is left out, as published."""
    try:
        element = ElementTree.SubElement(
            above, node.getRoleName().strip().replace(" ", "-") or "unknown", _told(node, pyatspi)
        )
        element.text = _text(node) or None
        children = min(node.childCount, _MOST_CHILDREN) if depth < _DEEPEST else 0
    except Exception:  # noqa: BLE001 - a program may end while it is read
        return
    for number in range(children):
        try:
            child = node[number]
        except Exception:  # noqa: BLE001 - as above
            return
        if child is not None:
            _add(element, child, pyatspi, depth + 1)


def _told(node: Any, pyatspi: Any) -> dict[str, str]:
    states = {
        pyatspi.StateType._enum_lookup[state].partition("_")[2].lower()
        for state in node.getState().get_states()
    }
    told = {"name": node.name}
    told |= {f"{{{_SPACE}/state}}{state}": "true" for state in states if state}
    if {"visible", "showing"} <= states:
        try:
            box = tuple(node.queryComponent().getExtents(pyatspi.XY_SCREEN))
        except NotImplementedError:
            return told
        told[f"{{{_SPACE}/component}}screencoord"] = str(box[:2])
        told[f"{{{_SPACE}/component}}size"] = str(box[2:])
    return told


def _text(node: Any) -> str:
    try:
        text = node.queryText()
    except NotImplementedError:
        return ""
    return str(text.getText(0, text.characterCount)).translate(_UNSAID)
