"""A description as one relation: containers, neighbours, orders, rows and columns, days."""

from __future__ import annotations

import pytest

from hisa.plugins.matching.description import read_description
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.plugins.matching.scene import Scene
from hisa.plugins.reading.calendar_days import Day, day_asked
from hisa.plugins.reading.features import Evidence
from hisa.plugins.reading.relational import relational
from hisa.plugins.reading.scene_table import Floats, Table
from hisa.screen.observation import Observation
from tests.grounder.scenes import call, element, scene


def said(description: str, look: Observation) -> dict[str, Floats]:
    return relational(Evidence(read_description(description), Table(Scene(look))))


def best(description: str, look: Observation, feature: str = "whole") -> list[int]:
    """The rows of the elements that satisfy a description best."""
    score = said(description, look)[feature]
    return [row for row, found in enumerate(score) if found > 0 and found >= 0.999 * score.max()]


BARS = scene(
    element("tool bar", "", (0, 40, 400, 40)),
    *(element("push button", name, (10 + 40 * i, 44, 32, 32)) for i, name in enumerate("abcd")),
    element("push button", "Close", (1200, 4, 20, 20)),
    element("push button", "Help", (900, 640, 80, 30)),
    element("push button", "Cancel", (1000, 640, 80, 30)),
    element("push button", "OK", (1100, 640, 80, 30)),
)


@pytest.mark.parametrize(
    ("description", "row"),
    [
        ("the second button in the tool bar", 2),
        ("last button of the toolbar", 4),
        ("rightmost of the four buttons", 4),
        ("the middle one of the three buttons at the bottom", 7),
        ("the first of the three buttons at the bottom right", 6),
    ],
)
def test_what_is_counted_is_counted_in_its_container_or_series(description: str, row: int) -> None:
    assert best(description, BARS) == [row]


MENU = scene(
    element("menu", "File", (0, 20, 40, 20)),
    element("menu", "Data", (40, 20, 40, 20)),
    element("menu", "Help", (80, 20, 40, 20)),
    *(
        element("menu item", name, (40, 40 + 25 * i, 200, 25))
        for i, name in enumerate(("Sort", "Filter", "Validity"))
    ),
    element("menu", "Statistics", (40, 115, 200, 25)),
    element("list item", "last file", (600, 500, 200, 25)),
)


@pytest.mark.parametrize(
    ("description", "row"),
    [
        ("the last entry of the Data menu", 6),
        ("the second entry in the menu 'Data'", 4),
        ("the entry between Sort and Validity", 4),
        ("the menu between File and Help", 1),
    ],
)
def test_a_menu_holds_what_hangs_from_its_title(description: str, row: int) -> None:
    assert best(description, MENU) == [row]


OPTIONS = scene(
    element("label", "Options", (20, 100, 70, 18)),
    element("check box", "Negative in red", (40, 130, 160, 22)),
    element("check box", "Thousands separator", (40, 160, 160, 22)),
    element("label", "Size", (20, 200, 70, 18)),
    element("check box", "Fit to page", (40, 230, 160, 22)),
    element("push button", "OK", (500, 600, 80, 30)),
)


def test_a_heading_holds_what_stands_under_it_up_to_the_next() -> None:
    assert best("the lower of the two check boxes under Options", OPTIONS) == [2]
    assert best("the checkbox under the heading Size", OPTIONS) == [4]


def test_a_word_for_a_kind_may_be_what_a_neighbour_is_called() -> None:
    tabs = scene(
        *(
            element("push button", name, (100 + 90 * i, 10, 80, 20))
            for i, name in enumerate(("PROBLEMS", "OUTPUT", "TERMINAL", "PORTS"))
        )
    )
    assert best("the button between PROBLEMS and TERMINAL", tabs) == [1]


SPINS = scene(
    element("label", "Decimal places:", (20, 100, 120, 30)),
    element("spin button", "", (150, 100, 100, 30), text="2"),
    element("label", "Leading zeroes:", (20, 140, 120, 30)),
    element("spin button", "", (150, 140, 100, 30), text="1"),
    element("check box", "Tea", (20, 180, 16, 16)),
    element("check box", "Milk", (20, 210, 16, 16)),
)


@pytest.mark.parametrize(
    ("description", "row"),
    [
        ("the number field next to 'Leading zeroes:'", 3),
        ("number field right of 'Decimal places:'", 1),
        ("the check box left of 'Milk'", 5),
    ],
)
def test_what_goes_by_the_words_beside_it_is_its_own_neighbour(description: str, row: int) -> None:
    assert best(description, SPINS) == [row]


