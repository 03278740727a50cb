"""MiniWoB++ in Chromium on a real desktop: right, wrong, given up, broken; the same by its seed."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from hisa.actions import parse, to_space
from hisa.errors import EnvironmentFailed
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.gym.miniwob.outcome import EpisodeState, episode_state
from hisa.protocols import ModelRequest, Task
from hisa.screen.observation import Element
from hisa.tasks.scorer import TaskScorer
from hisa.tasks.taskfile import load_task
from hisa.testing.scripted import FunctionModel
from tests.bench import Bench, click, finish
from tests.plugins.benchmarks.tasks.pages import needs_pages

pytestmark = [
    pytest.mark.desktop,
    pytest.mark.browser,
    needs_pages,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(
        not shutil.which("chromium"), reason="needs Chromium: scripts/install-system.sh"
    ),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desktop() -> AsyncIterator[DesktopEnvironment]:
    async with DesktopEnvironment() as environment:
        yield environment


async def begin(desktop: DesktopEnvironment, name: str, seed: int = 0) -> Task:
    return await TaskScorer().prepare(load_task(f"miniwob:{name}", seed=seed), desktop)


async def score(desktop: DesktopEnvironment, task: Task) -> tuple[float | None, str]:
    grade = await TaskScorer().score(task, desktop, "succeeded")
    return grade.value, grade.detail


async def button(desktop: DesktopEnvironment, name: str) -> Element:
    """The button, once it is listed."""
    async with asyncio.timeout(60):
        while True:
            look = await desktop.observe(elements=True, settle=1.0)
            for element in look.elements or ():
                if (element.role, element.name) == ("push button", name):
                    return element


async def do(desktop: DesktopEnvironment, source: str) -> None:
    look = await desktop.observe()
    await desktop.act(to_space(parse(source), "screen", screen=look.screen, image=look.screen))


async def press(desktop: DesktopEnvironment, name: str) -> None:
    centre = (await button(desktop, name)).box.centre
    await do(desktop, f"pyautogui.click({centre.x:.0f}, {centre.y:.0f})")


async def until(desktop: DesktopEnvironment, field: str) -> EpisodeState:
    """What is known once ``field`` is."""
    async with asyncio.timeout(60):
        while True:
            state = await episode_state(desktop)
            if state is not None and field in state.model_fields_set:
                return state
            await desktop.observe(settle=0.2)


async def test_scripted_model_gets_the_goal_of_the_page_and_solves_it(
    tmp_path: Path, desktop: DesktopEnvironment
) -> None:
    requests: list[ModelRequest] = []

    def planner(request: ModelRequest) -> str:
        requests.append(request)
        # A browser that has just started reports its page late; the planner is told so, and waits.
        return (
            finish() if "Result: Succeeded." in request.text else click('push button "Click Me!"')
        )

    bench = Bench(tmp_path, FunctionModel(planner), environment=desktop)
    bench.task = load_task("miniwob:click-test")
    result, run = await bench.run()
    assert result.status in ("ended", "succeeded"), "a page may tell its end a moment late"
    assert result.score == 1.0, result.score_detail
    assert run.manifest.task.instruction == "Click the button."
    assert "Click the button." in requests[0].text
    assert "MiniWoB" not in requests[0].text


async def test_a_wrong_button_is_0_and_a_second_ending_changes_nothing(
    desktop: DesktopEnvironment,
) -> None:
    task = await begin(desktop, "click-test-2")
    assert task.instruction == "Click button ONE."
    assert not await TaskScorer().over(task, desktop)
    await press(desktop, "TWO")
    state = await until(desktop, "reward")
    look = await desktop.observe(elements=True, settle=1.0)
    assert "Episode over" in {element.name for element in look.elements or ()}
    await do(desktop, "pyautogui.click(160, 210)")  # where a click would begin another episode
    assert await score(desktop, task) == (0.0, "miniwob_solved: reward -1")
    assert await episode_state(desktop) == state
    assert await TaskScorer().over(task, desktop)


async def test_the_same_seed_draws_the_same_and_another_does_not(
    desktop: DesktopEnvironment,
) -> None:
    drawn = []
    for seed in (3, 3, 4):
        await begin(desktop, "click-test", seed)
        drawn.append((await button(desktop, "Click Me!")).box)
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]


async def test_a_page_loaded_again_is_0(desktop: DesktopEnvironment) -> None:
    task = await begin(desktop, "click-test")
    await do(desktop, "pyautogui.press('f5')")
    await until(desktop, "left")
    assert (await score(desktop, task))[0] == 0.0


async def test_a_closed_browser_is_0(desktop: DesktopEnvironment) -> None:
    task = await begin(desktop, "click-test")
    await do(desktop, "pyautogui.hotkey('alt', 'f4')")
    await until(desktop, "exit")
    result = await score(desktop, task)
    assert result[0] == 0.0
    assert "left" in result[1] or "closed" in result[1]


@pytest.mark.parametrize(
    ("killed", "sign", "reason"),
    [
        ("-f -- --type=renderer", "lost", "page crashed"),
        ("-P {pid}", "exit", "browser crashed with -9"),
    ],
)
async def test_crashed_page_or_browser_gives_no_score(
    desktop: DesktopEnvironment, killed: str, sign: str, reason: str
) -> None:
    task = await begin(desktop, "click-test")
    state = await until(desktop, "instruction")
    await desktop.execute(f"kill -9 $(pgrep {killed.format(pid=state.pid)})")
    await until(desktop, sign)
    with pytest.raises(EnvironmentFailed, match=reason):
        await score(desktop, task)
