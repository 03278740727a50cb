"""Headers of a sheet stand where they are told to be, also over rows that are frozen."""

from __future__ import annotations

import pytest
from PIL import Image, ImageDraw, ImageFont

from hisa.plugins.matching.description import read_description
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.plugins.matching.scene import Scene
from hisa.screen.observation import Observation
from tests.grounder.scenes import call, element, scene

LEFT, TOP, WIDE, HIGH = 41, 205, 77, 20
SHOWN = frozenset({"enabled", "showing", "visible"})


def frozen_sheet() -> Observation:
    """A sheet from row 2 on, under a strip of letters and the frozen row 1, as Calc tells it."""
    image = Image.new("RGB", (1280, 720), "white")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(12)
    draw.rectangle((0, 166, 1207, 183), fill="#f4f4f4")
    draw.rectangle((0, 184, 40, 661), fill="#f4f4f4")
    for column, letter in enumerate("ABCDE"):
        draw.text((LEFT + WIDE * column + 34, 168), letter, "black", font=font)
        draw.text((LEFT + WIDE * column + 4, 187), "Region", "black", font=font)
    for row in range(2, 8):
        draw.text((16, TOP + HIGH * (row - 2) + 3), str(row), "black", font=font)
    cells = [
        element(
            "table cell",
            f"{letter}{row}",
            (LEFT + WIDE * column, TOP + HIGH * (row - 2), WIDE, HIGH),
            states=SHOWN,
        )
        for row in range(2, 8)
        for column, letter in enumerate("ABCDE")
    ]
    strips = [
        element("panel", "", (LEFT, 166, 1166, 18), states=SHOWN),
        element("panel", "", (0, TOP, LEFT, 456), states=SHOWN),
        element("panel", "", (0, 184, LEFT, 20), states=SHOWN),
    ]
    return scene(*cells, *strips, picture=image)


def test_every_column_has_its_header_in_the_strip() -> None:
    heads = {
        t.element.name: t.box.centre.rounded()
        for t in Scene(frozen_sheet(), shapes=True).things
        if t.role == "table column header"
    }
    assert heads == {
        letter: (round(LEFT + WIDE * (i + 0.5)), 175) for i, letter in enumerate("ABCDE")
    }


@pytest.mark.parametrize(
    ("description", "place"),
    [
        ("the column header C", (234, 175)),
        ("row 5 header", (20, 275)),
        ("the second row header", (20, 235)),
    ],
)
async def test_what_is_named_is_clicked(description: str, place: tuple[int, int]) -> None:
    grounder = ElementsGrounder(emit=lambda _: None, read=lambda *_: ())
    (found,) = (await grounder.resolve(call(description), frozen_sheet())).places
    assert abs(found.point.x - place[0]) <= 1
    assert abs(found.point.y - place[1]) <= 1


def test_a_number_between_row_and_header_is_a_name() -> None:
    query = read_description("row 5 header")[-1]
    assert (query.name, query.nth) == ("5", None)
    assert read_description("the fifth row header")[-1].nth == 5
