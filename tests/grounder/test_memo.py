"""A memo grounds each description of a look once."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from PIL import Image

from hisa.actions import parse
from hisa.errors import ModelUnavailable, NotFound
from hisa.events import GroundingTried
from hisa.grounder.common import resolve
from hisa.grounder.marks import MarkGrounder, Marks
from hisa.grounder.reading import ElementsReader
from hisa.protocols import Emit, GroundedCall, Place, Task, ToolCall
from hisa.screen.geometry import Point, Size
from hisa.screen.observation import Observation, Screenshot
from hisa.testing.form import FakeEnvironment
from hisa.wiring.memo import MemoGrounder

CLICK = "pyautogui.click(X_COORD, Y_COORD)"
DRAG = "pyautogui.moveTo(X_COORD, Y_COORD); pyautogui.dragTo(X_COORD_2, Y_COORD_2)"
PLACES = {"save": Point(30, 40), "bin": Point(50, 60)}


def look() -> Observation:
    return Observation(Screenshot(Image.new("RGB", (200, 100))), screen=Size(200, 100))


def call(description: str, source: str = CLICK, other: str = "", thought: str = "x") -> ToolCall:
    return ToolCall(thought, "gui_action", source, description, other, parse(source))


class Finder:
    """Finds two things; keeps what it was asked for."""

    def __init__(
        self, emit: Emit = lambda _: None, *, reader: ElementsReader | None = None
    ) -> None:
        self._reader = reader
        self.sought: list[str] = []
        self.calls: list[ToolCall] = []
        self.down = False
        self._emit = emit

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        self.calls.append(call)
        return await resolve(
            call, observation, locate=self._locate, emit=self._emit, reader=self._reader
        )

    async def _locate(self, description: str, observation: Observation) -> Place:
        self.sought.append(description)
        await asyncio.sleep(0)
        if self.down:
            raise ModelUnavailable("no answer")
        self._emit(GroundingTried(description=description, by="elements", verdict="sure"))
        if description not in PLACES:
            raise NotFound(f"not found: {description!r}", ("save at (30, 40)",))
        return Place(description, PLACES[description], 0.9, "test", description.title())


async def test_equal_descriptions_are_sought_once_even_at_once() -> None:
    finder, seen = Finder(), look()
    memo = MemoGrounder(finder)
    double = "pyautogui.doubleClick(X_COORD, Y_COORD)"
    calls = [call("save"), call("save", double), call("bin"), call("save", DRAG, "bin")]
    found = await asyncio.gather(*(memo.resolve(each, seen) for each in calls))
    assert sorted(finder.sought) == ["bin", "save"]
    alone = [await Finder().resolve(each, seen) for each in calls]
    assert found == alone, "and gives what the grounder itself would have given"
    await memo.resolve(call("save", thought="the one that was chosen"), seen)
    assert len(finder.sought) == 2


async def test_a_new_look_is_searched_anew_however_equal_it_is() -> None:
    finder, seen = Finder(), look()
    memo = MemoGrounder(finder)
    await memo.resolve(call("save"), seen)
    await memo.resolve(call("save"), replace(seen))
    assert finder.sought == ["save", "save"]


async def test_what_was_not_found_is_not_sought_again_and_is_refused_again() -> None:
    finder, seen = Finder(), look()
    memo = MemoGrounder(finder)
    for _ in range(2):
        with pytest.raises(NotFound, match="not found: 'nothing'") as caught:
            await memo.resolve(call("nothing"), seen)
        assert caught.value.candidates == ("save at (30, 40)",)
    assert finder.sought == ["nothing"]


async def test_an_endpoint_that_failed_is_asked_again() -> None:
    finder, seen = Finder(), look()
    memo = MemoGrounder(finder)
    finder.down = True
    with pytest.raises(ModelUnavailable):
        await memo.resolve(call("save"), seen)
    finder.down = False
    assert (await memo.resolve(call("save"), seen)).places[0].point == PLACES["save"]


async def test_calls_with_nothing_to_find_keep_their_own_input() -> None:
    finder, seen = Finder(), look()
    memo = MemoGrounder(finder)
    commands = [ToolCall("x", "bash_execution", line) for line in ("ls", "pwd")]
    assert [(await memo.resolve(each, seen)).input for each in commands] == ["ls", "pwd"]
    sources = ("pyautogui.click(1, 5)", "pyautogui.click(2, 5)", "pyautogui.click(x=1, y=5)")
    clicks = [call("", source) for source in sources]
    assert [(await memo.resolve(each, seen)).input for each in clicks] == [
        each.input for each in clicks
    ]


async def test_a_number_of_the_list_is_told_by_its_name() -> None:
    seen = await FakeEnvironment().observe(elements=True)
    marks = Marks()
    listed = marks.listed(Task("t", "x"), seen)
    number = next(line.split()[0] for line in listed.splitlines() if '"Save"' in line)
    memo = MemoGrounder(MarkGrounder(Finder(), marks, emit=lambda _: None))
    found = await memo.resolve(call(f"element: {number}"), seen)
    assert found.call.description == 'push button "Save"'
    assert found.places[0].source == "mark"


async def test_the_elements_are_read_once_for_a_look() -> None:
    environment = FakeEnvironment()
    seen = await environment.observe()
    memo = MemoGrounder(Finder(reader=ElementsReader(environment, emit=lambda _: None)))
    await asyncio.gather(*(memo.resolve(call(name), seen) for name in ("save", "bin")))
    assert environment.looked == [False, True]
    await memo.resolve(call("save"), await environment.observe())
    assert environment.looked == [False, True, False, True]


async def test_the_look_that_a_target_was_found_on_is_kept() -> None:
    environment = FakeEnvironment()
    reader = ElementsReader(environment, emit=lambda _: None)
    seen = await environment.observe()
    found = await MemoGrounder(Finder(reader=reader)).resolve(call("save"), seen)
    assert found.found is await reader.fresh(seen), "an act is held to this one"
