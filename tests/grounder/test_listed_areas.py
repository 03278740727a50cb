"""What has no words is on the list too: empty boxes, list boxes, and areas that tell nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PIL import Image, ImageDraw

from hisa.grounder.marks import Marks
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.protocols import Place, Task
from hisa.screen.observation import Element, Observation

from .scenes import IMAGE, call, element, scene

SHOWN = frozenset({"showing", "visible", "enabled", "sensitive"})
USED = SHOWN | {"focusable"}
Box = tuple[int, int, int, int]


def part(role: str, name: str, at: Box, *states: str, parent: int = 0) -> Element:
    used = USED if role not in ("static", "section", "heading", "canvas") else SHOWN
    return replace(element(role, name, at, states=used | set(states)), parent=parent)


def page(*parts: Element, drawn: tuple[Box, ...] = (), fill: str = "white") -> Observation:
    """A page of the parts, with frames drawn on its picture."""
    picture = Image.new("RGB", (IMAGE.width, IMAGE.height), "white")
    for left, top, width, height in drawn:
        box = (left, top, left + width - 1, top + height - 1)
        ImageDraw.Draw(picture).rectangle(box, fill, "black")
    web = replace(element("document web", "Shop", (0, 0, 1280, 720), states=SHOWN), parent=-1)
    return scene(web, *parts, picture=picture)


def list_entries(observation: Observation) -> list[str]:
    lines = Marks().build_list(Task("t", "Do it."), observation).splitlines()
    return [line.split(" ", 1)[1] for line in lines if line[0].isdigit()]


def place_of_line(observation: Observation, words: str) -> tuple[int, int]:
    marks = Marks()
    lines = marks.build_list(Task("t", "Do it."), observation).splitlines()
    number = next(line.split()[0] for line in lines if words in line)
    place = marks.find(f"element: {number}")
    assert place is not None
    return place.point.to_pixels()


async def find(description: str, observation: Observation) -> Place:
    grounder = ElementsGrounder(emit=lambda _: None, read=lambda *_: (), shapes=False)
    (place,) = (await grounder.resolve(call(description), observation)).places
    return place


GRID: tuple[Box, ...] = ((100, 300, 40, 40), (160, 300, 40, 40), (220, 300, 40, 40))


def test_outlined_empty_boxes_are_listed_each_apart() -> None:
    observation = page(*(part("section", "", box) for box in GRID), drawn=GRID)
    assert len(list_entries(observation)) == len(set(list_entries(observation))) == 3
    assert place_of_line(observation, "2 of 3") == (180, 320)


def test_an_empty_box_without_a_frame_is_not_listed() -> None:
    observation = page(part("section", "", GRID[0]), part("heading", "Game", (20, 20, 90, 30)))
    assert list_entries(observation) == ['heading "Game"']


@pytest.mark.parametrize(
    ("name", "states"),
    [("To , required.", ("required",)), ("To (required)", ()), ("To; selectable", ("selectable",))],
)
async def test_a_field_is_found_by_its_name_without_its_state(
    name: str, states: tuple[str, ...]
) -> None:
    observation = page(
        part("entry", name, (100, 100, 300, 24), *states),
        part("entry", "Reply-To", (100, 140, 300, 24)),
        part("entry", "Subject", (100, 180, 300, 24)),
    )
    assert (await find('text field "To"', observation)).point.to_pixels() == (250, 112)


@pytest.mark.parametrize(
    ("description", "name"),
    [
        ('link "7"', "seven"),
        ("the seven link", "seven"),
        ('the "2" link', "two"),
        ('link "nine"', "9"),
        ("the 1 link", "1"),
    ],
)
async def test_a_number_is_found_in_words_and_in_figures(description: str, name: str) -> None:
    names = ("seven", "two", "three", "9", "1")
    links = [part("link", name, (20, 20 + 30 * row, 80, 20)) for row, name in enumerate(names)]
    assert (await find(description, page(*links))).label == f'link "{name}"'


@pytest.mark.parametrize("word", ["Bold", "Large", "Main", "Round"])
async def test_a_word_for_how_things_look_may_be_a_name(word: str) -> None:
    names = ("Italic", word, "Underline")
    buttons = [part("push button", n, (20 + 90 * at, 20, 80, 24)) for at, n in enumerate(names)]
    for description in (f"{word} button", f"the {word.lower()} button"):
        assert (await find(description, page(*buttons))).label == f'push button "{word}"'
