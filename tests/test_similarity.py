"""Structural similarity, against what scikit-image 0.26 computes for the same pictures."""

from __future__ import annotations

import pytest
from PIL import Image, ImageDraw

from hisa.screen.observation import Screenshot
from hisa.screen.similarity import similarity


def picture(top: int = 5) -> Image.Image:
    image = Image.new("L", (120, 40), 255)
    ImageDraw.Draw(image).rectangle((5, top, 114, top + 29), outline=100)
    return image


def cover_picture() -> Image.Image:
    image = picture()
    ImageDraw.Draw(image).rectangle((20, 12, 60, 28), fill=40)
    return image


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (picture(), 1.0),
        (cover_picture(), 0.7585946410639915),
        (picture().point(lambda value: int(value * 0.9)), 0.9918055191734356),
        (picture(9), 0.5333280940637187),
    ],
)
def test_similarity_equals_the_value_of_scikit_image(other: Image.Image, expected: float) -> None:
    value = similarity(*(Screenshot(image.convert("RGB")) for image in (picture(), other)))
    assert value == pytest.approx(expected, abs=1e-6)


def test_pictures_of_other_sizes_are_not_similar() -> None:
    small = picture().crop((0, 0, 50, 40))
    assert similarity(*(Screenshot(image.convert("RGB")) for image in (picture(), small))) == 0.0


def test_a_tiny_picture_has_a_similarity_too() -> None:
    tiny = Screenshot(picture().crop((0, 0, 3, 2)).convert("RGB"))
    assert similarity(tiny, tiny) == 1.0
