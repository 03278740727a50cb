"""A switch that is only drawn is clicked itself, not the words that name it."""

from __future__ import annotations

import pytest
from PIL import Image, ImageDraw

from hisa.errors import NotFound
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.screen.observation import Observation
from tests.grounder.scenes import call, element, scene

SWITCH = (300, 204, 340, 224)


def settings(*names: str, switch: bool = True, between: str = "") -> Observation:
    """Lines with a name each; the first one's switch is drawn, and told by nobody."""
    image = Image.new("RGB", (1280, 720), "white")
    draw = ImageDraw.Draw(image)
    if switch:
        draw.rounded_rectangle(SWITCH, radius=10, fill="#bbbbbb")
        draw.ellipse((302, 206, 318, 222), fill="white")
    told = [element("static", n, (60, 205 + 60 * i, 120, 18)) for i, n in enumerate(names)]
    told += [element("static", between, (210, 205, 70, 18))] if between else []
    told.append(element("push button", "Save", (60, 500, 80, 30)))
    return scene(*told, picture=image)


async def clicked(description: str, look: Observation) -> tuple[int, int]:
    grounder = ElementsGrounder(emit=lambda _: None, read=lambda *_: ())
    (place,) = (await grounder.resolve(call(description), look)).places
    return place.point.rounded()


@pytest.mark.parametrize(
    "description",
    ["the 'Late arrival' toggle switch", "the Late arrival switch", "Late arrival checkbox"],
)
async def test_the_switch_is_clicked_and_not_its_name(description: str) -> None:
    x, y = await clicked(description, settings("Late arrival", "Sounds"))
    left, top, right, bottom = SWITCH
    assert left <= x <= right
    assert top <= y <= bottom


async def test_a_switch_behind_other_words_is_not_taken() -> None:
    look = settings("Late arrival", "Sounds", between="Sounds off")
    try:
        x, _ = await clicked("the 'Late arrival' toggle switch", look)
    except NotFound:
        return
    assert x < 200


@pytest.mark.parametrize("description", ["the third star", "the fourth star in the Rating row"])
async def test_of_one_star_no_later_one_is_clicked(description: str) -> None:
    look = scene(
        element("push button", "Bookmark this tab", (765, 60, 28, 26), description="star"),
        element("push button", "star", (765, 60, 28, 26)),
        element("push button", "Reload", (95, 60, 28, 26)),
    )
    with pytest.raises(NotFound):
        await clicked(description, look)
