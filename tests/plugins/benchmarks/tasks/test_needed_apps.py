"""No task is scored on a machine that lacks an application of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hisa.errors import EnvironmentFailed
from hisa.plugins.benchmarks.tasks.task_needs import needed_apps
from hisa.plugins.machines.known_apps import APPS
from hisa.plugins.machines.machine_apps import find_missing
from hisa.protocols import Task
from hisa.tasks.scorer import TaskScorer
from tests.plugins.benchmarks.tasks.test_verified import build_launch, stub
from tests.tasks.host import Host


def pressing(keys: str) -> dict[str, Any]:
    source = f"import pyautogui; pyautogui.hotkey({keys})"
    return {"type": "execute", "parameters": {"command": ["python", "-c", source]}}


@pytest.mark.parametrize(
    ("step", "titles"),
    [
        (build_launch("vlc"), ["VLC"]),
        (pressing("'ctrl', 'alt', 't'"), ["a terminal"]),
        (pressing("['ctrl', 'alt', 'tab']"), []),
    ],
)
def test_needed_apps_include_those_of_steps_before_scoring(
    step: dict[str, Any], titles: list[str]
) -> None:
    task = Task(id="t", instruction="x", check={"func": "exact_match", "postconfig": [step]})
    assert [app.title for app in needed_apps(task)] == titles


@pytest.mark.process
@pytest.mark.parametrize(("output", "lost"), [("y", True), ("y", False), ("x", True)])
async def test_an_application_that_goes_during_the_run_leaves_no_score_but_a_full_one(
    tmp_path: Path, output: str, lost: bool
) -> None:
    result = {"type": "vm_command_line", "command": ["printf", output]}
    expected = {"type": "rule", "rules": {"expected": "x"}}
    check = {"func": "exact_match", "result": result, "expected": expected}
    task = Task(
        id="t", instruction="x", setup=(build_launch("metabase"),), check=check, format="osworld"
    )
    home = tmp_path / "home"
    machine = Host(home, PATH=stub(home, "metabase", "exec sleep 3"))
    await TaskScorer().prepare(task, machine)
    if lost:
        (home / "bin" / "metabase").unlink()
    if lost and output == "y":
        with pytest.raises(EnvironmentFailed, match="needs Metabase"):
            await TaskScorer().score(task, machine, "succeeded")
    else:
        assert (await TaskScorer().score(task, machine, "succeeded")).value == float(output == "x")


@pytest.mark.process
async def test_wrapper_script_of_a_missing_program_is_not_an_application(tmp_path: Path) -> None:
    app = next(app for app in APPS if app.title == "Chromium")
    folder = tmp_path / "tree" / "usr" / "local" / "bin"
    folder.mkdir(parents=True)
    machine = Host(tmp_path / "home", PATH=f"{folder}:/usr/bin:/bin")
    lines = {
        'exec /nowhere/chromium "$@"': False,
        'A=b \\\n    exec /nowhere/chromium "$@"': False,
        'exec /usr/$FOLDER/chromium "$@"': True,
        "exec sleep 3": True,
    }
    elsewhere = replace(app, commands=("google-chrome",))
    for text, exists in lines.items():
        (folder / "google-chrome").write_text(f"#!/bin/sh\n{text}\n")
        (folder / "google-chrome").chmod(0o755)
        assert (await find_missing([elsewhere], machine) == []) is exists
