"""Hidden is not absent: what takes others out of what a machine tells, by recorded elements."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PIL import Image

from hisa.environments.absence import absence_doubt, is_hidden, with_hidden
from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Element, Observation, Screenshot
from hisa.testing import FakeEnvironment

SIZE = Size(640, 480)
SHOWN = frozenset({"showing", "visible"})


def thing(role: str, name: str, parent: int, *states: str) -> Element:
    box = BoundingBox(0, 0, 100, 20, "screen")
    return Element(role, name, box, states=SHOWN | set(states), parent=parent)


def look(*elements: Element, complete: bool = True) -> Observation:
    picture = Screenshot(Image.new("RGB", (SIZE.width, SIZE.height)))
    return Observation(picture, SIZE, elements=elements, complete=complete)


BROWSER = (thing("frame", "Trips - Chromium", -1), thing("push button", "Reload", 0, "focusable"))
PAGE = (*BROWSER, thing("document web", "Trips", 0, "focusable"))
QUESTION = (*BROWSER, thing("dialog", "This page says", 0), thing("static", "Really?", 2))
MODAL = (*PAGE, thing("dialog", "", 2, "modal"), thing("push button", "No", 3, "focusable"))
INERT = (*PAGE, thing("dialog", "Terms", 2), thing("push button", "OK", 3, "focusable"))
BANNER = (*INERT, thing("push button", "Pay", 2, "focusable"))
LOADING = (*BROWSER, thing("document web", "Trips", 0, "busy"))
TABS = (*PAGE, thing("page tab", "Trips", 0), thing("page tab", "Mail", 0))
TABLE = (thing("frame", "Calc", -1), thing("table", "Sheet1", 0, "manages-descendants"),
         thing("table cell", "A1", 1))  # fmt: skip
TEXT = (thing("frame", "Writer", -1), thing("document text", "a.odt", 0, "manages-descendants"),
        thing("paragraph", "", 1))  # fmt: skip
GTK = (thing("frame", "Editor", -1), thing("push button", "Save", 0),
       thing("dialog", "Find", -1, "modal"), thing("entry", "Find what", 2))  # fmt: skip


@pytest.mark.parametrize(
    ("elements", "role", "words"),
    [
        (PAGE, "table cell", ""),
        (QUESTION, "table cell", "“This page says” hides what is behind it"),
        (QUESTION, "dialog", "“This page says” hides what is behind it"),
        (MODAL, "table cell", "hides the page behind it"),
        (INERT, "table cell", "“Terms” hides what is behind it"),
        (BANNER, "table cell", ""),
        (LOADING, "table cell", "still loading"),
        (TABS, "table cell", "the other tabs"),
        (TABLE, "table cell", "reports only what it shows"),
        (TABLE, "", "reports only what it shows"),
        (TABLE, "dialog", ""),
        (TABLE, "push button", ""),
        (TEXT, "table cell", "reports only what it shows"),
        (TEXT, "alert", ""),
        (GTK, "push button", ""),
        (GTK, "dialog", ""),
    ],
)
def test_hiding_element_leaves_a_doubt(
    elements: tuple[Element, ...], role: str, words: str
) -> None:
    doubt = absence_doubt(look(*elements), role)
    assert words in doubt
    assert bool(doubt) == bool(words)


def test_an_incomplete_look_leaves_a_doubt() -> None:
    assert absence_doubt(look(*PAGE, complete=False), "table cell")


async def test_scrolled_row_is_hidden_and_not_absent() -> None:
    """The machine tells a row that is scrolled away; nothing of it is on the look itself."""
    row = replace(thing("table cell", "Porto", 2), states=frozenset({"visible"}))

    class Scrolled(FakeEnvironment):
        async def look_everywhere(self) -> Observation:
            return look(*PAGE, row)

    observation = await with_hidden(Scrolled(), look(*PAGE))
    assert is_hidden(observation, lambda element: element.name == "Porto")
    assert observation.elements == PAGE


async def test_machine_without_hidden_elements_is_not_queried() -> None:
    class Plain(FakeEnvironment):
        @property
        def capabilities(self) -> frozenset[str]:
            return frozenset({"elements"})

    observation = look(*PAGE)
    assert await with_hidden(Plain(), observation) is observation
    assert await with_hidden(None, observation) is observation
