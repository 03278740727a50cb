"""What is only drawn becomes ordinary things: on real screens, and on small drawn ones."""

from __future__ import annotations

import pytest
from PIL import Image, ImageDraw

from hisa.grounder.thing import Thing
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.plugins.matching.scene import Scene
from hisa.screen.geometry import BoundingBox, Point, convert
from hisa.screen.observation import Element, Observation, Window
from tests.grounder.scenes import call, element, load_saved, scene

Box = tuple[float, float, float, float]


def drawn(observation: Observation, role: str, name: str, *, at: Box | None = None) -> list[Thing]:
    """The drawn things of a role and a name, all or those in a box."""
    place = BoundingBox(*at, "screen") if at else None
    return [
        thing
        for thing in Scene(observation, parts=True, shapes=True).things
        if thing.drawn is not None
        and (thing.role, thing.element.name.casefold()) == (role, name.casefold())
        and (place is None or place.contains(thing.box.centre))
    ]


ON_SCREENS: list[tuple[str, str, str, Box]] = [
    ("mousepad_find", "push button", "Minimize", (906, 110, 920, 124)),
    ("mousepad_find", "push button", "Maximize", (924, 110, 938, 124)),
    ("mousepad_find", "push button", "Close", (942, 110, 956, 124)),
    ("calc_format_cells", "push button", "Close", (944, 99, 958, 113)),
    ("calc_alignment", "push button", "Minimize", (908, 99, 922, 113)),
    ("mousepad_menu", "push button", "Maximize", (1244, 290, 1258, 304)),
    ("mousepad_menu", "push button", "close", (1240, 345, 1260, 365)),
    ("mousepad_preferences", "arrow part", "up", (775, 290, 811, 324)),
    ("mousepad_replace", "arrow part", "drop-down", (814, 298, 848, 332)),
    ("calc_autofilter", "arrow part", "drop-down", (184, 186, 201, 202)),
    ("calc_autofilter", "check box", "Chairs", (212, 420, 228, 436)),
    ("calc_autofilter", "check box", "Benches", (212, 397, 228, 413)),
    ("web-book-flight", "arrow part", "up", (296, 108, 316, 124)),
    ("web-email-inbox", "arrow part", "down", (289, 380, 309, 396)),
    ("web-use-spinner", "arrow part", "up", (278, 137, 307, 157)),
    ("web-register", "slider handle", "", (899, 375, 915, 391)),
    ("web-render", "slider handle", "", (503, 211, 519, 227)),
]


@pytest.mark.parametrize(
    ("screen", "role", "name", "box"), ON_SCREENS, ids=[f"{s} {n}" for s, _, n, _ in ON_SCREENS]
)
def test_on_real_screens(screen: str, role: str, name: str, box: Box) -> None:
    assert len(drawn(load_saved(screen), role, name, at=box)) == 1


@pytest.mark.parametrize(
    ("screen", "box", "word"),
    [
        ("web-orders", (1642, 506, 1671, 529), "delete"),
        ("web-orders", (1614, 449, 1643, 472), "edit"),
        ("web-team", (1136, 9, 1164, 40), "search"),
        ("web-team", (1182, 9, 1210, 40), "notifications"),
        ("web-team", (1228, 9, 1256, 40), "user"),
        ("web-email-inbox", (206, 160, 230, 184), "star"),
    ],
)
def test_unnamed_control_is_labelled_by_its_icon(screen: str, box: Box, word: str) -> None:
    place = BoundingBox(*box, "screen")
    things = [
        t
        for t in Scene(load_saved(screen), shapes=True).things
        if place.contains(t.box.centre) and t.drawn is None and not t.element.name
    ]
    assert any(word in dict(thing.labels) for thing in things)


# ---------------------------------------------------------------- drawn by hand


