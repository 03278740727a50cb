"""Parts of the guest that need no display."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest

from hisa.actions import values
from hisa.actions.keys import KEY_NAMES
from hisa.plugins.desktop.guest import act_limits
from hisa.plugins.desktop.guest.blank_windows import Undrawn
from hisa.plugins.desktop.guest.box_repair import straighten_boxes
from hisa.plugins.desktop.guest.bus import Bus, Limit
from hisa.plugins.desktop.guest.cells import Cells
from hisa.plugins.desktop.guest.dbus import Call
from hisa.plugins.desktop.guest.element_tree import read_tree
from hisa.plugins.desktop.guest.idempotency_cache import IdempotencyCache
from hisa.plugins.desktop.guest.keysyms import NAMED_KEYS, keysym_of_key
from hisa.plugins.desktop.guest.node import BoundingBox, Node, flatten, plain_title
from hisa.plugins.desktop.guest.role_numbers import ROLES, STATES
from hisa.plugins.desktop.guest.scale import to_pixels
from hisa.plugins.desktop.guest.screen_settling import settle
from hisa.plugins.desktop.guest.tree_walk import ROOT, top_windows, walk
from hisa.plugins.desktop.guest.x_screen import Frame, Screen, TopWindow
from hisa.text import window_titles


def test_every_key_that_a_model_may_name_is_typed() -> None:
    assert {key for key in KEY_NAMES if len(key) > 1} == set(NAMED_KEYS)
    assert len({keysym_of_key(key) for key in KEY_NAMES if len(key) == 1}) == 0x7F - 0x21
    assert keysym_of_key("f5") == 0xFFC2
    assert keysym_of_key("a") == ord("a")


def test_the_guest_keeps_the_limits_that_actions_have() -> None:
    guest_limits = {
        name: value for name, value in vars(act_limits).items() if name.startswith("MAX_")
    }
    assert guest_limits == {name: getattr(values, name) for name in guest_limits}
    own_limits = {name for name in values.__all__ if name.startswith("MAX_")}
    assert own_limits - set(guest_limits) == {
        "MAX_TOTAL_SECONDS"
    }  # how long a model may hold up a run


def test_work_is_done_once_however_many_ask() -> None:
    once: IdempotencyCache[int] = IdempotencyCache()
    go, runs = threading.Event(), []

    def work() -> int:
        go.wait(10)
        runs.append(1)
        return len(runs)

    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(once.run, "id", work) for _ in range(8)]
        go.set()
        assert [future.result() for future in futures] == [1] * 8
    assert once.run("other", work) == 2


def test_failure_is_remembered_too() -> None:
    once: IdempotencyCache[int] = IdempotencyCache()

    def fail() -> int:
        raise KeyError("first")

    for work in (fail, lambda: 1):
        with pytest.raises(KeyError, match="first"):
            once.run("id", work)


def _part(role: str, box: BoundingBox, *children: Node) -> Node:
    states = frozenset({"showing", "visible"})
    return Node(
        *(":1", "/1", "/0", 0, len(children), frozenset(), "", role, "", states),
        box=box,
        children=list(children),
    )


def test_parts_outside_their_parent_are_moved_into_place() -> None:
    """LibreOffice tells its own parts without the menu bar above, the toolkit's as they are."""
    name_box = _part("text", (4, 126, 130, 160))
    field = _part("panel", (4, 101, 166, 135), _part("panel", (4, 126, 166, 160), name_box))
    add = _part("push button", (108, 675, 132, 699))
    tabs = _part("panel", (0, 650, 138, 673), _part("panel", (0, 675, 138, 699), add))
    bar = _part(
        "tool bar", (0, 99, 1221, 141), field, button := _part("push button", (174, 105, 199, 132))
    )
    pane = _part("root pane", (0, 21, 1280, 695), bar, tabs)
    straighten_boxes(_part("frame", (0, 0, 1280, 720), _part("panel", (0, 46, 1280, 720), pane)))
    assert pane.box == (0, 46, 1280, 720)
    assert name_box.box == (4, 126, 130, 160)
    assert add.box == (108, 675, 132, 699)
    assert button.box == (174, 130, 199, 157)
    assert (button.moved, name_box.moved) == ((0, 25), (0, 0))


def _window(title: str, box: BoundingBox, *children: Node, app: str = ":1") -> Node:
    window = _part("frame", box, *children)
    window.window, window.name_on_bus = title, app
    return window


_SHOWN = [
    TopWindow(1, "Fine", "a", (563, 50, 717, 686), True, False, ((562, 28, 718, 692),)),
    TopWindow(2, "Plain", "b", (100, 60, 400, 300), False, False),
]


