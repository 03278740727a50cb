"""What lies at a point: the topmost thing of the window in front."""

from __future__ import annotations

from dataclasses import replace

from PIL import Image

from hisa.screen.geometry import BoundingBox, Point, Size
from hisa.screen.lies_at import cover_at, covered, element_at, focused_element, lies_in
from hisa.screen.observation import Element, Observation, Screenshot, Window

SIZE = Size(400, 300)
AT = Point(100, 100, "image")


def box(left: float, top: float, right: float, bottom: float) -> BoundingBox:
    return BoundingBox(left, top, right, bottom, "screen")


SMALL, WIDE = box(60, 80, 140, 120), box(20, 20, 300, 200)


def thing(
    role: str, name: str, at: BoundingBox = SMALL, *, parent: int | None = -1, window: str = "One"
) -> Element:
    return Element(role, name, at, states=frozenset({"showing"}), window=window, parent=parent)


def seen(*elements: Element, windows: tuple[Window, ...] = ()) -> Observation:
    picture = Screenshot(Image.new("RGB", (SIZE.width, SIZE.height)))
    return Observation(picture, SIZE, windows, elements=elements)


def name(look: Observation) -> str:
    there = element_at(AT, look)
    return "" if there is None else there.name


def test_a_part_lies_above_what_holds_it_and_stands_for_its_control() -> None:
    page = thing("document web", "page", WIDE)
    button = thing("push button", "Continue", parent=0)
    text = thing("static", "Continue text", parent=1)
    assert name(seen(page, button, text)) == "Continue"
    assert covered(seen(page, button, text)) == []


def test_the_later_of_two_lies_above_whatever_its_size() -> None:
    small, wide = thing("push button", "Continue"), thing("push button", "Pay", WIDE)
    assert name(seen(small, wide)) == "Pay"
    assert name(seen(wide, small)) == "Continue"
    assert covered(seen(small, wide)) == [0]


def test_boxes_that_only_hold_others_hide_nothing_but_dialogs_do() -> None:
    button = thing("push button", "Continue")
    assert name(seen(button, thing("panel", "", WIDE))) == "Continue"
    assert name(seen(button, thing("dialog", "Sure?", WIDE))) == "Sure?"
    inside = thing("push button", "OK", parent=1)
    assert name(seen(button, thing("dialog", "Sure?", WIDE), inside)) == "OK"


def test_the_entries_of_an_open_menu_lie_above_all_else() -> None:
    bar = thing("menu", "File", box(0, 0, 20, 20))
    entry = thing("menu item", "Save As", parent=0)
    look = seen(bar, entry, thing("text", "Tea at four", WIDE))
    assert name(look) == "Save As"
    assert covered(look) == []


def test_what_says_nothing_more_covers_nothing() -> None:
    field = Element("text", "Your e-mail", SMALL, states=frozenset({"showing"}), parent=-1)
    look = seen(field, thing("label", "E-mail"))
    assert cover_at(field, AT, look) is None, "a label that floats over its field"
    over = cover_at(field, AT, seen(field, thing("label", "E-mail and pay")))
    assert over is not None


def test_a_window_hides_those_beneath_it() -> None:
    windows = (Window("1", "One", "a", WIDE), Window("2", "Two", "b", WIDE, active=True))
    behind, front = thing("push button", "Behind"), thing("panel", "Front", WIDE, window="Two")
    assert name(seen(front, behind, windows=windows)) == "Front"
    assert name(seen(front, behind, windows=windows[::-1])) == "Behind"


def test_a_list_without_parents_has_no_order_to_go_by() -> None:
    small = thing("push button", "Continue", parent=None)
    wide = thing("image", "Picture", WIDE, parent=None)
    assert name(seen(small, wide)) == "Continue"
    assert covered(seen(small, wide)) == []
    assert lies_in(1, 0, (wide, small))


def test_the_focus_of_the_window_in_front_counts() -> None:
    windows = (Window("1", "One", "a", WIDE), Window("2", "Two", "b", WIDE, active=True))
    states = frozenset({"showing", "focused"})
    one = Element("text", "A", SMALL, states=states, window="One")
    two = Element("text", "B", WIDE, states=states, window="Two")
    there = focused_element(seen(one, two, windows=windows))
    assert there is two


def test_an_entry_with_a_submenu_lies_above_what_the_menu_hides() -> None:
    bar = thing("menu", "Format", box(0, 0, 20, 20))
    entry = thing("menu", "Conditional", parent=0)
    cell = thing("table cell", "D12", box(60, 85, 140, 115))
    look = seen(bar, entry, cell)
    assert name(look) == "Conditional"
    assert covered(look) == [2], "the cell, and not the entry"
    under = cover_at(cell, AT, look)
    assert under is not None
    assert under.name == "Conditional"


def test_a_menu_of_the_bar_is_hidden_by_what_lies_over_it() -> None:
    menu, cover = thing("menu", "Format"), thing("push button", "Pay", WIDE)
    assert name(seen(thing("menu bar", "", WIDE), replace(menu, parent=0), cover)) == "Pay"
