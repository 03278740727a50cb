"""The code of Windows and macOS, on recorded objects with the attributes of the packages.

Nothing here has run on those systems: the fakes answer as the packages' sources say.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hisa.actions import Click, Drag, Hotkey, Press, Scroll, Write
from hisa.config import EnvironmentSettings
from hisa.environments.kinds import EnvironmentKind
from hisa.errors import ActionRefused, EnvironmentFailed, UsageError
from hisa.plugins.screen import screen_findings
from hisa.plugins.screen.base import Reading
from hisa.plugins.screen.capture import Camera, PictureMapping, is_blank
from hisa.plugins.screen.driver import Stopped, StopWatch
from hisa.plugins.screen.hands import Hands
from hisa.plugins.screen.macos_system import MacSystem, list_permissions
from hisa.plugins.screen.own_commands import OwnCommands
from hisa.plugins.screen.screen_environment import ScreenEnvironment
from hisa.plugins.screen.screen_kind import DISPLAY, SCREEN
from hisa.plugins.screen.trees import on_picture, walk
from hisa.plugins.screen.windows_system import WindowsSystem
from hisa.protocols import Environment, FileRefused
from hisa.screen.geometry import BoundingBox, Point, Size
from hisa.screen.observation import Element


class Gui:
    """PyAutoGUI as far as it is used; keeps its calls."""

    def __init__(self, mapping: dict[str, int]) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.at = (0, 0)
        self.platformModule = SimpleNamespace(keyboardMapping=mapping)

    def position(self) -> tuple[int, int]:
        return self.at

    def size(self) -> tuple[int, int]:
        return 1440, 900

    @staticmethod
    def isShiftCharacter(character: str) -> bool:
        return character.isupper() or character in set('~!@#$%^&*()_+{}|:"<>?')

    def moveTo(self, x: int, y: int, **_: Any) -> None:
        self.at = (x, y)

    def __getattr__(self, name: str) -> Any:
        def call(*values: Any, **named: Any) -> None:
            named.pop("_pause", None)
            self.calls.append((name, *values, *named.values()))

        return call


class Clipboard:
    """pyperclip."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.copied: list[str] = []

    def paste(self) -> str:
        return self.text

    def copy(self, text: str) -> None:
        self.text = text
        self.copied.append(text)


class User32:
    """The functions of user32 that are called."""

    layout, caps, down, formats, dead = 0x409, 0, set[int](), 0, set[int]()

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def GetForegroundWindow(self) -> int:
        return 11

    def GetWindowThreadProcessId(self, window: int, place: None) -> int:
        return 5

    def GetKeyboardLayout(self, thread: int) -> int:
        return self.layout if thread else 0x409

    def GetKeyState(self, code: int) -> int:
        return self.caps

    def GetAsyncKeyState(self, code: int) -> int:
        return -0x8000 if code in self.down else 0

    def MapVirtualKeyW(self, code: int, kind: int) -> int:
        return 0x8000005E if code in self.dead else code

    def CountClipboardFormats(self) -> int:
        return self.formats

    def mouse_event(self, *values: int) -> None:
        self.events.append(values)


GERMAN = {
    "a": 0x41,
    "A": 0x141,
    "/": 0x137,
    "?": 0x1DB,
    "^": 0xDC,
    "@": 0x651,
    "ctrl": 0x11,
    "v": 0x56,
    "shift": 0x10,
    "enter": 0x0D,
    "€": -1,
}


def windows(user32: User32, text: str = "") -> tuple[WindowsSystem, Gui, Clipboard]:
    gui, clipboard = Gui(GERMAN), Clipboard(text)
    return WindowsSystem(gui, user32, SimpleNamespace(), clipboard), gui, clipboard


def test_windows_types_what_its_layout_has_and_pastes_the_rest() -> None:
    user32 = User32()
    user32.dead = {0xDC}
    system, gui, clipboard = windows(user32, "own")
    assert system.can_type("aA/?")
    assert not system.can_type("^")  # a dead key, and PyAutoGUI would hold Shift
    assert not system.can_type("é")
    user32.caps = 1
    assert not system.can_type("a")
    user32.caps, user32.layout = 0, 0x411
    assert not system.can_type("a")  # Japanese
    hands = Hands(gui, system, lambda: None)
    hands.do([Write("é")])
    assert clipboard.copied == ["é", "own"]
    keys = [call[:2] for call in gui.calls]
    assert keys == [("keyDown", "ctrl"), ("keyDown", "v"), ("keyUp", "v"), ("keyUp", "ctrl")]


