"""Pictures survive encoding to the last bit; bad ones are refused."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageChops

from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Screenshot, UnderPointer
from hisa.screen.png import encode_rgb
from hisa.screen.pointer_cover import fitted_cover


@settings(max_examples=60, deadline=None)
@given(width=st.integers(1, 70), height=st.integers(1, 70), data=st.data())
def test_png_is_lossless(width: int, height: int, data: st.DataObject) -> None:
    pixels = data.draw(st.binary(min_size=3 * width * height, max_size=3 * width * height))
    back = Image.open(io.BytesIO(encode_rgb(width, height, pixels)))
    assert (back.format, back.mode, back.size) == ("PNG", "RGB", (width, height))
    assert back.tobytes() == pixels


@pytest.mark.parametrize(("right", "below"), [(0, 0), (20, 0), (0, 30), (20, 30)])
def test_png_is_independent_of_earlier_pictures(right: int, below: int) -> None:
    width, height = 700, 530
    screen = Image.effect_noise((width, height), 90).convert("RGB")
    other = Image.effect_noise((width, height), 90).convert("RGB")
    taller = Image.new("RGB", (width, height + 200))
    taller.paste(screen)
    changed = screen.copy()
    changed.paste((9, 8, 7), (300, 100, 420, 180))
    alone = [_encode(image, right, below, after=other) for image in (screen, changed, taller)]
    assert [_encode(image, right, below) for image in (screen, changed, taller)] == alone
    assert [_encode(image, right, below) for image in (taller, changed, screen)] == alone[::-1]
    for image, data in zip((screen, changed, taller), alone, strict=True):
        back = Image.open(io.BytesIO(data))
        expected = Image.new("RGB", (image.width + right, image.height + below))
        expected.paste(image)
        assert (back.size, back.tobytes()) == (expected.size, expected.tobytes())


def test_pictures_encoded_at_once_are_each_their_own() -> None:
    """On a busy machine the deflater packs the same pixels now and then in other bytes."""
    pictures = [Image.effect_noise((700, 530), 90).convert("RGB") for _ in range(3)]
    with ThreadPoolExecutor(4) as pool:
        many = list(pool.map(lambda at: _encode(pictures[at % 3], 0, 0), range(60)))
    for at, data in enumerate(many):
        assert Image.open(io.BytesIO(data)).tobytes() == pictures[at % 3].tobytes()


def _encode(image: Image.Image, right: int, below: int, after: Image.Image | None = None) -> bytes:
    if after:
        _encode(after, right, below)
    rows = image.tobytes()
    return encode_rgb(image.width, image.height, rows, right=right, below=below)


def test_a_screenshot_of_any_mode_becomes_rgb_and_keeps_its_hash() -> None:
    shot = Screenshot(Image.new("RGBA", (8, 6), (1, 2, 3, 255)))
    again = Screenshot.from_png(shot.png)
    assert again.size == Size(8, 6)
    assert again.sha256 == shot.sha256
    assert shot.crop(BoundingBox(2, 1, 5, 4)).size == Size(3, 3)


@pytest.mark.parametrize("data", [b"", b"no picture", b"\x89PNG\r\n\x1a\n", b"GIF89a"])
def test_a_broken_picture_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="not a whole image"):
        Screenshot.from_png(data)


def test_a_cut_off_picture_is_refused() -> None:
    png = Screenshot(Image.effect_noise((64, 64), 90)).png
    with pytest.raises(ValueError, match="not a whole image"):
        Screenshot.from_png(png[: len(png) // 2])


@pytest.mark.parametrize(
    ("size", "fitted"),
    [((1920, 1080), (1280, 720)), ((1280, 720), (1280, 720)), ((800, 1600), (360, 720))],
)
def test_a_screenshot_is_fitted_into_the_limit(
    size: tuple[int, int], fitted: tuple[int, int]
) -> None:
    shot = Screenshot(Image.new("RGB", size))
    assert shot.fit_to(Size(1280, 720)).size == Size(*fitted)


def test_rows_are_cropped_and_put_on_black_as_pillow_does() -> None:
    image = Image.effect_noise((31, 17), 90).convert("RGB")
    shot = Screenshot.from_rgb(Size(31, 17), image.tobytes())
    assert shot.crop(BoundingBox(3, 2, 20, 17)).pixels == image.crop((3, 2, 20, 17))
    assert shot.crop(BoundingBox(-3, 2, 40, 20)).pixels == image.crop((-3, 2, 40, 20))
    for size in (Size(56, 28), Size(31, 28), Size(56, 17)):
        black = shot.on_black(size)
        padded = image.crop((0, 0, size.width, size.height))
        assert Image.open(io.BytesIO(black.png)).tobytes() == padded.tobytes()
        assert black.pixels == padded
    assert Image.open(io.BytesIO(shot.png)).tobytes() == image.tobytes()


def test_rows_that_are_no_picture_are_refused() -> None:
    with pytest.raises(ValueError, match="11 bytes are no picture of 2x2"):
        Screenshot.from_rgb(Size(2, 2), bytes(11))


@pytest.mark.parametrize("place", [(0, 0), (311, 207), (1898, 1060), (640, 3)])
@pytest.mark.parametrize("limit", [Size(1280, 720), Size(700, 700)])
def test_a_pointer_is_taken_off_a_scaled_picture(place: tuple[int, int], limit: Size) -> None:
    bare = Image.effect_noise((1920, 1080), 90).convert("RGB")
    x, y = place
    area = BoundingBox(x, y, min(1920, x + 24), min(1080, y + 24))
    sides = (x, y, int(area.right), int(area.bottom))
    under = UnderPointer(area, Screenshot(bare.crop(sides)))
    drawn = bare.copy()
    drawn.paste("black", sides)
    small = Screenshot(drawn).fit_to(limit)
    cover = fitted_cover(Screenshot(drawn), under, small.size)
    off = small.pixels.copy()
    off.paste(cover.picture.pixels, (int(cover.box.left), int(cover.box.top)))
    apart = ImageChops.difference(off, Screenshot(bare).fit_to(limit).pixels)
    assert int(np.asarray(apart).max()) <= 1
