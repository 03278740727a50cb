"""The parts of a prompt sum to its limit, whatever the form of the planner; what is cut is told."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import hisa
from hisa.cli.progress import Progress
from hisa.config import Settings, load
from hisa.errors import ConfigError
from hisa.events import Event, PromptCut
from hisa.models.tokens import estimate_tokens, prefix_within
from hisa.planner.prompt_budget import BETWEEN, PromptBudget, PromptRoom, prompt_budget
from hisa.planner.view import state_text
from hisa.protocols import ModelRequest, StateView, Task, TextPart
from hisa.runs.read import load_run
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import FunctionModel
from hisa.text.prompts import data_folder, render
from tests.planner.test_planner import observation
from tests.planner.test_whole_state import FORMS, TASK, Full

PLACES = "click(412, 300) entry Sort"
LONG = "Copy this: " + " ".join(str(n * 7919 % 99991) for n in range(460))
TASK_OF_ONE_LINE = Task("t", "Sort the rows by price and save the file.")


def _budget_of(settings: Settings) -> PromptBudget:
    learns = settings.patterns.enabled
    return prompt_budget(settings.planner, settings.state, learns=learns)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("every", [1, 3, 5, 7, 9])
def test_the_parts_sum_to_the_limit(every: int, form: str) -> None:
    tree = {"state": {"refine_every": every}, "planner": FORMS[form]}
    budget = _budget_of(Settings.model_validate(tree))
    system = _system(form)
    limit = sum(budget.parts(system).values())
    events: list[Event] = []
    room = PromptRoom(budget, system, events.append).for_task(TASK_OF_ONE_LINE)
    assert events == []  # its parts fit
    assert room == limit - estimate_tokens(system) - BETWEEN
    view = StateView(
        advice=_filled(600),
        refined=_filled(800),
        steps=tuple(_filled(180) for _ in range(every)),
    )
    cut: list[dict[str, int]] = []
    text = state_text(
        TASK_OF_ONE_LINE,
        observation(),
        view,
        elements=False,
        room=room,
        tools=_filled(200),
        cut=cut.append,
    )
    assert cut == []
    assert estimate_tokens(f"{system}\n{text}") <= limit


def system_of(request: ModelRequest) -> str:
    (system,) = request.messages[0].parts
    assert isinstance(system, TextPart)
    return system.text


def _filled(tokens: int) -> str:
    return prefix_within("a word of it " * tokens, tokens)


def _system(form: str) -> str:
    from hisa.tools.registry import ToolRegistry

    return render(
        "planner",
        tools=ToolRegistry().describe(),
        pointing="",
        marks="sees" in FORMS[form],
        picture=form != "elements",
        computer=form == "computer",
        sequence=FORMS[form].get("sequence", 1),
        teaching="examples",
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"state": {"refined_tokens": 2000}, "planner": {"prompt_tokens": 3600}},
        {"state": {"step_tokens": 400}, "planner": {"prompt_tokens": 3600}},
        {"planner": {"prompt_tokens": 2500}},
    ],
)
async def test_parts_that_are_more_than_the_whole_give_way_with_one_event(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    tree = {**changes, "run": {"folder": tmp_path, "max_steps": 7}, "patterns": {"enabled": False}}
    settings = Settings.model_validate(tree)
    model = Full()
    result = await hisa.run(
        Task("t", TASK),
        settings=settings,
        model=FunctionModel(model),
        environment=FakeEnvironment(),
    )
    (told,) = (e for e in load_run(result.run_id, tmp_path).events if isinstance(e, PromptCut))
    assert sum(told.parts.values()) > told.limit or told.tokens
    limit = changes["planner"]["prompt_tokens"]
    assert len(model.requests) == 7
    assert all(estimate_tokens(request.text) <= limit for request in model.requests)


@pytest.mark.parametrize("limit", [None, 3600])
async def test_forty_more_sentences_take_of_the_state_only_where_a_limit_is_set(
    limit: int | None, tmp_path: Path
) -> None:
    more = "\n".join(f"- Rule {n}: read the title of the window in front first." for n in range(40))
    text = (data_folder("prompts") / "planner.md").read_text("utf-8")
    text = text.replace("How to work:", f"How to work:\n{more}")
    own = tmp_path / "own"
    own.mkdir()
    (own / "planner.md").write_text(text, "utf-8")
    model, shown = Full(), io.StringIO()
    tree = {
        "run": {"folder": tmp_path / "runs", "max_steps": 7},
        "prompts": {"folder": own},
        "planner": {"prompt_tokens": limit},
    }
    await hisa.run(
        Task("t", TASK),
        settings=Settings.model_validate(tree),
        model=FunctionModel(model),
        environment=FakeEnvironment(),
        on_event=Progress(Console(file=shown, width=400), 7),
    )
    assert len(model.requests) == 7
    assert all("Rule 39" in request.text for request in model.requests)
    most = limit or sum(PromptBudget().parts(system_of(model.requests[0])).values())
    assert all(estimate_tokens(request.text) <= most for request in model.requests)
    warnings = [line for line in shown.getvalue().splitlines() if "planner.prompt_tokens" in line]
    assert len(warnings) == (limit is not None)


@pytest.mark.parametrize(
    ("instruction", "limit", "fits"),
    [("Sort.", 1100, False), ("Sort.", 2000, True), (LONG, 2000, False), (LONG, None, True)],
)
async def test_only_what_cannot_hold_prompt_task_and_a_step_is_refused(
    tmp_path: Path, instruction: str, limit: int | None, fits: bool
) -> None:
    tree = {"planner": {"prompt_tokens": limit}, "run": {"folder": tmp_path, "max_steps": 2}}
    run = hisa.run(
        Task("t", instruction),
        settings=Settings.model_validate(tree),
        model=FunctionModel(Full()),
        environment=FakeEnvironment(),
    )
    if fits:
        assert (await run).status == "max_steps"
        return
    with pytest.raises(ConfigError) as caught:
        await run
    lifted = load(assignments=[caught.value.fix.removeprefix("--set ")], environ={})
    room = PromptRoom(_budget_of(lifted), _system("picture"), lambda event: None)
    assert room.for_task(Task("t", instruction)) > 0


def test_tools_and_advice_give_way_last_and_the_advice_says_how_much() -> None:
    rules = [f"- MUST do number {n} of what the house wants of everybody." for n in range(20)]
    view = StateView(
        advice="\n".join(rules), refined=_filled(300), steps=("Step 1: a", "Step 2: b")
    )
    cut: list[dict[str, int]] = []
    text = state_text(
        TASK_OF_ONE_LINE,
        observation(),
        view,
        elements=False,
        room=250,
        tools=_filled(150),
        cut=cut.append,
    )
    assert estimate_tokens(text) <= 250
    assert set(cut[0]) == {"refined_context", "execution_history", "tools", "advice"}
    assert rules[0] in text
    shown = sum(rule in text for rule in rules)
    assert f"({20 - shown} more lines do not fit here)" in text
    assert "Step 2: b" in text