def test_windows_refuses_to_lose_a_picture_in_the_clipboard() -> None:
    user32 = User32()
    user32.formats = 3
    system, _, clipboard = windows(user32)
    with pytest.raises(ActionRefused, match="could not be put back"):
        system.paste("é", lambda _: None, lambda _: None)
    assert clipboard.copied == []


def test_windows_wheel_stop_keys_and_stuck_modifiers() -> None:
    user32 = User32()
    system, gui, _ = windows(user32)
    hands = Hands(gui, system, lambda: None)
    user32.down = {0xA2}
    hands.mapping = PictureMapping(-1920, -40, 1.5, 1.5, 2880, 1620)
    hands.do([Scroll(dy=-2, dx=3, at=Point(30, 60, "screen"))])
    assert gui.at == (-1900, 0)
    assert gui.calls == [("keyUp", "ctrlleft"), ("vscroll", -120), ("vscroll", -120)]
    assert user32.events == [(0x1000, 0, 0, 360, 0)]
    assert not system.stop_keys_down()
    user32.down = {0xA0, 0xA1}
    assert system.stop_keys_down()
    with pytest.raises(ActionRefused, match="only a person presses them"):
        Hands(Gui({"shiftleft": 1, "shiftright": 2}), system, lambda: None).do(
            [Hotkey(("shiftleft", "shiftright"))]
        )


class Control:
    """A control of uiautomation."""

    def __init__(
        self, kind: str, name: str, box: tuple[int, int, int, int], *children: Control, **more: Any
    ) -> None:
        self.ControlTypeName, self.Name = f"{kind}Control", name
        left, top, right, bottom = box
        self.BoundingRectangle = SimpleNamespace(left=left, top=top, right=right, bottom=bottom)
        self._children, self._patterns = children, more.pop("patterns", {})
        for key, value in {
            "IsOffscreen": False,
            "IsEnabled": True,
            "HasKeyboardFocus": False,
            "IsKeyboardFocusable": False,
            "IsPassword": False,
            "NativeWindowHandle": 0,
            "ProcessId": 7,
            **more,
        }.items():
            setattr(self, key, value)

    def GetChildren(self) -> list[Control]:
        return list(self._children)

    def GetPattern(self, number: int) -> Any:
        return self._patterns.get(number)


class Lost(Exception):
    """COMError of comtypes."""


class Gone(Control):
    """A control that goes while it is read."""

    @property
    def IsOffscreen(self) -> bool:
        raise Lost

    @IsOffscreen.setter
    def IsOffscreen(self, value: bool) -> None:
        pass


def test_windows_reads_its_tree_the_front_window_first() -> None:
    value = SimpleNamespace(Value="Ada", IsReadOnly=False)
    dialog = Control(
        "Window",
        "Save",
        (0, 0, 400, 300),
        Control("Edit", "Name", (10, 10, 200, 30), patterns={10002: value}, HasKeyboardFocus=True),
        Control("Edit", "PIN", (10, 40, 200, 60), IsPassword=True, patterns={10002: value}),
        Control(
            "CheckBox", "All", (10, 70, 60, 90), patterns={10015: SimpleNamespace(ToggleState=1)}
        ),
        Gone("Button", "gone", (10, 90, 60, 99)),
        Control("Button", "away", (0, 0, 9, 9), IsOffscreen=True),
        NativeWindowHandle=11,
    )
    behind = Control("Window", "Other", (50, 50, 900, 700), NativeWindowHandle=12)
    root = Control("Pane", "", (0, 0, 1440, 900), behind, dialog)
    automation = SimpleNamespace(
        GetRootControl=lambda: root, comtypes=SimpleNamespace(COMError=Lost)
    )
    system = WindowsSystem(Gui({}), User32(), automation, Clipboard(""))
    reading = system.read(elements=True)
    assert [(window.title, window.active) for window in reading.windows] == [
        ("Save", True),
        ("Other", False),
    ]
    elements = reading.elements or ()
    assert [(e.role, e.name, e.text, e.parent) for e in elements] == [
        ("frame", "Save", "", -1),
        ("text", "Name", "Ada", 0),
        ("password text", "PIN", "", 0),
        ("check box", "All", "", 0),
        ("frame", "Other", "", -1),
    ]
    assert {"focused", "editable"} <= elements[1].states
    assert "checked" in elements[3].states
    assert system.read(elements=False).elements is None


