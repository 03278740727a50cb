from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from hisa.errors import EnvironmentFailed, UsageError
from hisa.events import (
    Abstracted,
    Acted,
    ModelCalled,
    Observed,
    Planned,
    RunFinished,
    RunResumed,
    StepFinished,
)
from hisa.protocols import Task
from hisa.runs.log import RunLog
from hisa.runs.resume import ReplayAct, ResumePoint, replay, require_no_secrets, resume_point
from hisa.runs.run_reader import load_run
from hisa.testing.form import FakeEnvironment
from tests.runs.sample import TASK, build


def begin(log: RunLog, number: int, source: str, *, act: bool = True) -> None:
    log.step = number
    log.emit(ModelCalled(role="planner", model="m", tokens_in=10, tokens_out=1))
    log.emit(Planned(thought="", tool="gui_action", input=source))
    if act:
        log.emit(Acted(tool="gui_action", input=source, ok=True))


def step(log: RunLog, number: int, source: str) -> None:
    begin(log, number, source)
    log.emit(Abstracted(line=f"Step {number}", result="Succeeded."))
    log.emit(StepFinished())


def point(log: RunLog) -> ResumePoint:
    return resume_point(load_run(log.folder))


def test_a_killed_run_goes_on_after_its_last_complete_step(tmp_path: Path) -> None:
    restart_point = resume_point(load_run(build(tmp_path, finish=False)))
    assert restart_point.task == TASK
    assert restart_point.settings == {"run": {"max_steps": 50}}
    assert restart_point.step == 11
    assert isinstance(restart_point.events[-1], StepFinished)
    assert restart_point.events[-1].step == 11
    assert [act.step for act in restart_point.acts] == list(range(1, 12))
    assert restart_point.acts[0].input == "pyautogui.click(152, 277)"
    assert (restart_point.acts[0].image, restart_point.acts[0].screen) == (
        (1280, 720),
        (1920, 1080),
    )
    assert len(restart_point.calls) == 22


@pytest.mark.parametrize(
    ("desktop", "inputs"),
    [
        ("reattached", ["one", "twice", "two"]),
        ("replayed", ["one", "two"]),
        ("fresh", ["two"]),
    ],
)
def test_the_acts_are_those_that_the_present_desktop_saw(
    tmp_path: Path, desktop: Literal["reattached", "replayed", "fresh"], inputs: list[str]
) -> None:
    with RunLog.create(tmp_path, Task("t", "Do it.")) as log:
        step(log, 1, "one")
        begin(log, 2, "twice")
    with RunLog.reopen(log.folder) as log:
        log.emit(RunResumed(desktop=desktop))
        step(log, 2, "two")
        begin(log, 3, "three")
    restart_point = point(log)
    assert [act.input for act in restart_point.acts] == inputs
    lines = [event.line for event in restart_point.events if isinstance(event, Abstracted)]
    assert lines == ["Step 1", "Step 2"]
    assert len(restart_point.calls) == 4, "calls of cut-off steps were paid as well"


def test_a_run_stopped_between_steps_goes_on_after_the_last(tmp_path: Path) -> None:
    with RunLog.create(tmp_path, Task("t", "Do it.")) as log:
        log.amend(desktop={"socket": "/run/x"})
        step(log, 1, "one")
        log.emit(RunFinished(exit_status="stopped"))
    restart_point = point(log)
    assert restart_point.step == 1
    assert restart_point.desktop == {"socket": "/run/x"}
    assert restart_point.events[-1].type == "step_finished"


def test_a_run_killed_in_its_first_step_starts_at_the_beginning(tmp_path: Path) -> None:
    look = Observed(image="a" * 64, width=8, height=8, screen_width=8, screen_height=8)
    with RunLog.create(tmp_path, Task("t", "Do it.")) as log:
        log.emit(look)
        begin(log, 1, "one", act=False)
    restart_point = point(log)
    assert (restart_point.step, restart_point.acts) == (0, ())
    assert [event.type for event in restart_point.events] == ["observed"]


