"""A run ends with the page's episode, and hears nothing of what it was worth."""

from __future__ import annotations

import json

from hisa.actions import Click, parse
from hisa.config import Settings
from hisa.events import Event
from hisa.plugins.gym.gym_format import BROWSERGYM_TASKS, MINIWOB_TASKS
from hisa.plugins.gym.miniwob.outcome import STATE
from hisa.protocols import Environment, GroundedCall, Outcome, ToolCall
from hisa.screen.geometry import Point
from hisa.screen.observation import Observation
from hisa.testing.form import FakeEnvironment
from hisa.wiring.episode import EpisodeToolbox
from hisa.wiring.tool_parts import open_registry

SOURCE = "pyautogui.click(30, 30)"
CALL = GroundedCall(ToolCall("", "gui_action", SOURCE), SOURCE, (Click(Point(30, 30, "image")),))


class Page(FakeEnvironment):
    """A form whose first click ends the episode with a bad reward."""

    async def act(self, actions: object, /) -> None:
        await self.write_file(STATE, json.dumps({"pid": 1, "reward": -1.0}).encode())


async def done(machine: Environment) -> Outcome:
    events: list[Event] = []
    tools = open_registry(Settings(), events.append, capabilities=("elements",), inquire=None)
    look: Observation = await machine.observe()
    return await EpisodeToolbox(tools, MINIWOB_TASKS).execute(CALL, look, machine)


async def test_the_run_ends_with_the_episode_and_is_told_no_reward() -> None:
    assert parse(SOURCE)
    async with Page() as page:
        outcome = await done(page)
        again = await done(page)
    assert (outcome.ends, outcome.output) == ("succeeded", "The page's episode is over.")
    assert again == Outcome(ok=True, output=outcome.output, ends="succeeded")


async def test_a_page_that_goes_on_ends_nothing() -> None:
    async with FakeEnvironment() as form:
        await form.write_file(STATE, json.dumps({"pid": 1}).encode())
        assert (await done(form)).ends is None


async def test_a_format_without_an_end_of_its_own_ends_nothing() -> None:
    async with FakeEnvironment() as form:
        assert await BROWSERGYM_TASKS.over(form) == ""