def test_right_of_something_asks_for_a_neighbour_and_not_for_the_outermost() -> None:
    fields = scene(
        element("label", "Title:", (20, 100, 80, 30)),
        element("text", "", (120, 100, 100, 30)),
        element("text", "", (230, 100, 100, 30)),
    )
    assert best("the field directly right of the label 'Title:'", fields) == [1]


ROWS = scene(
    *(
        element(role, name, (left, 100 + 40 * i, wide, 20))
        for i, who in enumerate(("Ann", "Bob", "Cem"))
        for role, name, left, wide in (
            ("table cell", who, 20, 200),
            ("push button", "Pin", 300, 40),
            ("push button", "Delete", 350, 60),
        )
    ),
    element("push button", "Pin", (900, 600, 40, 20)),
)


@pytest.mark.parametrize(
    ("description", "row"),
    [
        ("the Pin button in the second row", 4),
        ("the Delete button in the last row", 8),
        ("the Pin button in the row of Ann", 1),
    ],
)
def test_a_row_goes_by_its_number_or_a_name_in_it(description: str, row: int) -> None:
    assert best(description, ROWS) == [row]


MATRIX = scene(
    *(
        element("column header", name, (200 + 100 * i, 50, 80, 20))
        for i, name in enumerate(("Bad", "Fair", "Good"))
    ),
    *(
        item
        for j, name in enumerate(("Opening hours", "Quiet"))
        for item in (
            element("table cell", name, (20, 100 + 40 * j, 150, 24)),
            *(element("radio button", "", (233 + 100 * i, 105 + 40 * j, 14, 14)) for i in range(3)),
        )
    ),
)


def test_a_column_and_a_row_that_are_mentioned_cross() -> None:
    assert best("'Fair' for the opening hours", MATRIX, "mention_cross") == [5]
    assert best("'Good' in the row Quiet", MATRIX, "mention_cross") == [10]


def test_a_line_is_counted_among_the_things_on_the_line_of_a_text() -> None:
    address = scene(
        element("label", "City/state/zip:", (20, 100, 120, 30)),
        *(element("text", "", (150 + 110 * i, 100, 100, 30)) for i in range(3)),
        *(element("text", "", (150, 140 + 40 * i, 320, 30)) for i in range(2)),
    )
    lined = best("the middle field of 'City/state/zip:'", address, "order_set_lined")
    assert lined == [2]


def month(left: int, title: str, before: list[int], days: int) -> list[tuple[str, int, int]]:
    numbers = [*before, *range(1, days + 1), *range(1, 36 - len(before) - days)]
    cells = [(str(n), left + 30 * (i % 7), 120 + 30 * (i // 7)) for i, n in enumerate(numbers)]
    return [(title, left + 80, 60), *cells]


def calendars() -> Observation:
    """April 2025 with the last of March and the first of May, and beside it May."""
    told = month(100, "April 2025", [31], 30) + month(400, "May 2025", [28, 29, 30], 31)
    return scene(
        *(
            element("static" if " " in text else "push button", text, (left, top, 24, 24))
            for text, left, top in told
        )
    )


@pytest.mark.parametrize(
    ("description", "left", "top"),
    [
        ("21 May in the open calendar", 400 + 30 * 2, 120 + 30 * 3),
        ("the 30th of April", 100 + 30 * 2, 120 + 30 * 4),
        ("last day of April", 100 + 30 * 2, 120 + 30 * 4),
        ("'1' in the April calendar", 130, 120),
    ],
)
def test_a_day_is_looked_for_in_its_month(description: str, left: int, top: int) -> None:
    look = calendars()
    (row,) = best(description, look, "day")
    box = Table(Scene(look)).box[row]
    assert (box[0], box[1]) == (left, top)


@pytest.mark.parametrize(
    ("words", "day"),
    [
        ("21 may in the open calendar", Day(21, 5)),
        ("last day of may", Day(-1, 5)),
        ("day 17", Day(17, 0)),
        ("the button that may show 20%", None),
        ("row 12", None),
        ("the date 2025-03-04", None),
    ],
)
def test_words_ask_for_a_day_only_where_they_speak_of_days(words: str, day: Day | None) -> None:
    assert day_asked(words) == day


async def test_the_only_drop_down_list_is_clicked() -> None:
    shown = frozenset({"showing", "visible", "enabled", "sensitive", "focusable"})
    look = scene(
        element("combo box", "Country", (100, 60, 140, 24), states=shown),
        element("entry", "Name", (100, 100, 300, 24), states=shown),
        element("push button", "Menu", (600, 60, 140, 24), states=shown | {"has-popup"}),
    )
    grounder = ElementsGrounder(emit=lambda _: None, read=lambda *_: (), shapes=False)
    (place,) = (await grounder.resolve(call("the only drop-down list"), look)).places
    assert place.label == 'combo box "Country"'
