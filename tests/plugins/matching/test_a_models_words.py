"""What models really wrote, on screens with the elements that they had before them."""

from __future__ import annotations

import pytest

from hisa.errors import NotFound
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.protocols import Place
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation
from tests.grounder.scenes import call, element, scene

Box = tuple[int, int, int, int]

LOGIN = scene(
    element("static", "Enter the", (8, 8, 80, 20)),
    element("static", "username", (90, 8, 80, 20)),
    element("static", "and the password, then press Login.", (174, 8, 300, 20)),
    element("static", "Username", (14, 120, 90, 20)),
    element("entry", "", (14, 142, 256, 40), states=frozenset({"editable"})),
    element("static", "Password", (14, 220, 90, 20)),
    element("password text", "", (14, 242, 256, 40), states=frozenset({"editable"})),
    element("push button", "Login", (14, 300, 180, 60)),
)
BOXES = scene(
    element("static", "Select 6hvqq and click Submit.", (8, 8, 300, 20)),
    element("check box", "6hvqq", (12, 100, 120, 30)),
    element("check box", "ky7", (12, 130, 120, 30)),
    element("push button", "Submit", (12, 200, 100, 40)),
)
INBOX = scene(
    element("static", "Primary", (14, 60, 90, 24)),
    *(
        part
        for row, name in enumerate(["Stephenie", "Othilie", "Sarette"])
        for part in (
            element("section", "", (4, 100 + 80 * row, 280, 80)),
            element("static", name, (14, 104 + 80 * row, 90, 24)),
            element("static", "Feugiat in.", (14, 130 + 80 * row, 120, 24)),
        )
    ),
)
FIELDS = scene(
    element("label", "Available Fields:", (100, 100, 120, 20)),
    element("list", "", (100, 125, 200, 200)),
    *(
        element("list item", name, (100, 125 + 20 * row, 200, 20))
        for row, name in enumerate(["Invoice No.", "Customer", "Invoice Date"])
    ),
)
CALC = scene(
    element("tool bar", "Formula Bar", (0, 120, 1280, 40)),
    element("combo box", "Name Box", (4, 126, 160, 34), text="H10"),
    element("push button", "Function Wizard", (174, 130, 25, 27)),
    element("text", "Input line", (260, 132, 900, 22)),
    element("table column header", "A", (41, 166, 160, 18)),
    element("push button", "", (126, 686, 20, 20)),
    element("page tab", "Sheet1", (150, 686, 60, 20)),
    element("page tab", "Sheet2", (210, 686, 60, 20)),
)
SETTINGS = scene(
    element("static", "Theme", (291, 280, 60, 16)),
    element("combo box", "", (860, 270, 153, 30), text="Light"),
    element("static", "Font size", (291, 330, 76, 16)),
    element("combo box", "", (860, 320, 153, 30), text="Medium (Recommended)"),
    element("static", "Customise fonts", (291, 380, 100, 16)),
)
OPTIONS = scene(
    element("check box", "Save AutoRecovery information every:", (300, 200, 280, 34)),
    element("spin button", "10", (590, 200, 120, 34)),
    element("label", "minutes", (720, 200, 60, 34)),
)
CALENDAR = scene(
    element("entry", "", (20, 60, 200, 30)),
    element("section", "December 2016", (40, 110, 150, 24)),
    element("link", "Prev", (20, 110, 24, 24)),
    element("link", "Next", (196, 110, 24, 24)),
    *(
        element("link", str(day + 1), (20 + 30 * (day % 7), 160 + 24 * (day // 7), 28, 22))
        for day in range(31)
    ),
)
ROWS: list[tuple[str, Observation, Box]] = [
    ("Username text field", LOGIN, (14, 142, 256, 40)),
    ("text field below the label 'Username'", LOGIN, (14, 142, 256, 40)),
    ("checkbox to the left of '6hvqq'", BOXES, (12, 100, 120, 30)),
    ("email from 'Othilie' in the list", INBOX, (4, 180, 280, 80)),
    ('list entry "Invoice No." under Available Fields', FIELDS, (100, 125, 200, 20)),
    ("the Name Box at the left of the formula bar, showing H10", CALC, (4, 126, 160, 34)),
    ("the plus button (add sheet), left of the tab Sheet1", CALC, (126, 686, 20, 20)),
    (
        "'Font size' drop-down list showing 'Medium (Recommended)'",
        SETTINGS,
        (860, 320, 153, 30),
    ),
    # The number alone: minus and plus take the right end of the box.
    ("number field showing '10' right of Save AutoRecovery", OPTIONS, (590, 200, 52, 34)),
    (
        "previous month arrow button at the left of the calendar header",
        CALENDAR,
        (20, 110, 24, 24),
    ),
]


async def find(description: str, observation: Observation) -> Place:
    grounder = ElementsGrounder(emit=lambda _: None)
    (place,) = (await grounder.resolve(call(description), observation)).places
    return place


@pytest.mark.parametrize(("description", "screen", "box"), ROWS, ids=[row[0] for row in ROWS])
async def test_model_description_resolves_to_its_element(
    description: str, screen: Observation, box: Box
) -> None:
    left, top, width, height = box
    place = await find(description, screen)
    assert BoundingBox(left, top, left + width, top + height).contains(place.point), place


@pytest.mark.parametrize(
    ("description", "screen"),
    [
        ("text field below the label 'E-mail'", LOGIN),
        ("checkbox to the left of 'zz9'", BOXES),
        ("email from 'Walter' in the list", INBOX),
        ("the tab 'Sheet3' at the bottom", CALC),
        ("the 'Cancel' button next to Login", LOGIN),
        ("day '32' in the December 2016 calendar", CALENDAR),
    ],
)
async def test_description_of_a_missing_element_is_refused_with_candidates(
    description: str, screen: Observation
) -> None:
    with pytest.raises(NotFound) as refused:
        await find(description, screen)
    assert refused.value.candidates


@pytest.mark.parametrize(
    ("description", "button"),
    [
        ("the Up arrow of the Quantity field", (190, 100, 10, 15)),
        ("the small down arrow at the right end of the 'Quantity:' spin box", (190, 115, 10, 15)),
        ("the number field labelled 'Quantity:' (showing 3)", (100, 100, 60, 30)),
    ],
)
async def test_parts_of_a_spin_button_are_distinguished(description: str, button: Box) -> None:
    parts: tuple[Element, ...] = (
        element("document web", "Order", (0, 0, 1280, 720)),
        element("static", "Quantity:", (20, 105, 70, 20)),
        element("spin button", "", (100, 100, 100, 30), text="3"),
        element("static", "Price:", (20, 155, 70, 20)),
        element("spin button", "", (100, 150, 100, 30), text="9"),
    )
    left, top, width, height = button
    place = await find(description, scene(*parts))
    assert BoundingBox(left - 20, top, left + width, top + height).contains(place.point), place


async def test_the_only_one_in_a_state_and_the_one_on_a_line() -> None:
    names = ["Aoife", "Bram", "Chidi"]
    screen = scene(
        *(
            part
            for row, name in enumerate(names)
            for part in (
                element("table cell", name, (20, 100 + 40 * row, 200, 40)),
                element(
                    "check box",
                    "",
                    (240, 112 + 40 * row, 16, 16),
                    states=frozenset({"checked"} if name == "Bram" else ()),
                ),
                element("push button", "Message", (300, 106 + 40 * row, 80, 28)),
            )
        )
    )
    assert (await find("the only checkbox that is ticked", screen)).point.y == 160
    assert (await find("'Message' button in the row of Chidi", screen)).point.y == 200
    assert (await find("Aoife's Message button", screen)).point.y == 120
    with pytest.raises(NotFound, match="3 elements fit equally well"):
        await find("the Message button", screen)
