"""Elements first, a model with eyes where they are not sure, and a closer look where they doubt it.

The model is a server on a real socket, behind the client, the retries and the budget of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hisa
from hisa.config import Settings
from hisa.errors import BudgetExceeded, ModelUnavailable, NotFound
from hisa.events import Event, GroundingFailed, GroundingTried
from hisa.grounder.formats import GTA1Format
from hisa.grounder.matchers import FinderParts
from hisa.grounder.vision import Seer
from hisa.models.profiles import find
from hisa.plugins.matching.cascade import CascadeGrounder
from hisa.protocols import GroundedCall, ModelRequest
from hisa.runs.report import render_report
from hisa.runs.run_reader import load_run
from hisa.runs.step_records import group
from hisa.runs.terminal_view import step_text
from hisa.screen.enlarged_part import ENLARGED, closer_part
from hisa.screen.geometry import Point, Size
from hisa.screen.observation import Observation
from hisa.screen.ocr import ReadText
from hisa.testing.form import FakeEnvironment
from hisa.testing.model_server import FakeServer, Fault, FaultKind, ReceivedRequest
from hisa.testing.scripted import FunctionModel, tool_call
from hisa.wiring import grounder_kind
from tests.grounder.scenes import (
    behind_a_dialog,
    call,
    element,
    nothing_to_read,
    open_grounder,
    scene,
)
from tests.grounder.scenes import search_steps as steps

SAVE, ALSO_SAVE = (600, 400, 80, 30), (600, 500, 80, 30)
STOCK = (900, 200, 90, 20)
NOWHERE = Point(200, 600)
REPLY = str | Fault


def look(*, twice: bool = True, complete: bool = True) -> Observation:
    """One button "Save" or two alike, a cell, and nothing at `NOWHERE`."""
    elements = [element("push button", "Save", SAVE), element("table cell", "Stock", STOCK)]
    if twice:
        elements.append(element("push button", "Save", ALSO_SAVE))
    return replace(scene(*elements), complete=complete)


async def ground_on(
    server: FakeServer,
    description: str,
    observation: Observation,
    events: list[Event],
    read: ReadText = nothing_to_read,
) -> GroundedCall:
    """The answer of the cascade that the settings open, with such a model behind it."""
    model = {"model": "gta1-7b", "base_url": server.url, "timeout": 0.5, "max_retries": 0}
    async with open_grounder({"grounder": model}, events, read=read) as grounder:
        assert isinstance(grounder, CascadeGrounder)
        return await grounder.resolve(call(description), observation)


async def ground_with(
    replies: Sequence[REPLY],
    description: str,
    observation: Observation,
    events: list[Event],
    read: ReadText = nothing_to_read,
) -> tuple[GroundedCall, FakeServer]:
    with FakeServer(replies) as server:
        return await ground_on(server, description, observation, events, read), server


async def test_a_point_that_the_elements_bear_out_is_taken() -> None:
    events: list[Event] = []
    result, server = await ground_with(["(640,515)"], "the Save button", look(), events)
    (place,) = result.places
    assert (place.point.to_pixels(), place.source) == ((640, 515), "gta1-7b")
    assert place.label == 'push button "Save"'
    assert len(server.requests) == 1
    assert steps(events) == [("elements", "unsure"), ("gta1-7b", "agreed")]
    (first, _) = (e for e in events if isinstance(e, GroundingTried))
    assert "2 elements fit equally well" in first.detail


async def test_unlikely_point_is_queried_again_on_an_enlarged_part() -> None:
    events: list[Event] = []
    part = closer_part(Size(1280, 720), Point(945, 210), [Point(640, 415), Point(640, 515)])
    assert part is not None
    left, top, _, _ = part.corners
    at = f"({(640 - left) * ENLARGED},{(415 - top) * ENLARGED})"
    result, server = await ground_with(["(945,210)", at], "the Save button", look(), events)
    assert result.places[0].point.to_pixels() == (640, 415)
    first, second = server.requests
    assert "enlarged" not in first.text
    assert f"(The picture shows only {part.words}, enlarged.)" in second.text
    assert steps(events)[1:] == [("gta1-7b", "doubted"), ("gta1-7b", "agreed")]
    doubted, agreed = [e for e in events if isinstance(e, GroundingTried)][1:]
    assert doubted.closer == agreed.part == part.corners
    assert (doubted.label, doubted.part, agreed.closer) == ('table cell "Stock"', None, None)


def seeing(point: Point, events: Sequence[Event]) -> Callable[[ReceivedRequest], str]:
    """A model that sees the thing at this point of the whole picture, on a part of it too."""

    def answer(received: ReceivedRequest) -> str:
        part = next((e.closer for e in reversed(events) if isinstance(e, GroundingTried)), None)
        if part is None:
            return f"({point.x:g},{point.y:g})"
        return f"({(point.x - part[0]) * ENLARGED:g},{(point.y - part[1]) * ENLARGED:g})"

    return answer


async def test_unknown_point_is_taken_when_answered_twice() -> None:
    events: list[Event] = []
    with FakeServer(then=seeing(NOWHERE, events)) as server:
        result = await ground_on(server, "the red star", look(), events)
    assert result.places[0].point.to_pixels() == NOWHERE.to_pixels()
    assert steps(events)[1:] == [("gta1-7b", "doubted"), ("gta1-7b", "repeated")]


async def test_point_on_another_element_is_never_taken() -> None:
    events: list[Event] = []
    server = FakeServer(then=seeing(Point(945, 210), events))
    with server, pytest.raises(NotFound) as caught:
        await ground_on(server, "the red star button", look(), events)
    message = str(caught.value)
    assert "'the red star button'" in message
    assert 'gta1-7b sees table cell "Stock" at (945, 210)' in message
    assert caught.value.candidates[0] == 'table cell "Stock" at (945, 210)'
    assert 'push button "Save" at (640, 415)' in caught.value.candidates
    assert steps(events)[1:] == [("gta1-7b", "doubted"), ("gta1-7b", "doubted")]
    assert isinstance(events[-1], GroundingFailed)
    assert events[-1].candidates == caught.value.candidates


async def test_point_on_an_element_behind_a_dialog_is_not_taken() -> None:
    events: list[Event] = []
    server = FakeServer(then=seeing(Point(130, 115), events))
    with server, pytest.raises(NotFound) as caught:
        await ground_on(server, "the Print button", behind_a_dialog(), events)
    behind = 'push button "Print", behind a dialog, menu or window in front'
    assert caught.value.candidates[0] == f"{behind} at (130, 115)"
    assert steps(events)[1:] == [("gta1-7b", "doubted"), ("gta1-7b", "doubted")]
    at = seeing(Point(130, 115), [])
    with FakeServer(then=at) as server:
        description = "the Print button of the main window behind the dialog"
        result = await ground_on(server, description, behind_a_dialog(), events)
    assert result.places[0].point == Point(130, 115)
    assert result.places[0].score is None  # the elements' chance is not the model's


async def test_an_unreadable_answer_is_corrected_where_there_is_nowhere_to_look_closer() -> None:
    events: list[Event] = []
    with FakeServer(["Over there.", "(5,6)"]) as server, pytest.raises(NotFound) as caught:
        await ground_on(server, "the star", scene(), events)
    assert caught.value.candidates == ("a point at (5, 6)",)
    assert "not one pair (x,y)" in server.requests[1].text
    assert "enlarged" not in server.requests[1].text


FAULTS: list[FaultKind] = ["status", "hang", "html", "cut_off", "no_choices", "cut_connection"]


@pytest.mark.parametrize("kind", FAULTS)
async def test_elements_answer_when_the_model_is_unavailable(kind: FaultKind) -> None:
    events: list[Event] = []
    observation = look(twice=False, complete=False)
    result, server = await ground_with([Fault(kind)], "the Save button", observation, events)
    assert result.places[0].source == "accessibility"
    assert result.places[0].point.to_pixels() == (640, 415)
    assert steps(events) == [("elements", "unsure"), ("gta1-7b", "unavailable")]
    assert [e.detail for e in events if isinstance(e, GroundingTried)][-1]
    assert len(server.requests) == 1


@pytest.mark.parametrize("kind", FAULTS)
async def test_error_names_refusal_and_missing_model(kind: FaultKind) -> None:
    events: list[Event] = []
    with pytest.raises(ModelUnavailable) as caught:
        await ground_with([Fault(kind)], "the Save button", look(), events)
    assert "2 elements fit equally well" in str(caught.value)
    assert "the grounding model cannot be asked" in str(caught.value)
    assert steps(events) == [("elements", "unsure"), ("gta1-7b", "unavailable")]


async def test_a_budget_that_is_used_up_ends_it() -> None:
    """Whatever the elements would say: nothing may be spent without it being known."""

    def answer(request: ModelRequest) -> str:
        raise BudgetExceeded("no more tokens")

    seer = Seer(FunctionModel(answer), GTA1Format())
    grounder = CascadeGrounder(FinderParts(lambda _: None, read=nothing_to_read, seer=seer))
    with pytest.raises(BudgetExceeded):
        await grounder.resolve(call("the Save button"), look(twice=False, complete=False))


@given(
    st.tuples(st.integers(64, 3840), st.integers(64, 2160)),
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=4),
    st.tuples(st.floats(0, 0.999), st.floats(0, 0.999)),
)
def test_part_is_inside_the_picture_and_its_points_convert_back(
    size: tuple[int, int], places: list[tuple[float, float]], inside: tuple[float, float]
) -> None:
    picture = Size(*size)
    points = [Point(x * (picture.width - 1), y * (picture.height - 1)) for x, y in places]
    part = closer_part(picture, points[0], points[1:])
    assert part is not None
    left, top, right, bottom = part.corners
    assert 0 <= left < right <= picture.width
    assert 0 <= top < bottom <= picture.height
    assert part.box.contains(points[0])
    x, y = left + inside[0] * (right - left), top + inside[1] * (bottom - top)
    shown = Point((x - left) * ENLARGED, (y - top) * ENLARGED)
    back = part.to_picture(shown)
    assert (back.x, back.y) == pytest.approx((x, y))


@pytest.mark.parametrize(
    ("grounder", "planner", "kind"),
    [
        (None, "gpt-5", "choice"),
        (None, "qwen3-vl-8b-instruct", "choice"),  # points, but was not trained to ground
        (None, "offline", "elements"),
        (None, "ui-tars-1.5-7b", "cascade"),
        ("gta1-7b", "gpt-5", "cascade"),
        ("gpt-5", "gpt-5", "cascade"),  # somebody asked for it
    ],
)
def test_default_grounder_follows_the_ability_of_the_model(
    grounder: str | None, planner: str, kind: str
) -> None:
    own = {"grounder": {"model": grounder}} if grounder else {}
    settings = Settings.model_validate({"models": {"planner": {"model": planner}, **own}})
    assert grounder_kind(settings.grounder, settings.models, find(grounder or planner)) == kind


def test_run_queries_the_model_only_where_the_elements_are_not_sure(tmp_path: Path) -> None:
    """The field is known by its name; "the box above the tick" is not, and the model sees it."""
    script = iter(
        [
            tool_call("gui_action", "pyautogui.click(X_COORD, Y_COORD)", "the Save button"),
            tool_call(
                "gui_action",
                "pyautogui.click(X_COORD, Y_COORD)\npyautogui.write('Ada')",
                "where one says who one is, over the tick",
            ),
            tool_call("gui_action", "pyautogui.click(X_COORD, Y_COORD)", "the Save button"),
            tool_call("termination", "success"),
        ]
    )

    def answer(request: ModelRequest) -> str:
        return next(script) if request.role == "planner" else "Succeeded. It shows Ada."

    events: list[Event] = []
    form = FakeEnvironment()
    with FakeServer(then=seeing(Point(400, 136), events)) as server:
        tree = {
            "patterns": {"enabled": False},
            "models": {"grounder": {"model": "gta1-7b", "base_url": server.url}},
            "run": {"folder": tmp_path},
        }
        result = hisa.run_sync(
            "Put Ada into the form and save it.",
            settings=Settings.model_validate(tree),
            model=FunctionModel(answer),
            environment=form,
            on_event=events.append,
        )
    assert (result.status, form.text) == ("succeeded", "Ada")
    first_steps, search, again, _ = [steps(step.tried) for step in group(events)]
    assert first_steps == again == [("elements", "sure")]
    assert search[0] == ("elements", "unsure")
    assert search[-1] in [("gta1-7b", "agreed"), ("gta1-7b", "repeated")]
    assert len(server.requests) == len(search) - 1
    run = load_run(result.folder)
    assert "searched: elements: not sure" in step_text(run, 2)
    assert "searched: gta1-7b: " in step_text(run, 2)
    report = render_report(run)
    assert report.count("Search for the place") == 1
    assert "gta1-7b: " in report
