"""A planner that takes its time leaves a trajectory with elements all the same."""

from __future__ import annotations

import asyncio
from pathlib import Path

import hisa
from hisa.config import Settings
from hisa.plugins.synthesis.data.trajectories import trajectory_of
from hisa.protocols import Model, ModelReply, ModelRequest, Role, Task
from hisa.runs.run_reader import load_run
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import FunctionModel, tool_call


async def test_the_look_that_was_decided_on_has_the_elements(tmp_path: Path) -> None:
    replies = iter([tool_call("gui_action", "pyautogui.click(100, 100)")])

    async def plan(_: ModelRequest) -> ModelReply:
        await asyncio.sleep(1.2)  # longer than a look is fresh
        return ModelReply(next(replies, tool_call("termination", "done")))

    settings = Settings.model_validate(
        {"run": {"folder": tmp_path}, "patterns": {"enabled": False}}
        | {"grounder": {"kind": "elements"}, "environment": {"settle": 0.01}}
    )
    model: dict[Role, Model] = {
        "planner": FunctionModel(plan),
        "state": FunctionModel(lambda _: "Succeeded."),
    }
    task = Task(id="form", instruction="Click.", domain="general")
    result = await hisa.run(task, settings=settings, model=model, environment=FakeEnvironment())
    run = load_run(result.folder)
    step = run.steps[0]
    assert step.acted_on is not None
    assert not step.acted_on.elements_sha256, "a look right before the act asks for none"
    assert trajectory_of(run).steps[0].before.elements
