"""Sampling in whole runs: what is asked, what the log, the terminal and the report say of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hisa
from hisa.errors import ConfigError
from hisa.protocols import ModelReply, ModelRequest, Usage
from hisa.runs.report import render_report
from hisa.runs.run_reader import Run, load_run
from hisa.runs.terminal_view import run_json, step_text
from hisa.testing import FakeEnvironment, FunctionModel, tool_call
from hisa.testing.model_server import FakeServer, ReceivedRequest
from tests.plugins.benchmarks.bench_suite.test_guests import hisa as command
from tests.stock.stock_guest import StockGuest

CLICK = "pyautogui.click(X_COORD, Y_COORD)"
TYPE = tool_call("gui_action", f"{CLICK}; pyautogui.write('Ada')", "the field Name")
SAVE = tool_call("gui_action", CLICK, "Save")
AGREE = tool_call("gui_action", CLICK, "Agree")
DONE = tool_call("termination", "Saved.")
STEPS = ([TYPE, TYPE], [AGREE, SAVE], [DONE, DONE])
"""What the planner answers at each step, sample by sample."""


def settings(folder: Path, **planner: object) -> hisa.Settings:
    off = {"patterns": {"enabled": False}, "grounder": {"kind": "elements"}}
    return hisa.Settings.model_validate({**off, "run": {"folder": folder}, "planner": planner})


def model() -> FunctionModel:
    """Every role; each call costs a hundred tokens in and ten out."""
    left = [list(samples) for samples in STEPS]

    def answer(request: ModelRequest) -> ModelReply:
        match request.role:
            case "planner":
                text = left[request.step - 1].pop(0)
            case "judge":
                listed = request.text.split("\n<candidates>\n")[1]
                index = 1 if "termination" in listed else 2
                text = json.dumps({"explaining": "It saves <b>the form</b>.", "index": index})
            case _:
                text = "Succeeded. It did."
        return ModelReply(text, Usage(100, 10))

    return FunctionModel(answer)


@pytest.fixture
async def run(tmp_path: Path) -> Run:
    form = FakeEnvironment()
    result = await hisa.run(
        "Save the form as Ada.",
        settings=settings(tmp_path, samples=3),
        model=model(),
        environment=form,
    )
    assert result.status == "succeeded"
    assert form.text == "Ada"
    return load_run(result.folder)


async def test_sampled_run_carries_out_the_chosen_candidate(run: Run) -> None:
    first, second, third = run.steps
    assert [record.chosen and record.chosen.by for record in run.steps] == [
        "agreement",
        "judge",
        "judge",
    ]
    assert [len(record.sampled) for record in run.steps] == [2, 2, 2]
    assert second.planned is not None
    assert second.planned.description == "Save"
    assert first.places
    assert third.chosen is not None
    assert third.chosen.widened == ""


async def test_the_terminal_shows_how_it_was_decided(run: Run) -> None:
    text = step_text(run, 2)
    assert "sample 2: gui_action pyautogui.click(X_COORD, Y_COORD) 'Save'" in text
    assert "judge: 2 of 1, 2: It saves <b>the form</b>." in text
    assert "chosen: 2: picked by the judge (2 samples, 2 distinct)" in text
    data = run_json(run)
    assert data["steps"][1]["chosen"]["by"] == "judge"


async def test_the_report_shows_candidates_and_the_judge(run: Run) -> None:
    page = render_report(run)
    assert "2 candidates, 2: picked by the judge" in page
    assert "It saves &lt;b&gt;the form&lt;/b&gt;." in page


def answer_role(received: ReceivedRequest) -> str:
    if received.role == "judge":
        return '{"explaining": "Done.", "index": 1}'
    return DONE if received.role == "planner" else "Succeeded. It did."


@pytest.mark.process
def test_the_option_samples_at_a_temperature_of_its_own(tmp_path: Path) -> None:
    with StockGuest() as guest, FakeServer(then=answer_role) as server:
        cli = command(tmp_path)
        cli.environ |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "x"}
        where = ("--env", f"guest={guest.url}", "--model", "m", "--no-report")
        fixed = ("--set", "environment.settle=0.2", "--set", "patterns.enabled=false")
        cli.run(
            "run", "Do it.", "--samples", "4", "--set", "planner.scaling=constant", *where, *fixed
        )
        requests = list(server.requests)
        for wrong in ("models.planner.temperature=0", "models.planner.seed=3"):
            errors = cli.run_refused(
                "run", "Do it.", "--samples", "4", *where, *fixed, "--set", wrong
            )
            assert "planner.samples = 4" in errors
            assert wrong.split("=")[0] in errors
    assert [request.body["temperature"] for request in requests if request.role == "planner"] == [
        0.7
    ] * 4
    assert [request.body["temperature"] for request in requests if request.role == "judge"] == [0.0]


async def test_the_offline_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="always answers the same") as caught:
        await hisa.run(
            "Save.", settings=settings(tmp_path, samples=2), environment=FakeEnvironment()
        )
    assert "planner.samples=1" in caught.value.fix
