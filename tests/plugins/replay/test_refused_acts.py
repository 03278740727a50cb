"""An act that a rule or a person forbids ends a replay at once, with the word that forbade it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import hisa
from hisa.config import Settings
from hisa.events import Decided
from hisa.plugins.replay.program_records import Proof, write_program
from hisa.plugins.replay.program_runs import PlayResult, play
from hisa.plugins.replay.run_compiler import compile_run
from hisa.runs.run_reader import load_run
from hisa.testing import FakeEnvironment
from hisa.testing.scripted import ScriptedModel, tool_call

RULE = {"then": "deny", "tool": "gui_action", "why": "Only look."}


def settings_in(folder: Path, **more: Mapping[str, Any]) -> Settings:
    tree: dict[str, Any] = {"run": {"folder": folder}, "patterns": {"enabled": False}}
    return Settings.model_validate(tree | more)


async def play_under(
    tmp_path: Path, *, proved: bool = False, **more: Mapping[str, Any]
) -> PlayResult:
    acts = [
        tool_call("gui_action", "pyautogui.click(300, 136)"),
        tool_call("gui_action", "pyautogui.write('Ada')"),
        tool_call("termination", "Entered."),
    ]
    shown = await hisa.run(
        "Enter a name.",
        settings=settings_in(tmp_path),
        environment=FakeEnvironment(),
        model={"planner": ScriptedModel(acts), "state": ScriptedModel(["Succeeded."] * 9)},
    )
    assert shown.status == "succeeded", shown.message
    place = tmp_path / "name"
    program = compile_run(load_run(shown.folder), "name")
    proof = Proof(run="other", by="effects", at="2026-01-01") if proved else None
    write_program(program.model_copy(update={"proof": proof}), place)
    settings = settings_in(tmp_path / "again", **more)
    return await play(place, settings, environment=FakeEnvironment())


@pytest.mark.parametrize("proved", [False, True])
async def test_act_refused_by_policy_is_not_retried(tmp_path: Path, proved: bool) -> None:
    played = await play_under(tmp_path, proved=proved, policy={"rules": [RULE]})
    assert played.outcome == "refused by policy"
    assert "deny tool 'gui_action'" in played.reason
    assert "Only look." in played.reason
    decided = [e.allowed for e in load_run(played.folder).events if isinstance(e, Decided)]
    assert decided == [False]


async def test_a_run_of_the_program_as_a_model_ends_at_once_as_well(tmp_path: Path) -> None:
    await play_under(tmp_path, proved=True)
    settings = settings_in(
        tmp_path / "run",
        policy={"rules": [RULE]},
        models={
            "planner": {"model": f"program:{tmp_path / 'name'}"},
            "state": {"model": "offline"},
        },
    )
    result = await hisa.run("Enter a name.", settings=settings, environment=FakeEnvironment())
    assert result.message.startswith("refused by policy: step 1 of 2: the policy refuses this")
    assert "Do not try" not in result.message
    assert result.steps == 2
