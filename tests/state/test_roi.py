"""The changed box against a plain NumPy one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from hisa.screen.geometry import BoundingBox, Point, Size
from hisa.screen.observation import Observation, Screenshot
from hisa.state.roi import UNSEEN, RoiPair, changed_pixels, exact_pair, full_pair, roi_pair
from tests.state.scene import picture

SIZE = Size(320, 180)


def make_look(screenshot: Screenshot, cursor: Point | None = None) -> Observation:
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


def edit_picture(pixels: list[tuple[int, int, int, int]], width: int, height: int) -> Screenshot:
    array = np.full((height, width, 3), 100, dtype=np.uint8)
    for x, y, channel, delta in pixels:
        array[y % height, x % width, channel] = 100 + delta
    return Screenshot(Image.fromarray(array))


pixel = st.tuples(st.integers(0, 199), st.integers(0, 199), st.integers(0, 2), st.integers(0, 155))


@given(pixels=st.lists(pixel, max_size=6), width=st.integers(1, 200), height=st.integers(1, 200))
def test_box_equals_numpy(pixels: list[tuple[int, int, int, int]], width: int, height: int) -> None:
    before, after = edit_picture([], width, height), edit_picture(pixels, width, height)
    assert changed_box(before, after) == numpy_box(before, after)
    assert changed_box(after, before) == numpy_box(after, before)


@pytest.mark.parametrize(("delta", "is_seen"), [(2, False), (3, True)])
def test_changed_box_ignores_invisible_pixel_differences(delta: int, is_seen: bool) -> None:
    """Chromium paints a part anew with single pixels one step lighter, far from what it changed."""
    field, stray = [(x, 20, 0, 90) for x in range(40, 60)], (250, 150, 1, delta)
    before, alone = edit_picture([], 320, 180), edit_picture([stray], 320, 180)
    assert bool(roi_pair(make_look(before), make_look(alone))) is is_seen
    pair = roi_pair(make_look(before), make_look(edit_picture([*field, stray], 320, 180)))
    assert pair is not None
    assert pair.box.bottom == (151 if is_seen else 21)


def test_equal_pictures_have_no_box_and_no_pair() -> None:
    assert changed_box(picture((1, 2, 3, 4)), picture((1, 2, 3, 4))) is None
    assert roi_pair(make_look(picture()), make_look(picture())) is None


def test_pair_shows_the_exact_box_with_its_margin() -> None:
    pair = roi_pair(make_look(picture()), make_look(picture((100, 50, 220, 130))))
    assert pair is not None
    assert pair.box == BoundingBox(100, 50, 220, 130)
    assert pair.shown == (BoundingBox(20, 42, 300, 138),)
    assert pair.before.size == pair.after.size == Size(280, 96)
    assert pair.after.pixels.getpixel((80, 8)) == (255, 255, 255)
    assert pair.after.pixels.getpixel((79, 7)) == (64, 64, 64)
    assert pair.before.pixels.getpixel((5, 5)) == (64, 64, 64)


@given(
    x=st.integers(0, 319),
    y=st.integers(0, 179),
    width=st.integers(1, 320),
    height=st.integers(1, 180),
)
def test_crop_holds_the_box_and_keeps_its_minimum(x: int, y: int, width: int, height: int) -> None:
    box = (x, y, min(320, x + width), min(180, y + height))
    caret = box[2] - box[0] <= 3 and 6 <= box[3] - box[1] <= 40
    pair = roi_pair(make_look(picture()), make_look(picture(box)))
    assert (pair is None) == caret
    if pair is None:
        return
    assert pair.box == BoundingBox(*box)
    (shown,) = pair.shown
    assert shown.intersection(pair.box) == pair.box
    assert shown.intersection(BoundingBox(0, 0, 320, 180)) == shown
    assert shown.width >= min(320, max(64, pair.box.width))
    assert shown.height >= min(180, max(64, pair.box.height))
    assert pair.after.size == Size(int(shown.width), int(shown.height))


WIDE = Size(1280, 720)


def test_at_most_three_changes_far_above_one_another_are_shown_apart() -> None:
    title, dialog, status = (0, 0, 200, 20), (500, 300, 700, 400), (0, 700, 60, 716)
    near = (500, 420, 560, 440)
    after = picture(title, dialog, near, status, size=WIDE)
    pair = roi_pair(make_look(picture(size=WIDE)), make_look(after))
    assert pair is not None
    assert pair.box == BoundingBox(0, 0, 700, 716)
    assert [(part.top, part.bottom) for part in pair.shown] == [(0, 64), (292, 448), (656, 720)]
    assert pair.after.part_of == (after, pair.shown)


@pytest.mark.parametrize(("bottom", "parts"), [(100, 2), (400, 1)])
def test_changes_are_shown_as_one_where_parts_save_little(bottom: int, parts: int) -> None:
    after = picture((0, 0, 1280, bottom), (0, 600, 1280, 700), size=WIDE)
    pair = roi_pair(make_look(picture(size=WIDE)), make_look(after))
    assert pair is not None
    assert len(pair.shown) == parts


def test_uncropped_pictures_have_the_same_box() -> None:
    dots = ((10, 10, 40, 40), (600, 500, 800, 600))
    before, after = make_look(picture(size=WIDE)), make_look(picture(*dots, size=WIDE))
    cropped, full = roi_pair(before, after), full_pair(before, after)
    assert cropped is not None
    assert full is not None
    assert full.box == cropped.box
    assert (full.shown, full.before, full.after) == (
        (BoundingBox(0, 0, 1280, 720),),
        before.screenshot,
        after.screenshot,
    )
    assert full_pair(before, before) is None
    caret = make_look(picture((100, 100, 102, 116), size=WIDE))
    assert full_pair(before, caret) is None


@pytest.mark.parametrize("pair_of", [roi_pair, full_pair, exact_pair])
def test_looks_of_different_sizes_differ_everywhere(
    pair_of: Callable[[Observation, Observation], RoiPair | None],
) -> None:
    before, after = make_look(picture(size=Size(100, 50))), make_look(picture(size=Size(80, 70)))
    everything = BoundingBox(0, 0, 80, 70)
    assert pair_of(before, after) == RoiPair(
        everything, (everything,), before.screenshot, after.screenshot
    )


def test_the_papers_region_is_one_box_of_every_pixel_that_differs_at_all() -> None:
    """HiSA, 3.3.1: a difference over zero, one minimal box, no margin; a caret is a change too."""
    dots = ((10, 10, 40, 40), (600, 500, 800, 600))
    before = picture(size=WIDE)
    pair = exact_pair(make_look(before), make_look(picture(*dots, size=WIDE)))
    assert pair is not None
    around = BoundingBox(10, 10, 800, 600)
    assert (pair.box, pair.shown) == (around, (around,))
    assert pair.before.size == pair.after.size == Size(790, 590)
    faint = before.pixels.copy()
    faint.putpixel((300, 200), (65, 64, 64))
    faint_pair = exact_pair(make_look(before), make_look(Screenshot(faint)))
    assert faint_pair is not None
    assert faint_pair.box == BoundingBox(300, 200, 301, 201)
    assert roi_pair(make_look(before), make_look(Screenshot(faint))) is None
    assert (
        exact_pair(make_look(before), make_look(picture((100, 100, 102, 116), size=WIDE)))
        is not None
    )
    assert exact_pair(make_look(before), make_look(before)) is None