class Quartz:
    """The functions of Quartz that are called; constants are their own names."""

    kCGEventFlagMaskShift, kCGEventFlagMaskControl = 1, 2
    kCGEventFlagMaskAlternate, kCGEventFlagMaskCommand = 4, 8
    kCGWindowListOptionOnScreenOnly, kCGWindowListExcludeDesktopElements = 1, 16
    flags, keys, rows, allowed = 0, set[int](), list[dict[str, Any]](), False

    def __init__(self) -> None:
        self.posted: list[Any] = []

    def __getattr__(self, name: str) -> str:
        assert name.startswith("k"), name
        return name

    def CGEventSourceFlagsState(self, state: str) -> int:
        return self.flags

    def CGEventSourceKeyState(self, state: str, code: int) -> bool:
        assert state == "kCGEventSourceStateHIDSystemState"
        return code in self.keys

    def CGEventCreateScrollWheelEvent(self, *values: Any) -> list[Any]:
        return ["wheel", *values[1:]]

    def CGEventCreateMouseEvent(self, *values: Any) -> list[Any]:
        return list(values[1:])

    def CGEventSetIntegerValueField(self, event: list[Any], name: str, value: int) -> None:
        event.append((name, value))

    def CGEventPost(self, tap: str, event: list[Any]) -> None:
        self.posted.append(event)

    def CGWindowListCopyWindowInfo(self, which: int, window: str) -> list[dict[str, Any]]:
        assert which == 17
        return self.rows

    def CGPreflightScreenCaptureAccess(self) -> bool:
        return self.allowed


class Board:
    """The general pasteboard, and the class of its items."""

    def __init__(self) -> None:
        self.items: list[Any] = [SimpleItem({"public.png": b"picture", "public.html": b"<b>"})]
        self.seen: list[Any] = []

    def pasteboardItems(self) -> list[Any]:
        return self.items

    def clearContents(self) -> None:
        self.items = []

    def setString_forType_(self, text: str, kind: str) -> None:
        self.items = [SimpleItem({kind: text.encode()})]

    def writeObjects_(self, items: list[Any]) -> None:
        self.items = items


class SimpleItem:
    """NSPasteboardItem."""

    def __init__(self, data: dict[str, bytes] | None = None) -> None:
        self.data = data or {}

    @classmethod
    def alloc(cls) -> type[SimpleItem]:
        return cls

    @classmethod
    def init(cls) -> SimpleItem:
        return cls()

    def types(self) -> list[str]:
        return list(self.data)

    def dataForType_(self, kind: str) -> bytes:
        return self.data[kind]

    def setData_forType_(self, data: bytes, kind: str) -> None:
        self.data[kind] = data


def mac(quartz: Quartz, services: Any = None, front: int = 0) -> tuple[MacSystem, Gui, Board]:
    board = Board()
    program = SimpleNamespace(processIdentifier=lambda: front)
    workspace = SimpleNamespace(frontmostApplication=lambda: program)
    appkit = SimpleNamespace(
        NSPasteboard=SimpleNamespace(generalPasteboard=lambda: board),
        NSPasteboardItem=SimpleItem,
        NSPasteboardTypeString="public.utf8-plain-text",
        NSWorkspace=SimpleNamespace(sharedWorkspace=lambda: workspace),
    )
    gui = Gui({"command": 0x37, "v": 9, "a": 0, "shift": 0x38, "enter": 0x24})
    return MacSystem(gui, quartz, appkit, services or SimpleNamespace()), gui, board


def test_macos_pastes_all_text_and_puts_every_kind_back() -> None:
    system, gui, board = mac(Quartz())
    hands = Hands(gui, system, lambda: None)
    hands.do([Write("a\n")])
    assert [call[:2] for call in gui.calls] == [
        ("keyDown", "command"),
        ("keyDown", "v"),
        ("keyUp", "v"),
        ("keyUp", "command"),
        ("keyDown", "enter"),
        ("keyUp", "enter"),
    ]
    assert [item.data for item in board.items] == [
        {"public.png": b"picture", "public.html": b"<b>"}
    ]
    hands.do([Press("win")])
    assert gui.calls[-1] == ("keyUp", "command")
    with pytest.raises(ActionRefused, match="this keyboard has none"):
        hands.do([Press("insert")])


