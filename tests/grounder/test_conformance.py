"""What every grounder must do, whichever way it finds places."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from hisa.actions import Drag, parse, points, slots
from hisa.errors import NotFound
from hisa.events import Event, Grounded, GroundingFailed, GroundingTried
from hisa.grounder.formats import GTA1Format, open_format
from hisa.grounder.matchers import FinderParts
from hisa.grounder.vision import Seer, VisionGrounder
from hisa.models.profiles import find
from hisa.plugins.matching.cascade import CascadeGrounder
from hisa.plugins.matching.checked_choice import ChoiceGrounder
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.protocols import Grounder, ModelRequest, ToolCall
from hisa.screen.geometry import BoundingBox, Point, Size
from hisa.screen.observation import Observation
from hisa.testing.scripted import FunctionModel

from .scenes import call, element, scene

SAVE, CANCEL = (1200, 960, 120, 60), (900, 960, 120, 60)
SCREEN = Size(1920, 1080)


def look() -> Observation:
    """A screen of 1920x1080 seen as 1280x720."""
    return scene(
        element("push button", "Save", SAVE),
        element("push button", "Cancel", CANCEL),
        screen=SCREEN,
    )


def seeing_model(request: ModelRequest) -> str:
    """A model that knows this screen; it stands in the picture it was sent as models see it."""
    width, height = 1280, 720
    known = {"the Save button": SAVE, "the Cancel button": CANCEL}
    for description, (left, top, wide, high) in known.items():
        if description in request.text:
            x, y = (left + wide / 2) / SCREEN.width, (top + high / 2) / SCREEN.height
            return f"({x * width:.0f},{y * height:.0f})"
    return "I do not see it."


@dataclass
class Setup:
    grounder: Grounder
    events: list[Event]

    @property
    def outcome(self) -> list[Event]:
        """The events without the steps on the way."""
        return [event for event in self.events if not isinstance(event, GroundingTried)]


Maker = Callable[[], Setup]


def elements_grounder() -> Setup:
    events: list[Event] = []
    return Setup(ElementsGrounder(emit=events.append), events)


def vision_grounder() -> Setup:
    events: list[Event] = []
    model = FunctionModel(seeing_model)
    return Setup(VisionGrounder(model, GTA1Format(), emit=events.append), events)


def coding_model(request: ModelRequest) -> str:
    """The same model, of a family that answers in code."""
    point = seeing_model(request)
    return f"```python\npyautogui.click{point}\n```" if point.startswith("(") else point


def coding_grounder() -> Setup:
    events: list[Event] = []
    form = open_format("auto", trained=find("HelloKKMe/GTA1-32B").grounding)
    return Setup(VisionGrounder(FunctionModel(coding_model), form, emit=events.append), events)


def cascade() -> Setup:
    events: list[Event] = []
    seer = Seer(FunctionModel(seeing_model), GTA1Format())
    return Setup(CascadeGrounder(FinderParts(events.append, seer=seer)), events)


def picking_model(request: ModelRequest) -> str:
    """A model that knows the words of what is asked for."""
    for name in ("Save", "Cancel"):
        if f"the {name} button" in request.text:
            return next(line for line in request.text.split("\n") if f'"{name}"' in line)[0]
    return "0"


def choice() -> Setup:
    events: list[Event] = []
    parts = FinderParts(events.append, picker=FunctionModel(picking_model))
    return Setup(ChoiceGrounder(parts), events)


MAKERS = [elements_grounder, vision_grounder, coding_grounder, cascade, choice]


@pytest.fixture(params=MAKERS, ids=["elements", "vision", "code", "cascade", "choice"])
def setup(request: pytest.FixtureRequest) -> Setup:
    make: Maker = request.param
    return make()


def in_image(box: tuple[int, int, int, int]) -> BoundingBox:
    left, top, width, height = box
    corners = BoundingBox(left, top, left + width, top + height, "screen")
    return look().convert_box(corners, "image")


async def test_a_description_becomes_a_place_in_image_space(setup: Setup) -> None:
    grounded = await setup.grounder.resolve(call("the Save button"), look())
    (place,) = grounded.places
    assert place.point.space == "image"
    assert in_image(SAVE).contains(place.point)
    assert points(grounded.actions) == (place.point,)
    x, y = place.point.to_pixels()
    assert grounded.input == f"pyautogui.click({x}, {y})"
    assert place.source
    assert place.description == "the Save button"


async def test_two_slots_become_two_places(setup: Setup) -> None:
    source = (
        "pyautogui.moveTo(X_COORD, Y_COORD); pyautogui.dragTo(X_COORD_2, Y_COORD_2, duration=1)"
    )
    drag = replace(call("the Save button", source), description_2="the Cancel button")
    grounded = await setup.grounder.resolve(drag, look())
    assert slots(grounded.actions) == ()
    start, end = points(grounded.actions)
    assert in_image(SAVE).contains(start)
    assert in_image(CANCEL).contains(end)
    assert isinstance(grounded.actions[1], Drag)
    assert [place.description for place in grounded.places] == [
        "the Save button",
        "the Cancel button",
    ]


async def test_success_is_recorded(setup: Setup) -> None:
    grounded = await setup.grounder.resolve(call("the Save button"), look())
    (event,) = setup.outcome
    assert isinstance(event, Grounded)
    assert event.input == grounded.input
    (place,) = event.places
    assert (place.x, place.y) == (grounded.places[0].point.x, grounded.places[0].point.y)


@pytest.mark.parametrize(
    "unchanged",
    [
        ToolCall(
            "t", "gui_action", "pyautogui.click(5,  6)", actions=parse("pyautogui.click(5,6)")
        ),
        ToolCall("t", "bash_execution", "ls X_COORD", "the Save button"),
        ToolCall("t", "a_plug_in", {"x": 1}),
    ],
)
async def test_a_call_without_slots_comes_back_as_it_is(setup: Setup, unchanged: ToolCall) -> None:
    grounded = await setup.grounder.resolve(unchanged, look())
    assert grounded.call is unchanged
    assert grounded.input == unchanged.input
    assert grounded.actions == unchanged.actions
    assert grounded.places == ()
    assert setup.events == []


async def test_missing_control_fails_to_resolve(setup: Setup) -> None:
    with pytest.raises(NotFound, match="Frobnicate"):
        await setup.grounder.resolve(call("the Frobnicate button"), look())
    (event,) = setup.outcome
    assert isinstance(event, GroundingFailed)
    assert event.description == "the Frobnicate button"
    assert event.reason


async def test_an_empty_description_is_not_found(setup: Setup) -> None:
    with pytest.raises(NotFound, match="'description' is empty"):
        await setup.grounder.resolve(call("  "), look())


async def test_refusal_names_the_place_of_the_target_that_was_found(setup: Setup) -> None:
    source = "pyautogui.moveTo(X_COORD, Y_COORD); pyautogui.dragTo(X_COORD_2, Y_COORD_2)"
    drag = replace(call("", source), description_2="the Cancel button")
    with pytest.raises(NotFound) as refused:
        await setup.grounder.resolve(drag, look())
    place = re.search(r"'the Cancel button' is at \((\d+), (\d+)\)", str(refused.value))
    assert place is not None
    assert in_image(CANCEL).contains(Point(int(place[1]), int(place[2])))