@pytest.mark.parametrize(
    ("title", "box", "scale"),
    [
        ("Fine", (281, 14, 359, 346), 2.0),
        ("Fine", (562, 28, 718, 692), 1.0),
        ("Plain", (33, 20, 133, 100), 3.0),
        ("Not its title", (281, 14, 359, 346), 2.0),
        ("", (140, 7, 170, 160), 1.0),
    ],
)
def test_a_window_is_as_large_as_the_server_says(
    title: str, box: BoundingBox, scale: float
) -> None:
    button = _part("push button", (300, 100, 310, 110))
    menu = _window("", (300, 40, 340, 80), item := _part("menu item", (300, 40, 340, 60)))
    assert not to_pixels([_window(title, box, button), menu], _SHOWN)
    for part, (left, top, right, bottom) in (
        (button, (300, 100, 310, 110)),
        (item, (300, 40, 340, 60)),
    ):
        assert part.box == (scale * left, scale * top, scale * right, scale * bottom)


def test_page_is_placed_in_pixels_inside_a_scaled_browser() -> None:
    button = _part("push button", (120, 200, 180, 220))
    page = _part("document web", (102, 100, 398, 298), button)
    tab = _part("page tab", (60, 32, 90, 40))
    to_pixels(
        [_window("Plain", (50, 30, 200, 150), tab, _part("panel", (51, 50, 199, 149), page))],
        _SHOWN,
    )
    assert tab.box == (120, 64, 180, 80)
    assert (page.box, button.box) == ((102, 100, 398, 298), (120, 200, 180, 220))


def test_window_far_from_every_known_one_has_no_place() -> None:
    button, item, other = (_part("push button", (10, 10, 20, 20)) for _ in range(3))
    astray = _window("Plain", (900, 500, 1000, 540), button)
    menu = _window("", (0, 0, 30, 30), item)
    assert to_pixels([astray, menu, _window("", (0, 0, 30, 30), other, app=":2")], _SHOWN)
    assert (astray.box, button.box, item.box) == (None, None, None)
    assert other.box == (10, 10, 20, 20)


def test_a_window_that_came_and_is_blank_is_new_once() -> None:
    blank = Frame(40, 20, b"\xff\xff\xff\0" * 800)
    main = TopWindow(1, "Main", "app", (0, 0, 40, 20), active=True, hidden=False)
    undrawn = Undrawn()
    assert undrawn.new(blank, [main]) == [main]
    assert undrawn.new(blank, [main]) == []
    undrawn.forget_gone([])
    assert undrawn.new(blank, [main]) == [main]


class Ticking:
    """A screen of which one part is another at each look."""

    def __init__(self) -> None:
        self.looks = 0

    def grab(self) -> Frame:
        self.looks += 1
        shade = bytes([self.looks % 250, 0, 0, 0])
        return Frame(40, 40, (shade * 20 + b"\0\0\0\0" * 20) * 40)


def test_restless_screen_ends_the_wait_in_time() -> None:
    screen = cast(Screen, Ticking())
    assert not settle(screen, 0.5, None)
    assert not settle(screen, 60.0, None, restless=0.5)


def test_the_guests_way_of_reading_titles_is_hisas() -> None:
    assert inspect.getsource(plain_title) == inspect.getsource(window_titles.plain_title)


class MemoryBus:
    """Answers from a tree in memory, and keeps what was asked, in its order."""

    def __init__(self, tree: dict[tuple[str, str], dict[str, Any]]) -> None:
        self.tree = tree
        self.toolkits = dict.fromkeys((name for name, _ in tree), "gtk")
        self.calls: list[Call] = []
        self.met: dict[object, bool] = {}

    def applications(self, limit: Limit) -> list[tuple[str, str]]:
        return [ref for ref in self.tree if ref[1] == ROOT]

    def gather(self, calls: Sequence[Call], limit: Limit) -> list[Any]:
        self.calls += calls
        return [self._answer(call) for call in calls]

    def _answer(self, call: Call) -> Any:
        entry = self.tree.get((call.name, call.path))
        if entry is None:
            return None
        states = sum(1 << STATES.index(name) for name in entry.get("states", ()))
        children = entry.get("children", [])
        properties = {"Name": entry["name"], "ChildCount": len(children), "Description": ""}
        answers: dict[str, Any] = {
            "GetChildren": [[(call.name, path) for path in children]],
            "GetState": [[states & 0xFFFFFFFF, states >> 32]],
            "GetRole": [ROLES.index(entry["role"]) if "role" in entry else 0],
            "GetInterfaces": [["org.a11y.atspi.Component", *entry.get("interfaces", [])]],
            "GetExtents": [entry.get("box", (0, 0, 400, 300))],
            "GetAll": [properties],
            "Get": [
                next(
                    (properties[key] for key in properties if key.encode() in call.arguments.body),
                    1,
                )
            ],
        }
        return answers.get(call.method)