def test_macos_counts_clicks_drags_and_scrolls_to_the_left() -> None:
    quartz = Quartz()
    system, gui, _ = mac(quartz)
    hands = Hands(gui, system, lambda: None)
    hands.mapping = PictureMapping(0, 0, 2, 2, 2880, 1800)
    hands.do([Click(Point(200, 100, "screen"), count=2), Scroll(dx=-3)])
    clicks = [(event[0], event[1], event[3][1]) for event in quartz.posted[:4]]
    assert clicks == [
        ("kCGEventLeftMouseDown", (100, 50), 1),
        ("kCGEventLeftMouseUp", (100, 50), 1),
        ("kCGEventLeftMouseDown", (100, 50), 2),
        ("kCGEventLeftMouseUp", (100, 50), 2),
    ]
    assert quartz.posted[4] == ["wheel", "kCGScrollEventUnitLine", 2, 0, 9]
    hands.do([Drag(Point(400, 100, "screen"), start=Point(200, 100, "screen"))])
    assert gui.calls[0] == ("mouseDown", 100, 50, "left")
    assert gui.calls[-1] == ("mouseUp", 200, 50, "left")
    hands.release()


class Services:
    """The functions of ApplicationServices that are called."""

    kAXValueTypeCGPoint, kAXValueTypeCGSize = 1, 2
    trusted = True

    def __init__(self, tree: dict[Any, dict[str, Any]]) -> None:
        self._tree = tree

    def AXUIElementCreateApplication(self, pid: int) -> int:
        return pid

    def AXUIElementSetMessagingTimeout(self, element: Any, seconds: float) -> int:
        assert seconds > 0
        return 0

    def AXUIElementCopyMultipleAttributeValues(
        self, element: Any, names: tuple[str, ...], options: int, place: None
    ) -> tuple[int, list[Any] | None]:
        if element not in self._tree:
            return -25202, None  # kAXErrorInvalidUIElement
        had = self._tree[element]
        return 0, [had.get(name) for name in names]

    def AXValueGetType(self, value: Any) -> int:
        return {"x": 1, "width": 2}[next(iter(vars(value)))] if hasattr(value, "__dict__") else 0

    def AXValueGetValue(self, value: Any, kind: int, place: None) -> tuple[bool, Any]:
        return True, value

    def AXIsProcessTrusted(self) -> bool:
        return self.trusted


def at(x: float, y: float, width: float, height: float) -> dict[str, Any]:
    place, size = SimpleNamespace(x=x, y=y), SimpleNamespace(width=width, height=height)
    return {"AXPosition": place, "AXSize": size, "AXEnabled": True}


def row(pid: int, number: int, name: str | None, layer: int = 0) -> dict[str, Any]:
    bounds = {"X": 20.0, "Y": 30.0, "Width": 300.0, "Height": 200.0}
    had = {"kCGWindowOwnerPID": pid, "kCGWindowNumber": number, "kCGWindowLayer": layer}
    named = {"kCGWindowName": name} if name is not None else {}
    return {**had, **named, "kCGWindowBounds": bounds, "kCGWindowOwnerName": f"app{pid}"}


def test_macos_reads_its_tree_the_front_program_first() -> None:
    tree = {
        8: {"AXRole": "AXApplication", "AXTitle": "Pages", "AXChildren": [80]},
        80: {
            "AXRole": "AXWindow",
            "AXTitle": "Letter",
            "AXChildren": [81, 82, 83, 99],
            **at(20, 30, 300, 200),
        },
        81: {"AXRole": "AXTextField", "AXValue": "Ada", "AXFocused": True, **at(30, 40, 90, 20)},
        82: {
            "AXRole": "AXTextField",
            "AXSubrole": "AXSecureTextField",
            "AXValue": "1234",
            **at(30, 70, 90, 20),
        },
        83: {"AXRole": "AXCheckBox", "AXDescription": "All", "AXValue": 1, **at(30, 90, 20, 20)},
    }
    quartz = Quartz()
    quartz.rows = [row(8, 1, "Letter"), row(9, 2, "Behind"), row(3, 5, "Dock", layer=20)]
    system, _, _ = mac(quartz, Services(tree), front=8)
    reading = system.read(elements=True)
    assert [(window.title, window.active) for window in reading.windows] == [
        ("Behind", False),
        ("Letter", True),
    ]
    elements = reading.elements or ()
    assert [(e.role, e.name, e.text, e.parent) for e in elements] == [
        ("frame", "Letter", "", -1),
        ("text", "", "Ada", 0),
        ("password text", "", "", 0),
        ("check box", "All", "", 0),
    ]
    assert elements[1].box == BoundingBox(30, 40, 120, 60, "screen")
    assert "checked" in elements[3].states


