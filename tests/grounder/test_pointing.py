"""A planner that writes coordinates: they are mapped, checked, and said to be elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

import hisa
from hisa.actions import parse, points
from hisa.errors import NotFound
from hisa.events import Event, Grounded, GroundingFailed
from hisa.grounder.elements_reader import ElementsReader
from hisa.grounder.pointing_grounder import PointingGrounder
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.protocols import GroundedCall, ModelRequest, ToolCall
from hisa.screen.geometry import Size
from hisa.screen.observation import Observation
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import FunctionModel, tool_call

from .scenes import element, scene

SAVE, CANCEL = (1200, 960, 120, 60), (900, 960, 120, 60)


def look() -> Observation:
    """A screen of 1920x1080 seen as 1280x720: Save is at (840, 660), Cancel at (640, 660)."""
    return scene(
        element("push button", "Save", SAVE),
        element("push button", "Cancel", CANCEL),
        screen=Size(1920, 1080),
    )


async def resolve_source(
    source: str, description: str = "", convention: str = ""
) -> tuple[GroundedCall, list[Event]]:
    events: list[Event] = []
    grounder = PointingGrounder(
        convention,
        ElementsGrounder(emit=events.append),
        ElementsGrounder(emit=lambda _: None),
        ElementsReader(FakeEnvironment(), emit=events.append),
        emit=events.append,
    )
    call = ToolCall("", "gui_action", source, description, actions=parse(source))
    try:
        return await grounder.resolve(call, look()), events
    except NotFound as error:
        error.add_note(repr(events))
        raise


@pytest.mark.parametrize(
    ("convention", "source"),
    [
        ("", "pyautogui.click(840, 660)"),
        ("thousand", "pyautogui.click(656.25, 916.6667)"),
        ("unit", "pyautogui.click(0.65625, 0.9166667)"),
        ("pixels", "pyautogui.click(845.25, 667.3333)"),  # of the 1288x728 that the server sees
    ],
)
async def test_coordinates_become_pixels_of_the_picture(convention: str, source: str) -> None:
    grounded, events = await resolve_source(source, "the Save button", convention)
    assert grounded.input == "pyautogui.click(840, 660)"
    (point,) = points(grounded.actions)
    assert (round(point.x, 2), round(point.y, 2), point.space) == (840, 660, "image")
    assert grounded.places[0].source == "planner"
    assert grounded.call.input == source  # as it was planned and is logged
    (event,) = events
    assert isinstance(event, Grounded)
    assert event.input == grounded.input


async def test_point_beside_its_description_is_refused_with_both_places() -> None:
    with pytest.raises(NotFound) as caught:
        await resolve_source("pyautogui.click(640, 660)", "the Save button")
    assert "you pointed at (640, 660)" in str(caught.value)
    assert 'push button "Save" at (840, 660)' in str(caught.value)
    assert "leave the description empty" in str(caught.value)
    assert caught.value.candidates == (
        'push button "Save" at (840, 660)',
        "the point (640, 660)",
    )
    assert GroundingFailed.__name__ in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("source", "description"),
    [
        ("pyautogui.click(640, 660)", ""),  # no description: the planner means it
        ("pyautogui.click(640, 660)", "the blue bird on the picture"),  # nobody knows better
        ("pyautogui.click(815, 650)", "the Save button"),  # anywhere on it
        ("pyautogui.click(640, 660); pyautogui.click(840, 660)", "the Save button"),
    ],
)
async def test_a_point_that_nothing_speaks_against_is_taken(source: str, description: str) -> None:
    grounded, _ = await resolve_source(source, description)
    assert points(grounded.actions)[0].to_pixels() == points(parse(source))[0].to_pixels()


@pytest.mark.parametrize(
    ("convention", "source"),
    [
        ("", "pyautogui.click(1280, 10)"),
        ("", "pyautogui.dragTo(10, -1)"),
        ("thousand", "pyautogui.click(1001, 10)"),
        ("unit", "pyautogui.click(840, 660)"),
    ],
)
async def test_a_point_outside_the_screenshot_is_refused(convention: str, source: str) -> None:
    with pytest.raises(NotFound, match="outside the screenshot of 1280x720"):
        await resolve_source(source, "", convention)


def test_run_with_a_pointing_planner_succeeds(tmp_path: Path) -> None:
    """In thousandths, as its profile says; a wrong point is refused, told, and mended."""
    name = "the Name field"
    script = iter(
        [
            tool_call("gui_action", "pyautogui.click(300, 327)", name),  # on the Save button
            tool_call("gui_action", "pyautogui.click(312, 189)\npyautogui.write('Ada')", name),
            tool_call("gui_action", "pyautogui.click(293, 329)", "the Save button"),
            tool_call("termination", "success"),
        ]
    )
    requests: list[ModelRequest] = []

    def answer(request: ModelRequest) -> str:
        if request.role != "planner":
            return "Succeeded. It shows Ada."
        requests.append(request)
        return next(script)

    tree = {
        "patterns": {"enabled": False},
        "grounder": {"kind": "planner"},
        "run": {"folder": tmp_path},
    }
    form = FakeEnvironment()
    result = hisa.run_sync(
        "Put Ada into the form and save it.",
        settings=hisa.Settings.model_validate(tree),
        model=FunctionModel(answer, name="qwen3-vl-8b-instruct"),
        environment=form,
    )
    assert (result.status, form.text) == ("succeeded", "Ada")
    assert "You find places yourself" in requests[0].text
    assert "from 0 to 1000 of the screenshot's width and height" in requests[0].text
    assert "Plain numbers for a place are pixels" not in requests[0].text
    assert "you pointed at (384, 235)" in requests[1].text
