"""What things do and show, and what they are called for it."""

from __future__ import annotations

import pytest

from hisa.plugins.matching.description import read_description
from hisa.plugins.matching.scene import Scene
from hisa.plugins.reading.ranker import build_columns
from hisa.plugins.reading.scene_table import Floats, Table
from hisa.screen.observation import Observation
from tests.grounder.scenes import element, scene

BAR = scene(
    *(
        element("push button", name, (20 + 40 * at, 20, 32, 32))
        for at, name in enumerate(
            ["Save", "Extract", "Zoom Out", "Zoom In", "Previous Page", "Next Page", "Rename"]
        )
    ),
    element("push button", "", (340, 20, 32, 32), description="<p>Erase objects</p>"),
    element("static", "A page of the archive's files", (20, 80, 300, 20)),
)


def build_features(description: str, observation: Observation) -> dict[str, Floats]:
    return build_columns(read_description(description), Table(Scene(observation)))


@pytest.mark.parametrize(
    ("description", "name"),
    [
        ("unpack the archive's files", "Extract"),
        ("make the page smaller", "Zoom Out"),
        ("enlarge the page", "Zoom In"),
        ("go to the page before", "Previous Page"),
        ("turn to the next page", "Next Page"),
        ("entry to give the letter another name", "Rename"),
        ("blue floppy disk with an arrow", "Save"),
    ],
)
def test_purpose_words_favour_the_thing_with_the_name(description: str, name: str) -> None:
    fits = build_features(description, BAR)["purpose"]
    things = Scene(BAR).things
    assert [t.element.name for t, fit in zip(things, fits, strict=True) if fit == fits.max()] == [
        name
    ]


def test_words_of_a_tool_tip_with_markup_are_read() -> None:
    fits = build_features("rub out parts of objects", BAR)["purpose"]
    assert fits.argmax() == 7
    assert Scene(BAR).things[7].element.description == "Erase objects"