def test_macos_rights_are_found_by_what_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM_PROGRAM", "iTerm.app")
    quartz, services = Quartz(), Services({})
    quartz.rows = [row(8, 1, None)]
    services.trusted = False
    assert [(name, granted) for name, granted, _ in list_permissions(quartz, services)] == [
        ("Screen Recording", False),
        ("Accessibility", False),
    ]
    quartz.rows, services.trusted = [row(8, 1, "Letter")], True  # preflight may be wrong
    rights = list_permissions(quartz, services)
    assert [granted for _, granted, _ in rights] == [True, True]
    assert "Privacy & Security, Accessibility: switch iTerm.app on" in rights[1][2]


def test_points_beyond_the_primary_monitor_are_negative() -> None:
    area = {"left": -1920, "top": -40, "width": 1920, "height": 1080}
    everything = {"left": -1920, "top": -40, "width": 3360, "height": 1080}
    primary = {"left": 0, "top": 0, "width": 1440, "height": 900, "is_primary": True}
    camera = Camera(Gui({}), 2)
    screens = SimpleNamespace(monitors=[everything, primary, area], primary_monitor=primary)
    assert camera._choose(screens) is area
    with pytest.raises(EnvironmentFailed, match="no monitor 3; there are 1: 1440x900, 2: "):
        Camera(Gui({}), 3)._choose(screens)
    mapping = PictureMapping(-1920, -40, 2, 2, 3840, 2160)
    assert mapping.to_points(0, 0) == (-1920, -40)
    assert mapping.to_points(3839, 2159) == (-1, 1039)
    assert mapping.to_points(3840, 0) is None
    assert mapping.to_pixels(-1920, 0) == (0, 80)


def test_elements_of_other_monitors_are_left_out_with_their_parents_kept() -> None:
    boxes = [(0, 0, 3000, 900), (0, 0, 1400, 900), (1500, 10, 1600, 40)]
    elements = tuple(
        Element("panel", str(n), BoundingBox(*box, "screen"), parent=n - 1)
        for n, box in enumerate(boxes)
    )
    mapping = PictureMapping(1440, 0, 2, 2, 3000, 1800)
    shown = on_picture(Reading((), elements), mapping).elements or ()
    assert [(e.name, e.parent) for e in shown] == [("0", -1), ("2", 0)]
    assert shown[1].box == BoundingBox(120, 20, 320, 80, "screen")


def test_a_tree_without_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    element = Element("panel", "", BoundingBox(0, 0, 9, 9, "screen"))
    elements, complete = walk([0], lambda node: (element, [node + 1, node + 2]))
    assert (len(elements), complete) == (2000, False)
    monkeypatch.setattr("hisa.plugins.screen.trees.READ_SECONDS", -1.0)
    assert walk([0], lambda node: (element, [])) == ((), False)


@pytest.mark.parametrize(("rgb", "blank"), [(bytes(90_000), True), (bytes(89_999) + b"x", False)])
def test_black_picture_is_recognised(rgb: bytes, blank: bool) -> None:
    assert is_blank(rgb) == blank


@pytest.mark.process
async def test_commands_as_the_person_have_limits(tmp_path: Path) -> None:
    commands = OwnCommands()
    ran = await commands.execute("echo out; echo err >&2; exit 3", timeout=20.0, limit=2)
    assert (ran.exit_code, ran.output, ran.error, ran.timed_out) == (3, "ou", "er", False)
    late = await commands.execute("sleep 60", timeout=0.2, limit=9)
    assert (late.exit_code, late.timed_out) == (124, True)
    assert (await commands.execute(["no-such-command"], timeout=5.0, limit=9)).exit_code == 127
    path = tmp_path / "deep" / "file"
    await commands.write_file(str(path), b"0123456789")
    assert await commands.read_file(str(path), limit=10) == b"0123456789"
    with pytest.raises(FileRefused, match="10 bytes; at most 9"):
        await commands.read_file(str(path), limit=9)
    with pytest.raises(FileNotFoundError):
        await commands.read_file(str(tmp_path / "nothing"), limit=9)


ANSWERING = """
import pickle, sys
from hisa.plugins.screen.base import Reply
from hisa.plugins.screen.driver import send_reply
while True:
    send_reply(sys.stdout.buffer, Reply(pickle.load(sys.stdin.buffer).number, "ok"))
"""
"""A driver that has no screen, and does nothing that it is asked."""


