"""Elements are read when a description is looked for, and a partial list proves nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hisa.actions import Click
from hisa.errors import NotFound
from hisa.events import ElementsRead, Event, Observed
from hisa.grounder.elements_reader import ElementsReader
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.protocols import Environment, GroundedCall
from hisa.screen.observation import Observation
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import ScriptedModel
from tests.bench import Bench, click, finish, say

from .scenes import call


def build_grounder(environment: Environment, events: list[Event] | None = None) -> ElementsGrounder:
    emit = (events if events is not None else []).append
    return ElementsGrounder(emit=emit, reader=ElementsReader(environment, emit=emit))


def spots(grounded: GroundedCall) -> list[tuple[int, int]]:
    return [place.point.to_pixels() for place in grounded.places]


async def test_a_run_with_a_planner_that_has_eyes_reads_elements_to_ground_alone(
    tmp_path: Path,
) -> None:
    steps = [say("wait", "1"), click('button "Save"'), say("wait", "1"), finish()]
    bench = Bench(tmp_path, ScriptedModel(steps))
    machine = bench.environment
    assert isinstance(machine, FakeEnvironment)
    bench.agent.elements = False
    bench.agent.grounder = build_grounder(machine)
    result, run = await bench.run()
    assert result.status == "succeeded"
    assert machine.looked == [False, False, True, False, False, False]
    assert [e.elements for e in run.events if isinstance(e, Observed)] == [None] * 4
    assert [type(action) for action in machine.acted] == [Click]


async def test_control_is_resolved_at_its_current_place() -> None:
    """A model that thinks for long points at a screen that may have changed since."""
    events: list[Event] = []
    async with FakeEnvironment() as machine:
        old = await machine.observe()
        grounded = await build_grounder(machine, events).resolve(call('button "Save"'), old)
        stale = replace(await machine.observe(elements=True), at=old.at - 30, elements=())
        again = await build_grounder(machine, events).resolve(call('button "Save"'), stale)
    assert spots(grounded) == spots(again) == [(375, 237)]
    assert [event.elements for event in events if isinstance(event, ElementsRead)] == [6, 6]


async def test_fresh_elements_are_not_read_again_nor_any_for_a_call_without_slots() -> None:
    async with FakeEnvironment() as machine:
        look = await machine.observe(elements=True)
        await build_grounder(machine).resolve(call('button "Save"'), look)
        blind = replace(look, elements=None)
        await build_grounder(machine).resolve(call("", "pyautogui.press('enter')"), blind)
        assert machine.looked == [True]


async def test_refusal_from_a_partial_list_says_so() -> None:
    async def read_refusal(partial: int) -> str:
        async with FakeEnvironment(partial=partial) as machine:
            with pytest.raises(NotFound) as caught:
                await build_grounder(machine).resolve(
                    call('the slider "Volume"'), await _blind(machine)
                )
        return str(caught.value)

    assert "not all elements on the screen are known" in await read_refusal(1)
    assert "not all elements on the screen are known" not in await read_refusal(0)


async def _blind(machine: FakeEnvironment) -> Observation:
    return await machine.observe()
