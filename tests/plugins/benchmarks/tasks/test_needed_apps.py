"""No task is scored on a machine that lacks an application of it: each is taken away in turn."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hisa
from hisa.errors import EnvironmentFailed
from hisa.plugins.benchmarks.tasks.cache import FileCache
from hisa.plugins.benchmarks.tasks.task_needs import needed_apps
from hisa.plugins.machines.app_in_tree import is_in_tree
from hisa.plugins.machines.known_apps import APPS, App
from hisa.plugins.machines.machine_apps import absent
from hisa.plugins.machines.profiles.applications import APPLICATIONS, Application
from hisa.tasks.scorer import TaskScorer
from hisa.tasks.taskfile import load_task
from hisa.testing import FunctionModel, tool_call
from tests.plugins.benchmarks.tasks.machine import offline
from tests.tasks.host import Host

EMPTY = {"type": "rule", "rules": {"expected": "x"}}
SAID = {"type": "vm_command_line", "command": ["echo", "y"]}


def known(application: Application) -> App:
    """What tasks call an application of a profile."""
    name = application.command.split()[0].rpartition("/")[2]
    found = [app for app in APPS if name in app.commands]
    return min(
        (app for app in found if not app.office or app.title == application.title),
        key=lambda app: app.commands.index(name),
    )


def written(folder: Path, *steps: Any, apps: tuple[str, ...] = (), **evaluator: Any) -> Path:
    judged = {"func": "exact_match", "result": SAID, "expected": EMPTY, **evaluator}
    tree = {
        "id": "t",
        "instruction": "Do it.",
        "config": list(steps),
        "evaluator": judged,
        "related_apps": list(apps),
    }
    path = folder / "examples" / "os" / "t.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(tree))
    return path


def launched(line: str) -> dict[str, Any]:
    return {"type": "launch", "parameters": {"command": line.split()}}


def programs(home: Path, *, without: str = "") -> Host:
    """A machine with a program for every application of the profiles, but one and its like."""
    lost = {name for app in APPS if app.title == without for name in app.commands}
    folder, office = home / "bin", home / "usr" / "lib" / "libreoffice" / "program"
    for place in (folder, office):
        place.mkdir(parents=True, exist_ok=True)
    (office / "soffice").write_text("#!/bin/sh\nsleep 3\n")
    (office / "soffice").chmod(0o755)
    for application in APPLICATIONS:
        app = known(application)
        name = application.command.split()[0].rpartition("/")[2]
        if app.title == without or (name in lost and not app.office):
            continue
        if app.office:
            (office / app.office).touch()
            (folder / "libreoffice").unlink(missing_ok=True)
            (folder / "libreoffice").symlink_to(office / "soffice")
        else:
            program = folder / name
            program.write_text("#!/bin/sh\nsleep 3\n")
            program.chmod(0o755)
    for name in (
        "bash",
        "sh",
        "sleep",
        "readlink",
        "echo",
        "cat",
        "setsid",
        "mkdir",
        "tail",
        "printf",
        "head",
        "rm",
        "test",
    ):
        found = shutil.which(name)
        if found and not (folder / name).exists():
            (folder / name).symlink_to(found)
    return Host(home, PATH=str(folder))


def planner(did: list[str]) -> FunctionModel:
    """Says at once that it is done, and remembers that it was asked."""

    def answer(request: Any) -> str:
        did.append(request.role)
        return tool_call("termination", "done") if request.role == "planner" else "Succeeded."

    return FunctionModel(answer)


@pytest.mark.process
@pytest.mark.parametrize("application", APPLICATIONS, ids=lambda one: one.title)
async def test_an_application_that_is_gone_is_named_and_its_task_never_scored(
    tmp_path: Path, application: Application
) -> None:
    app = known(application)
    task = load_task(written(tmp_path, launched(application.command)))
    assert app in needed_apps(task)
    machine = programs(tmp_path / "home", without=app.title)
    asked: list[str] = []
    tree = {"patterns": {"enabled": False}, "run": {"folder": tmp_path / "runs"}}
    result = await hisa.run(
        task,
        settings=hisa.Settings.model_validate(tree),
        model=planner(asked),
        environment=machine,
    )
    assert (result.score, result.score_state) == (None, "unscored")
    assert result.status == "environment_error"
    assert f"needs {app.title}" in result.message
    assert asked == []


@pytest.mark.parametrize(
    ("more", "title"),
    [
        ({"postconfig": [launched("vlc")]}, "VLC"),
        (
            {
                "postconfig": [
                    {
                        "type": "execute",
                        "parameters": {
                            "command": [
                                "python",
                                "-c",
                                "import pyautogui; pyautogui.hotkey('ctrl', 'alt', 't')",
                            ]
                        },
                    }
                ]
            },
            "a terminal",
        ),
        (
            {
                "postconfig": [
                    {
                        "type": "execute",
                        "parameters": {
                            "command": [
                                "python",
                                "-c",
                                "import pyautogui; pyautogui.hotkey(['ctrl', 'alt', 'tab'])",
                            ]
                        },
                    }
                ]
            },
            "",
        ),
    ],
)
def test_what_only_the_scoring_needs_counts_too(
    tmp_path: Path, more: dict[str, Any], title: str
) -> None:
    found = needed_apps(load_task(written(tmp_path, **more)))
    assert [app.title for app in found] == ([title] if title else [])


@pytest.mark.process
@pytest.mark.parametrize(("said", "lost"), [("y", True), ("y", False), ("x", True)])
async def test_an_application_that_goes_during_the_run_leaves_no_score_but_a_full_one(
    tmp_path: Path, said: str, lost: bool
) -> None:
    result = {"type": "vm_command_line", "command": ["printf", said]}
    task = load_task(written(tmp_path, launched("vlc"), result=result))
    machine = programs(tmp_path / "home")
    scorer = TaskScorer(cache=FileCache(tmp_path / "cache", offline))
    await scorer.prepare(task, machine)
    if lost:
        (machine.home / "bin" / "vlc").unlink()
    if lost and said == "y":
        with pytest.raises(EnvironmentFailed, match="needs VLC"):
            await scorer.score(task, machine, "succeeded")
    else:
        assert (await scorer.score(task, machine, "succeeded")).value == float(said == "x")


@pytest.mark.process
async def test_a_script_that_hands_over_to_nothing_is_no_application(tmp_path: Path) -> None:
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
    for text, there in lines.items():
        (folder / "google-chrome").write_text(f"#!/bin/sh\n{text}\n")
        (folder / "google-chrome").chmod(0o755)
        assert (await absent([elsewhere], machine) == []) is there
        assert is_in_tree(elsewhere, tmp_path / "tree") is there


def test_every_application_of_a_profile_is_one_that_tasks_can_name() -> None:
    assert {known(application).title for application in APPLICATIONS} <= {app.title for app in APPS}