@pytest.mark.process
@pytest.mark.parametrize("allowed", [False, True])
async def test_commands_run_as_the_person_only_if_allowed(
    monkeypatch: pytest.MonkeyPatch, allowed: bool
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    notes: list[str] = []
    settings = EnvironmentSettings(allow_commands=allowed)
    line = (sys.executable, "-c", ANSWERING)
    async with ScreenEnvironment(settings=settings, note=notes.append, driver=line) as screen:
        assert ("execute" in screen.capabilities) == allowed
        assert ("run as you, without a cage" in notes[0]) == allowed
        if not allowed:
            with pytest.raises(EnvironmentFailed, match="runs no commands") as caught:
                await screen.execute("true")
            assert "--allow-commands" in caught.value.fix


def open_kind(kind: EnvironmentKind, value: str, notes: list[str] | None = None) -> Environment:
    note = [] if notes is None else notes
    settings = EnvironmentSettings()
    return kind.open(value, settings=settings, image_limit=Size(1280, 720), note=note.append)


@pytest.mark.parametrize(
    ("variables", "refused"),
    [
        ({}, "DISPLAY is not set"),
        ({"DISPLAY": ":0"}, ""),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "only for windows of XWayland"),
        ({"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, "only for windows of XWayland"),
        ({"XDG_SESSION_TYPE": "wayland", "DISPLAY": ":0"}, "only for windows of XWayland"),
        # Another X server, opened within a Wayland session.
        ({"XDG_SESSION_TYPE": "x11", "WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":7"}, ""),
    ],
)
def test_session_without_a_usable_x_is_refused_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], refused: str
) -> None:
    monkeypatch.setattr(screen_findings, "list_missing", lambda _: ())
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "XDG_SESSION_TYPE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert [probe.ok for probe in screen_findings.list_findings()] == [not refused]
    if not refused:
        assert open_kind(SCREEN, "").name == "screen"
        return
    with pytest.raises(EnvironmentFailed, match=refused) as caught:
        open_kind(SCREEN, "")
    assert "X session" in caught.value.fix


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen_findings, "list_missing", lambda _: ("mss",))
    with pytest.raises(EnvironmentFailed, match="needs mss") as caught:
        open_kind(SCREEN, "")
    assert caught.value.fix == "hisa install screen"


def test_former_name_opens_the_screen_and_says_that_it_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(screen_findings, "list_missing", lambda _: ())
    monkeypatch.delenv("DISPLAY", raising=False)
    notes: list[str] = []
    assert open_kind(DISPLAY, ":7", notes).name == "screen"
    assert "DISPLAY=:7 and --env screen" in notes[0]
    for kind, value in ((DISPLAY, "host:0"), (SCREEN, "0"), (SCREEN, "left")):
        with pytest.raises(UsageError):
            open_kind(kind, value)


@pytest.mark.process
@pytest.mark.parametrize(("engine", "composes"), [("xkb:us::eng", False), ("anthy", True)])
def test_input_method_that_composes_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, composes: bool
) -> None:
    system = pytest.importorskip("hisa.plugins.screen.x11_system")
    (tmp_path / "ibus").write_text(f"#!/bin/sh\necho {engine}\n")
    (tmp_path / "ibus").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setenv("XMODIFIERS", "@im=ibus")
    assert system._composes() == composes


def test_pointer_in_a_corner_counts_once_a_person_moved_it() -> None:
    gui, system = Gui({}), SimpleNamespace(stop_keys_down=lambda: False)
    watch = StopWatch(gui, system)
    gui.at = sent = (0, 899)
    watch.check(sent, idle=True)  # the agent clicked there
    gui.at = (400, 400)
    watch.check(sent, idle=True)
    gui.at = (1, 898)
    with pytest.raises(Stopped, match="corner"):
        watch.check(sent, idle=True)
    watch = StopWatch(gui, system)
    gui.at = (600, 600)
    watch.check((0, 899))  # on its way
    gui.at = (0, 899)
    watch.check((0, 899))


def test_halt_ends_the_request_of_its_number_alone() -> None:
    watch = StopWatch(Gui({}), SimpleNamespace(stop_keys_down=lambda: False))
    watch.number, watch.halted = 4, 4.0
    with pytest.raises(Stopped, match="the act was ended"):
        watch.check((0, 0))
    watch.number = 5
    watch.check((0, 0))
