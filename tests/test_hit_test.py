"""What lies at a point: the topmost thing of the window in front."""

from __future__ import annotations

from dataclasses import replace

from PIL import Image

from hisa.screen.geometry import BoundingBox, Point, Size
from hisa.screen.hit_test import cover_at, element_at, find_covered, focused_element, is_part_of
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


def build_look(*elements: Element, windows: tuple[Window, ...] = ()) -> Observation:
    picture = Screenshot(Image.new("RGB", (SIZE.width, SIZE.height)))
    return Observation(picture, SIZE, windows, elements=elements)


def name(observation: Observation) -> str:
    element = element_at(AT, observation)
    return "" if element is None else element.name


def test_part_is_above_its_container_and_counts_as_its_control() -> None:
    page = thing("document web", "page", WIDE)
    button = thing("push button", "Continue", parent=0)
    text = thing("static", "Continue text", parent=1)
    assert name(build_look(page, button, text)) == "Continue"
    assert find_covered(build_look(page, button, text)) == []


def test_later_of_two_is_above_whatever_its_size() -> None:
    small, wide = thing("push button", "Continue"), thing("push button", "Pay", WIDE)
    assert name(build_look(small, wide)) == "Pay"
    assert name(build_look(wide, small)) == "Continue"
    assert find_covered(build_look(small, wide)) == [0]


def test_boxes_that_only_hold_others_hide_nothing_but_dialogs_do() -> None:
    button = thing("push button", "Continue")
    assert name(build_look(button, thing("panel", "", WIDE))) == "Continue"
    assert name(build_look(button, thing("dialog", "Sure?", WIDE))) == "Sure?"
    inside = thing("push button", "OK", parent=1)
    assert name(build_look(button, thing("dialog", "Sure?", WIDE), inside)) == "OK"


def test_the_entries_of_an_open_menu_lie_above_all_else() -> None:
    bar = thing("menu", "File", box(0, 0, 20, 20))
    entry = thing("menu item", "Save As", parent=0)
    observation = build_look(bar, entry, thing("text", "Tea at four", WIDE))
    assert name(observation) == "Save As"
    assert find_covered(observation) == []


def test_label_without_new_words_covers_nothing() -> None:
    field = Element("text", "Your e-mail", SMALL, states=frozenset({"showing"}), parent=-1)
    observation = build_look(field, thing("label", "E-mail"))
    assert cover_at(field, AT, observation) is None, "a label that floats over its field"
    over = cover_at(field, AT, build_look(field, thing("label", "E-mail and pay")))
    assert over is not None


def test_a_window_hides_those_beneath_it() -> None:
    windows = (Window("1", "One", "a", WIDE), Window("2", "Two", "b", WIDE, active=True))
    behind, front = thing("push button", "Behind"), thing("panel", "Front", WIDE, window="Two")
    assert name(build_look(front, behind, windows=windows)) == "Front"
    assert name(build_look(front, behind, windows=windows[::-1])) == "Behind"


def test_a_list_without_parents_has_no_order_to_go_by() -> None:
    small = thing("push button", "Continue", parent=None)
    wide = thing("image", "Picture", WIDE, parent=None)
    assert name(build_look(small, wide)) == "Continue"
    assert find_covered(build_look(small, wide)) == []
    assert is_part_of(1, 0, (wide, small))


def test_the_focus_of_the_window_in_front_counts() -> None:
    windows = (Window("1", "One", "a", WIDE), Window("2", "Two", "b", WIDE, active=True))
    states = frozenset({"showing", "focused"})
    first = Element("text", "A", SMALL, states=states, window="One")
    second = Element("text", "B", WIDE, states=states, window="Two")
    focus = focused_element(build_look(first, second, windows=windows))
    assert focus is second


def test_submenu_entry_is_above_the_cell_under_the_menu() -> None:
    bar = thing("menu", "Format", box(0, 0, 20, 20))
    entry = thing("menu", "Conditional", parent=0)
    cell = thing("table cell", "D12", box(60, 85, 140, 115))
    observation = build_look(bar, entry, cell)
    assert name(observation) == "Conditional"
    assert find_covered(observation) == [2], "the cell, and not the entry"
    under = cover_at(cell, AT, observation)
    assert under is not None
    assert under.name == "Conditional"


def test_bar_menu_is_hidden_by_its_cover() -> None:
    menu, cover = thing("menu", "Format"), thing("push button", "Pay", WIDE)
    assert name(build_look(thing("menu bar", "", WIDE), replace(menu, parent=0), cover)) == "Pay"
