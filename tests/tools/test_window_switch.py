"""The tool that brings a window to the front, on a desktop with two of them."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from hisa.planner.view import state_text
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.protocols import GroundedCall, StateView, Task, ToolCall
from hisa.screen.observation import Observation, Window
from hisa.testing.form import FakeEnvironment
from hisa.tools.base import Tool
from hisa.tools.offer import in_front
from hisa.tools.registry import ToolRegistry
from hisa.tools.window_switch import switch_window
from tests.plugins.desktop.action_lists import open_with


async def switch_to(environment: object, observation: Observation, number: str) -> tuple[bool, str]:
    registry = ToolRegistry([Tool(switch_window)])
    call = GroundedCall(ToolCall("", "switch_window", number), number)
    outcome = await registry.execute(call, observation, environment)  # type: ignore[arg-type]
    return outcome.ok, outcome.output or outcome.error


@pytest.mark.desktop
async def test_the_window_of_an_id_in_the_prompt_comes_to_the_front() -> None:
    if shutil.which("mousepad") is None or shutil.which("wmctrl") is None:
        pytest.skip("needs mousepad and wmctrl")
    async with DesktopEnvironment() as desktop:
        for name in ("a.txt", "b.txt"):
            await desktop.write_file(f"/home/user/{name}", b"")
            line = f"mousepad --opening-mode=window /home/user/{name}"
            await open_with(desktop, line, name)
        observation = await desktop.observe(settle=10.0)
        assert observation.active is not None
        assert "b.txt" in observation.active.title
        text = state_text(Task("t", "Go on."), observation, StateView(), elements=False)
        (line,) = [line for line in text.splitlines() if "a.txt" in line]
        ok, message = await switch_to(desktop, observation, line.split()[0])
        assert ok, message
        front = (await desktop.observe(settle=5.0)).active
        assert front is not None
        assert "a.txt" in front.title
        ok, message = await switch_to(desktop, observation, "0x1; touch x")
        assert not ok
        assert line.split()[0] in message, "it says which there are"


async def test_machine_that_cannot_switch_windows_fails() -> None:
    form = FakeEnvironment()
    observation = await form.observe()
    two = (*observation.windows, Window("0x2", "Files", "thunar"))
    ok, message = await switch_to(form, replace(observation, windows=two), "0x2")
    assert not ok
    assert message.startswith("it did not come to the front")


async def test_window_tool_is_offered_only_with_several_windows() -> None:
    observation = await FakeEnvironment().observe()
    tool = Tool(switch_window)
    assert not in_front([tool], observation)
    two = replace(observation, windows=(*observation.windows, Window("0x2", "Files", "thunar")))
    assert in_front([tool], two) == [tool]
