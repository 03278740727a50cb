"""The reference of a proved task, played on a form in memory."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from hisa.config import ModelSettings, PlannerSettings
from hisa.errors import ConfigError, ModelUnavailable
from hisa.plugins.synthesis.data.reference_planner import (
    REFERENCE,
    ReferenceModel,
    ReferencePlayer,
)
from hisa.plugins.synthesis.data.trajectories import trajectory_of
from hisa.protocols import StateView, Task
from hisa.runs.run_reader import Run
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import ScriptedModel
from tests.bench import Bench

_TYPE = {"kind": "type", "role": "text", "name": "", "text": "Ada"}
_SAVE = {"kind": "click", "role": "push button", "name": "Save"}


def _write(folder: Path, *acts: object) -> None:
    steps = [{"description": "", "act": act} for act in acts]
    (folder / "reference.json").write_text(json.dumps({"acts": steps}))


def _play_reference(folder: Path, *acts: object) -> tuple[str, Run, FakeEnvironment]:
    _write(folder, *acts)
    environment = FakeEnvironment()
    bench = Bench(folder / "runs", ScriptedModel([]), environment=environment)
    bench.agent.planner = ReferencePlayer(bench.log.emit)
    bench.task = replace(bench.task, folder=str(folder))
    result, run = asyncio.run(bench.run())
    return result.status, run, environment


def test_reference_action_becomes_a_step_with_looks_around_it(tmp_path: Path) -> None:
    status, run, environment = _play_reference(tmp_path, _TYPE, _SAVE)
    steps = trajectory_of(run).steps
    assert status == "succeeded"
    assert [step.thought for step in steps] == [
        "Click the text",
        "Select what it holds",
        'Type "Ada"',
        'Click the push button "Save"',
        "Everything is done.",
    ]
    assert all(len(step.actions) == 1 and step.after is not None for step in steps[:-1])
    assert [step.targets[0].name for step in steps[3:4] if step.targets[0]] == ["Save"]
    assert [action.kind for action in environment.acted] == ["click", "hotkey", "write", "click"]


def test_a_missing_element_is_waited_for_and_then_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def at_once(_: float) -> None:
        return None

    monkeypatch.setattr("hisa.tools.builtin.asyncio.sleep", at_once)
    status, run, environment = _play_reference(tmp_path, _SAVE | {"name": "Print"}, _SAVE)
    tools = [step.tool for step in trajectory_of(run).steps]
    assert (status, tools) == ("infeasible", ["wait"] * 3 + ["infeasible"])
    assert "it is not there" in trajectory_of(run).steps[-1].thought
    assert not environment.acted


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"acts": [{}]}', '{"acts": [{"act": {"kind": "run"}}]}', "[" * 3_000_000],
)
def test_a_run_without_a_usable_reference_has_no_score(tmp_path: Path, text: str) -> None:
    (tmp_path / "reference.json").write_text(text)
    observation = asyncio.run(FakeEnvironment().observe(elements=True))
    player = ReferencePlayer(lambda _: None)
    with pytest.raises(ModelUnavailable, match="reference"):
        asyncio.run(player.plan(Task("t", "x", folder=str(tmp_path)), observation, StateView()))


def test_reference_player_works_only_from_the_start(tmp_path: Path) -> None:
    _write(tmp_path, _SAVE)
    observation = asyncio.run(FakeEnvironment().observe(elements=True))
    task, later = Task("t", "x", folder=str(tmp_path)), StateView(lines=("Step 1",))
    with pytest.raises(ModelUnavailable, match="start"):
        asyncio.run(ReferencePlayer(lambda _: None).plan(task, observation, later))
    profile = ReferenceModel(ModelSettings(model="reference")).profile
    with pytest.raises(ConfigError):
        REFERENCE.fit_settings(PlannerSettings(), profile, lists=False, is_named=True)
    settled = REFERENCE.fit_settings(PlannerSettings(), profile, lists=True, is_named=True)
    assert (settled.sees, REFERENCE.grounder) == ("elements", "elements")
