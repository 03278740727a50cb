"""Tasks of BrowserGym: its published actions and observations; real pages where it is installed."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hisa.actions import parse
from hisa.config import EnvironmentSettings, load
from hisa.errors import ActionRefused, EnvironmentFailed, UsageError
from hisa.plugins.benchmarks.bench.suites import Suite, open_suite
from hisa.plugins.benchmarks.cli.bench import _require_its_browser
from hisa.plugins.gym.browser_gym import BrowserGymEnvironment
from hisa.plugins.gym.browser_gym_actions import as_source
from hisa.plugins.gym.browser_gym_looks import read_look
from hisa.plugins.gym.gym_page import gym_task
from hisa.screen.geometry import Size
from hisa.tasks.scorer import TaskScorer
from hisa.testing.form import FakeEnvironment
from tests.cli.command import Command


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("pyautogui.click(3, 4)", "mouse_click(3.0, 4.0, 'left')"),
        ("pyautogui.doubleClick(3, 4)", "mouse_dblclick(3.0, 4.0, 'left')"),
        (
            "pyautogui.write('a\\tb\\nc')",
            "keyboard_type('a')\nkeyboard_press('Tab')\nkeyboard_type('b\\nc')",
        ),
        ("pyautogui.hotkey('ctrl', 'shift', 'k')", "keyboard_press('Control+Shift+k')"),
        (
            "pyautogui.moveTo(1, 2); pyautogui.scroll(-3)",
            "mouse_move(1.0, 2.0)\nscroll_at(1.0, 2.0, 0, 300)",
        ),
        (
            "pyautogui.moveTo(1, 2); pyautogui.dragTo(5, 6)",
            "mouse_move(1.0, 2.0)\nmouse_move(1.0, 2.0)\nmouse_down(1.0, 2.0, 'left')\n"
            "mouse_move(5.0, 6.0)\nmouse_up(5.0, 6.0, 'left')",
        ),
    ],
)
def test_actions_are_translated_to_browsergym(source: str, expected: str) -> None:
    assert as_source(parse(source)).source == expected


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("pyautogui.tripleClick(3, 4)", "3 clicks at once"),
        ("pyautogui.scroll(3)", "not on this page yet"),
        ("pyautogui.click(3, 4); pyautogui.press('volumeup')", "key 'volumeup'"),
    ],
)
def test_untranslatable_action_is_refused(source: str, why: str) -> None:
    with pytest.raises(ActionRefused, match=why):
        as_source(parse(source))


def node(role: str, name: str, number: str, **values: Any) -> dict[str, Any]:
    properties = [{"name": key, "value": {"value": value}} for key, value in values.items()]
    return {
        "nodeId": number,
        "browsergym_id": number,
        "ignored": False,
        "role": {"value": role},
        "name": {"value": name},
        "properties": properties,
    }


def build_observation() -> dict[str, Any]:
    """An observation as BrowserGym 0.14 makes it."""
    visible = {"visibility": 1.0, "clickable": True}
    return {
        "screenshot": np.zeros((100, 200, 3), np.uint8),
        "open_pages_titles": ("Order", "Other"),
        "active_page_index": np.array([0]),
        "axtree_object": {
            "nodes": [
                node("textbox", "Name", "1", focused=True, editable="plaintext"),
                node("checkbox", "Gift", "2", checked="true"),
                node("button", "Far below", "3"),
                node("button", "Half off", "4", disabled=True),
                node("generic", "", "5"),
                {**node("button", "Ignored", "6"), "ignored": True},
            ]
        },
        "extra_element_properties": {
            "1": {**visible, "bbox": [10, 10, 80, 20]},
            "2": {**visible, "bbox": [10, 40, 20, 20]},
            "3": {**visible, "bbox": [10, 400, 20, 20]},
            "4": {**visible, "bbox": [190, 60, 20, 20]},
            "5": {"visibility": 1.0, "clickable": False, "bbox": [0, 0, 200, 100]},
            "6": {**visible, "bbox": [0, 0, 20, 20]},
        },
    }


def test_look_holds_windows_and_elements_of_the_page() -> None:
    observation = read_look(build_observation(), elements=True, image_limit=Size(100, 100))
    assert (observation.screen, observation.image) == (Size(200, 100), Size(100, 50))
    assert [(window.title, window.active) for window in observation.windows] == [
        ("Order", True),
        ("Other", False),
    ]
    assert observation.elements is not None
    name, gift, half = observation.elements
    assert (name.role, name.name, name.window) == ("text", "Name", "Order")
    assert {"focused", "editable", "enabled"} <= name.states
    assert (gift.role, "checked" in gift.states) == ("check box", True)
    assert (half.box.right, "enabled" in half.states) == (200, False)
    assert observation.convert_box(half.box, "image").right == 100
    assert (
        read_look(build_observation(), elements=False, image_limit=Size(200, 200)).elements is None
    )


def test_task_name_carries_its_options() -> None:
    task = gym_task("browsergym:openended?start_url=http://127.0.0.1:1/a%26b&goal=Send+it", seed=3)
    (step,) = task.setup
    assert step["parameters"] == {
        "task": "openended",
        "options": {"start_url": "http://127.0.0.1:1/a&b", "goal": "Send it"},
        "seed": 3,
    }
    with pytest.raises(UsageError, match="names no task"):
        gym_task("browsergym:")
    with pytest.raises(UsageError, match="OPTION=VALUE"):
        gym_task("browsergym:openended?x")


async def test_missing_browsergym_names_its_install_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "browsergym", None)
    with pytest.raises(EnvironmentFailed) as caught:
        async with BrowserGymEnvironment():
            pass
    assert caught.value.fix == "hisa install browsergym"


class Page(FakeEnvironment):
    """An environment that rewards its tasks by itself."""

    def __init__(self, goal: str, reward: float) -> None:
        super().__init__()
        self.goal, self.page_reward = goal, reward
        self.over = ""
        self.staged: tuple[Any, ...] = ()

    async def stage(self, task: str, options: Mapping[str, Any], seed: int) -> str:
        self.staged = (task, dict(options), seed)
        return self.goal

    async def reward(self) -> tuple[float, str]:
        return self.page_reward, ""


@pytest.mark.process
@pytest.mark.parametrize(("reward", "score"), [(0.25, 0.25), (-1.0, 0.0)])
async def test_the_goal_is_the_instruction_and_the_reward_the_score(
    reward: float, score: float
) -> None:
    page, scorer = Page("Send it.", reward), TaskScorer()
    task = await scorer.prepare(gym_task("browsergym:openended?goal=x", seed=3), page)
    assert (task.instruction, page.staged) == ("Send it.", ("openended", {"goal": "x"}, 3))
    assert not await scorer.over(task, page)
    page.over = "the episode ended"
    assert await scorer.over(task, page) == "the episode ended"
    scoring = await scorer.score(task, page, "succeeded")
    assert (scoring.state, scoring.value) == ("scored", score)


async def test_a_task_without_a_goal_in_words_is_not_run() -> None:
    with pytest.raises(EnvironmentFailed, match="no goal in words"):
        await TaskScorer().prepare(gym_task("browsergym:openended"), Page("", 0.0))


@pytest.mark.desktop
def test_a_task_on_another_environment_is_refused_and_not_scored(tmp_path: Path) -> None:
    report = json.loads(Command(tmp_path).run("run", "browsergym:openended", "--json", code=3))
    assert (report["status"], report["score_state"]) == ("environment_error", "unscored")
    assert "does not run on desktop" in report["message"]


PAGE = """<title>Order</title><label>Name <input id=n></label>
<button onclick="document.title='Sent '+n.value">Send</button>"""
needs_browsergym = pytest.mark.skipif(
    importlib.util.find_spec("browsergym") is None,
    reason="BrowserGym is not installed: hisa install browsergym",
)


@needs_browsergym
@pytest.mark.browser
async def test_a_real_page_is_seen_and_filled(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(PAGE, "utf-8")
    async with BrowserGymEnvironment() as environment:
        with pytest.raises(EnvironmentFailed, match="no task of BrowserGym is open"):
            await environment.observe()
        options = {"start_url": page.as_uri(), "goal": "Send Ada."}
        assert await environment.stage("openended", options, 1) == "Send Ada."
        look = await environment.observe(elements=True, settle=2.0)
        field, send = (
            next(e for e in look.elements or () if e.role == role)
            for role in ("text", "push button")
        )
        places = [element.box.centre.to_pixels() for element in (field, send)]
        typed, sent = places
        await environment.act(parse(f"pyautogui.click{typed}; pyautogui.write('Ada é <')"))
        await environment.act(parse(f"pyautogui.click{sent}"))
        after = await environment.observe(elements=True, settle=2.0)
        assert after.windows[0].title == "Sent Ada é <"
        assert after.cursor is not None
        assert after.cursor.to_pixels() == sent
        await environment.conclude("succeeded", "Sent.")
        assert [message["message"] for message in environment._observation["chat_messages"]][
            -1
        ] == "Sent."
        await environment.reset()
        with pytest.raises(EnvironmentFailed):
            await environment.observe()
        assert await environment.stage("openended", options, 1) == "Send Ada."
        again = await environment.observe(settle=2.0)
        assert (again.windows[0].title, await environment.reward()) == ("Order", (0.0, ""))


@needs_browsergym
@pytest.mark.browser
async def test_unknown_task_is_refused_with_a_choice() -> None:
    async with BrowserGymEnvironment() as environment:
        with pytest.raises(UsageError, match="is not installed"):
            await environment.stage("nosuchsuite.task", {}, 1)
        with pytest.raises(UsageError, match="no task 'openended-x'"):
            await environment.stage("openended-x", {}, 1)


needs_miniwob = pytest.mark.skipif(
    importlib.util.find_spec("browsergym") is None
    or importlib.util.find_spec("browsergym.miniwob") is None
    or importlib.util.find_spec("miniwob") is None,
    reason="no MiniWoB++ of BrowserGym: pip install browsergym-miniwob; hisa install miniwob",
)


@needs_miniwob
@pytest.mark.browser
async def test_a_suite_is_listed_picked_from_and_opened() -> None:
    suite = open_suite("browsergym:miniwob")
    assert (suite.name, suite.problems, len(suite.tasks) > 100) == ("browsergym:miniwob", {}, True)
    picked = open_suite("browsergym:miniwob", ["miniwob.click-test", "miniwob.click-button"])
    assert picked.name == suite.name
    assert [(task.id, task.path) for task in picked.tasks] == [
        (f"miniwob.{name}", f"browsergym:miniwob.{name}") for name in ("click-button", "click-test")
    ]
    with pytest.raises(UsageError, match=r"'miniwob\.no-such'"):
        open_suite("browsergym:miniwob", ["miniwob.no-such"])
    async with BrowserGymEnvironment() as environment:
        assert await environment.stage("miniwob.click-test", {}, 1) == "Click the button."
        assert (await environment.observe()).windows[0].title == "Click Test Task"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("browsergym:openended", "not a suite of many tasks"),
        ("browsergym:miniwob.click-test", "not a suite of many tasks"),
        ("browsergym:", "allowed are .*browsergym:SUITE"),
        ("browsergym:../x", "give SUITE.NAME"),
    ],
)
def test_invalid_suite_name_is_refused(name: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        open_suite(name)


def test_a_suite_is_not_run_on_another_machine() -> None:
    suite = Suite("browsergym:miniwob", ())
    with pytest.raises(UsageError, match="do not run on 'desktop'") as caught:
        _require_its_browser(suite, load(None, environ={}).environment)
    assert caught.value.fix == "--env browsergym"
    _require_its_browser(suite, EnvironmentSettings(kind="browsergym"))
