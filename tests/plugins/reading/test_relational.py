"""A description as one relation: containers, neighbours, orders, rows and columns, days."""

from __future__ import annotations

import pytest

from hisa.plugins.matching.description import read_description
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.plugins.matching.scene import Scene
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