def window_look(*signs: str, title: str = "Notes") -> Observation:
    """A window at 200, 200 under a title bar with these signs at its right end."""
    picture = Image.new("RGB", (1280, 720), "#204060")
    pen = ImageDraw.Draw(picture)
    pen.rectangle((199, 171, 801, 601), fill="#888888")
    for row in range(28):  # shaded from top to bottom, as many are
        pen.line((200, 172 + row, 800, 172 + row), fill=(200 - row, 205 - row, 210 - row))
    pen.rectangle((200, 200, 800, 600), fill="white")
    pen.text((450, 178), title, fill="black")
    for place, sign in enumerate(reversed(signs)):
        x, y = 780 - 30 * place, 180
        if sign == "x":
            pen.line((x, y, x + 10, y + 10), fill="black", width=2)
            pen.line((x, y + 10, x + 10, y), fill="black", width=2)
        elif sign == "square":
            pen.rectangle((x, y, x + 10, y + 10), outline="black", width=1)
        elif sign == "line":
            pen.rectangle((x, y + 8, x + 10, y + 9), fill="black")
    window = Window("1", title, "notes", BoundingBox(200, 200, 801, 601, "screen"), active=True)
    return scene(windows=(window,), picture=picture)


def test_a_title_bar_without_frames_around_its_signs() -> None:
    observation = window_look("line", "square", "x")
    for name, left in (("Minimize", 720), ("Maximize", 750), ("Close", 780)):
        (button,) = drawn(observation, "push button", name)
        assert button.box.contains(Point(left + 5, 188.5, "screen"))
        assert button.element.window == "Notes"


def test_a_window_under_another_has_no_buttons() -> None:
    below = window_look("line", "square", "x")
    over = Window("2", "Over", "other", BoundingBox(600, 100, 1000, 400, "screen"), active=True)
    picture = below.screenshot.pixels.copy()
    ImageDraw.Draw(picture).rectangle((600, 100, 1000, 400), fill="white")
    behind = Window("1", "Notes", "notes", below.windows[0].box)
    observation = scene(windows=(behind, over), picture=picture)
    assert not [t for t in Scene(observation, shapes=True).things if t.role == "push button"]


@pytest.mark.parametrize(
    ("screen", "description", "handle"),
    [
        ("web-register", "slider between 'rarely' and 'daily'", (899, 375, 915, 391)),
        ("web-render", "the Brightness slider", (503, 211, 519, 227)),
        ("mouse_settings", "handle of the slider that reads 400 ms", (545, 351, 566, 372)),
    ],
)
async def test_a_slider_is_taken_by_its_handle(screen: str, description: str, handle: Box) -> None:
    """A press on the track sets a value that nobody asked for."""
    observation = load_saved(screen)
    grounder = ElementsGrounder(emit=lambda _: None)
    (place,) = (await grounder.resolve(call(description), observation)).places
    at = convert(place.point, "screen", screen=observation.screen, image=observation.image)
    assert BoundingBox(*handle, "screen").contains(at)


PAGE = frozenset({"showing"})
CONTROL = PAGE | {"focusable"}


def on_a_page(picture: Image.Image, *more: Element) -> Observation:
    page = element("document web", "Page", (0, 0, 1280, 720), states=PAGE, window="Page")
    return scene(page, *more, picture=picture)


@pytest.mark.parametrize(
    "description",
    ["⋮ in the row of Dora Lind", "the three dots in the 'Dora Lind' row", "⋮ right of Dora Lind"],
)
async def test_the_dots_on_a_button_in_a_named_row_are_sure(description: str) -> None:
    """Three dots one above the other are much narrower than the button that shows them."""
    picture = Image.new("RGB", (1280, 720), "white")
    people = []
    for n, name in enumerate(("Berta Klein", "Carl Maier", "Dora Lind")):
        y = 100 + n * 40
        people.append(element("static", name, (60, y, 120, 20), states=PAGE, window="Page"))
        dots = element("push button", "", (600, y - 4, 28, 28), states=CONTROL, window="Page")
        people.append(dots)
        for dot in range(3):
            top = y + 3 + dot * 6
            ImageDraw.Draw(picture).ellipse((612, top, 615, top + 3), fill="#444444")
    grounder = ElementsGrounder(emit=lambda _: None)
    grounded = await grounder.resolve(call(description), on_a_page(picture, *people))
    (place,) = grounded.places
    assert place.point.to_pixels() == (614, 190)
    assert (place.score or 0) >= 0.9
