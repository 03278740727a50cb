"""The candidate that is chosen has its places, which nobody looks for twice; others leave none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
from PIL import Image

from hisa.actions import parse
from hisa.errors import NotFound
from hisa.events import Event, Grounded, GroundingFailed, GroundingTried
from hisa.grounder.common import resolve
from hisa.hooks import Hook, Hooks, Step
from hisa.planner.judging import Candidate, Judge
from hisa.planner.planner import GlobalPlanner
from hisa.planner.sampling import Sampler
from hisa.planner.scaling import ScaledPlanner
from hisa.protocols import Emit, GroundedCall, Grounder, Place, StateView, Task, ToolCall
from hisa.screen.geometry import Point, Size
from hisa.screen.observation import Observation, Screenshot
from hisa.sequence import ground_calls
from hisa.testing import ScriptedModel, tool_call
from hisa.tools.base import Tool
from hisa.tools.builtin import gui_action
from hisa.tools.registry import ToolRegistry
from hisa.wiring.memo import GroundingMemo, MemoGrounder

CLICK = "pyautogui.click(X_COORD, Y_COORD)"
PLACES = {"Save": Point(30, 40), "the save button": Point(30, 41)}


def look() -> Observation:
    return Observation(Screenshot(Image.new("RGB", (200, 100))), screen=Size(200, 100))


def click(description: str) -> str:
    return tool_call("gui_action", CLICK, description)


class Finder:
    """Finds what is in `PLACES`, on a look with elements of its own."""

    def __init__(self, emit: Emit) -> None:
        self.sought: list[str] = []
        self.look = look()
        self._emit = emit

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        found = await resolve(call, self.look, locate=self._locate, emit=self._emit)
        return replace(found, found=self.look)

    async def _locate(self, description: str, observation: Observation) -> Place:
        self.sought.append(description)
        self._emit(GroundingTried(description=description, by="elements", verdict="sure"))
        if description not in PLACES:
            raise NotFound(f"not found: {description!r}", ("Save at (30, 40)",))
        return Place(description, PLACES[description], 0.9, "test", description.title())


class Later:
    """Leaves the places to be found."""

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        return GroundedCall(call, call.input, call.actions)


class Bench:
    """A planner that samples twice and the hook that keeps what was found for it."""

    def __init__(self, *replies: str, later: bool = False, before: tuple[Hook, ...] = ()) -> None:
        self.events: list[Event] = []
        memo = GroundingMemo(self.events.append)
        self.finder = Finder(memo.emit)
        grounder: Grounder = Later() if later else MemoGrounder(self.finder)
        emit = self.events.append
        inner = GlobalPlanner(ScriptedModel(replies), ToolRegistry([Tool(gui_action)]), emit=emit)
        self.planner = ScaledPlanner(
            inner,
            Sampler(inner, grounder.resolve, temperature=0.9, emit=emit),
            Judge(ScriptedModel(['{"explaining": "", "index": 1}']), emit=emit),
            emit=emit,
            samples=2,
        )
        memo.planner = self.planner
        self.hooks = Hooks([*before, memo])

    async def plan(self) -> Step:
        """A step up to the moment before its call is grounded."""
        step = Step(1, cast(Any, None), look(), StateView())
        await self.hooks.call("before_plan", step)
        step.call = await self.planner.plan(Task("t", "Save."), step.look, step.view)
        await self.hooks.call("after_plan", step)
        return step

    def told(self) -> list[Event]:
        return [e for e in self.events if isinstance(e, Grounded | GroundingFailed)]


async def test_the_chosen_call_has_its_places_and_is_not_searched_for_again() -> None:
    bench = Bench(click("Save"), click("Save"))
    step = await bench.plan()
    assert bench.finder.sought == ["Save"], "once for both candidates"
    assert step.grounded is not None
    assert step.grounded.input == "pyautogui.click(30, 40)"
    assert step.grounded.found is bench.finder.look, "the look that it was found on"


async def test_only_the_chosen_candidates_grounding_is_told() -> None:
    bench = Bench(click("Save"), click("the save button"))
    await bench.plan()
    (grounded,) = bench.told()
    assert isinstance(grounded, Grounded)
    assert (grounded.input, grounded.places[0].label) == ("pyautogui.click(30, 40)", "Save")
    kinds = [event.type for event in bench.events]
    assert kinds.index("planned") < kinds.index("grounded")
    assert kinds.count("grounding_tried") == 2, "what both cost is told"


async def test_a_chosen_call_whose_target_was_not_found_fails_with_the_candidates() -> None:
    bench = Bench(click("a dragon"), click("a dragon"))
    with pytest.raises(NotFound, match="not found: 'a dragon'") as caught:
        await bench.plan()
    assert caught.value.candidates == ("Save at (30, 40)",)
    (failed,) = bench.told()
    assert isinstance(failed, GroundingFailed)
    assert (failed.description, failed.candidates) == ("a dragon", ("Save at (30, 40)",))
    assert bench.finder.sought == ["a dragon"]


async def test_a_target_that_is_found_only_when_it_is_chosen_is_left_to_the_grounder() -> None:
    bench = Bench(click("Save"), click("Save"), later=True)
    step = await bench.plan()
    assert step.grounded is None
    bench.finder._emit(GroundingFailed(description="Save", reason="not found"))
    assert len(bench.told()) == 1, "and what it finds then is told"


async def test_a_call_that_a_hook_put_in_its_place_is_found_anew() -> None:
    class Other(Hook):
        async def after_plan(self, step: Step) -> None:
            assert step.call is not None
            step.call = replace(step.call, description="the save button")

    step = await Bench(click("Save"), click("Save"), before=(Other(),)).plan()
    assert step.grounded is None


async def test_of_a_chosen_sequence_what_was_found_is_told_and_what_was_not() -> None:
    events: list[Event] = []
    memo = GroundingMemo(events.append)
    finder, step = Finder(memo.emit), Step(1, cast(Any, None), look(), StateView())
    first, second = (
        ToolCall("", "gui_action", CLICK, words, actions=parse(CLICK))
        for words in ("Save", "a dragon")
    )
    await Hooks([memo]).call("before_plan", step)
    step.call = replace(first, following=(second,))
    grounded = await ground_calls(step.call, step.look, finder)
    memo.planner = cast(Any, Chooser(Candidate(1, step.call, grounded, grounded.lacking)))
    await Hooks([memo]).call("after_plan", step)
    assert step.grounded is grounded
    kinds = [event.type for event in events if event.type != "grounding_tried"]
    assert kinds == ["grounded", "grounding_failed"]
    (failed,) = [event for event in events if isinstance(event, GroundingFailed)]
    assert (failed.description, failed.candidates) == ("a dragon", ("Save at (30, 40)",))


class Chooser:
    """Chose one candidate."""

    def __init__(self, chosen: Candidate) -> None:
        self.chosen = chosen
