"""The facts of macOS that PyAutoGUI does not know, its tree by AX, and its permissions.

Checked against fakes whose attributes come from the packages; nothing here has run on macOS.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar

from hisa.plugins.screen.base import Pause, PressKeys, Reading, System
from hisa.plugins.screen.trees import role_of, walk
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Window
from hisa.screen.roles import PASSWORD

__all__ = ["MacSystem", "list_permissions"]

_SHIFTS = (0x38, 0x3C)
"""Codes of the left and right Shift key."""
_READ_SECONDS = 0.4
"""After command+v, until a program has read the clipboard; chosen by hand, macOS does not tell."""
_LINES = 3
"""Lines of one click of a wheel, as usual elsewhere."""
_ANSWER_SECONDS = 1.0
"""A program that does not tell about an element within this time is left out."""
_FLAGS = {
    "shift": "kCGEventFlagMaskShift",
    "ctrl": "kCGEventFlagMaskControl",
    "alt": "kCGEventFlagMaskAlternate",
    "command": "kCGEventFlagMaskCommand",
}
_ROLES = {
    "Button": "push button",
    "MenuButton": "push button",
    "PopUpButton": "combo box",
    "TextField": "text",
    "TextArea": "text",
    "StaticText": "label",
    "Window": "frame",
    "WebArea": "document web",
    "TabGroup": "page tab list",
    "Outline": "tree table",
    "Group": "panel",
    "Row": "table row",
    "Cell": "table cell",
    "MenuBarItem": "menu",
    "Incrementor": "spin button",
    "SplitGroup": "split pane",
    "ScrollArea": "scroll pane",
}
_ATTRIBUTES = (
    *("AXRole", "AXSubrole", "AXTitle", "AXDescription", "AXValue", "AXPosition", "AXSize"),
    *("AXEnabled", "AXFocused", "AXChildren"),
)


class MacSystem(System):
    """macOS; see `hisa.plugins.screen.base.System`.

    Args:
        gui: the module ``pyautogui``.
        quartz, appkit, services: the modules; None: imported.
    """

    key_names: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("win", "winleft", "winright"), "command"),
        "altright": "optionright",
    }
    wheel = _LINES
    hotkey_seconds = 0.1
    """With less, a shortcut loses its modifier."""

    def __init__(
        self, gui: Any, quartz: Any = None, appkit: Any = None, services: Any = None
    ) -> None:
        super().__init__(gui)
        self._quartz = quartz or import_module("Quartz")
        self._appkit = appkit or import_module("AppKit")
        self._services = services or import_module("ApplicationServices")

    def can_type(self, text: str) -> bool:
        """Never: PyAutoGUI presses the keys of a US keyboard whatever the layout."""
        return False

    def held_modifiers(self) -> list[str]:
        """Returns the modifiers that are down."""
        quartz = self._quartz
        flags = quartz.CGEventSourceFlagsState(quartz.kCGEventSourceStateCombinedSessionState)
        return [name for name, mask in _FLAGS.items() if flags & getattr(quartz, mask)]

    def stop_keys_down(self) -> bool:
        """Whether both Shift keys of the keyboard itself are down."""
        state = self._quartz.kCGEventSourceStateHIDSystemState
        return all(self._quartz.CGEventSourceKeyState(state, code) for code in _SHIFTS)

    def scroll_sideways(self, clicks: int) -> None:
        """Turn the wheel sideways; PyAutoGUI turns it right for some numbers of clicks to the left.

        To the left is positive in events of macOS.
        """
        quartz = self._quartz
        event = quartz.CGEventCreateScrollWheelEvent(
            None, quartz.kCGScrollEventUnitLine, 2, 0, -clicks * _LINES
        )
        quartz.CGEventPost(quartz.kCGHIDEventTap, event)

    def click(self, button: str, count: int, at: tuple[int, int]) -> None:
        """Press and release a button; events say themselves which click of several they are."""
        quartz = self._quartz
        name = {"left": "Left", "right": "Right"}.get(button, "Other")
        number = getattr(quartz, f"kCGMouseButton{'Center' if name == 'Other' else name}")
        for nth in range(1, count + 1):
            for phase in ("Down", "Up"):
                kind = getattr(quartz, f"kCGEvent{name}Mouse{phase}")
                event = quartz.CGEventCreateMouseEvent(None, kind, at, number)
                quartz.CGEventSetIntegerValueField(event, quartz.kCGMouseEventClickState, nth)
                quartz.CGEventPost(quartz.kCGHIDEventTap, event)

    def paste(self, text: str, press: PressKeys, pause: Pause) -> None:
        """Paste by command+v, and put back all kinds of what the clipboard held."""
        board = self._appkit.NSPasteboard.generalPasteboard()
        saved = []
        for item in board.pasteboardItems() or ():
            copy = self._appkit.NSPasteboardItem.alloc().init()
            for kind in item.types():
                copy.setData_forType_(item.dataForType_(kind), kind)
            saved.append(copy)
        try:
            board.clearContents()
            board.setString_forType_(text, self._appkit.NSPasteboardTypeString)
            press(("command", "v"))
            pause(_READ_SECONDS)
        finally:
            board.clearContents()
            if saved:
                board.writeObjects_(saved)

    def front(self) -> int:
        """Returns the process in front, to which its windows belong."""
        workspace = self._appkit.NSWorkspace.sharedWorkspace()
        return int(workspace.frontmostApplication().processIdentifier())

    def activate(self, window: int) -> None:
        """Bring a program to the front."""
        running = self._appkit.NSRunningApplication
        program = running.runningApplicationWithProcessIdentifier_(window)
        if program is not None:
            program.activateWithOptions_(0)

    def read(self, *, elements: bool) -> Reading:
        """Returns the windows, the lowest first, and their elements, those in front first."""
        rows = _list_windows(self._quartz)
        front = self.front()
        first = next((row for row in rows if row["kCGWindowOwnerPID"] == front), None)
        windows = tuple(_window(row, active=row is first) for row in reversed(rows))
        if not elements:
            return Reading(windows)
        pids = dict.fromkeys((front, *(row["kCGWindowOwnerPID"] for row in rows)))
        programs = [self._services.AXUIElementCreateApplication(pid) for pid in pids]
        for program in programs:
            self._services.AXUIElementSetMessagingTimeout(program, _ANSWER_SECONDS)
        return Reading(windows, *walk(programs, self._read_node))

    def _read_node(self, node: Any) -> tuple[Element | None, Sequence[Any]]:
        copied = self._services.AXUIElementCopyMultipleAttributeValues
        error, values = copied(node, _ATTRIBUTES, 0, None)
        if error or values is None or len(values) != len(_ATTRIBUTES):
            return None, ()
        had = dict(zip(_ATTRIBUTES, values, strict=True))
        children = had["AXChildren"]
        children = () if isinstance(children, str) or not hasattr(children, "__len__") else children
        return self._build(had), children

    def _build(self, had: dict[str, Any]) -> Element | None:
        role, place, size = had["AXRole"], self._pair(had["AXPosition"]), self._pair(had["AXSize"])
        if not isinstance(role, str) or place is None or size is None or min(size) <= 0:
            return None
        states = {"showing", "visible"} | ({"enabled"} if had["AXEnabled"] is True else set())
        states |= {"focused"} if had["AXFocused"] is True else set()
        name, value = had["AXTitle"] or had["AXDescription"], had["AXValue"]
        spelling = role_of(role.removeprefix("AX"), _ROLES)
        if had["AXSubrole"] == "AXSecureTextField":
            spelling, value = PASSWORD, ""
        if spelling in ("text", PASSWORD):
            states |= {"editable", "focusable"}
        if spelling in ("check box", "radio button") and value == 1:
            states |= {"checked"}
        text = value[:2000] if isinstance(value, str) else ""
        if spelling == "label":
            name = name or text
        box = BoundingBox(*place, place[0] + size[0], place[1] + size[1], "screen")
        name = name[:500] if isinstance(name, str) else ""
        return Element(spelling, name, box, text, states=frozenset(states))

    def _pair(self, value: Any) -> tuple[float, float] | None:
        """Returns the two numbers of a place or a size; None if it is neither."""
        services = self._services
        for kind, names in (
            (services.kAXValueTypeCGPoint, ("x", "y")),
            (services.kAXValueTypeCGSize, ("width", "height")),
        ):
            if value is not None and services.AXValueGetType(value) == kind:
                good, pair = services.AXValueGetValue(value, kind, None)
                return (getattr(pair, names[0]), getattr(pair, names[1])) if good else None
        return None


def _list_windows(quartz: Any) -> list[Any]:
    """Returns the ordinary windows on the screen, the highest first."""
    which = quartz.kCGWindowListOptionOnScreenOnly | quartz.kCGWindowListExcludeDesktopElements
    rows = quartz.CGWindowListCopyWindowInfo(which, quartz.kCGNullWindowID) or ()
    return [row for row in rows if row["kCGWindowLayer"] == 0]


def _window(row: Any, *, active: bool) -> Window:
    area = row["kCGWindowBounds"]
    left, top = area["X"], area["Y"]
    box = BoundingBox(left, top, left + area["Width"], top + area["Height"], "screen")
    title, app = str(row.get("kCGWindowName") or ""), str(row.get("kCGWindowOwnerName") or "")
    return Window(str(row["kCGWindowNumber"]), title, app, box, active=active)


def list_permissions(quartz: Any = None, services: Any = None) -> list[tuple[str, bool, str]]:
    """Returns the name of each right that a screen needs, whether it is given, and how to give it.

    Screen Recording may be said to be missing although it is given; titles of other programs'
    windows are told only to those that have it.

    Args:
        quartz: the module ``Quartz``; None: imported.
        services: the module ``ApplicationServices``; None: imported.
    """
    quartz = quartz or import_module("Quartz")
    services = services or import_module("ApplicationServices")
    titled = any(
        row.get("kCGWindowName") and row["kCGWindowOwnerPID"] != os.getpid()
        for row in _list_windows(quartz)
    )
    sees = bool(quartz.CGPreflightScreenCaptureAccess()) or titled
    program = os.environ.get("TERM_PROGRAM", "the program that runs HiSA")
    way = "System Settings, Privacy & Security, {}: switch " + f"{program} on, and start it again"
    return [
        (right, granted, way.format(right))
        for right, granted in (
            ("Screen Recording", sees),
            ("Accessibility", bool(services.AXIsProcessTrusted())),
        )
    ]
