"""Every kind of grounder and planner, every sight and sequences start with the default settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

import hisa
from hisa.config import GrounderKind, PlannerSettings, Settings
from hisa.machine import plugins
from hisa.plugins.computer_use.responses_server import function_call
from hisa.protocols import ModelRequest, Task
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import FunctionModel, tool_call

TASK = Task("t", "Put the total of “Price” into B9 and save the sheet.", domain="calc")
SIGHTS = get_args(PlannerSettings.model_fields["sees"].annotation)
SPECIAL = {"person", "pointer", "program", "reference"}
"""Planners that ask no language model; tests/plugins starts each with what it needs."""


class Ending:
    """Waits once, then ends the run, in the words of each kind of planner."""

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []

    def __call__(self, request: ModelRequest) -> str:
        if request.role != "planner":
            return "Succeeded."
        self.requests.append(request)
        tool, value = ("wait", "1") if len(self.requests) == 1 else ("termination", "Done.")
        if request.tools:
            arguments = {"seconds": 1} if tool == "wait" else {"summary": value}
            return function_call(tool, thought="Go on.", **arguments)
        if "# Next step" in request.text:
            action = {"wait": "wait", "termination": "done"}[tool]
            return json.dumps({"thought": "Go on.", "action": action, "text": value})
        return tool_call(tool, value)


async def started(tmp_path: Path, tree: Mapping[str, Any]) -> Ending:
    """Runs a task to its end; returns the model with its requests."""
    model = Ending()
    answers = FunctionModel(model, name="any")
    result = await hisa.run(
        TASK,
        settings=Settings.model_validate({**tree, "run": {"folder": tmp_path}}),
        model={"planner": answers, "state": answers, "grounder": answers},
        environment=FakeEnvironment(),
    )
    assert result.status == "succeeded"
    return model


@pytest.mark.parametrize(
    "tree",
    [
        *({"grounder": {"kind": kind}} for kind in get_args(GrounderKind)),
        *({"planner": {"sees": sight}} for sight in SIGHTS),
        *({"planner": {"kind": kind}} for kind in ("auto", "chat", "computer", "short")),
        *({"planner": {"sequence": 5, "teaching": way}} for way in ("rule", "words", "examples")),
        {"planner": {"sequence": 5, "sees": "elements"}},
        {"planner": {"sequence": 5}, "grounder": {"kind": "planner"}},
    ],
    ids=json.dumps,
)
async def test_a_run_starts_with_the_defaults(tmp_path: Path, tree: Mapping[str, Any]) -> None:
    model = await started(tmp_path, tree)
    assert len(model.requests) == 2


def test_every_kind_of_planner_is_tried() -> None:
    names = plugins.announced_names("planners")
    assert {"computer", "short"} <= set(names)
    assert set(names) <= {"computer", "short", *SPECIAL}


@pytest.mark.parametrize(
    ("name", "form", "converts"),
    [
        ("any", "in whole pixels of the screenshot", False),
        ("qwen3-vl-8b-instruct", "from 0 to 1000 of the screenshot's width and height", True),
    ],
)
async def test_planner_that_points_reads_one_form_of_coordinates(
    tmp_path: Path, name: str, form: str, converts: bool
) -> None:
    model = Ending()
    tree = {"grounder": {"kind": "planner"}, "run": {"folder": tmp_path}}
    await hisa.run(
        TASK,
        settings=Settings.model_validate(tree),
        model=FunctionModel(model, name=name),
        environment=FakeEnvironment(),
    )
    text = model.requests[0].text
    assert text.count(form) == 1
    assert ("In the history they are pixels" in text) == converts
    assert "bring them into this form" not in text
