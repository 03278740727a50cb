"""A control that bears just the name asked for is found without weighing anything."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hisa.grounder.plain_names import find_plainly_named
from hisa.plugins.matching.description import read_description
from hisa.plugins.matching.elements import ElementsGrounder, choose
from hisa.screen.observation import Element, Observation, Window

from .scenes import SCREENS, call, element, load_saved, scene

ON = frozenset({"showing", "enabled"})
WINDOW = Window("1", "Letter", "editor", active=True)
FILE = element("menu", "File", (0, 0, 40, 20), states=ON, window="Letter", parent=0)
EDIT = element("menu", "Edit", (40, 0, 40, 20), states=ON, window="Letter", parent=0)
BAR = element("menu bar", "", (0, 0, 1280, 20), states=ON, window="Letter", parent=-1)
PAGE = element("text", "", (0, 20, 1280, 700), states=ON, window="Letter", parent=-1)
LOOK = scene(BAR, FILE, EDIT, PAGE, windows=(WINDOW,))
DESCRIPTION = 'menu "Edit"'


def with_more(*elements: Element) -> Observation:
    return replace(LOOK, elements=(*(LOOK.elements or ()), *elements))


@pytest.mark.parametrize("description", ['menu "Edit"', 'the "Edit" menu', 'the submenu "Edit"'])
def test_a_kind_and_a_name_mean_the_one_control_that_bears_it(description: str) -> None:
    assert find_plainly_named(description, LOOK) is EDIT


@pytest.mark.parametrize(
    "description",
    [
        "the Edit menu",
        'menu "edit"',
        'menu "Edit" in the dialog "Find"',
        'the second menu "Edit"',
        'button "Edit"',
        'arrow "Edit"',
        'the arrow of the menu "Edit"',
        '"Edit"',
        "",
    ],
)
def test_description_other_than_a_plain_name_has_no_direct_match(description: str) -> None:
    assert find_plainly_named(description, LOOK) is None


def _open(
    role: str, name: str, *, at: tuple[int, int, int, int] = (300, 300, 90, 20)
) -> Observation:
    return with_more(element(role, name, at, states=ON, window="Letter", parent=-1))


@pytest.mark.parametrize(
    "observation",
    [
        _open("menu", "Edit"),
        _open("label", "edit this"),
        _open("label", "Edits"),
        _open("menu", "_Edit"),
        _open("menu item", "Undo"),
        _open("dialog", "Find"),
        _open("calendar", ""),
        _open("panel", "", at=(0, 0, 100, 100)),
        replace(LOOK, windows=(replace(WINDOW, title="Other"),)),
        scene(BAR, FILE, replace(EDIT, states=frozenset({"showing"})), PAGE, windows=(WINDOW,)),
        scene(BAR, FILE, replace(EDIT, states=ON | {"covered"}), PAGE, windows=(WINDOW,)),
        scene(BAR, FILE, replace(EDIT, states=frozenset()), PAGE, windows=(WINDOW,)),
        replace(LOOK, elements=None),
    ],
    ids=[
        "twice",
        "word",
        "alike",
        "mnemonic",
        "menu",
        "dialog",
        "calendar",
        "cover",
        "behind",
        "disabled",
        "covered",
        "stateless",
        "none",
    ],
)
def test_a_screen_that_leaves_a_question_open_is_weighed(observation: Observation) -> None:
    assert find_plainly_named(DESCRIPTION, observation) is None


WORDS = {
    "push button": "button",
    "toggle button": "toggle button",
    "menu": "menu",
    "page tab": "tab",
}


def test_plain_name_matches_the_full_choice_on_saved_screens() -> None:
    files = sorted(SCREENS.glob("*.json"))
    names = [file.stem for file in files if json.loads(file.read_text("utf-8"))["split"] == "train"]
    answered = 0
    for observation in map(load_saved, names[::5]):
        for thing in observation.elements or ():
            description = f'{WORDS.get(thing.role)} "{thing.name}"'
            plain = find_plainly_named(description, observation) if thing.role in WORDS else None
            if plain is not None:
                chosen = choose(read_description(description), observation, 0.86).chosen
                assert chosen is not None
                assert (chosen.element, chosen.box, chosen.score) == (plain, plain.box, 1.0)
                answered += 1
    assert answered > 5


async def test_plain_name_is_found_with_point_score_source_and_label() -> None:
    grounder = ElementsGrounder(emit=lambda _: None)
    (place,) = (await grounder.resolve(call(DESCRIPTION), LOOK)).places
    assert (place.point.x, place.point.y, place.score) == (60, 10, 1.0)
    assert (place.source, place.label, place.element) == ("accessibility", 'menu "Edit"', EDIT)
