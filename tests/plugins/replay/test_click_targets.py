"""A click in a paragraph met the link in it, not the text of several lines around that."""

from __future__ import annotations

import pytest

from hisa.plugins.replay.run_compiler import target_at
from hisa.screen.geometry import Point
from tests.plugins.replay.order_looks import look, thing

PARAGRAPH = [
    thing("section", "", (0, 100, 320, 100)),
    thing("link", "vel", (188, 150, 27, 22), 0),
    thing("static", "vel", (188, 150, 27, 22), 1),
    thing("static", "nec viverra, on two lines", (4, 150, 248, 45), 0),
]


@pytest.mark.parametrize(
    ("x", "y", "name"), [(202, 161, "vel"), (60, 184, "nec viverra, on two lines")]
)
def test_the_part_of_a_paragraph_at_the_point_is_the_target(x: float, y: float, name: str) -> None:
    target = target_at(Point(x, y, "screen"), look(PARAGRAPH), "")
    assert target is not None
    assert target.name == name
    assert target.role == ("link" if name == "vel" else "static")


def test_click_target_is_the_part_that_covers_a_text() -> None:
    dialog = thing("dialog", "Ask", (150, 140, 150, 80))
    shown = [*PARAGRAPH[:3], dialog, thing("static", "Sure?", (160, 150, 90, 45), 3)]
    target = target_at(Point(202, 161, "screen"), look(shown), "")
    assert target is not None
    assert target.name == "Sure?"
