"""A desktop as an environment of Gymnasium: its checker, real episodes, and machines that break."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hisa.actions import Click
from hisa.config import load
from hisa.errors import CheckFailed, EnvironmentFailed, UsageError
from hisa.plugins.gym.gym_format import MINIWOB_TASKS
from hisa.protocols import CommandResult, Task
from hisa.testing.form import FakeEnvironment

NOTE = Task(
    id="note",
    instruction="Write hello to note.txt.",
    setup=({"launch": "mousepad"},),
    check={"all": [{"file": "~/note.txt", "equals": "hello"}]},
)
TASK = Task(id="asked", instruction="Say it.", check={"all": [{"command": "true"}]})


class Breaks(FakeEnvironment):
    """A machine whose checks end as told, and that can be broken and reset."""

    says = 1
    broken = False

    async def __aenter__(self) -> Breaks:
        self.broken = False
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Nothing to end."""

    async def reset(self) -> None:
        """Only a fresh start mends what is broken."""
        if self.broken:
            raise EnvironmentFailed("the machine is gone")
        await super().reset()

    async def execute(self, command: Any, **options: Any) -> CommandResult:
        """What the check's command ends with."""
        if self.broken:
            raise EnvironmentFailed("the machine is gone")
        return CommandResult(self.says, '{"score": 1}')


def open_gym(machine: Any, task: Task = TASK, **settings: Any) -> Any:
    gymnasium = pytest.importorskip("gymnasium", reason="needs: hisa install gymnasium")
    assignments = [f"{name.replace('__', '.')}={value}" for name, value in settings.items()]
    chosen = load(None, assignments, environ={})
    return gymnasium.make(
        "hisa.plugins.gym.desktop_gym:hisa/desktop",
        task=task,
        settings=chosen,
        environment=machine,
    )


def test_score_is_the_reward_and_refusals_are_reported() -> None:
    machine = Breaks()
    with open_gym(machine) as env:
        observation, _ = env.reset()
        assert (observation["goal"], observation["screenshot"].shape) == ("Say it.", (720, 1280, 3))
        observation, *rest, _ = env.step("pyautogui.click(400, 136); pyautogui.write('Ada')")
        assert (rest, machine.text, observation["last_action_error"]) == (
            [0.0, False, False],
            "Ada",
            "",
        )
        observation, *rest, _ = env.step("pyautogui.write('Bob'); os.system('id')")
        assert (rest, machine.text) == ([0.0, False, False], "Ada")
        assert "ActionRefused" in observation["last_action_error"]
        assert (
            "plain numbers" in env.step("pyautogui.click(X_COORD, Y_COORD)")[0]["last_action_error"]
        )
        machine.says = 0
        observation, *rest, _ = env.step("pyautogui.sleep(0)")
        assert rest == [1.0, True, False]
        with pytest.raises(Exception, match="the episode is over"):
            env.step("pyautogui.sleep(0)")


@pytest.mark.parametrize("action", ["termination", "infeasible"])
def test_the_agents_word_ends_the_episode(action: str) -> None:
    machine = Breaks()
    with open_gym(machine) as env:
        env.reset()
        assert env.step(action)[1:4] == (0.0, True, False)
        assert machine.acted == []


class Page(Breaks):
    """A machine whose stage writes down what a page of MiniWoB++ gives for a click."""

    async def read_file(self, path: str, /, *, limit: int | None = None) -> bytes:
        """The stage's state: the first click is the wrong one."""
        known = {"pid": 1, "instruction": "Click the button."}
        clicked = any(isinstance(action, Click) for action in self.acted)
        return json.dumps({**known, "reward": -1.0} if clicked else known).encode()

    async def execute(self, command: Any, **options: Any) -> CommandResult:
        """The stage lives."""
        return CommandResult(0, "")


def test_a_page_that_is_over_ends_the_episode_without_a_reward() -> None:
    with open_gym(Page(), MINIWOB_TASKS.make_task("click-test")) as env:
        env.reset()
        assert env.step("pyautogui.sleep(0)")[1:4] == (0.0, False, False)
        _, reward, terminated, truncated, info = env.step("pyautogui.click(400, 136)")
        assert (reward, terminated, truncated) == (0.0, True, False)
        assert info["task_info"]["status"] == "ended"
        with pytest.raises(Exception, match="the episode is over"):
            env.step("pyautogui.click(400, 136)")


def test_an_infeasible_task_rewards_the_report_alone() -> None:
    task = Task(id="i", instruction="x", check={"func": "infeasible"}, format="osworld")
    with open_gym(Breaks(), task) as env:
        for action, reward in (("termination", 0.0), ("infeasible", 1.0)):
            env.reset()
            assert env.step(action)[1:4] == (reward, True, False)


def test_after_so_many_steps_the_episode_is_cut_off() -> None:
    with open_gym(Breaks(), run__max_steps=2) as env:
        for _ in range(2):
            env.reset()
            assert env.step("pyautogui.sleep(0)")[1:4] == (0.0, False, False)
            assert env.step("pyautogui.sleep(0)")[1:4] == (0.0, False, True)


def test_a_broken_machine_and_a_check_that_cannot_be_made_are_no_reward(
    tmp_path: Path,
) -> None:
    (tmp_path / "check.py").write_text("def done(): return True\n")
    task = Task(
        id="t", instruction="x", check={"all": [{"python": "check.py:done"}]}, folder=str(tmp_path)
    )
    machine = Breaks()
    with open_gym(machine, task) as env:
        for broken, error in ((True, EnvironmentFailed), (False, CheckFailed)):
            env.reset()
            machine.says, machine.broken = 1, broken
            with pytest.raises(error):
                env.step("pyautogui.sleep(0)")
            with pytest.raises(Exception, match="call reset"):
                env.step("pyautogui.sleep(0)")
            machine.says = 0
            env.reset()
            assert env.step("pyautogui.sleep(0)")[1] == 1.0


def test_task_without_check_and_lasting_machine_are_refused() -> None:
    with pytest.raises(UsageError, match="no check"):
        open_gym(Breaks(), Task(id="t", instruction="x"))
    with pytest.raises(UsageError, match="'display=:0' keeps the changes of an episode"):
        open_gym("display=:0")


@pytest.mark.desktop
def test_a_real_desktop_passes_gymnasiums_checker() -> None:
    checker = pytest.importorskip("gymnasium.utils.env_checker")
    with open_gym("desktop", environment__settle=0) as env:
        checker.check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.desktop
def test_a_task_goes_from_0_to_1_on_a_real_desktop() -> None:
    with open_gym("desktop", NOTE) as env:
        env.reset(seed=3)
        assert env.step("pyautogui.write('hello'); pyautogui.hotkey('ctrl', 's')")[1] == 0.0
        env.step("pyautogui.hotkey('ctrl', 'a'); pyautogui.write('/home/user/note.txt')")
        observation, reward, over, _, _ = env.step("pyautogui.press('enter'); pyautogui.sleep(0.5)")
        assert (reward, over, observation["last_action_error"]) == (1.0, True, "")
        env.reset()
        assert env.step("pyautogui.sleep(0)")[1:3] == (0.0, False)  # nothing of it is left
