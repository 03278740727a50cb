"""Programs of GTK 4, which tell neither what shows nor where: GNOME's settings tell both here."""

from __future__ import annotations

import asyncio

import pytest

from hisa.actions import Click, Press, Write
from hisa.plugins.desktop.guest import gtk4
from hisa.plugins.desktop.guest.bus import Bus
from hisa.plugins.desktop.guest.hidden_parts import shows_through
from hisa.plugins.desktop.guest.node import BoundingBox, Node
from hisa.plugins.desktop.guest.x_screen import TopWindow
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.machines.profiles.recipe import recipe
from hisa.plugins.machines.tree import find_tree
from hisa.screen.observation import Element, Observation

BUILD = "hisa machine build osworld"


def bus(toolkit: str = "GTK") -> Bus:
    """One that knows the toolkit of a program and asks nobody."""
    known = Bus.__new__(Bus)
    known.toolkits = {":1.1": toolkit}
    return known


def node(role: str, box: BoundingBox | None, name: str = "", *children: Node) -> Node:
    states = frozenset({"visible"})
    new_node = Node(":1.1", "/1", "", 0, 0, frozenset({"Component"}), name, role, "", states, box)
    new_node.children, new_node.window = list(children), "Settings"
    return new_node


def window(box: BoundingBox, *, active: bool = False, title: str = "Settings") -> TopWindow:
    return TopWindow(1, title, "app", box, active, hidden=False, outlines=(box,))


class TestPlace:
    def test_window_is_placed_inside_its_own_border(self) -> None:
        button = node("push button", (11, 11, 35, 35), "Search")
        frame = node("frame", (0, 0, 970, 630), "Settings", button)
        gtk4.place(bus(), [frame], [window((150, 53, 1130, 693))], list)
        assert frame.box == (155, 58, 1125, 688)
        assert button.box == (166, 69, 190, 93)
        assert button.to_app_point(166, 69) == (11, 11)

    def test_active_window_is_chosen_between_two_of_one_size(self) -> None:
        behind, front = node("frame", (0, 0, 100, 50)), node("frame", (0, 0, 100, 50))
        front.states |= {"active"}
        shown = [window((5, 5, 105, 55)), window((300, 200, 400, 250), active=True)]
        gtk4.place(bus(), [front, behind], shown, list)
        assert (front.box, behind.box) == ((300, 200, 400, 250), (5, 5, 105, 55))

    @pytest.mark.parametrize(
        "other", [window((5, 5, 405, 55)), window((5, 5, 105, 55), title="Mail")]
    )
    def test_frame_that_fits_no_window_keeps_its_place(self, other: TopWindow) -> None:
        frame = node("frame", (0, 0, 100, 50))
        gtk4.place(bus(), [frame], [other], list)
        assert frame.box == (0, 0, 100, 50)

    def test_a_menu_is_the_window_without_a_frame_of_its_size(self) -> None:
        item = node("menu item", (110, 20, 150, 30), "Help")
        menu = node("menu", (100, 10, 160, 40), "GtkPopoverMenu", item)
        frame = node("frame", (0, 0, 200, 100), "Settings", menu)
        boxes: list[BoundingBox] = [(0, 0, 60, 31), (50, 77, 110, 107)]
        gtk4.place(bus(), [frame], [window((10, 10, 210, 110))], lambda: boxes)
        assert (menu.box, menu.name) == ((50, 77, 110, 107), "")
        assert (item.box, item.name) == ((60, 87, 100, 97), "Help")

    def test_a_menu_that_is_not_found_has_no_place(self) -> None:
        menu = node("menu", (100, 10, 160, 40), "", node("menu item", (110, 20, 150, 30)))
        frame = node("frame", (0, 0, 200, 100), "Settings", menu)
        gtk4.place(bus(), [frame], [window((10, 10, 210, 110))], list)
        assert menu.box is None
        assert menu.children[0].box is None


def test_element_scrolled_out_of_its_pane_is_left_out() -> None:
    frame = node("frame", (0, 0, 200, 200))
    pane = node("scroll pane", (0, 50, 100, 150))
    rows = node("list", (0, 50, 100, 900))
    inside, below = node("list item", (0, 140, 100, 180)), node("list item", (0, 180, 100, 220))
    menu = node("menu", (0, 180, 100, 220))
    assert shows_through(bus(), pane, frame)
    assert shows_through(bus(), rows, pane)
    assert shows_through(bus(), inside, rows)
    assert not shows_through(bus(), below, rows)
    assert shows_through(bus(), menu, rows), "a menu sticks out"


@pytest.mark.desktop
@pytest.mark.skipif(find_tree(recipe("osworld")) is None, reason=f"not built: {BUILD}")
async def test_gnome_settings_report_visible_elements_at_their_places() -> None:
    async with DesktopEnvironment(profile="osworld") as desktop:
        await desktop.execute("gnome-control-center >/dev/null 2>&1 &")
        look = await until(desktop, "push button", "Search")
        names = {element.name for element in look.elements or ()}
        assert "Bluetooth" in names
        assert "Users" not in names, "it is scrolled out"
        assert not any(name.startswith(("Gtk", "Adw")) for name in names)

        await desktop.act([Click(find(look, "push button", "Primary Menu").box.centre)])
        look = await until(desktop, "menu item", "Help")
        menu = find(look, "menu", "").box
        assert menu.top < find(look, "menu item", "Help").box.top < menu.bottom
        await desktop.act([Press("esc")])
        look = await until_gone(desktop, "menu item", "Help")

        # A popover that is on its way out swallows the next click.
        await desktop.act([Click(find(look, "push button", "Search").box.centre)])
        await until(desktop, "entry", "")
        await desktop.act([Write("blue ü")])
        for _ in range(40):
            look = await desktop.observe(elements=True, settle=1.0)
            if any(element.text == "blue ü" for element in look.elements or ()):
                break
        assert any(element.text == "blue ü" for element in look.elements or ())
        assert "Network" not in {element.name for element in look.elements or ()}, (
            "of the other page"
        )


async def until(desktop: DesktopEnvironment, role: str, name: str) -> Observation:
    """Look until an element of that role and name is there."""
    for _ in range(60):
        look = await desktop.observe(elements=True, settle=2.0)
        if any((element.role, element.name) == (role, name) for element in look.elements or ()):
            return look
        await asyncio.sleep(0.2)
    raise AssertionError(f"no {role} {name!r}")


async def until_gone(desktop: DesktopEnvironment, role: str, name: str) -> Observation:
    """Look until no element of that role and name is there."""
    for _ in range(60):
        look = await desktop.observe(elements=True, settle=2.0)
        if not any((element.role, element.name) == (role, name) for element in look.elements or ()):
            return look
        await asyncio.sleep(0.2)
    raise AssertionError(f"still there: {role} {name!r}")


def find(look: Observation, role: str, name: str) -> Element:
    return next(
        element for element in look.elements or () if (element.role, element.name) == (role, name)
    )
