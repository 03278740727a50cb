"""A desktop as an environment of Gymnasium: its checker, real episodes, and machines that break."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hisa.actions import Click, Drag, Hotkey, KeyDown, Press, Scroll, Sleep, Write
from hisa.config import load
from hisa.errors import ActionRefused, CheckFailed, EnvironmentFailed, UsageError
from hisa.plugins.gym.gym_calls import Said, read_gym_calls
from hisa.plugins.gym.gym_format import MINIWOB_TASKS
from hisa.protocols import CommandResult, Task
from hisa.screen.geometry import Point, Size
from hisa.testing.form import FakeEnvironment

PICTURE = Size(1280, 720)
NOTE = Task(
    id="note",
    instruction="Write hello to note.txt.",
    setup=({"launch": "mousepad"},),
    check={"all": [{"file": "~/note.txt", "equals": "hello"}]},
)
ASKED = Task(id="asked", instruction="Say it.", check={"all": [{"command": "true"}]})


@pytest.mark.parametrize(
    ("source", "actions"),
    [
        ("mouse_click(3, 4)", (Click(Point(3, 4)),)),
        ("mouse_click(3, 4, button='right')", (Click(Point(3, 4), "right"),)),
        ("mouse_dblclick(3.5, 4)", (Click(Point(3.5, 4), "left", 2),)),
        ("mouse_drag_and_drop(1, 2, 3, 4)", (Drag(Point(3, 4), Point(1, 2)),)),
        ("scroll(0, 250)", (Scroll(-2, 0),)),
        ("scroll_at(5, 6, 0, -30)", (Scroll(1, 0, Point(5, 6)),)),
        ("keyboard_press('ControlOrMeta+Shift+K')", (Hotkey(("ctrl", "shift", "K")),)),
        ("keyboard_press('Control++')", (Hotkey(("ctrl", "+")),)),
        ("keyboard_press('ArrowUp')\nkeyboard_down('Shift')", (Press("up"), KeyDown("shift"))),
        ("keyboard_type('é\\n')\nnoop(500)", (Write("é\n"), Sleep(0.5))),
        ("report_infeasible('no such menu')", (Said("infeasible", "no such menu"),)),
    ],
)
def test_browsergyms_calls_are_read_as_hisas_actions(source: str, actions: Any) -> None:
    assert read_gym_calls(source, picture=PICTURE) == actions


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("click('a51')", "no action 'click'"),
        ("goto('http://x/')", "no action 'goto'"),
        ("mouse_click(1280, 5)", "outside 0 to 1279"),
        ("mouse_click(5)", "y must be a plain number"),
        ("mouse_click(1, 2, 'left', 3)", "takes x, y, button"),
        ("mouse_click(1, 2, x=3)", "each once"),
        ("__import__('os').system('id')", r"only calls such as mouse_click\(100, 200\)"),
        ("page.goto('http://x/')", "only calls such as"),
        ("keyboard_type(open('/etc/passwd').read())", "as an argument is refused"),
        ("keyboard_press('NoSuchKey')", "unknown key"),
        ("noop(1e9)", "wait_ms"),
        ("noop(60000)\n" * 3, "the actions wait 180 seconds"),
        ("", "no action"),
    ],
)
def test_anything_else_is_refused_before_anything_is_done(source: str, why: str) -> None:
    with pytest.raises(ActionRefused, match=why):
        read_gym_calls(source, picture=PICTURE)


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

    async def execute(self, command: Any, **given: Any) -> CommandResult:
        """What the check's command ends with."""
        if self.broken:
            raise EnvironmentFailed("the machine is gone")
        return CommandResult(self.says, '{"score": 1}')


def opened(machine: Any, task: Task = ASKED, **settings: Any) -> Any:
    gymnasium = pytest.importorskip("gymnasium", reason="needs: hisa install gymnasium")
    given = [f"{name.replace('__', '.')}={value}" for name, value in settings.items()]
    chosen = load(None, given, environ={})
    return gymnasium.make(
        "hisa.plugins.gym.desktop_gym:browsergym/hisa",
        task=task,
        settings=chosen,
        environment=machine,
    )


def test_the_score_is_the_reward_and_what_is_refused_is_told() -> None:
    machine = Breaks()
    with opened(machine) as env:
        seen, _ = env.reset()
        assert (seen["goal"], seen["screenshot"].shape) == ("Say it.", (720, 1280, 3))
        seen, *rest, _ = env.step("mouse_click(400, 136)\nkeyboard_type('Ada')")
        assert (rest, machine.text, seen["last_action_error"]) == ([0.0, False, False], "Ada", "")
        seen, *rest, _ = env.step("keyboard_type('Bob')\nclick('12')")
        assert (rest, machine.text) == ([0.0, False, False], "Ada")
        assert "no action 'click'" in seen["last_action_error"]
        machine.says = 0
        seen, *rest, _ = env.step("noop(0)")
        assert rest == [1.0, True, False]
        with pytest.raises(Exception, match="the episode is over"):
            env.step("noop(0)")


