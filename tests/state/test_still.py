"""The pointer's own move, over any background, is no change; what lies beside it is one."""

from __future__ import annotations

import pytest
from PIL import Image, ImageChops, ImageDraw, ImageFilter

from hisa.screen.geometry import BoundingBox, Point, Size
from hisa.screen.observation import Observation, Screenshot
from hisa.state.roi import without_pointer

SIZE = (200, 100)
OLD, NEW = (50, 50), (140, 40)


def pointer() -> Image.Image:
    """An arrow with a white outline and a soft shadow, its tip in the middle of the picture."""
    shape = [(40, 40), (40, 56), (44, 52), (48, 59), (50, 58), (47, 51), (52, 51)]
    shadow = Image.new("L", (80, 80))
    ImageDraw.Draw(shadow).polygon([(x + 1, y + 2) for x, y in shape], fill=120)
    drawn = Image.new("RGBA", (80, 80))
    drawn.putalpha(shadow.filter(ImageFilter.GaussianBlur(1)))
    ImageDraw.Draw(drawn).polygon(shape, fill=(0, 0, 0, 255), outline=(255, 255, 255, 255))
    return drawn


def screen(
    left: str, right: str, place: tuple[int, int], tick: tuple[int, int] | None = None
) -> Observation:
    picture = Image.new("RGB", SIZE, left)
    picture.paste(right, (95, 0, *SIZE))
    if tick is not None:
        x, y = tick
        ImageDraw.Draw(picture).line([(x - 5, y), (x - 2, y + 3), (x + 5, y - 4)], "red", 2)
    picture.paste(pointer(), (place[0] - 40, place[1] - 40), pointer())
    return Observation(
        screenshot=Screenshot(picture), screen=Size(*SIZE), cursor=Point(*place, "screen")
    )


def diff_box(before: Observation, after: Observation) -> BoundingBox | None:
    """The box that is left of the difference of two looks."""
    differs = ImageChops.difference(before.screenshot.pixels, after.screenshot.pixels)
    mask = differs.convert("L").point([0] + [255] * 255)
    assert mask.getbbox() is not None
    left = without_pointer(mask, before, after).getbbox()
    return None if left is None else BoundingBox(*left)


@pytest.mark.parametrize(
    "backgrounds", [("white", "white"), ("white", "#101418"), ("#204080", "#f0e0a0")]
)
def test_pointer_move_over_any_background_does_not_count_as_change(
    backgrounds: tuple[str, str],
) -> None:
    assert diff_box(screen(*backgrounds, OLD), screen(*backgrounds, NEW)) is None


@pytest.mark.parametrize(
    "backgrounds", [("white", "white"), ("white", "#101418"), ("#204080", "#f0e0a0")]
)
def test_a_tick_under_the_tip_stays(backgrounds: tuple[str, str]) -> None:
    left = diff_box(screen(*backgrounds, OLD), screen(*backgrounds, NEW, tick=NEW))
    assert left is not None
    assert left.intersection(BoundingBox(NEW[0] - 6, NEW[1] - 5, NEW[0] + 6, NEW[1] + 4))
