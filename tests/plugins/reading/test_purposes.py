"""What things do and show, and what they are called for it."""

from __future__ import annotations

import pytest

from hisa.plugins.matching.description import read_description
from hisa.plugins.matching.elements import names_a_part
from hisa.plugins.matching.scene import Scene
from hisa.plugins.reading.purposes import acting_families, purposes, serves
from hisa.plugins.reading.ranker import columns
from hisa.plugins.reading.scene_table import Floats, Table
from hisa.screen.observation import Observation, Window
from hisa.text.words import tokens
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


def told(description: str, observation: Observation) -> dict[str, Floats]:
    return columns(read_description(description), Table(Scene(observation)))


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
def test_what_is_done_or_shown_leads_to_the_name_for_it(description: str, name: str) -> None:
    found = told(description, BAR)["purpose"]
    things = Scene(BAR).things
    assert [t.element.name for t, fit in zip(things, found, strict=True) if fit == found.max()] == [
        name
    ]


def test_a_tool_tip_with_markup_tells_its_words() -> None:
    found = told("rub out parts of objects", BAR)["purpose"]
    assert found.argmax() == 7
    assert Scene(BAR).things[7].element.description == "Erase objects"


def test_what_is_quoted_says_nothing_of_a_purpose() -> None:
    assert not told("the text 'unpack smaller'", BAR)["purpose"].any()


def test_further_words_of_a_name_count_against_it() -> None:
    names = purposes("unpack the files")
    assert serves(names, tokens("Extract")) == 1
    assert 0.4 < serves(names, tokens("Extract the newest entry")) < 1
    assert serves(names, tokens("Entry")) == serves(names, frozenset()) == 0


@pytest.mark.parametrize(
    ("description", "family", "other"),
    [
        ("turn bluetooth on", "tick", "text"),
        ("choose the font", "choice", "text"),
        ("raise the resolution by one", "part", "field"),
        ("opens the settings", "button", "text"),
        ("button that hides the panel", "button", "holder"),
        ("box to type the address", "field", "button"),
    ],
)
def test_what_is_done_is_done_by_a_kind_of_control(
    description: str, family: str, other: str
) -> None:
    families = acting_families(description)
    assert family in families
    assert other not in families


def test_only_what_stands_in_a_title_bar_is_in_one() -> None:
    frame = element("frame", "", (400, 130, 320, 380)).box
    observation = scene(
        element("push button", "Close", (700, 104, 16, 16)),
        element("push button", "Close", (620, 460, 80, 30)),
        windows=(Window("1", "Display", "display", frame, active=True),),
    )
    found = told("tiny × in the title bar of 'Display'", observation)
    assert found["title_bar"].tolist() == [1, 0]
    assert not told("the Close button", observation)["title_bar"].any()


@pytest.mark.parametrize(
    ("description", "is_part"),
    [
        ("raise the resolution by one", True),
        ("lower the alternative limit", True),
        ("wait one second longer before the picture is taken", True),
        ("the lower of the two fields", False),
        ("one of the tabs", False),
    ],
)
def test_what_is_raised_or_lowered_is_done_by_an_arrow(description: str, is_part: bool) -> None:
    assert names_a_part(description) == is_part
