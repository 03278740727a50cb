"""The facts of Windows that PyAutoGUI does not know, and its tree by UI Automation.

Checked against fakes whose attributes come from the packages; nothing here has run on Windows.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from hisa.errors import ActionRefused
from hisa.plugins.screen.base import Pause, PressKeys, Reading, System
from hisa.plugins.screen.trees import role_of, walk
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Window
from hisa.screen.roles import PASSWORD

__all__ = ["WindowsSystem"]

_MODIFIERS = {
    "shiftleft": 0xA0,
    "shiftright": 0xA1,
    "ctrlleft": 0xA2,
    "ctrlright": 0xA3,
    "altleft": 0xA4,
    "altright": 0xA5,
    "winleft": 0x5B,
    "winright": 0x5C,
}
_CAPS_LOCK = 0x14
_COMPOSING = (0x04, 0x11, 0x12)
"""Primary languages whose keyboards compose characters: Chinese, Japanese, Korean."""
_DEAD = 0x80000000
_SIDEWAYS = 0x01000
"""The event of a wheel turned sideways, which PyAutoGUI sends as an upright one."""
_WHEEL = 120
_READ_SECONDS = 0.4
"""After ctrl+v, until a program has read the clipboard; chosen by hand, Windows does not tell."""
_ROLES = {
    "Button": "push button",
    "SplitButton": "push button",
    "Edit": "text",
    "Text": "label",
    "Hyperlink": "link",
    "Tab": "page tab list",
    "TabItem": "page tab",
    "Pane": "panel",
    "Document": "document text",
    "Window": "frame",
    "Group": "panel",
    "Custom": "panel",
    "Spinner": "spin button",
    "DataGrid": "table",
    "DataItem": "table cell",
}
_VALUE, _TOGGLE = 10002, 10015


class WindowsSystem(System):
    """Windows; see `hisa.plugins.screen.base.System`.

    Args:
        gui: the module ``pyautogui``.
        user32: the library; None: the system's.
        automation: the module ``uiautomation``; None: imported if it is installed.
        clipboard: the module ``pyperclip``; None: imported.
    """

    wheel = _WHEEL

    def __init__(
        self, gui: Any, user32: Any = None, automation: Any = None, clipboard: Any = None
    ) -> None:
        super().__init__(gui)
        self._user32 = user32 or vars(ctypes)["windll"].user32
        self._clipboard = clipboard or import_module("pyperclip")
        self._automation = automation

    def can_type(self, text: str) -> bool:
        """Whether the layout of the window in front has every character on an ordinary key."""
        user32 = self._user32
        thread = user32.GetWindowThreadProcessId(user32.GetForegroundWindow(), None)
        layout = user32.GetKeyboardLayout(thread)
        if layout != user32.GetKeyboardLayout(0) or layout & 0x3FF in _COMPOSING:
            return False  # PyAutoGUI read the layout of its own thread
        return not user32.GetKeyState(_CAPS_LOCK) & 1 and all(map(self._has_key, set(text)))

    def _has_key(self, character: str) -> bool:
        code = self._gui.platformModule.keyboardMapping.get(character)
        if code is None or code < 0 or code == 0xFFFF or not character.isascii():
            return False
        shifted = bool(code >> 8 & 1) or not self._gui.isShiftCharacter(character)
        return shifted and not self._user32.MapVirtualKeyW(code & 0xFF, 2) & _DEAD

    def held_modifiers(self) -> list[str]:
        """Returns the modifiers that are down."""
        state = self._user32.GetAsyncKeyState
        return [name for name, code in _MODIFIERS.items() if state(code) & 0x8000]

    def scroll_sideways(self, clicks: int) -> None:
        """Turn the wheel sideways."""
        self._user32.mouse_event(_SIDEWAYS, 0, 0, clicks * _WHEEL, 0)

    def paste(self, text: str, press: PressKeys, pause: Pause) -> None:
        """Paste by ctrl+v; only a text that was in the clipboard can be put back."""
        saved = self._clipboard.paste()
        if not saved and self._user32.CountClipboardFormats():
            raise ActionRefused(
                "the text needs the clipboard, which holds no text and could not be put back"
            )
        try:
            self._clipboard.copy(text)
            press(("ctrl", "v"))
            pause(_READ_SECONDS)
        finally:
            self._clipboard.copy(saved)

    def front(self) -> int:
        """Returns the foreground window."""
        return int(self._user32.GetForegroundWindow() or 0)

    def activate(self, window: int) -> None:
        """Ask for the foreground, which Windows may refuse."""
        self._user32.SetForegroundWindow(window)

    def read(self, *, elements: bool) -> Reading:
        """Returns the windows, the lowest first, and their elements, those in front first."""
        self._automation = self._automation or import_module("uiautomation")
        front = self._user32.GetForegroundWindow()
        tops = [top for top in self._automation.GetRootControl().GetChildren() if _shows(top)]
        windows = tuple(
            Window(
                id=str(top.NativeWindowHandle),
                title=top.Name or "",
                app=str(top.ProcessId),
                box=_box(top),
                active=top.NativeWindowHandle == front,
            )
            for top in reversed(tops)
        )
        if not elements:
            return Reading(windows)
        tops.sort(key=lambda top: top.NativeWindowHandle != front)
        return Reading(windows, *walk(tops, self._read_node))

    def _read_node(self, node: Any) -> tuple[Element | None, Sequence[Any]]:
        try:
            if not _shows(node):
                return None, ()
            return self._build(node), node.GetChildren()
        except (OSError, ValueError, TypeError, self._lost):  # it went while it was read
            return None, ()

    @property
    def _lost(self) -> type[Exception]:
        error: type[Exception] = self._automation.comtypes.COMError
        return error

    def _build(self, node: Any) -> Element:
        role = role_of(node.ControlTypeName.removesuffix("Control"), _ROLES)
        states = {"showing", "visible"} | ({"enabled"} if node.IsEnabled else set())
        states |= {"focused"} if node.HasKeyboardFocus else set()
        states |= {"focusable"} if node.IsKeyboardFocusable else set()
        text = ""
        if node.IsPassword:
            role = PASSWORD
        elif (value := node.GetPattern(_VALUE)) is not None:
            text = str(value.Value or "")[:2000]
            states |= set() if value.IsReadOnly else {"editable"}
        toggle = node.GetPattern(_TOGGLE)
        if toggle is not None and toggle.ToggleState == 1:
            states |= {"checked"}
        return Element(role, str(node.Name or "")[:500], _box(node), text, states=frozenset(states))


def _box(node: Any) -> BoundingBox:
    area = node.BoundingRectangle
    return BoundingBox(area.left, area.top, area.right, area.bottom, "screen")


def _shows(node: Any) -> bool:
    box = _box(node)
    return not node.IsOffscreen and box.width > 0 and box.height > 0
