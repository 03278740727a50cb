"""The parts of a prompt sum to its limit, whatever the form of the planner; what is cut is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hisa
from hisa.config import Settings, load
from hisa.errors import ConfigError
from hisa.models.tokens import estimate_tokens, prefix_within
from hisa.planner.prompt_budget import BETWEEN, PromptBudget, prompt_budget
from hisa.planner.view import state_text
from hisa.protocols import ModelRequest, StateView, Task
from hisa.runs.read import load_run
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import FunctionModel, tool_call
from tests.planner.test_planner import observation
from tests.planner.test_whole_state import FORMS, LAST, TASK, Full, shortened, summary

PLACES = "click(412, 300) entry Sort"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("every", [1, 3, 5, 7, 9])
def test_the_parts_sum_to_the_limit(every: int, form: str) -> None:
    tree = {"state": {"refine_every": every}, "planner": FORMS[form]}
    budget = prompt_budget(Settings.model_validate(tree))
    extra = {"sequence": 1000, "both": 110, "elements": 110}.get(form, 0)
    assert budget.total == 3500 + 180 * max(0, every - 5) + extra
    system = _system(form)
    budget.check(system)  # raises where they do not
    assert budget.room(system) == budget.total - estimate_tokens(system) - BETWEEN
    view = StateView(
        advice=_filled(600),
        refined=_filled(800),
        steps=tuple(_filled(180) for _ in range(every)),
    )
    cut: list[dict[str, int]] = []
    task = Task("t", "Sort the rows by price and save the file.")
    text = state_text(
        task, observation(), view, elements=False, room=budget.room(system), tools=_filled(200),
        cut=cut.append,
    )  # fmt: skip
    assert cut == []
    assert estimate_tokens(f"{system}\n{text}") <= budget.total


def _filled(tokens: int) -> str:
    return prefix_within("a word of it " * tokens, tokens)


def _system(form: str) -> str:
    from hisa.text.prompts import render
    from hisa.tools.registry import ToolRegistry

    return render(
        "planner",
        tools=ToolRegistry(emit=lambda event: None).describe(),
        pointing="",
        marks="sees" in FORMS[form],
        picture=form != "elements",
        computer=form == "computer",
        sequence=FORMS[form].get("sequence", 1),
        teaching="examples",
    )


@pytest.mark.parametrize(
    ("changes", "needed"),
    [
        ({"state": {"refined_tokens": 2000}}, "state.refined_tokens 2000"),
        ({"state": {"step_tokens": 400}}, "5 lines of 400"),
        ({"state": {"advice_tokens": 900}}, "state.advice_tokens 900"),
        ({"planner": {"prompt_tokens": 3000}}, "planner.prompt_tokens = 3000"),
    ],
)
def test_parts_that_are_more_than_the_whole_are_refused(
    changes: dict[str, Any], needed: str
) -> None:
    budget = prompt_budget(Settings.model_validate(changes))
    with pytest.raises(ConfigError) as caught:
        budget.check(_system("picture"))
    assert needed in str(caught.value)
    assert caught.value.fix.startswith("--set planner.prompt_tokens=")
    lifted = load(
        assignments=[caught.value.fix.removeprefix("--set ")], overrides=changes, environ={}
    )
    if "planner" not in changes:
        prompt_budget(lifted).check(_system("picture"))


async def test_a_run_with_parts_that_do_not_sum_ends_before_its_first_step(tmp_path: Path) -> None:
    tree = {"state": {"refined_tokens": 2900}, "run": {"folder": tmp_path}}
    with pytest.raises(ConfigError, match="2900"):
        await hisa.run(
            Task("t", TASK),
            settings=Settings.model_validate(tree),
            model=FunctionModel(Full()),
            environment=FakeEnvironment(),
        )


def test_a_cut_keeps_the_last_sections_and_is_told() -> None:
    tail = f"{LAST}\nNoted: the total is 4,711\nCoordinates: {PLACES}\nNot found: the plus button"
    view = StateView(
        advice="- MUST save.",
        refined=f"{shortened(summary(40), 600)[: -len(LAST)]}{tail}",
        steps=tuple(f"Step {n}: {_filled(160)}" for n in range(41, 46)),
    )
    cut: list[dict[str, int]] = []
    text = state_text(
        Task("t", TASK), observation(), view, elements=False, room=1100, cut=cut.append
    )
    assert estimate_tokens(text) <= 1100
    assert tail in text
    assert "(cut here" in text
    (told,) = cut
    assert told["refined_context"] > 100
    assert set(told) == {"refined_context"}


async def test_a_cut_is_an_event_and_stands_in_the_report(tmp_path: Path) -> None:
    model = Full()

    def asked(request: ModelRequest) -> str:
        if request.role == "planner" and len(model.requests) == 3:
            model.requests.append(request)
            return json.dumps({"thought": "Done.", "tool": "termination", "input": "x"})
        if request.role == "planner" and len(model.requests) == 1:
            model.requests.append(request)
            return tool_call("bash_execution", "seq 3000")
        return model(request)

    task = Task("t", "Copy this: " + " ".join(str(n * 7919 % 99991) for n in range(460)))
    result = await hisa.run(
        task,
        settings=Settings.model_validate(
            {"run": {"folder": tmp_path}, "patterns": {"enabled": False}}
        ),
        model=FunctionModel(asked),
        environment=FakeEnvironment(),
    )
    cuts = [
        event for event in load_run(result.run_id, tmp_path).events if event.type == "prompt_cut"
    ]
    assert cuts
    assert set(cuts[0].tokens) <= {"last_output", "refined_context", "execution_history"}


def test_the_default_budget_is_that_of_the_default_settings() -> None:
    assert prompt_budget(Settings()) == PromptBudget()
