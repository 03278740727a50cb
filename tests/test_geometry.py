"""Spaces, conversion between them, and boxes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hisa.screen.geometry import BoundingBox, Point, Size, Space, convert, convert_box, fit_within

sizes = st.builds(Size, st.integers(1, 8000), st.integers(1, 8000))
spaces: st.SearchStrategy[Space] = st.sampled_from(("screen", "image", "unit"))
SCREEN, IMAGE = Size(1920, 1080), Size(1280, 720)


@pytest.mark.parametrize(
    ("point", "to", "expected"),
    [
        (Point(640, 360, "image"), "screen", Point(960, 540, "screen")),
        (Point(960, 540, "screen"), "image", Point(640, 360, "image")),
        (Point(0.5, 0.5, "unit"), "image", Point(640, 360, "image")),
        (Point(1920, 1080, "screen"), "unit", Point(1, 1, "unit")),
        (Point(0, 0, "image"), "screen", Point(0, 0, "screen")),
        (Point(3, 4, "image"), "image", Point(3, 4, "image")),
    ],
)
def test_convert(point: Point, to: Space, expected: Point) -> None:
    assert convert(point, to, screen=SCREEN, image=IMAGE) == expected


@given(sizes, sizes, spaces, spaces, st.floats(0, 1), st.floats(0, 1))
def test_there_and_back(
    screen: Size, image: Size, space: Space, other: Space, x: float, y: float
) -> None:
    start = convert(Point(x, y, "unit"), space, screen=screen, image=image)
    converted = convert(start, other, screen=screen, image=image)
    back = convert(converted, space, screen=screen, image=image)
    assert converted.space == other
    assert back.x == pytest.approx(start.x, abs=1e-6)
    assert back.y == pytest.approx(start.y, abs=1e-6)


def test_convert_box_moves_both_corners() -> None:
    box = convert_box(BoundingBox(64, 36, 640, 360), "screen", screen=SCREEN, image=IMAGE)
    assert box == BoundingBox(96, 54, 960, 540, "screen")


def test_rounded_gives_integer_pixels() -> None:
    assert Point(1.6, 2.4).to_pixels() == (2, 2)


def test_box_measures() -> None:
    box = BoundingBox(10, 20, 40, 60)
    assert (box.width, box.height, box.area) == (30, 40, 1200)
    assert box.centre == Point(25, 40)
    assert BoundingBox(40, 20, 10, 60).area == 0


def test_right_and_bottom_are_outside() -> None:
    box = BoundingBox(10, 20, 40, 60)
    assert box.contains(Point(10, 20))
    assert not box.contains(Point(40, 30))
    assert not box.contains(Point(30, 60))


def test_intersection() -> None:
    assert BoundingBox(0, 0, 10, 10).intersection(BoundingBox(5, 5, 20, 20)) == BoundingBox(
        5, 5, 10, 10
    )
    assert BoundingBox(0, 0, 10, 10).intersection(BoundingBox(10, 0, 20, 10)) is None


def test_spaces_do_not_mix() -> None:
    with pytest.raises(ValueError, match="convert first"):
        BoundingBox(0, 0, 9, 9, "screen").contains(Point(1, 1, "image"))
    with pytest.raises(ValueError, match="convert first"):
        BoundingBox(0, 0, 9, 9, "screen").intersection(BoundingBox(0, 0, 9, 9, "image"))


@pytest.mark.parametrize(
    ("size", "fitted"),
    [
        (Size(1920, 1080), Size(1280, 720)),
        (Size(1280, 720), Size(1280, 720)),
        (Size(800, 600), Size(800, 600)),
        (Size(1024, 1024), Size(720, 720)),
        (Size(10_000, 3), Size(1280, 1)),
    ],
)
def test_fit_within(size: Size, fitted: Size) -> None:
    assert fit_within(size, IMAGE) == fitted


@given(sizes, sizes)
def test_fit_within_never_exceeds_or_enlarges(size: Size, limit: Size) -> None:
    fitted = fit_within(size, limit)
    assert 1 <= fitted.width <= max(1, min(size.width, limit.width))
    assert 1 <= fitted.height <= max(1, min(size.height, limit.height))
