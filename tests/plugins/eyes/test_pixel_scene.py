"""Elements are built from detected controls, read text and named icons."""

from __future__ import annotations

from PIL import Image

from hisa.grounder.thing import Thing
from hisa.plugins.eyes.detector import Control
from hisa.plugins.eyes.icon_reader import IconName
from hisa.plugins.eyes.pixel_scene import find_bare_controls, label_icons, list_sightings
from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Element, Observation, Screenshot, Window
from hisa.screen.ocr import Line, Word
from hisa.screen.sight import SEEN


def control(
    role: str, left: float, top: float, right: float, bottom: float, states: str = ""
) -> Control:
    return Control(role, BoundingBox(left, top, right, bottom), 0.9, frozenset(states.split()))


def line(text: str, left: float, top: float) -> Line:
    """A line whose letters are 8 pixels wide and 14 high."""
    words, at = [], left
    for word in text.split():
        words.append(Word(word, BoundingBox(at, top, at + 8 * len(word), top + 14), 0.9))
        at += 8 * (len(word) + 1)
    return Line(tuple(words))


def build(
    *controls: Control,
    lines: tuple[Line, ...] = (),
    icons: dict[int, IconName] | None = None,
    windows: tuple[Window, ...] = (),
    screen: Size | None = None,
) -> list[Element]:
    picture = Screenshot(Image.new("RGB", (800, 600)))
    look = Observation(picture, screen or picture.size, windows)
    meanings = {number: (icon,) for number, icon in (icons or {}).items()}
    sightings = list_sightings(look, controls, lines, meanings)
    return [sighting.element for sighting in sightings]


def test_text_inside_a_button_is_its_name() -> None:
    (button,) = build(control("button", 100, 100, 200, 130), lines=(line("Save as", 110, 108),))

    assert (button.role, button.name, button.text) == ("push button", "Save as", "")


def test_text_inside_a_field_is_its_value_and_text_beside_it_stays_a_text() -> None:
    elements = build(
        control("field", 200, 100, 400, 130),
        lines=(line("Name", 100, 108), line("Ada", 210, 108)),
    )

    field_, text = elements
    assert (field_.role, field_.name, field_.text) == ("entry", "", "Ada")
    assert (text.role, text.name) == ("static", "Name")


def test_one_read_line_across_two_cells_names_both() -> None:
    elements = build(
        control("table cell", 0, 0, 80, 20),
        control("table cell", 80, 0, 200, 20),
        lines=(Line((*line("Bolt", 10, 3).words, *line("12", 100, 3).words)),),
    )

    assert {(e.name, e.box.left) for e in elements} == {("Bolt", 0), ("12", 80)}


def test_word_belongs_to_the_smallest_control_around_it() -> None:
    elements = build(
        control("list item", 0, 0, 400, 40),
        control("button", 300, 5, 390, 35),
        lines=(line("Report", 20, 12), line("Open", 320, 12)),
    )

    assert [(e.role, e.name) for e in elements] == [
        ("list item", "Report"),
        ("push button", "Open"),
    ]


def test_icon_names_a_button_without_text_only() -> None:
    trash = IconName("trash", ("delete", "bin"), 0.9)
    controls = (control("icon", 0, 0, 24, 24), control("button", 50, 0, 150, 24))
    lines = (line("Delete", 60, 5),)

    assert find_bare_controls(controls, lines) == [0]
    named = {e.name: e.description for e in build(*controls, lines=lines, icons={0: trash})}
    assert named == {"trash": "delete, bin", "Delete": ""}


def test_disabled_control_is_not_usable_and_all_are_marked_as_seen() -> None:
    elements = build(
        control("check box", 0, 0, 16, 16, states="checked"),
        control("button", 50, 0, 150, 24, states="disabled"),
    )

    button, box = elements
    assert {"enabled", "checked", SEEN} <= box.states
    assert "enabled" not in button.states
    assert "disabled" not in button.states
    assert SEEN in button.states


def test_boxes_are_in_screen_space_and_in_the_highest_window_around_them() -> None:
    windows = (
        Window("1", "Below", "a", BoundingBox(0, 0, 1600, 1200, "screen")),
        Window("2", "Above", "b", BoundingBox(100, 100, 900, 900, "screen"), active=True),
    )
    elements = build(
        control("button", 100, 100, 200, 130),
        control("button", 600, 500, 700, 530),
        windows=windows,
        screen=Size(1600, 1200),
    )

    above, below = sorted(elements, key=lambda element: element.box.left)
    assert (above.window, above.box) == ("Above", BoundingBox(200, 200, 400, 260, "screen"))
    assert (below.window, below.box.left) == ("Below", 1200)


def test_menu_items_side_by_side_are_the_titles_of_a_menu_bar() -> None:
    elements = build(
        control("menu item", 0, 0, 40, 24),
        control("menu item", 42, 0, 90, 24),
        control("menu item", 300, 100, 420, 124),
        control("menu item", 300, 124, 420, 148),
    )

    roles = {(element.box.left, element.box.top): element.role for element in elements}
    assert roles == {
        (0, 0): "menu",
        (42, 0): "menu",
        (300, 100): "menu item",
        (300, 124): "menu item",
    }


def test_arrow_of_a_field_is_not_read_as_its_value() -> None:
    arrow = Word("v", BoundingBox(370, 108, 378, 122), 0.5)
    sign = Word("+", BoundingBox(340, 208, 348, 222), 0.9)
    fields = build(
        control("combo box", 200, 100, 400, 130),
        control("field", 200, 200, 400, 230),
        lines=(
            Line((*line("Default", 210, 108).words, arrow)),
            Line((*line("96", 210, 208).words, sign)),
        ),
    )

    assert {field_.text for field_ in fields} == {"Default", "96"}


def test_all_that_an_icon_may_mean_labels_it_and_only_a_sure_meaning_names_it() -> None:
    meanings = (IconName("save", ("disk",), 0.4, is_sure=False), IconName("open", (), 0.1, False))
    look = Observation(Screenshot(Image.new("RGB", (800, 600))), Size(800, 600), ())
    (sighting,) = list_sightings(look, [control("icon", 10, 10, 30, 30)], (), {0: meanings})
    assert not sighting.element.name
    (thing,) = label_icons([Thing(sighting.element, sighting.element.box)], [sighting])
    assert thing.labels == (("save", 0.4), ("disk", 0.4), ("open", 0.1))
