"""The changed box against a plain NumPy one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from hisa.screen.geometry import BoundingBox, Point, Size
from hisa.screen.observation import Observation, Screenshot
from hisa.state.roi import RoiPair, changed_pixels, exact_pair, roi_pair, whole_pair
from hisa.state.screen_noise import UNSEEN
from tests.state.scene import picture

SIZE = Size(320, 180)


def seen(screenshot: Screenshot, cursor: Point | None = None) -> Observation:
    return Observation(screenshot, screenshot.size, cursor=cursor)


def numpy_box(before: Screenshot, after: Screenshot) -> BoundingBox | None:
    old, new = (np.asarray(part.pixels).astype(int) for part in (before, after))
    rows, columns = np.nonzero((abs(old - new) > UNSEEN).any(axis=2))
    if not len(rows):
        return None
    return BoundingBox(
        int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1
    )


def changed_box(before: Screenshot, after: Screenshot) -> BoundingBox | None:
    changed = changed_pixels(before, after)
    return changed and changed[1]


def edited(pixels: list[tuple[int, int, int, int]], width: int, height: int) -> Screenshot:
    array = np.full((height, width, 3), 100, dtype=np.uint8)
    for x, y, channel, delta in pixels:
        array[y % height, x % width, channel] = 100 + delta
    return Screenshot(Image.fromarray(array))


pixel = st.tuples(st.integers(0, 199), st.integers(0, 199), st.integers(0, 2), st.integers(0, 155))


@given(pixels=st.lists(pixel, max_size=6), width=st.integers(1, 200), height=st.integers(1, 200))
def test_box_equals_numpy(pixels: list[tuple[int, int, int, int]], width: int, height: int) -> None:
    before, after = edited([], width, height), edited(pixels, width, height)
    assert changed_box(before, after) == numpy_box(before, after)
    assert changed_box(after, before) == numpy_box(after, before)


@pytest.mark.parametrize("channel", [0, 1, 2])
@pytest.mark.parametrize("corner", [(0, 0), (319, 0), (0, 179), (319, 179), (160, 90)])
def test_one_pixel_that_differs_just_visibly_is_the_box(
    corner: tuple[int, int], channel: int
) -> None:
    x, y = corner
    before, after = edited([], 320, 180), edited([(x, y, channel, UNSEEN + 1)], 320, 180)
    assert changed_box(before, after) == BoundingBox(x, y, x + 1, y + 1)


@pytest.mark.parametrize("colours", [("white", "black"), ("black", "white"), ("red", "cyan")])
def test_the_greatest_contrast_is_seen(colours: tuple[str, str]) -> None:
    ground, ink = (Image.new("RGB", (320, 180), colour) for colour in colours)
    after = ground.copy()
    after.paste(ink.crop((0, 0, 30, 5)), (100, 20))
    pair = roi_pair(seen(Screenshot(ground)), seen(Screenshot(after)))
    assert pair is not None
    assert pair.box == BoundingBox(100, 20, 130, 25)


@pytest.mark.parametrize(("delta", "is_seen"), [(2, False), (3, True)])
def test_a_step_judges_by_what_can_be_seen(delta: int, is_seen: bool) -> None:
    """Chromium paints a part anew with single pixels one step lighter, far from what it changed."""
    field, stray = [(x, 20, 0, 90) for x in range(40, 60)], (250, 150, 1, delta)
    before, alone = edited([], 320, 180), edited([stray], 320, 180)
    assert bool(roi_pair(seen(before), seen(alone))) is is_seen
    pair = roi_pair(seen(before), seen(edited([*field, stray], 320, 180)))
    assert pair is not None
    assert len(pair.regions) == 1 + is_seen


def test_opposite_corners_give_the_whole_picture() -> None:
    after = edited([(0, 0, 0, 9), (319, 179, 2, 9)], 320, 180)
    assert changed_box(edited([], 320, 180), after) == BoundingBox(0, 0, 320, 180)


def test_equal_pictures_have_no_box_and_no_pair() -> None:
    assert changed_box(picture((1, 2, 3, 4)), picture((1, 2, 3, 4))) is None
    assert roi_pair(seen(picture()), seen(picture())) is None


def test_different_sizes_are_whole_pictures() -> None:
    before, after = picture(size=Size(100, 50)), picture(size=Size(80, 70))
    pair = roi_pair(seen(before), seen(after))
    assert pair is not None
    assert pair.box == BoundingBox(0, 0, 80, 70)
    assert pair.before.size == Size(100, 50)
    assert pair.after.size == Size(80, 70)


def test_pair_shows_the_exact_box_with_its_margin() -> None:
    pair = roi_pair(seen(picture()), seen(picture((100, 50, 220, 130))), margin=5)
    assert pair is not None
    assert pair.box == BoundingBox(100, 50, 220, 130)
    assert pair.shown == (BoundingBox(95, 45, 225, 135),)
    assert pair.before.size == pair.after.size == Size(130, 90)
    assert pair.after.pixels.getpixel((5, 5)) == (255, 255, 255)
    assert pair.after.pixels.getpixel((4, 4)) == (64, 64, 64)
    assert pair.before.pixels.getpixel((5, 5)) == (64, 64, 64)


@given(
    x=st.integers(0, 319),
    y=st.integers(0, 179),
    width=st.integers(1, 320),
    height=st.integers(1, 180),
    margin=st.integers(0, 30),
)
def test_crop_holds_the_box_and_keeps_its_minimum(
    x: int, y: int, width: int, height: int, margin: int
) -> None:
    box = (x, y, min(320, x + width), min(180, y + height))
    caret = box[2] - box[0] <= 3 and 6 <= box[3] - box[1] <= 40
    pair = roi_pair(seen(picture()), seen(picture(box)), margin=margin, minimum=Size(64, 200))
    assert (pair is None) == caret
    if pair is None:
        return
    assert pair.box == BoundingBox(*box)
    (shown,) = pair.shown
    assert shown.intersection(pair.box) == pair.box
    assert shown.intersection(BoundingBox(0, 0, 320, 180)) == shown
    assert shown.width >= min(320, max(64, pair.box.width))
    assert shown.height == 180
    assert pair.after.size == Size(int(shown.width), int(shown.height))


def test_at_most_three_regions_are_shown_apart() -> None:
    size = Size(1280, 720)
    dots = [(20, 20, 40, 40), (1200, 20, 1220, 40), (20, 600, 40, 620), (1200, 600, 1220, 620)]
    pair = roi_pair(seen(picture(size=size)), seen(picture(*dots[:3], size=size)))
    assert pair is not None
    assert pair.regions == (BoundingBox(*dots[0]), BoundingBox(*dots[1]), BoundingBox(*dots[2]))
    pair = roi_pair(seen(picture(size=size)), seen(picture((660, 20, 680, 40), *dots, size=size)))
    assert pair is not None
    assert len(pair.shown) <= 3
    assert pair.box == BoundingBox(20, 20, 1220, 620)


@pytest.mark.parametrize(("bottom", "apart"), [(100, True), (140, True), (400, False)])
def test_regions_that_save_little_are_shown_as_one(bottom: int, apart: bool) -> None:
    size = Size(1280, 720)
    after = picture((0, 0, 600, bottom), (0, 500, 600, 600), size=size)
    pair = roi_pair(seen(picture(size=size)), seen(after))
    assert pair is not None
    assert pair.box == BoundingBox(0, 0, 600, 600)
    assert (len(pair.regions) == 2) is apart


WIDE = Size(1280, 720)
TILE = 16


def apart(dots: list[tuple[int, int]]) -> list[BoundingBox]:
    """Dots of 8 by 8 pixels, grouped where at most two tiles lie between any two of them."""
    groups: list[list[tuple[int, int]]] = []
    for dot in dots:
        near = [
            group
            for group in groups
            if any(
                abs(x // TILE - dot[0] // TILE) <= 3 and abs(y // TILE - dot[1] // TILE) <= 3
                for x, y in group
            )
        ]
        groups = [group for group in groups if group not in near]
        groups.append([dot, *(other for group in near for other in group)])
    boxes = [
        BoundingBox(
            min(x for x, _ in group),
            min(y for _, y in group),
            max(x for x, _ in group) + 8,
            max(y for _, y in group) + 8,
        )
        for group in groups
    ]
    return sorted(boxes, key=lambda box: (box.top // TILE, box.left // TILE))


# Each dot lies within one tile.
dot = st.tuples(st.integers(0, 79), st.integers(0, 44)).map(
    lambda tile: (tile[0] * TILE + 5, tile[1] * TILE + 3)
)


@settings(max_examples=60, deadline=None)
@given(st.lists(dot, min_size=2, max_size=5, unique=True))
def test_regions_are_groups_of_near_changes(dots: list[tuple[int, int]]) -> None:
    after = picture(*((x, y, x + 8, y + 8) for x, y in dots), size=WIDE)
    pair = roi_pair(seen(picture(size=WIDE)), seen(after))
    assert pair is not None
    groups = apart(dots)
    small = pair.box.area <= 3 * 64 * 64 or len(groups) > 3
    tiles = len(dots) * TILE * TILE > pair.box.area / 2
    bulky = sum(box.area for box in groups) > pair.box.area / 2
    if small and len(groups) > 3:
        assert 1 <= len(pair.regions) <= 3
    else:
        wanted = [pair.box] if small or tiles or bulky else groups
        assert list(pair.regions) == wanted


def test_too_many_regions_are_joined_where_that_adds_least() -> None:
    far = [(0, 0, 10, 10), (1000, 0, 1010, 10), (0, 600, 10, 610), (90, 620, 100, 630)]
    pair = roi_pair(seen(picture(size=WIDE)), seen(picture(*far, size=WIDE)))
    assert pair is not None
    assert pair.regions == (
        BoundingBox(0, 0, 10, 10),
        BoundingBox(1000, 0, 1010, 10),
        BoundingBox(0, 600, 100, 630),
    )


@pytest.mark.parametrize(
    ("box", "shown"),
    [
        ((100, 80, 105, 120), (71, 68, 135, 132)),
        ((100, 80, 200, 120), (92, 68, 208, 132)),
        ((0, 0, 20, 20), (0, 0, 64, 64)),
        ((300, 160, 320, 180), (256, 116, 320, 180)),
        ((3, 170, 100, 180), (0, 116, 113, 180)),
        ((0, 0, 320, 180), (0, 0, 320, 180)),
    ],
)
def test_what_is_shown_has_a_margin_of_8_and_64_pixels_at_least(
    box: tuple[int, int, int, int], shown: tuple[int, int, int, int]
) -> None:
    pair = roi_pair(seen(picture()), seen(picture(box)))
    assert pair is not None
    assert (pair.box, pair.regions, pair.shown) == (
        BoundingBox(*box),
        (BoundingBox(*box),),
        (BoundingBox(*shown),),
    )


def test_regions_stand_below_each_other_with_a_magenta_bar_between() -> None:
    dots = ((10, 10, 40, 40), (600, 500, 800, 600))
    pair = roi_pair(seen(picture(size=WIDE)), seen(picture(*dots, size=WIDE)))
    assert pair is not None
    assert pair.shown == (BoundingBox(0, 0, 64, 64), BoundingBox(592, 492, 808, 608))
    assert pair.before.size == pair.after.size == Size(216, 64 + 6 + 116)
    stack = picture(*dots, size=WIDE).pixels
    wanted = Image.new("RGB", (216, 186), "#ff00ff")
    wanted.paste(stack.crop((0, 0, 64, 64)), (0, 0))
    wanted.paste(stack.crop((592, 492, 808, 608)), (0, 70))
    assert pair.after.pixels.tobytes() == wanted.tobytes()
    grey = 64 * 64 + 216 * 116
    colors = sorted(pair.before.pixels.getcolors() or ())
    assert colors == [(216 * 186 - grey, (255, 0, 255)), (grey, (64, 64, 64))]


def test_whole_pictures_are_shown_whole_with_the_same_box_and_regions() -> None:
    dots = ((10, 10, 40, 40), (600, 500, 800, 600))
    before, after = seen(picture(size=WIDE)), seen(picture(*dots, size=WIDE))
    cropped, whole = roi_pair(before, after), whole_pair(before, after)
    assert cropped is not None
    assert whole is not None
    assert (whole.box, whole.regions) == (cropped.box, cropped.regions)
    assert (whole.shown, whole.before, whole.after) == (
        (BoundingBox(0, 0, 1280, 720),),
        before.screenshot,
        after.screenshot,
    )
    assert whole_pair(before, before) is None
    caret = seen(picture((100, 100, 102, 116), size=WIDE))
    assert whole_pair(before, caret) is None


@pytest.mark.parametrize("pair_of", [roi_pair, whole_pair, exact_pair])
def test_looks_of_different_sizes_differ_as_a_whole(
    pair_of: Callable[[Observation, Observation], RoiPair | None],
) -> None:
    before, after = seen(picture(size=Size(100, 50))), seen(picture(size=Size(80, 70)))
    everything = BoundingBox(0, 0, 80, 70)
    assert pair_of(before, after) == RoiPair(
        everything, (everything,), (everything,), before.screenshot, after.screenshot
    )


def test_the_papers_region_is_one_box_of_every_pixel_that_differs_at_all() -> None:
    """HiSA, 3.3.1: a difference over zero, one minimal box, no margin; a caret is a change too."""
    dots = ((10, 10, 40, 40), (600, 500, 800, 600))
    before = picture(size=WIDE)
    pair = exact_pair(seen(before), seen(picture(*dots, size=WIDE)))
    assert pair is not None
    around = BoundingBox(10, 10, 800, 600)
    assert (pair.box, pair.regions, pair.shown) == (around, (around,), (around,))
    assert pair.before.size == pair.after.size == Size(790, 590)
    faint = before.pixels.copy()
    faint.putpixel((300, 200), (65, 64, 64))
    found = exact_pair(seen(before), seen(Screenshot(faint)))
    assert found is not None
    assert found.box == BoundingBox(300, 200, 301, 201)
    assert roi_pair(seen(before), seen(Screenshot(faint))) is None
    assert exact_pair(seen(before), seen(picture((100, 100, 102, 116), size=WIDE))) is not None
    assert exact_pair(seen(before), seen(before)) is None
