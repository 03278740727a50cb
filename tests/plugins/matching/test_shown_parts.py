"""What lies over an element counts, words or not; and only what shows is clicked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from PIL import Image, ImageDraw

from hisa.errors import NotFound
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation, Screenshot
from hisa.screen.ocr import Line, Word
from tests.grounder.scenes import IMAGE, call, element, scene

SHOWN = frozenset({"showing", "visible", "enabled", "sensitive"})
Box = tuple[int, int, int, int]
SUBMIT: Box = (40, 80, 120, 36)


def page(*parts: Element, drawn: Sequence[tuple[Box, str]] = ()) -> Observation:
    """A page that holds the parts, and its picture: buttons as such, then what is drawn."""
    picture = Image.new("RGB", (IMAGE.width, IMAGE.height), "white")
    pen = ImageDraw.Draw(picture)
    for part in parts:
        if part.role == "push button":
            b = part.box
            pen.rectangle((b.left, b.top, b.right - 1, b.bottom - 1), "#eeeeee", "#777777")
            pen.text((b.left + 30, b.top + 10), part.name, "black")
    for (left, top, width, height), colour in drawn:
        pen.rectangle((left, top, left + width - 1, top + height - 1), colour)
    web = element("document web", "Shop", (0, 0, 1280, 720), states=SHOWN)
    held = [replace(part, parent=0 if part.parent is None else part.parent) for part in parts]
    return scene(replace(web, parent=-1), *held, picture=picture)


def part(role: str, name: str, at: Box, parent: int | None = None) -> Element:
    states = SHOWN | {"focusable"} if role == "push button" else SHOWN
    return replace(element(role, name, at, states=states), parent=parent)


async def find_click(description: str, observation: Observation, read: str = "") -> tuple[int, int]:
    def reads(screenshot: Screenshot, box: BoundingBox | None) -> tuple[Line, ...]:
        at = box or BoundingBox(900, 600, 960, 620)
        return (Line((Word(read, at, 1.0),)),) if read and box else ()

    grounder = ElementsGrounder(emit=lambda _: None, read=reads, shapes=False)
    (place,) = (await grounder.resolve(call(description), observation)).places
    return place.point.to_pixels()


def swatches() -> list[tuple[Box, str]]:
    """Tiles of a colour picker over the button, and their colours."""
    return [
        ((24 + 32 * n, 74 + 32 * row, 30, 30), colour)
        for row in range(3)
        for n, colour in enumerate(("red", "orange", "yellow", "green", "blue", "purple"))
    ]


@pytest.mark.parametrize("role", ["push button", "section", "image"])
async def test_a_button_beneath_colours_without_words_is_not_clicked(role: str) -> None:
    tiles = swatches()
    covers = [part(role, "", at) for at, _ in tiles]
    observation = page(part("push button", "Submit", SUBMIT), *covers, drawn=tiles)
    with pytest.raises(NotFound, match="covered by"):
        await find_click("the Submit button", observation)


@pytest.mark.parametrize("colours", ["white", "red to blue"])
async def test_a_button_that_nothing_is_seen_of_is_not_clicked(colours: str) -> None:
    """A cover of a page may be on no list; the picture shows that something lies there."""
    last = 255 * (colours != "white")
    strips = [
        ((20 + n, 60, 1, 80), f"#{255 - n * last // 255:02x}{0 if last else 255:02x}ff")
        for n in range(200)
    ]
    observation = page(
        part("push button", "Submit", SUBMIT),
        part("push button", "Help", (400, 80, 100, 36)),
        drawn=strips,
    )
    with pytest.raises(NotFound, match="nothing of it is to be seen"):
        await find_click("the Submit button", observation)
    assert await find_click("the Help button", observation) == (450, 98)


@pytest.mark.parametrize("role", ["section", "canvas", "slider", "entry"])
async def test_the_part_of_a_button_that_shows_is_clicked(role: str) -> None:
    at = (90, 70, 120, 60)
    observation = page(
        part("push button", "Submit", SUBMIT), part(role, "", at), drawn=[(at, "#ffcc99")]
    )
    x, y = await find_click("the Submit button", observation)
    assert 40 <= x < 90
    assert 80 <= y < 116


async def test_button_under_a_possible_cover_must_be_read_on_the_picture() -> None:
    observation = page(part("push button", "Submit", SUBMIT), part("slider", "", (30, 70, 160, 60)))
    assert await find_click("the Submit button", observation, read="Submit") == (100, 98)
    with pytest.raises(NotFound, match="perhaps hidden by slider"):
        await find_click("the Submit button", observation, read="o——")


PAGE = b"""<!doctype html><title>Cover</title><body style="margin:0"><label>Name <input></label>
<button style="position:absolute;left:40px;top:80px;width:120px;height:36px">Submit</button>
<div style="position:absolute;left:20px;top:70px;display:grid;grid-template-columns:repeat(6,30px)">
<button style="height:30px;background:red"></button><button style="background:gold"></button>
<button style="background:green"></button><button style="background:blue"></button>
<button style="background:pink"></button><button style="background:teal"></button>
<button style="height:30px;background:red"></button><button style="background:gold"></button>
</div>
<button style="position:absolute;left:40px;top:240px;width:120px;height:36px">Refund</button>
<div style="position:absolute;left:100px;top:230px;width:90px;height:60px;background:orange"></div>
"""


@pytest.mark.desktop
@pytest.mark.browser
async def test_chromium_tree_reveals_the_cover_of_a_button() -> None:
    async with DesktopEnvironment() as desktop:
        await desktop.reset()
        await desktop.write_file("/home/user/cover.html", PAGE)
        flags = "--kiosk --no-sandbox --test-type --no-first-run --disable-gpu"
        await desktop.execute(f"chromium {flags} file:///home/user/cover.html >/dev/null 2>&1 &")
        for _ in range(40):
            observation = await desktop.observe(elements=True, settle=1.0)
            if any(e.name == "Refund" for e in observation.elements or ()):
                break
    with pytest.raises(NotFound, match="covered by"):
        await find_click("the Submit button", observation)
    x, y = await find_click("the Refund button", observation)
    assert 40 <= x < 100
    assert 240 <= y < 276
