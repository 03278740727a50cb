"""Things of web pages that are told as mere text: entries of open menus, and fields."""

from __future__ import annotations

import pytest

from hisa.errors import NotFound
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.screen.observation import Observation
from tests.grounder.scenes import call, element, scene

SHOWN = frozenset({"enabled", "sensitive", "showing", "visible"})
PAGE = element("document web", "Orders", (0, 100, 1000, 600), states=SHOWN)


def a_menu() -> Observation:
    """A menu of a page that lies on the buttons of a table's rows, as Chromium tells it."""
    rows = [
        element("push button", "⋮", (828, 308 + 34 * row, 31, 23), states=SHOWN | {"focusable"})
        for row in range(4)
    ]
    entries = [
        element("static", words, (818, 310 + 34 * row, 52, 18), states=SHOWN)
        for row, words in enumerate(("View", "Mark as sent", "Archive", "Delete"))
    ]
    return scene(PAGE, *rows, *entries)


async def find_click(description: str, observation: Observation) -> tuple[int, int]:
    grounder = ElementsGrounder(emit=lambda _: None, read=lambda *_: ())
    (place,) = (await grounder.resolve(call(description), observation)).places
    return place.point.to_pixels()


@pytest.mark.parametrize(
    "description", ["'Mark as sent' in the open context menu", "the 'Mark as sent' option"]
)
async def test_quoted_words_resolve_to_their_only_element(description: str) -> None:
    assert await find_click(description, a_menu()) == (844, 353)


async def test_quoted_words_in_two_places_are_not_guessed() -> None:
    again = element("static", "Mark as sent", (100, 400, 90, 18), states=SHOWN)
    observation = a_menu()
    with pytest.raises(NotFound):
        await find_click("'Mark as sent' in the list", scene(*(observation.elements or ()), again))


def named_fields() -> Observation:
    """A drop-down that a page drew itself: its field is as narrow as a caret; and a usual one."""
    field_states = SHOWN | {"focusable"}
    return scene(
        PAGE,
        element("static", "Country", (100, 180, 80, 18), states=SHOWN),
        element("section", "", (100, 200, 300, 38), states=SHOWN),
        element("static", "Select...", (112, 210, 70, 18), states=SHOWN),
        element("combo box", "Country", (110, 210, 2, 18), states=field_states),
        element("entry", "City", (100, 280, 300, 38), states=field_states),
    )


async def test_caret_wide_field_is_clicked_in_the_middle_of_its_container() -> None:
    assert await find_click("the Country drop-down", named_fields()) == (250, 219)
    assert await find_click("the City field", named_fields()) == (250, 299)