def _read_boxes(
    tree: dict[str, tuple[str, BoundingBox, list[str]]], toolkit: str
) -> dict[str, Any]:
    """The boxes of what is read from a window, by its names, which are the paths."""
    states = ("showing", "visible")
    objects: dict[tuple[str, str], dict[str, Any]] = {
        ("app", ROOT): {"name": "app", "children": ["/window"]}
    }
    for path, (role, (left, top, right, bottom), children) in tree.items():
        objects["app", path] = {
            "name": path,
            "role": role,
            "states": states,
            "children": children,
            "box": (left, top, right - left, bottom - top),
        }
    bus = MemoryBus(objects)
    bus.toolkits["app"] = toolkit
    windows = top_windows(cast(Bus, bus), Limit(60))
    walk(cast(Bus, bus), windows, (0, 0, 1280, 1024), Limit(60))
    return {node.path: node.box for window in windows for node in flatten(window)}


@pytest.mark.parametrize(("toolkit", "pane"), [("Qt", "filler"), ("gtk", "viewport")])
def test_parts_scrolled_out_of_their_pane_are_left_out(toolkit: str, pane: str) -> None:
    boxes = _read_boxes(
        {
            "/window": ("dialog", (240, 53, 1040, 753), ["/pane"]),
            "/pane": (pane, (597, 129, 1015, 667), ["/page"]),
            "/page": ("filler", (597, 129, 1040, 920), ["/in", "/half", "/out", "/below"]),
            "/in": ("check box", (606, 139, 841, 160), []),
            "/half": ("spin button", (941, 650, 1031, 675), []),
            "/out": ("check box", (606, 707, 782, 728), []),
            "/below": ("panel", (606, 740, 782, 760), ["/deeper"]),
            "/deeper": ("check box", (606, 741, 782, 759), []),
        },
        toolkit,
    )
    assert boxes == {
        "/window": (240, 53, 1040, 753),
        "/pane": (597, 129, 1015, 667),
        "/page": (597, 129, 1015, 667),
        "/in": (606, 139, 841, 160),
        "/half": (941, 650, 1015, 667),
    }


@pytest.mark.parametrize("toolkit", ["GAIL", "gtk"])
def test_items_of_an_open_menu_of_gtk_2_show(toolkit: str) -> None:
    """They never say so, and a menu that was closed still tells where its items were."""
    shown, hidden = ("showing", "visible"), ("visible",)

    def menu(left: int, *children: str) -> dict[str, Any]:
        box = (left, 20, 40, 20)
        return {"name": "", "role": "menu", "states": shown, "box": box, "children": [*children]}

    def item(name: str, *box: int) -> dict[str, Any]:
        return {"name": name, "role": "menu item", "states": hidden, "box": box}

    tree: dict[tuple[str, str], dict[str, Any]] = {
        ("app", ROOT): {"name": "app", "children": ["/window"]},
        ("app", "/window"): {
            "name": "app",
            "role": "frame",
            "states": shown,
            "children": ["/image", "/closed", "/never"],
        },
        ("app", "/image"): menu(0, "/scale", "/gone"),
        ("app", "/scale"): item("Scale Image...", 2, 60, 196, 20),
        ("app", "/gone"): {**item("Gone", 2, 80, 196, 20), "states": ()},
        ("app", "/closed"): menu(40, "/old"),
        ("app", "/old"): item("Old", 42, 60, 100, 20),
        ("app", "/never"): menu(80, "/unseen"),
        ("app", "/unseen"): item("Unseen", -(2**31), -(2**31), -1, -1),
    }
    bus = MemoryBus(tree)
    bus.toolkits = {"app": toolkit}
    frame = Frame(400, 300, bytes(4 * 400 * 300))
    windows = read_tree(
        cast(Bus, bus), Cells(), frame, [], 100, Limit(60), popups=lambda: [(0, 40, 200, 240)]
    )
    items = [node for window in windows for node in flatten(window) if node.role == "menu item"]
    assert [node.name for node in items] == ["Scale Image..."] * (toolkit == "GAIL")
    assert all("showing" in node.states for node in items)
