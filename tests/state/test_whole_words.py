"""Crops of a change show the writing that it is part of, to its end and no further."""

from __future__ import annotations

import pytest
from PIL import Image, ImageDraw, ImageFont

from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Observation, Screenshot
from hisa.state.roi import RoiPair, roi_pair
from hisa.state.whole_words import REACH

FONT = ImageFont.load_default(14)


def seen(*written: tuple[tuple[int, int], str], box: tuple[int, ...] = ()) -> Observation:
    image = Image.new("RGB", (800, 300), "white")
    draw = ImageDraw.Draw(image)
    for at, text in written:
        draw.text(at, text, "black", font=FONT)
    if box:
        draw.rectangle(box, outline="black", width=1)
    shot = Screenshot(image)
    return Observation(shot, shot.size)


def end_of(at: int, text: str) -> int:
    return at + round(FONT.getlength(text))


def shown(before: Observation, after: Observation) -> BoundingBox:
    pair = roi_pair(before, after, minimum=Size(1, 1))
    assert isinstance(pair, RoiPair)
    return pair.shown


@pytest.mark.parametrize(
    ("old", "new"),
    [("100 EUR", "500 EUR"), ("Total 100", "Total 109"), ("The cat sat", "The cut sat")],
)
def test_a_line_is_shown_whole(old: str, new: str) -> None:
    box = shown(seen(((200, 100), old)), seen(((200, 100), new)))
    assert box.left <= 201
    assert box.right >= end_of(200, new) - 2


def test_the_next_column_is_not_shown() -> None:
    others = (((60, 100), "Amount"), ((400, 100), "Paid"))
    box = shown(seen(((200, 100), "100"), *others), seen(((200, 100), "500"), *others))
    assert box.left > end_of(60, "Amount")
    assert box.right < 400


def test_a_window_that_came_is_shown_by_itself() -> None:
    text = (((10, 140), "words " * 20),)
    before, after = seen(*text), seen(*text, box=(300, 80, 500, 220))
    box = shown(before, after)
    assert (box.left, box.right) == (300 - 8, 501 + 8)


def test_no_more_than_its_reach_is_shown_of_a_long_line() -> None:
    line = "n" * 40
    box = shown(seen(((20, 100), f"{line}1{line}")), seen(((20, 100), f"{line}7{line}")))
    assert 2 * REACH <= box.width <= 2 * REACH + 40


@pytest.mark.parametrize("at", [0, 770])
def test_a_change_at_the_edge_of_the_screen(at: int) -> None:
    box = shown(seen(((at, 0), "10")), seen(((at, 0), "50")))
    assert box.left >= 0
    assert box.right <= 800
