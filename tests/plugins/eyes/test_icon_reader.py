"""The icon reader's crops, and what it answers with the packaged weights."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image, ImageDraw

from hisa.errors import LibraryLacking
from hisa.plugins.eyes.icon_reader import SIDE, WEIGHTS, IconReader, prepare_crop, read_icons
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Screenshot

CROSS = BoundingBox(40, 40, 56, 56)
BLANK = BoundingBox(100, 40, 120, 60)


def draw_cross(ink: str = "#202020", page: str = "white") -> Image.Image:
    fine = Image.new("RGB", (1600, 800), page)
    pen = ImageDraw.Draw(fine)
    pen.line((330, 330, 438, 438), fill=ink, width=16)
    pen.line((438, 330, 330, 438), fill=ink, width=16)
    return fine.resize((200, 100), Image.Resampling.BOX)


@pytest.fixture(scope="module")
def reader() -> IconReader:
    pytest.importorskip("onnxruntime", reason="needs the extra eyes")
    return IconReader()


def test_a_crop_has_two_views_with_full_contrast() -> None:
    crop = prepare_crop(draw_cross("#b0b0b0"), CROSS)
    assert crop.shape == (2, SIDE, SIDE)
    assert crop.dtype == np.uint8
    assert crop[0].max() > 230
    assert crop[0, 0].max() == 0


def test_light_on_dark_looks_as_dark_on_light() -> None:
    light = prepare_crop(draw_cross("white", "black"), CROSS)
    dark = prepare_crop(draw_cross("black", "white"), CROSS)
    assert np.array_equal(light, dark)


def test_a_box_that_is_too_large_gives_the_same_crop() -> None:
    wide = BoundingBox(CROSS.left - 9, CROSS.top - 4, CROSS.right + 6, CROSS.bottom + 8)
    picture = draw_cross()
    assert np.array_equal(prepare_crop(picture, wide)[0], prepare_crop(picture, CROSS)[0])


@pytest.mark.parametrize(
    "box",
    [BLANK, BoundingBox(500, 500, 520, 520), BoundingBox(-9, -9, -4, 3), BoundingBox(5, 5, 5, 5)],
)
def test_a_blank_or_absent_place_has_no_ink(box: BoundingBox) -> None:
    assert not prepare_crop(draw_cross(), box).any()


def test_a_cross_closes_and_a_blank_is_unknown(reader: IconReader) -> None:
    cross, blank = reader.read(Screenshot(draw_cross()), [CROSS, BLANK])
    assert not any(meaning.is_sure for meaning in blank)
    assert cross[0].is_sure
    assert "close" in (cross[0].name, *cross[0].synonyms)
    assert 0.5 < cross[0].chance <= 1


def test_chances_add_up(reader: IconReader) -> None:
    crops = np.random.default_rng(0).integers(0, 256, (5, 2, SIDE, SIDE), dtype=np.uint8)
    chances = reader.predict(crops)
    assert chances.shape == (5, 1 + len(reader.meanings))
    assert np.allclose(chances.sum(axis=1), 1, atol=1e-3)


def test_the_packaged_reader_serves_threads(reader: IconReader) -> None:
    screenshot = Screenshot(draw_cross())
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: read_icons(screenshot, [CROSS]), range(8)))
    assert answers == [reader.read(screenshot, [CROSS])] * 8
    assert read_icons(screenshot, []) == ()


def test_the_weights_are_small() -> None:
    assert WEIGHTS.stat().st_size < 2_000_000


def test_a_lacking_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(LibraryLacking, match="onnxruntime"):
        IconReader()
