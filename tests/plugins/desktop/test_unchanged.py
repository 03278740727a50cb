"""An act that is only done while the screen is as it was decided on, asked at its very moment."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace

import pytest

from hisa.actions import Write
from hisa.errors import EnvironmentFailed, ScreenChanged
from hisa.machine.patience import Deadline
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.protocols import ActsWhereUnchanged, HitTester, ScreenPrecondition
from hisa.screen.geometry import BoundingBox
from hisa.screen.hit_test import element_at, focused_element
from hisa.screen.observation import Observation
from tests.plugins.desktop.action_lists import open_with

pytestmark = pytest.mark.desktop

TEXT = BoundingBox(0, 60, 1280, 400, "screen")
CORNER = BoundingBox(1200, 640, 1270, 690, "screen")


def build_precondition(observation: Observation, *boxes: BoundingBox) -> ScreenPrecondition:
    return ScreenPrecondition(observation, boxes)


async def wait_for_change(desktop: DesktopEnvironment, held: ScreenPrecondition) -> None:
    """Wait until what was typed is drawn, without a look, since only the last few are kept."""
    deadline = Deadline(30.0)
    while not deadline.passed:
        try:
            await desktop.act_where_unchanged([], held)
        except ScreenChanged:
            return
        await asyncio.sleep(0.1)
    raise AssertionError("nothing that was typed is seen")


async def seen_by_commands(desktop: DesktopEnvironment) -> None:
    """Wait for the second window without a look, since only the last few are kept."""
    deadline = Deadline(30.0)
    while "b.txt" not in (await desktop.execute("wmctrl -l")).output:
        assert not deadline.passed
        await asyncio.sleep(0.1)


async def test_an_act_is_done_only_while_the_screen_is_as_it_was() -> None:
    if shutil.which("mousepad") is None:
        pytest.skip("needs mousepad")
    async with DesktopEnvironment() as desktop:
        assert "unchanged" in desktop.capabilities
        assert isinstance(desktop, ActsWhereUnchanged)
        await desktop.write_file("/home/user/a.txt", b"")
        await open_with(desktop, "mousepad /home/user/a.txt", "a.txt")
        first = await desktop.observe(settle=10.0)
        await desktop.act_where_unchanged([Write("one")], build_precondition(first, TEXT))
        await wait_for_change(desktop, build_precondition(first, TEXT))
        second = await desktop.observe(settle=10.0)
        with pytest.raises(ScreenChanged, match=r"the screen changed between \(0, 60\)"):
            await desktop.act_where_unchanged([Write("two")], build_precondition(first, TEXT))
        await desktop.act_where_unchanged([Write(" three")], build_precondition(first, CORNER))
        await desktop.act_where_unchanged([Write(" four")], build_precondition(first))
        await wait_for_change(desktop, build_precondition(second, TEXT))
        with pytest.raises(ScreenChanged):
            await desktop.act_where_unchanged([Write("five")], build_precondition(second, TEXT))
        third = await desktop.observe(settle=10.0)
        line = "setsid -f mousepad --opening-mode=window /home/user/b.txt >/dev/null 2>&1"
        await desktop.execute(line)
        await seen_by_commands(desktop)
        with pytest.raises(ScreenChanged, match="another window"):
            await desktop.act_where_unchanged([Write("six")], build_precondition(third))


async def test_forgotten_look_allows_no_action() -> None:
    async with DesktopEnvironment() as desktop:
        first = await desktop.observe()
        for _ in range(8):
            await desktop.observe()
        with pytest.raises(ScreenChanged, match="no longer kept"):
            await desktop.act_where_unchanged([Write("x")], build_precondition(first, CORNER))
        nowhere = BoundingBox(30, 30, 20, 40, "screen")
        with pytest.raises(EnvironmentFailed, match="four whole numbers"):
            await desktop.act_where_unchanged(
                [Write("x")], build_precondition(await desktop.observe(), nowhere)
            )


async def test_hit_test_returns_the_control_at_a_point_and_the_focus() -> None:
    if shutil.which("mousepad") is None:
        pytest.skip("needs mousepad")
    async with DesktopEnvironment() as desktop:
        assert "lies_at" in desktop.capabilities
        assert isinstance(desktop, HitTester)
        await desktop.write_file("/home/user/a.txt", b"one")
        await open_with(desktop, "mousepad /home/user/a.txt", "a.txt")
        observation = await desktop.observe(elements=True, settle=10.0)
        menu = next(e for e in observation.elements or () if e.name == "File" and e.role == "menu")
        hits = await desktop.hit_test([menu.box.centre])
        hit_look = replace(observation, elements=hits.elements, windows=hits.windows)
        assert element_at(menu.box.centre, hit_look) == menu
        focus = focused_element(hit_look)
        assert focus is not None
        assert focus == focused_element(observation)
        assert len(hits.elements) < len(observation.elements or ()), "and not all else"
        await desktop.act_where_unchanged(
            [Write("two ")], ScreenPrecondition(replace(observation, name=hits.name), ())
        )
        with pytest.raises(EnvironmentFailed, match="points must be"):
            await desktop.hit_test([menu.box.centre] * 21)
