"""What only lights up under the pointer is the same; another label in its place is another thing.

The buttons were drawn by Chromium, in three styles.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from hisa.actions.unchanged_look import lit_boxes, require_unchanged
from hisa.errors import ScreenChanged
from hisa.plugins.guard.acts.act_guard import describe_redrawing
from hisa.protocols import ScreenPrecondition
from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.observation import Element, Observation, Screenshot, Window

_BUTTONS = Image.open(Path(__file__).parent / "data" / "buttons.png").convert("RGB")
_STYLES = ("plain", "hovered", "inverted")
_LABELS = (
    "Show details", "Place order", "Next page", "Delete user", "Draft 3", "Draft 6", "OK", "No", "",
)  # fmt: skip
_BOX = BoundingBox(100, 80, 230, 116, "screen")
_AT = Point(165, 98, "image")
_WINDOW = Window("1", "Orders", "app", active=True)


def draw_page(label: str, style: str = "plain", *, below: str = "") -> Observation:
    """A look at a page with a button, and perhaps another one below it."""
    page = Image.new("RGB", (400, 240), "white")
    for name, top in ((label, 80), (below, 140)):
        left = 5 + 140 * _LABELS.index(name)
        upper = 5 + 46 * _STYLES.index(style if top == 80 else "plain")
        if top == 80 or name:
            page.paste(_BUTTONS.crop((left, upper, left + 130, upper + 36)), (100, top))
    picture = Screenshot(page)
    return Observation(picture, picture.size, (_WINDOW,), cursor=Point(5, 5, "screen"))


def hold_to(observation: Observation) -> ScreenPrecondition:
    around = BoundingBox(92, 72, 239, 125, "screen")
    return ScreenPrecondition(observation, (around,), own=(_BOX,))


@pytest.mark.parametrize("style", _STYLES)
@pytest.mark.parametrize("label", _LABELS[:-1])
def test_a_button_that_only_lights_up_is_the_same(label: str, style: str) -> None:
    require_unchanged(hold_to(draw_page(label)), draw_page(label, style))


@pytest.mark.parametrize("style", _STYLES)
@pytest.mark.parametrize(
    ("label", "other"),
    [
        ("Show details", "Place order"),
        ("Next page", "Delete user"),
        ("Draft 3", "Draft 6"),
        ("OK", "No"),
        ("OK", ""),
        ("", "OK"),
    ],
)
def test_new_label_on_a_button_does_not_count_as_highlight(
    label: str, other: str, style: str
) -> None:
    with pytest.raises(ScreenChanged):
        require_unchanged(hold_to(draw_page(label)), draw_page(other, style))


def test_row_that_moved_up_does_not_count_as_highlight() -> None:
    with pytest.raises(ScreenChanged):
        require_unchanged(
            hold_to(draw_page("Draft 3", below="Draft 6")), draw_page("Draft 6", below="Draft 3")
        )


@pytest.mark.parametrize("other", ["Draft 3", "Draft 6"])
def test_a_label_that_moved_by_a_pixel_is_known_where_that_may_be(other: str) -> None:
    planned, now = draw_page("Draft 3"), draw_page(other, "hovered")
    below = replace(_BOX, top=_BOX.top + 1, bottom=_BOX.bottom + 1)
    later = Image.new("RGB", (400, 240), "white")
    later.paste(now.screenshot.pixels, (0, 1))
    now = replace(now, screenshot=Screenshot(later))
    assert bool([*lit_boxes([_BOX], planned, now, moved=1)]) == (other == "Draft 3")
    assert not [*lit_boxes([_BOX], planned, now)]
    assert not [*lit_boxes([below], planned, now)]


@pytest.mark.parametrize("figure", ["3", "6"])
def test_a_figure_close_to_a_button_that_lights_up_names_its_row(figure: str) -> None:
    beside = BoundingBox(90, 84, 99, 112, "screen")
    observations = draw_page("OK"), draw_page("OK", "hovered")
    for observation, text in zip(observations, ("3", figure), strict=True):
        ImageDraw.Draw(observation.screenshot.pixels).text((93, 90), text, fill="black")
    planned, now = observations
    held = replace(hold_to(planned), boxes=(*hold_to(planned).boxes, beside))
    with nullcontext() if figure == "3" else pytest.raises(ScreenChanged):
        require_unchanged(held, now)


def test_plain_colour_area_is_not_recognised_by_its_colour() -> None:
    """One swatch of colour is not the other."""
    inner = BoundingBox(110, 88, 220, 108, "screen")
    assert not list(lit_boxes([inner], draw_page(""), draw_page("", "inverted")))


@pytest.mark.parametrize("other", ["Place order", "Show details"])
def test_button_with_a_fixed_name_is_recognised_by_its_drawing(other: str) -> None:
    """Programs name some buttons by hand, and tell of a new label late."""
    element = Element("push button", "Go on", _BOX, window="Orders", app="app")
    before = replace(draw_page("Show details"), elements=(element,))
    now = replace(draw_page(other, "hovered"), elements=(element,))
    assert bool(describe_redrawing(_AT, element, before, now)) == (other == "Place order")


@pytest.mark.parametrize(("reach", "same"), [(9, True), (90, False)])
def test_a_glow_ends_near_its_button_and_a_veil_does_not(reach: int, same: bool) -> None:
    element = Element("push button", "Go on", _BOX, window="Orders", app="app")
    planned, now = draw_page("Show details"), draw_page("Show details")
    lit = now.screenshot.pixels.crop((100, 80, 230, 116))
    sides = (100 - reach, max(0, 80 - reach), 230 + reach, 116 + reach)
    now.screenshot.pixels.paste("skyblue", sides)
    now.screenshot.pixels.paste(lit, (100, 80))
    assert (describe_redrawing(_AT, element, planned, now) == "") == same


def split_button(*, lit: bool, tip_from: int = 40, cover_from: int = 90) -> Observation:
    """A tool bar's button: a picture, an arrow beside it; lit up, a line parts them.

    Args:
        lit: whether the pointer is over it.
        tip_from: the first row of a tool tip over its lower part.
        cover_from: the first column of a blank cover over its right part.
    """
    page = Image.new("RGB", (400, 240), "#f5f4f3")
    pen = ImageDraw.Draw(page)
    if lit:
        pen.rounded_rectangle((100, 80, 189, 119), 3, "#f8f7f6", "#cdc7c2", 1)
        pen.line((150, 81, 150, 118), "#cdc7c2", 2)
    pen.text((112, 92), "Ab", "black", font_size=14)
    pen.polygon([(160, 98), (170, 98), (165, 103)], "black")
    if tip_from < 40:
        pen.rectangle((90, 80 + tip_from, 300, 139), "white", "black")
    if cover_from < 90:
        pen.rectangle((100 + cover_from, 70, 300, 130), "#f8f7f6", "#888888")
    picture = Screenshot(page)
    return Observation(picture, picture.size, (_WINDOW,), cursor=Point(5, 5, "screen"))


_SPLIT = BoundingBox(100, 80, 190, 120, "screen")


@pytest.mark.parametrize(
    ("now", "at", "same"),
    [
        (split_button(lit=True), None, True),
        (split_button(lit=True, tip_from=30), Point(118, 100, "image"), True),
        (split_button(lit=True, tip_from=30), Point(118, 114, "image"), False),
        (split_button(lit=True, tip_from=30), None, False),
        (split_button(lit=True, tip_from=16), Point(118, 94, "image"), False),
        (split_button(lit=True, cover_from=40), Point(118, 100, "image"), False),
        (split_button(lit=True, cover_from=76), Point(180, 100, "image"), False),
        (split_button(lit=False, cover_from=76), Point(180, 100, "image"), False),
    ],
    ids=[
        "parted",
        "tip below",
        "tip on the point",
        "tip somewhere",
        "tip over the picture",
        "cover over the arrow",
        "cover on the point",
        "cover on the point, not lit",
    ],
)
def test_lines_of_a_highlight_and_a_tip_in_the_margin_are_no_other_label(
    now: Observation, at: Point | None, same: bool
) -> None:
    assert bool([*lit_boxes([_SPLIT], split_button(lit=False), now, at=at)]) == same


def test_a_check_box_whose_border_gets_darker_is_the_same() -> None:
    looks = []
    for grey in ("#999999", "#4f4f4f"):
        page = Image.new("RGB", (400, 240), "white")
        ImageDraw.Draw(page).rounded_rectangle((100, 80, 112, 92), 2, "white", grey)
        looks.append(replace(draw_page(""), screenshot=Screenshot(page)))
    box = BoundingBox(100, 80, 113, 94, "screen")
    assert [*lit_boxes([box], *looks)]
