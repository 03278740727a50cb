"""Grounding by accessibility and by read text: a recorded dialog, and scenes built by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from hisa.errors import NotFound
from hisa.events import Event, GroundingFailed
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.protocols import Place
from hisa.screen import ocr
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation, Window
from tests.grounder.scenes import behind_a_dialog, call, element, load_recorded, scene

needs_tesseract = pytest.mark.skipif(
    not ocr.available(), reason="needs the tesseract program: sudo apt-get install tesseract-ocr"
)


USUAL = ElementsGrounder(emit=lambda _: None)
LENIENT = ElementsGrounder(emit=lambda _: None, min_score=0.5)
"""Answers what is understood, where the usual one would rather be asked again."""


async def find(description: str, observation: Observation, by: ElementsGrounder = USUAL) -> Place:
    (place,) = (await by.resolve(call(description), observation)).places
    return place


async def refusal(description: str, observation: Observation) -> NotFound:
    with pytest.raises(NotFound) as refused:
        await find(description, observation)
    return refused.value


def at(place: Place) -> tuple[int, int]:
    return place.point.to_pixels()


# ---------------------------------------------------------------- a recorded dialog

IN_SAVE_AS = [
    ("the Save button", (1097, 675, 86, 34)),
    ("Save", (1097, 675, 86, 34)),
    ('push button "Save"', (1097, 675, 86, 34)),
    ("the blue 'Save' button at the bottom right of the 'Save As' dialog", (1097, 675, 86, 34)),
    ("the Cancel button in the Save As dialog", (1007, 675, 86, 34)),
    ("the button to the left of the Save button", (1007, 675, 86, 34)),
    ("the field labelled Name", (158, 30, 1021, 34)),
    ("Name field", (158, 30, 1021, 34)),
    ('text labelled "Name:"', (158, 30, 1021, 34)),
    ("the text field to the right of the label 'Name:'", (158, 30, 1021, 34)),
    ("the Encoding drop-down", (168, 629, 181, 34)),
    ("Text Files", (1082, 629, 101, 34)),
    ("the drop-down above the Save button", (1082, 629, 101, 34)),
    ("the Create Folder button", (1147, 80, 36, 34)),
    ("the file apples.txt", (280, 147, 698, 21)),
    ("pears.txt", (280, 170, 698, 21)),
    ("the second row", (250, 170, 939, 21)),
    ("the first row of the list", (250, 147, 939, 21)),
    ("Desktop", (93, 116, 156, 36)),
    ("the column header Size", (976, 121, 72, 25)),
]


@pytest.mark.parametrize(("description", "box"), IN_SAVE_AS, ids=[d for d, _ in IN_SAVE_AS])
async def test_a_real_dialog(description: str, box: tuple[int, int, int, int]) -> None:
    left, top, width, height = box
    place = await find(description, load_recorded("save_as"))
    assert place.source == "accessibility"
    assert place.score is not None
    assert 0.6 <= place.score <= 1
    assert BoundingBox(left, top, left + width, top + height).contains(place.point), place


@pytest.mark.parametrize(
    "description",
    [
        "OK in the dialog 'Question'",
        "the Delete button",
        "the Wrap text checkbox",
        "the Open button",
        "the fifth row",
        "cell B2",
        "the button below the Save button",
        "asdf qwer",
        "?",
    ],
)
async def test_a_real_dialog_has_no_such_thing(description: str) -> None:
    assert description in str(await refusal(description, load_recorded("save_as")))


async def test_every_named_element_of_the_active_window_is_found_by_role_and_name() -> None:
    observation = load_recorded("save_as")
    named = [e for e in observation.elements or () if e.name.strip() and e.window == "Save As"]
    boxes = {e: observation.convert_box(e.box, "image") for e in named if e.box.area}
    names = [(e.role, e.name) for e in boxes]
    unique = [e for e in boxes if names.count((e.role, e.name)) == 1 and e.role != "dialog"]
    assert len(unique) > 15
    for item in unique:
        place = await find(f'{item.role} "{item.name}"', observation)
        assert boxes[item].contains(place.point), item


# ---------------------------------------------------------------- scenes built by hand


async def test_the_active_window_goes_first() -> None:
    windows = (Window("1", "Letter", "a"), Window("2", "Notes", "b", active=True))
    observation = scene(
        element("push button", "OK", (100, 100, 60, 30), window="Letter"),
        element("push button", "OK", (600, 100, 60, 30), window="Notes"),
        windows=windows,
    )
    assert at(await find("the OK button", observation)) == (630, 115)
    assert at(await find("OK in the 'Letter' window", observation)) == (130, 115)


async def test_element_behind_a_modal_dialog_is_not_clicked() -> None:
    refused = await refusal("the Print button", behind_a_dialog())
    assert "what fits is behind a dialog, menu or window in front" in str(refused)
    assert "nothing" not in str(refused)  # "Print" is written there too
    behind = ", behind a dialog, menu or window in front"
    assert refused.candidates[0] == f"push button \"Print\" at (130, 115) in 'Letter'{behind}"
    other = await refusal("the Delete button", behind_a_dialog())
    assert "nothing fits; nothing written on the picture fits" in str(other)


def build_covered(title: str) -> Observation:
    """A button "Print" beside a window that is no dialog, and "Send" beneath it."""
    return scene(
        element("push button", "Print", (100, 100, 60, 30), app="a", window="Letter"),
        element("push button", "Send", (540, 100, 60, 30), app="a", window="Letter"),
        element("push button", "Find", (600, 200, 60, 30), app="a", window=title),
        windows=(
            Window("1", "Letter", "a", box=BoundingBox(0, 0, 1280, 720, "screen")),
            Window("2", "Search", "a", BoundingBox(500, 0, 800, 300, "screen"), active=True),
        ),
    )


async def test_control_covered_by_the_active_window_is_refused() -> None:
    assert at(await find("the Print button", build_covered("Search"))) == (130, 115)
    refused = await refusal("the Send button", build_covered("Search"))
    assert "what fits is behind a dialog, menu or window in front" in str(refused)


async def test_equal_elements_are_ambiguous_and_an_ordinal_decides() -> None:
    observation = scene(
        element("push button", "Remove", (100, 100, 60, 30)),
        element("push button", "Remove", (100, 200, 60, 30)),
        element("push button", "Remove", (100, 300, 60, 30)),
    )
    refused = await refusal("the Remove button", observation)
    assert "3 elements fit equally well" in str(refused)
    assert refused.candidates[0] == 'push button "Remove" at (130, 115)'
    assert at(await find("the second Remove button", observation)) == (130, 215)
    assert at(await find("the last Remove button", observation)) == (130, 315)
    lowest = await find("the Remove button at the bottom", observation, LENIENT)
    assert at(lowest) == (130, 315)
    assert "only 3 such are known" in str(await refusal("the fourth Remove button", observation))


async def test_hidden_elements_are_not_there() -> None:
    shown = frozenset({"showing", "enabled"})
    observation = scene(
        element("menu item", "Paste", (10, 10, 50, 20), states=frozenset({"enabled"})),
        element("push button", "Far", (5000, 10, 50, 20), states=shown),
        element("push button", "Here", (10, 100, 50, 20), states=shown),
    )
    await refusal("the Paste menu item", observation)
    await refusal("the Far button", observation)
    assert at(await find("the Here button", observation)) == (35, 110)


async def test_kinds_tell_namesakes_apart() -> None:
    observation = scene(
        element("menu", "Search", (10, 10, 60, 20)),
        element("label", "Search:", (10, 100, 60, 20)),
        element("text", "", (80, 100, 200, 20), label="Search:"),
        element("push button", "Search", (300, 100, 60, 20)),
    )
    assert at(await find("the Search menu", observation)) == (40, 20)
    assert at(await find("the Search button", observation)) == (330, 110)
    assert at(await find("the field labelled 'Search'", observation)) == (180, 110)


async def test_a_failure_is_recorded_with_the_closest() -> None:
    events: list[Event] = []
    grounder = ElementsGrounder(emit=events.append)
    observation = scene(element("menu item", "Save As...", (0, 0, 90, 20)))
    with pytest.raises(NotFound):
        await grounder.resolve(call("the Save button"), observation)
    (event,) = events
    assert isinstance(event, GroundingFailed)
    assert event.candidates == ('menu item "Save As..." at (45, 10)',)


async def test_hostile_names_are_only_text() -> None:
    odd: tuple[Element, ...] = tuple(
        element("push button", name, (10, 30 * index, 50, 20))
        for index, name in enumerate(["\x00", "(((((", "[a-", "a" * 100_000, "{{x}}", "\ud800"])
    )
    observation = scene(*odd, element("push button", "OK", (600, 600, 50, 20)))
    assert at(await find("the OK button", observation)) == (625, 610)


# ---------------------------------------------------------------- read off the picture


@needs_tesseract
@pytest.mark.parametrize(
    ("description", "box"),
    [
        ("the Cancel button", (1007, 675, 86, 34)),
        ("the Save button", (1097, 675, 86, 34)),
        ("the file apples.txt", (280, 147, 698, 21)),
        ("Text Files", (1082, 629, 101, 34)),
        ("Other Locations", (93, 163, 156, 36)),
        ("the Cancel button in the 'Save As' dialog", (1007, 675, 86, 34)),
    ],
)
async def test_without_accessibility_names_are_read(
    description: str, box: tuple[int, int, int, int]
) -> None:
    left, top, width, height = box
    place = await find(description, load_recorded("save_as", elements=False), LENIENT)
    assert place.source == "ocr"
    assert BoundingBox(left, top, left + width, top + height).contains(place.point), place


@needs_tesseract
@pytest.mark.parametrize(
    ("description", "why"),
    [
        ("the field labelled Name", "nothing written on the picture fits"),
        ("the Delete button", "nothing written on the picture fits"),
        ("OK in the dialog 'Question'", "there is no window 'Question'"),
        ("the second row", "nothing written"),
    ],
)
async def test_description_without_readable_text_is_refused(description: str, why: str) -> None:
    assert why in str(await refusal(description, load_recorded("save_as", elements=False)))


@needs_tesseract
async def test_text_unknown_to_accessibility_is_read_by_ocr() -> None:
    picture = Image.new("RGB", (1280, 720), "white")
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(18)
    draw.text((300, 300), "Start game", fill="black", font=font)
    draw.text((900, 100), "Help", fill="black", font=font)
    draw.text((900, 600), "Help", fill="black", font=font)
    observation = scene(element("canvas", "", (0, 0, 1280, 720)), picture=picture)
    place = await find("the 'Start game' button", observation)
    assert place.source == "ocr"
    assert BoundingBox(300, 295, 400, 330).contains(place.point)
    message = str(await refusal("Help", observation))
    assert "written in 2 places" in message
    assert "nothing written" not in message
    assert (await find("Help at the bottom", observation, LENIENT)).point.y > 590
    assert (await find("the second Help", observation, LENIENT)).point.y > 590


async def test_without_a_reader_of_text_the_reason_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "rapidocr", None)
    picture = Image.new("RGB", (1280, 720), "navy")
    refused = await refusal("the Save button", scene(picture=picture))
    assert "no reader of text is installed" in str(refused)
