"""Shows composed windows with GTK 3 or 4 and reports their widgets; run by the system's Python.

    python3 gtk.py VERSION FONT ICON_THEME

Reads a JSON line a command: {"do": "show", "windows": […]}, then {"do": "report"}; answers with
a JSON line. Boxes are in logical pixels from the corner of the X window that is given with them.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import gi
from gtk_builder import Builder  # type: ignore[import-not-found]

__all__ = ["Gallery", "main"]

Node = dict[str, Any]

SETTLE_MS = 350
"""The time in which a window is mapped, drawn and past its first animations."""


class Gallery:
    """Answers the commands: shows windows, then reports them."""

    def __init__(self, version: int) -> None:
        gi.require_version("Gtk", f"{version}.0")
        gi.require_version("GdkX11", f"{version}.0")
        from gi.repository import GdkX11, Gio, GLib, Gtk
        from gtk_truth import Truth  # type: ignore[import-not-found]

        if version == 3:
            Gtk.init([])
        else:
            Gtk.init()
        self._gtk, self._gio, self._glib, self._new = Gtk, Gio, GLib, version == 4
        self._truth = Truth(Gtk, GdkX11, version)
        self._windows: list[Any] = []

    def dress(self, font: str, icons: str) -> None:
        """Set the font and the icon theme."""
        settings = self._gtk.Settings.get_default()
        settings.set_property("gtk-font-name", font)
        settings.set_property("gtk-icon-theme-name", icons)
        settings.set_property("gtk-enable-animations", False)

    def run(self) -> None:
        """Answer commands until the input ends."""
        self._glib.io_add_watch(0, self._glib.IO_IN | self._glib.IO_HUP, self._on_input)
        self._glib.MainLoop().run()

    def _on_input(self, *_: Any) -> bool:
        line = sys.stdin.readline()
        if not line:
            os._exit(0)
        command = json.loads(line)
        if command["do"] == "show":
            self._show(command["windows"])
            self._glib.timeout_add(SETTLE_MS, self._answer)
        else:
            self._answer()
        return True

    def _answer(self) -> bool:
        sys.stdout.write(json.dumps(self._truth.report(self._windows)) + "\n")
        sys.stdout.flush()
        return False

    def _show(self, nodes: list[Node]) -> None:
        old, self._windows = self._windows, []
        for node in nodes:
            builder = Builder(self._gtk, self._gio, 4 if self._new else 3)
            window = builder.window(node)
            window.dialog = node["dialog"]
            window.present() if self._new else window.show_all()
            if builder.focus is not None:
                builder.focus.grab_focus()
            self._windows.append(window)
        for window in old:
            window.destroy()


def main() -> None:
    """Run the gallery that the arguments describe."""
    gallery = Gallery(int(sys.argv[1]))
    gallery.dress(sys.argv[2], sys.argv[3])
    gallery.run()


if __name__ == "__main__":
    main()
