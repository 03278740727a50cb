"""Every one of several equal things names its row: in lists, and where one is asked about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hisa.errors import NotFound
from hisa.grounder.marks import Marks
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.plugins.small.brief_marks import BriefMarks
from hisa.protocols import Task
from hisa.screen.observation import Element, Observation

from .scenes import call, element, scene

SHOWN = frozenset({"showing", "visible", "enabled", "sensitive"})
TASK = Task("t", "Do it.")


def part(role: str, name: str, left: int, top: int, parent: int | None) -> Element:
    box = (left, top, 110 if role != "table row" else 400, 24)
    states = SHOWN | {"focusable"} if role == "push button" else SHOWN
    return replace(element(role, name, box, states=states), parent=parent)


def a_table(*rows: tuple[str, ...], button: str = "Delete") -> Observation:
    """Rows of texts, each with the same button at its end."""
    parts = [replace(element("table", "", (0, 0, 500, 400), states=SHOWN), parent=-1)]
    for number, texts in enumerate(rows):
        row = len(parts)
        parts.append(part("table row", "", 20, 40 + 30 * number, 0))
        for column, text in enumerate(texts):
            parts.append(part("table cell", text, 20 + 120 * column, 40 + 30 * number, row))
        parts.append(part("push button", button, 30 + 120 * len(texts), 40 + 30 * number, row))
    return scene(*parts)


def find_entries(observation: Observation, words: str) -> list[str]:
    lines = Marks().build_list(TASK, observation).splitlines()
    return [line.split(" ", 1)[1] for line in lines if words in line]


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ((("Draft 3",), ("Draft 4",), ("Draft 6",)), ("Draft 3", "Draft 4", "Draft 6")),
        ((("Tea", "€ 4.20"), ("Tea", "€ 7.90")), ("€ 4.20", "€ 7.90")),
        ((("Invoice", "2024-11-03"), ("Invoice", "2024-11-30")), ("2024-11-03", "2024-11-30")),
        ((("Open", "10482"), ("Paid", "10482")), ("Open", "Paid")),
    ],
)
def test_equal_buttons_are_named_by_their_rows(
    rows: tuple[tuple[str, ...], ...], names: tuple[str, ...]
) -> None:
    lines = find_entries(a_table(*rows), "button")
    assert len(set(lines)) == len(names)
    assert all(name in line for name, line in zip(names, lines, strict=True))


def test_a_card_goes_by_its_heading() -> None:
    parts = [replace(element("document web", "Shop", (0, 0, 900, 600), states=SHOWN), parent=-1)]
    for number, name in enumerate(("Tea, 100 g", "Tea, 200 g")):
        card = len(parts)
        box = (20 + 200 * number, 100, 180, 200)
        parts.append(replace(element("section", "", box, states=SHOWN), parent=0))
        parts.append(part("heading", name, 30 + 200 * number, 110, card))
        parts.append(part("push button", "Add", 30 + 200 * number, 260, card))
    assert find_entries(scene(*parts), "button") == [
        'button "Add" of "Tea, 100 g"',
        'button "Add" of "Tea, 200 g"',
    ]


def test_row_is_named_by_its_line_without_a_tree() -> None:
    flat = a_table(("Draft 3",), ("Draft 6",)).elements or ()
    observation = scene(
        *(replace(e, parent=None) for e in flat if e.role in ("push button", "table cell"))
    )
    assert find_entries(observation, "button") == [
        'button "Delete" of "Draft 3"',
        'button "Delete" of "Draft 6"',
    ]


def test_the_list_for_small_models_names_rows_by_figures_too() -> None:
    marks, _ = BriefMarks().build_brief(TASK, a_table(("Draft 3",), ("Draft 6",)), 400)
    rows = [mark.line for mark in marks if "button" in mark.line]
    assert len(rows) == len(set(rows)) == 2


async def test_equal_candidates_are_named_with_their_rows() -> None:
    grounder = ElementsGrounder(emit=lambda _: None, read=lambda *_: (), shapes=False)
    with pytest.raises(NotFound) as refused:
        await grounder.resolve(call("the Delete button"), a_table(("Draft 3",), ("Draft 6",)))
    assert "Draft 3" in refused.value.candidates[0]
    assert "Draft 6" in refused.value.candidates[1]
