"""What a step's line tells: choices, order, entries that scroll, values, dialogs, dead controls."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hisa.actions import Click
from hisa.protocols import GroundedCall, Place, ToolCall
from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.observation import Element, Observation
from hisa.state.changes import describe_changes
from hisa.state.refusals import find_surprise
from tests.state.scene import element, look
from tests.state.test_dialogs import abstract_step

ROI = BoundingBox(0, 0, 320, 180)
TOWNS = ("Porto", "Faro", "Braga", "Evora", "Sines", "Tavira")


def describe(before: tuple[Element, ...], after: tuple[Element, ...]) -> str:
    return " ".join(describe_changes(look(elements=before), look(elements=after), ROI) or ())


def rows(*names: str, role: str = "list item", chosen: str = "") -> tuple[Element, ...]:
    return tuple(
        element(
            role,
            name,
            BoundingBox(20, 20 + 20 * row, 120, 40 + 20 * row, "screen"),
            name,
            *(["selected"] if name == chosen else []),
        )
        for row, name in enumerate(names)
    )


def click_on(at: tuple[int, int], *, role: str = "", name: str = "") -> GroundedCall:
    """A click on a described thing at a place of the picture."""
    call = ToolCall("Press it.", "gui_action", "pyautogui.click(X_COORD, Y_COORD)", name)
    place = Place(name, Point(*at), label=f'{role} "{name}"')
    source = f"pyautogui.click({at[0]}, {at[1]})"
    return GroundedCall(call, source, (Click(Point(*at)),), (place,))


def test_entries_of_a_list_that_scrolled_come_and_go() -> None:
    sentences = describe(rows(*TOWNS[:3]), rows(*TOWNS[3:]))
    assert "now read" not in sentences
    assert "New on the screen: list item “Evora”, list item “Sines”, " in sentences
    assert "Gone: list item “Porto”, list item “Faro”, list item “Braga”." in sentences


def test_a_chosen_entry_is_described_as_selected() -> None:
    sentences = describe(rows(*TOWNS[:3], chosen="Porto"), rows(*TOWNS[:3], chosen="Braga"))
    assert "“Braga” is now selected" in sentences
    assert "“Porto” is no longer selected" in sentences


def test_state_beside_a_text_is_not_quoted_as_text() -> None:
    box = BoundingBox(20, 20, 120, 40, "screen")
    before = element("table cell", "A1", box, "Porto")
    after = element("table cell", "A1", box, "", "selected")
    assert "reads “selected”" not in describe((before,), (after,))


@pytest.mark.parametrize("role", ["list item", "static", "table cell"])
def test_entries_that_changed_places_are_described_in_their_new_order(role: str) -> None:
    sentences = describe(rows(*TOWNS[:4], role=role), rows("Evora", *TOWNS[:3], role=role))
    assert "“Evora” now stands before " in sentences
    assert "New on the screen" not in sentences


def test_a_page_that_scrolled_is_in_its_order() -> None:
    assert "stands before" not in describe(rows(*TOWNS), rows(*TOWNS[1:]))


def test_a_document_is_described_by_its_window_alone() -> None:
    page = element("document web", "Trips", BoundingBox(0, 0, 600, 300, "screen"), "Porto")
    assert "Document" not in describe((page,), (replace(page, text=""),))


def test_entries_scrolled_behind_a_dialog_are_not_new() -> None:
    box = BoundingBox(200, 60, 400, 160, "screen")
    dialog = replace(element("dialog", "", box), window="Trips")
    says = replace(
        element("static", "Remove all?", BoundingBox(210, 70, 390, 90, "screen")), window="Trips"
    )
    behind = tuple(replace(row, window="Trips") for row in rows(*TOWNS[3:]))
    sentences = describe(rows(*TOWNS[:3]), (*behind, dialog, says))
    assert "Remove all?" in sentences
    assert not any(town in sentences for town in TOWNS[3:])


def test_a_button_that_shows_under_the_pointer_alone_is_new_when_it_is_painted() -> None:
    button = element("push button", "Delete row", BoundingBox(40, 40, 120, 60, "screen"))
    lines = describe_changes(
        look(elements=(button,)), look((20, 20, 30, 30), elements=(button,)), ROI
    )
    assert lines == ("New on the screen: push button “Delete row”.",)


def test_rows_that_a_terminal_wrote_are_described_as_text() -> None:
    box = BoundingBox(0, 0, 600, 300, "screen")
    old = "user$ ls\nnotes.txt\nuser$ "
    new = f"{old}wc notes.txt plan.txt\n 14 61 notes.txt\n  3 18 plan.txt\n 17 79 total\nuser$ "
    sentences = describe(
        (element("terminal", "Terminal", box, old),), (element("terminal", "Terminal", box, new),)
    )
    assert all(row in sentences for row in ("14 61 notes.txt", "3 18 plan.txt", "17 79 total"))
    assert "user$ ls" not in sentences


def test_changed_value_is_described_once_and_before_its_heading() -> None:
    heading = element("heading", "Order 1", BoundingBox(20, 20, 120, 40, "screen"))
    field = element("text", "Total", BoundingBox(20, 60, 120, 80, "screen"), "3.85", "editable")
    note = element("static", "Paid", BoundingBox(20, 100, 120, 120, "screen"), "Paid")
    around = element("section", "", BoundingBox(20, 100, 220, 120, "screen"), "Paid")
    before = (heading, field, around, note)
    after = (
        replace(heading, name="Order 2"),
        replace(field, text="6.10"),
        replace(around, text="Due"),
        replace(note, name="Due", text="Due"),
    )
    sentences = describe(before, after)
    assert sentences.index("“6.10”") < (sentences + "Order 2").index("Order 2")
    assert sentences.count("“Due”") == 1


async def test_a_click_on_a_disabled_button_is_described() -> None:
    state = ("enabled", "sensitive", "showing")
    dead = element("push button", "Merge", BoundingBox(80, 30, 120, 50, "screen"), "", "showing")
    page = element("document web", "Sheet", BoundingBox(0, 0, 640, 360, "screen"), "", *state)
    before = look(elements=(page, dead))
    event = await abstract_step(click_on((50, 20)), before, before, page, dead)
    assert event.verdict == "no_change"
    assert "“Merge” is disabled" in event.result
    live = replace(dead, states=frozenset(state))
    event = await abstract_step(click_on((50, 20)), look(elements=(page, live)), before, page, live)
    assert "disabled" not in event.result


@pytest.mark.parametrize("labels", [True, False])
def test_label_of_a_field_is_not_taken_for_a_refusal(labels: bool) -> None:
    words = "Upper limit (bar)"
    label = element("label", words, BoundingBox(20, 20, 120, 40, "screen"), words)
    field = Element(
        "spin button",
        "",
        BoundingBox(130, 20, 200, 40, "screen"),
        text="6",
        label=words if labels else "",
    )
    after: Observation = look((0, 0, 90, 90), elements=(label, field))
    surprise = find_surprise(click_on((50, 150)), look(elements=()), after)
    assert ("came up" in surprise) is not labels


@pytest.mark.parametrize("fields", [0, 6])
def test_text_uncovered_by_a_closed_dialog_is_not_a_surprise(fields: int) -> None:
    """Browsers do not list a page behind a question; then it holds what it held before."""
    message = element(
        "static", "That is not a valid address", BoundingBox(20, 20, 200, 40, "screen")
    )
    page = [message]
    for row in range(fields):
        at = BoundingBox(20, 50 + 20 * row, 120, 65 + 20 * row, "screen")
        page += [element("static", f"Row {row}", at, f"Row {row}")]
        page += [replace(page[-1], role="entry", name="", text="", label=f"Row {row}")]
    question = element("dialog", "Discard the draft?", BoundingBox(50, 50, 300, 200, "screen"))
    observations = look(elements=(question,)), look((0, 0, 90, 90), elements=tuple(page))
    assert ("came up" in find_surprise(click_on((50, 150)), *observations)) is (fields == 0)
