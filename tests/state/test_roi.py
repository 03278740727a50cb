"""The changed box against a plain NumPy one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from hisa.geometry import Box, Point, Size
from hisa.observation import Observation, Screenshot
from hisa.state.roi import changed_box, roi_pair
from tests.state.scene import picture

SIZE = Size(320, 180)


def seen(screenshot: Screenshot, cursor: Point | None = None) -> Observation:
    return Observation(screenshot, screenshot.size, cursor=cursor)


def numpy_box(before: Screenshot, after: Screenshot) -> Box | None:
    rows, columns = np.nonzero((np.asarray(before.pixels) != np.asarray(after.pixels)).any(axis=2))
    if not len(rows):
        return None
    return Box(int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1)


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
def test_one_pixel_off_by_one(corner: tuple[int, int], channel: int) -> None:
    x, y = corner
    before, after = edited([], 320, 180), edited([(x, y, channel, 1)], 320, 180)
    assert changed_box(before, after) == Box(x, y, x + 1, y + 1)


def test_opposite_corners_give_the_whole_picture() -> None:
    after = edited([(0, 0, 0, 1), (319, 179, 2, 1)], 320, 180)
    assert changed_box(edited([], 320, 180), after) == Box(0, 0, 320, 180)


def test_equal_pictures_have_no_box_and_no_pair() -> None:
    assert changed_box(picture((1, 2, 3, 4)), picture((1, 2, 3, 4))) is None
    assert roi_pair(seen(picture()), seen(picture())) is None


def test_different_sizes_are_whole_pictures() -> None:
    before, after = picture(size=Size(100, 50)), picture(size=Size(80, 70))
    assert changed_box(before, after) == Box(0, 0, 80, 70)
    pair = roi_pair(seen(before), seen(after))
    assert pair is not None
    assert pair.before.size == Size(100, 50)
    assert pair.after.size == Size(80, 70)


def test_pair_shows_the_exact_box_with_its_margin() -> None:
    pair = roi_pair(seen(picture()), seen(picture((100, 50, 220, 130))), margin=5)
    assert pair is not None
    assert pair.box == Box(100, 50, 220, 130)
    assert pair.shown == (Box(95, 45, 225, 135),)
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
    assert pair.box == Box(*box)
    (shown,) = pair.shown
    assert shown.intersection(pair.box) == pair.box
    assert shown.intersection(Box(0, 0, 320, 180)) == shown
    assert shown.width >= min(320, max(64, pair.box.width))
    assert shown.height == 180
    assert pair.after.size == Size(int(shown.width), int(shown.height))


def test_at_most_three_regions_are_shown_apart() -> None:
    size = Size(1280, 720)
    dots = [(20, 20, 40, 40), (1200, 20, 1220, 40), (20, 600, 40, 620), (1200, 600, 1220, 620)]
    pair = roi_pair(seen(picture(size=size)), seen(picture(*dots[:3], size=size)))
    assert pair is not None
    assert pair.regions == (Box(*dots[0]), Box(*dots[1]), Box(*dots[2]))
    pair = roi_pair(seen(picture(size=size)), seen(picture((660, 20, 680, 40), *dots, size=size)))
    assert pair is not None
    assert len(pair.shown) <= 3
    assert pair.box == Box(20, 20, 1220, 620)


@pytest.mark.parametrize(("bottom", "apart"), [(100, True), (140, True), (400, False)])
def test_regions_that_save_little_are_shown_as_one(bottom: int, apart: bool) -> None:
    size = Size(1280, 720)
    after = picture((0, 0, 600, bottom), (0, 500, 600, 600), size=size)
    pair = roi_pair(seen(picture(size=size)), seen(after))
    assert pair is not None
    assert pair.box == Box(0, 0, 600, 600)
    assert (len(pair.regions) == 2) is apart
