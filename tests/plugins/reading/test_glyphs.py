"""Signs drawn in other ways than the templates are recognised, and letters are not signs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PIL import Image, ImageDraw, ImageFont

from hisa.plugins.reading.blobs import Blob, find_blobs
from hisa.screen.observation import Screenshot

Pen = ImageDraw.ImageDraw
LARGE = 8
"""Signs are drawn this much larger than they are shown, for soft edges."""


def cross(pen: Pen, side: int) -> None:
    """Two lines with round ends."""
    for start, end in (((1, 1), (side - 2, side - 2)), ((1, side - 2), (side - 2, 1))):
        line(pen, side, start, end)


def plus(pen: Pen, side: int) -> None:
    """A thin plus."""
    line(pen, side, (side / 2, 0), (side / 2, side))
    line(pen, side, (0, side / 2), (side, side / 2))


def line(pen: Pen, side: int, start: tuple[float, float], end: tuple[float, float]) -> None:
    """A line of a width that suits the size."""
    points = [(x * LARGE, y * LARGE) for x, y in (start, end)]
    pen.line(points, fill=0, width=max(LARGE, side * LARGE // 8))


def shape(*corners: tuple[float, float]) -> Callable[[Pen, int], None]:
    """A filled shape; corners from 0 to 1."""
    return lambda pen, side: pen.polygon(
        [(x * side * LARGE, y * side * LARGE) for x, y in corners], fill=0
    )


def strokes(*corners: tuple[float, float]) -> Callable[[Pen, int], None]:
    """A bent line; corners from 0 to 1."""

    def draw(pen: Pen, side: int) -> None:
        points = [(x * side * LARGE, y * side * LARGE) for x, y in corners]
        pen.line(points, fill=0, width=max(LARGE, side * LARGE // 7), joint="curve")

    return draw


def magnifier(pen: Pen, side: int) -> None:
    """A lens with a short handle."""
    width = max(LARGE, side * LARGE // 9)
    pen.ellipse((0, 0, 0.72 * side * LARGE, 0.72 * side * LARGE), outline=0, width=width)
    line(pen, side, (0.62 * side, 0.62 * side), (0.97 * side, 0.97 * side))


BLOCK_ARROW = (
    *((0.0, 0.5), (0.55, 0.05), (0.55, 0.25), (1.0, 0.25)),
    *((1.0, 0.75), (0.55, 0.75), (0.55, 0.95)),
)
"""A thick one, as many tool bars have it, pointing to the left."""

SIGNS: list[tuple[str, Callable[[Pen, int], None]]] = [
    ("cross", cross),
    ("plus", plus),
    ("magnifier", magnifier),
    ("triangle down", shape((0, 0.25), (1, 0.25), (0.5, 0.75))),
    ("triangle up", shape((0, 0.75), (1, 0.75), (0.5, 0.25))),
    ("triangle right", shape((0.25, 0), (0.25, 1), (0.8, 0.5))),
    ("triangle left", shape((0.8, 0), (0.8, 1), (0.25, 0.5))),
    ("chevron down", strokes((0.05, 0.3), (0.5, 0.75), (0.95, 0.3))),
    ("chevron right", strokes((0.3, 0.05), (0.75, 0.5), (0.3, 0.95))),
    ("check", strokes((0.05, 0.55), (0.35, 0.85), (0.95, 0.2))),
    ("arrow left", shape(*BLOCK_ARROW)),
    ("arrow right", shape(*((1 - x, y) for x, y in BLOCK_ARROW))),
    ("arrow down", shape(*((y, 1 - x) for x, y in BLOCK_ARROW))),
    ("arrow left", strokes((0.5, 0.1), (0.1, 0.5), (0.5, 0.9), (0.1, 0.5), (0.95, 0.5))),
]


def find_only_blob(picture: Image.Image) -> Blob:
    """The one shape on a picture."""
    (blob,) = find_blobs(Screenshot(picture))
    return blob


@pytest.mark.parametrize("side", [12, 16, 24])
@pytest.mark.parametrize(("name", "draw"), SIGNS, ids=[name for name, _ in SIGNS])
@pytest.mark.parametrize(("ink", "paper"), [("black", "white"), ("#dddddd", "#303438")])
def test_a_sign_is_recognised(
    name: str, draw: Callable[[Pen, int], None], side: int, ink: str, paper: str
) -> None:
    large = Image.new("L", (side * LARGE, side * LARGE), 255)
    draw(ImageDraw.Draw(large), side)
    sign = large.resize((side, side), Image.Resampling.BOX).point(lambda value: 255 - value)
    picture = Image.new("RGB", (100, 80), paper)
    picture.paste(Image.new("RGB", (side, side), ink), (40, 30), sign)
    blob = find_only_blob(picture)
    assert blob.glyph.name == name, blob
    assert blob.glyph.sure > 0.7
    assert blob.box.left >= 39
    assert blob.box.right <= 41 + side


@pytest.mark.parametrize("text", ["A", "B", "E", "R", "K", "Save as", "Export", "2024", "Vater"])
@pytest.mark.parametrize("size", [13, 20])
def test_letters_are_no_signs(text: str, size: int) -> None:
    picture = Image.new("RGB", (200, 80), "white")
    pen = ImageDraw.Draw(picture)
    pen.text((40, 30), text, fill="black", font=ImageFont.load_default(size))
    assert not [blob for blob in find_blobs(Screenshot(picture)) if blob.glyph.name]


def test_a_sign_in_a_small_frame_is_one_shape() -> None:
    picture = Image.new("RGB", (80, 60), "#eeeeee")
    pen = ImageDraw.Draw(picture)
    pen.rectangle((20, 20, 37, 37), outline="black", fill="white")
    pen.line((24, 29, 27, 32, 33, 25), fill="#207020", width=2)
    blob = find_only_blob(picture)
    assert (blob.glyph.name, blob.framed, blob.colour) == ("check", True, "green")
    assert (blob.box.left, blob.box.right) == (20, 38)
