"""The summary of older steps reaches the planner whole, however long an interval is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hisa
from hisa.config import Settings
from hisa.models.tokens import estimate_tokens
from hisa.protocols import ModelRequest, Task
from hisa.testing.form import FakeEnvironment
from hisa.testing.responses_server import function_call
from hisa.testing.scripted import FunctionModel, tool_call

TASK = "Copy the names of all customers of the branch into the sheet, one a row."
LAST = "Suggestion: go on with row 40."


def summary(step: int) -> str:
    done = "The sheet was opened, its rows were read, and the menu was looked through; "
    return f"Steps 1~{step}: {done * 30}".rstrip("; ") + f". {LAST}"


class Full:
    """Answers with texts as long as they may be, and keeps the planner's requests."""

    def __init__(self, *, computer: bool = False) -> None:
        self.requests: list[ModelRequest] = []
        self._computer = computer

    def __call__(self, request: ModelRequest) -> str:
        if request.role != "planner":
            if "# Context refinement" in request.text:
                return shortened(summary(len(self.requests)), 780)
            return "Succeeded. " + "The next row was filled and the one below has the focus. " * 30
        self.requests.append(request)
        thought = (
            "The row is filled as wanted and the next one can be seen below it, so I go on. " * 6
        )
        number = len(self.requests)
        if self._computer:
            return function_call("bash_execution", thought=thought, command=f"echo {number}")
        return tool_call("bash_execution", f"echo row {number} is done", thought=thought)


def shortened(text: str, tokens: int) -> str:
    head, _, tail = text.rpartition(". ")
    while estimate_tokens(f"{head}. {tail}") > tokens:
        head = head.rpartition("; ")[0]
    return f"{head}. {tail}"


FORMS: dict[str, dict[str, Any]] = {
    "picture": {},
    "both": {"sees": "both"},
    "elements": {"sees": "elements"},
    "sequence": {"sequence": 5},
    "computer": {"kind": "computer"},
}


async def played(tmp_path: Path, every: int, form: str, steps: int = 0) -> list[str]:
    """The texts of a planner's prompts in a run whose sections are as long as they may be."""
    model = Full(computer=form == "computer")
    tree = {
        "patterns": {"path": tmp_path / "patterns"},
        "run": {"folder": tmp_path, "max_steps": steps or 2 * every + 1},
        "planner": FORMS[form],
        "state": {"refine_every": every},
    }
    await hisa.run(
        Task("full", TASK, domain="calc"),
        settings=Settings.model_validate(tree),
        model=FunctionModel(model, name="full"),
        environment=FakeEnvironment(),
    )
    return [request.text for request in model.requests]


@pytest.mark.parametrize(("every", "form"), [(5, "picture"), (9, "picture"), (7, "both")])
async def test_the_summary_reaches_the_planner_whole_up_to_the_last_step_of_an_interval(
    tmp_path: Path, every: int, form: str
) -> None:
    await assert_whole(tmp_path, every, form)


async def assert_whole(tmp_path: Path, every: int, form: str) -> None:
    """The summary stands whole in each prompt that has one."""
    texts = await played(tmp_path, every, form)
    assert len(texts) == 2 * every + 1
    for number, text in enumerate(texts[every + 1 :], every + 2):
        told = text.partition("<refined_context>\n")[2].partition("\n</refined_context>")[0]
        assert told.startswith("Steps 1~"), number
        assert LAST in told, f"step {number}: the suggestion of a summary of {len(told)} is gone"
        assert "(cut here" not in told, number