@pytest.mark.parametrize(
    ("action", "role"),
    [("send_msg_to_user('Done.')", "assistant"), ("report_infeasible('No.')", "infeasible")],
)
def test_words_end_the_episode_and_nothing_after_them_is_done(action: str, role: str) -> None:
    machine = Breaks()
    with opened(machine) as env:
        env.reset()
        seen, *rest, _ = env.step(f"{action}\nmouse_click(400, 136)")
        assert rest == [0.0, True, False]
        assert [message["role"] for message in seen["chat_messages"]] == ["user", role]
        assert machine.acted == []


class Page(Breaks):
    """A machine whose stage writes down what a page of MiniWoB++ gives for a click."""

    async def read_file(self, path: str, /, *, limit: int | None = None) -> bytes:
        """The stage's state: the first click is the wrong one."""
        known = {"pid": 1, "instruction": "Click the button."}
        clicked = any(isinstance(action, Click) for action in self.acted)
        return json.dumps({**known, "reward": -1.0} if clicked else known).encode()

    async def execute(self, command: Any, **given: Any) -> CommandResult:
        """The stage lives."""
        return CommandResult(0, "")


def test_a_page_that_is_over_ends_the_episode_without_a_reward() -> None:
    with opened(Page(), MINIWOB_TASKS.named("click-test")) as env:
        env.reset()
        assert env.step("noop(0)")[1:4] == (0.0, False, False)
        _, reward, terminated, truncated, info = env.step("mouse_click(400, 136)")
        assert (reward, terminated, truncated) == (0.0, True, False)
        assert info["task_info"]["status"] == "ended"
        with pytest.raises(Exception, match="the episode is over"):
            env.step("mouse_click(400, 136)")


def test_an_infeasible_task_rewards_the_report_alone() -> None:
    task = Task(id="i", instruction="x", check={"func": "infeasible"}, format="osworld")
    with opened(Breaks(), task) as env:
        for action, reward in (("send_msg_to_user('x')", 0.0), ("report_infeasible('x')", 1.0)):
            env.reset()
            assert env.step(action)[1:4] == (reward, True, False)


def test_after_so_many_steps_the_episode_is_cut_off() -> None:
    with opened(Breaks(), run__max_steps=2) as env:
        for _ in range(2):
            env.reset()
            assert env.step("noop(0)")[1:4] == (0.0, False, False)
            assert env.step("noop(0)")[1:4] == (0.0, False, True)


def test_a_broken_machine_and_a_check_that_cannot_be_made_are_no_reward(
    tmp_path: Path,
) -> None:
    (tmp_path / "check.py").write_text("def done(): return True\n")
    task = Task(
        id="t", instruction="x", check={"all": [{"python": "check.py:done"}]}, folder=str(tmp_path)
    )
    machine = Breaks()
    with opened(machine, task) as env:
        for broken, error in ((True, EnvironmentFailed), (False, CheckFailed)):
            env.reset()
            machine.says, machine.broken = 1, broken
            with pytest.raises(error):
                env.step("noop(0)")
            with pytest.raises(Exception, match="call reset"):
                env.step("noop(0)")
            machine.says = 0
            env.reset()
            assert env.step("noop(0)")[1] == 1.0


def test_what_has_no_reward_or_keeps_its_state_is_refused() -> None:
    with pytest.raises(UsageError, match="no check"):
        opened(Breaks(), Task(id="t", instruction="x"))
    with pytest.raises(UsageError, match="'display=:0' keeps what an episode leaves"):
        opened("display=:0")


@pytest.mark.desktop
def test_a_real_desktop_passes_gymnasiums_checker() -> None:
    checker = pytest.importorskip("gymnasium.utils.env_checker")
    with (
        opened("desktop", environment__settle=0) as env,
        pytest.warns(UserWarning, match="maximum value is infinity"),  # of BrowserGym's own space
    ):
        checker.check_env(env.unwrapped)


@pytest.mark.desktop
def test_a_task_goes_from_0_to_1_on_a_real_desktop_by_browsergyms_actions(tmp_path: Path) -> None:
    with opened("desktop", NOTE) as env:
        seen, _ = env.reset(seed=3)
        assert any("Mousepad" in title for title in seen["window_titles"])
        assert env.step("keyboard_type('hello')\nkeyboard_press('Control+s')")[1:4] == (
            0.0,
            False,
            False,
        )
        env.step("keyboard_press('Control+a')\nkeyboard_type('/home/user/note.txt')")
        seen, reward, over, _, _ = env.step("keyboard_press('Enter')\nnoop(500)")
        assert (reward, over, seen["last_action_error"]) == (1.0, True, "")
        again, _ = env.reset()
        assert env.step("noop(0)")[1:3] == (0.0, False)  # nothing of it is left
        assert again["chat_messages"][0]["message"] == NOTE.instruction
