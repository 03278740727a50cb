"""What fits best and is asked about all the same: another kind, and what lies outside a popup.

Arrows and signs are found by their shapes, by `hisa.plugins.reading`.
"""

from __future__ import annotations

import pytest

from hisa.errors import NotFound
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.protocols import Place
from hisa.screen.observation import Element, Observation
from tests.grounder.scenes import call, element, load_saved, nothing_to_read, scene

SHOWN = frozenset({"showing"})


async def find(description: str, observation: Observation) -> Place:
    grounder = ElementsGrounder(emit=lambda _: None, read=nothing_to_read)
    (place,) = (await grounder.resolve(call(description), observation)).places
    return place


def shown(role: str, name: str, at: tuple[int, int, int, int]) -> Element:
    return element(role, name, at, window="App", states=SHOWN)


def column_and(*more: Element) -> Observation:
    """A column of numbers, and what is open beside it."""
    numbers = (shown("table cell", str(20 + n), (20, 100 + 24 * n, 100, 24)) for n in range(12))
    return scene(shown("frame", "App", (0, 0, 1280, 720)), *numbers, *more)


def buttons_and(*more: Element) -> Observation:
    buttons = (
        shown("push button", name, (30 + 110 * n, 40, 90, 28))
        for n, name in enumerate(("Insert", "Delete", "Share"))
    )
    return scene(shown("frame", "App", (0, 0, 1280, 720)), *buttons, *more)


MENU = tuple(
    shown("menu item", name, (300, 204 + 28 * n, 180, 28))
    for n, name in enumerate(("Insert Row Above", "Delete Row", "Hide Row"))
)


async def test_cell_beside_a_calendar_is_not_taken_for_a_day() -> None:
    description = "day 28 in the calendar of March 2017"
    with pytest.raises(NotFound, match="in no calendar"):
        await find(description, column_and())
    with pytest.raises(NotFound, match="calendar"):
        await find(description, column_and(shown("calendar", "", (300, 200, 240, 180))))


@pytest.mark.parametrize("screen", ["calc_sheet", "calc_menu"])
async def test_button_of_a_different_name_is_not_taken_for_an_arrow(screen: str) -> None:
    observation = load_saved(screen)
    with pytest.raises(NotFound, match="no arrow") as refused:
        await find("drop-down arrow at the right of Freeze Rows and Columns", observation)
    assert 'push button "Split Window"' in refused.value.candidates[0]
    assert any("drop-down" in candidate for candidate in refused.value.candidates[1:])


@pytest.mark.parametrize("description", ["Insert row", "Delete", "the Delete button"])
async def test_button_repeated_in_an_open_menu_is_uncertain(description: str) -> None:
    with pytest.raises(NotFound, match="in what is open over it fits as well") as refused:
        await find(description, buttons_and(*MENU))
    assert any("Row" in candidate for candidate in refused.value.candidates)


async def test_part_outside_a_dialog_is_not_taken_for_its_part() -> None:
    dialog = shown("dialog", "Rename", (400, 200, 300, 200))
    ok = shown("push button", "OK", (420, 360, 80, 28))
    description = "the Insert button in the dialog"
    assert (await find(description, buttons_and(ok))).label == 'push button "Insert"'
    with pytest.raises(NotFound, match="outside the dialog"):
        await find(description, buttons_and(dialog, ok))
    assert (await find("the OK button in the dialog", buttons_and(dialog, ok))).label == (
        'push button "OK"'
    )


def a_form(*more: Element) -> Observation:
    """A page of texts, one of which begins with a name of a field that is nowhere."""
    return scene(
        shown("document web", "Shop", (0, 0, 1280, 720)),
        shown("paragraph", "Delivery note", (20, 100, 1200, 18)),
        shown("static", "Delivery note", (20, 100, 94, 18)),
        shown("push button", "Send", (20, 400, 60, 24)),
        *more,
    )


@pytest.mark.parametrize(
    "kind", ["text field", "input field", "text area", "drop-down", "spin button", "check box"]
)
async def test_text_is_never_sure_for_a_control(kind: str) -> None:
    with pytest.raises(NotFound):
        await find(f'{kind} "Delivery note"', a_form())