def test_an_act_that_the_log_cut_is_marked(tmp_path: Path) -> None:
    with RunLog.create(tmp_path, Task("t", "Do it.")) as log:
        step(log, 1, "x" * 50_000)
        step(log, 2, "y")
    assert [act.is_complete for act in point(log).acts] == [False, True]


async def test_an_act_whose_secret_the_log_did_not_keep_is_not_done_again(tmp_path: Path) -> None:
    with RunLog.create(tmp_path, Task("t", "Do it.")) as log:
        log.emit(Observed(image="a" * 64, width=8, height=8, screen_width=8, screen_height=8))
        step(log, 1, "pyautogui.press('down')")
        step(log, 2, "pyautogui.write('ghp_abcdefghijklmnop0123')")
    acts = point(log).acts
    assert [act.redacted for act in acts] == [False, True]
    async with FakeEnvironment() as machine:
        with pytest.raises(EnvironmentFailed, match=r"step 2 .* held a secret"):
            await replay(acts, machine, settle=0.0)
        assert [action.kind for action in machine.acted] == ["press"]


def log_act(tmp_path: Path, tool: str, arguments: dict[str, object]) -> tuple[ReplayAct, ...]:
    with RunLog.create(tmp_path, Task("t", "Do it.")) as log:
        log.emit(Observed(image="a" * 64, width=8, height=8, screen_width=8, screen_height=8))
        log.step = 1
        log.emit(Planned(thought="", tool=tool, input=arguments))
        log.emit(Acted(tool=tool, input=arguments, ok=True))
        log.emit(StepFinished())
    return point(log).acts


@pytest.mark.usefixtures("outside")
async def test_a_tool_that_did_something_is_called_again(tmp_path: Path) -> None:
    acts = log_act(tmp_path, "count_words", {"path": "/a.txt"})
    async with FakeEnvironment() as machine:
        await machine.write_file("/a.txt", b"one two")
        assert await replay(acts, machine, settle=0.0) == 1


@pytest.mark.parametrize("name", ["person_ask", "another_servers_tool"])
async def test_replay_skips_tools_without_a_desktop_effect(tmp_path: Path, name: str) -> None:
    acts = log_act(tmp_path, name, {"question": "Which?"})
    async with FakeEnvironment() as machine:
        assert await replay(acts, machine, settle=0.0) == 0


async def test_replay_refuses_acts_of_a_person(tmp_path: Path) -> None:
    acts = log_act(tmp_path, "person_hand_over", {"what": "Log in."})
    async with FakeEnvironment() as machine:
        with pytest.raises(EnvironmentFailed, match="person_hand_over cannot be done again"):
            await replay(acts, machine, settle=0.0)


@pytest.mark.parametrize(
    ("task", "settings", "part"),
    [
        (Task("t", "Log in; password: hunter2x"), {}, "instruction"),
        (Task("t", "x", setup=({"run": "login --token abc123def"},)), {}, "set-up"),
        (Task("t", "x", check={"url": "https://a:b1c2d3@h/"}), {}, "check"),
        (Task("t", "x"), {"models": {"planner": {"base_url": "http://me:pw123@h/v1"}}}, "settings"),
    ],
)
def test_a_run_whose_log_lacks_a_secret_does_not_go_on(
    tmp_path: Path, task: Task, settings: dict[str, Any], part: str
) -> None:
    with RunLog.create(tmp_path, task, settings=settings) as log:
        step(log, 1, "one")
    with pytest.raises(UsageError, match=rf"its {part} held a secret"):
        require_no_secrets(point(log))


def test_a_run_without_secrets_goes_on(tmp_path: Path) -> None:
    keys = {"models": {"planner": {"api_key_env": "OPENAI_API_KEY", "max_tokens": 4096}}}
    with RunLog.create(tmp_path, TASK, settings=keys) as log:
        step(log, 1, "one")
    require_no_secrets(point(log))
