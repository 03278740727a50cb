"""Text without an element, read off the picture: where it is read, and what is kept of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PIL import Image, ImageDraw

from hisa.plugins.offline.picture_text import picture_text_changes
from hisa.plugins.offline.word_list import known_words
from hisa.screen import ocr
from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Element, Observation, Screenshot, UnderPointer
from tests.state.scene import element

SIZE = (420, 200)


def box(left: int, top: int, right: int, bottom: int) -> BoundingBox:
    return BoundingBox(left, top, right, bottom, "screen")


WINDOW = element("frame", "Board", box(0, 0, *SIZE))
CANVAS = element("canvas", "", box(0, 60, 420, 200))


def look(text: str, *elements: Element, at: int = 100, shade: str = "white") -> Observation:
    image = Image.new("RGB", SIZE, shade)
    ImageDraw.Draw(image).text((20, at), text, fill="black", font_size=30)
    return Observation(Screenshot(image), Size(*SIZE), elements=elements or None)


def reading(*texts: str) -> tuple[list[Size], ocr.ReadText]:
    """A reader that gives these words for each picture in turn, and notes the sizes."""
    seen: list[Size] = []

    def read(shot: Screenshot, part: BoundingBox | None) -> tuple[ocr.Line, ...]:
        seen.append(shot.size)
        words = texts[len(seen) - 1].split()
        made = tuple(ocr.Word(word, BoundingBox(0, 0, 9, 9), 0.9) for word in words)
        return (ocr.Line(made),) if made else ()

    return seen, read


async def test_words_are_kept_if_the_system_or_the_screen_knows_them() -> None:
    shown = replace(element("label", "Zyxwv", box(0, 0, 60, 20)), text="Zyxwv")
    _, read = reading("", "Qqj Zyxwv xk |l 7")
    before, after = (look(text, WINDOW, CANVAS, shown) for text in ("", "something"))
    assert await picture_text_changes(before, after, read) == (
        "New on the screen: picture text “Zyxwv”.",
    )


async def test_what_an_element_tells_is_not_read() -> None:
    seen, read = reading("", "")
    label = replace(element("label", "", box(0, 90, 420, 150)), text="something")
    before, after = (look(text, WINDOW, label) for text in ("", "something"))
    assert await picture_text_changes(before, after, read) == ()
    assert not seen


async def test_the_pointer_is_not_read() -> None:
    seen, read = reading("", "")
    plain = look("", WINDOW, CANVAS)
    part = BoundingBox(100, 100, 124, 124)
    under = UnderPointer(part, plain.screenshot.crop(part))
    image = plain.screenshot.pixels.copy()
    ImageDraw.Draw(image).polygon([(100, 100), (100, 118), (112, 112)], fill="black")
    pointed = replace(plain, screenshot=Screenshot(image), under_pointer=under)
    assert await picture_text_changes(plain, pointed, read) == ()
    assert not seen


@pytest.mark.skipif(not ocr.available(), reason="tesseract is not installed")
@pytest.mark.parametrize("elements", [(), (WINDOW, CANVAS)])
async def test_a_drawing_is_read(elements: tuple[Element, ...]) -> None:
    if not known_words():
        pytest.skip("no dictionary is installed")
    before, after = (look(text, *elements) for text in ("Morning", "Garden"))
    lines = await picture_text_changes(before, after, ocr.read_text)
    assert lines == (
        "New on the screen: picture text “Garden”.",
        "Gone: picture text “Morning”.",
    )
