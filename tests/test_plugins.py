"""An outside package at each door: found by name, used, and named where it fails."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from hisa.api import run
from hisa.cli.run_desktop import reattach_or_replay
from hisa.config import EnvironmentSettings, ModelSettings, Settings
from hisa.environments.open_environment import open_environment
from hisa.errors import (
    CheckFailed,
    ConfigError,
    ModelUnavailable,
    NotFound,
    PluginFailed,
    UsageError,
)
from hisa.grounder.formats import GTA1Format, open_format
from hisa.machine.plugins import ENTRY_POINT_GROUPS, announced_names
from hisa.models.budget import Budget
from hisa.models.open_models import OFFLINE_NAME, Models, open_models, require_models
from hisa.models.spending import Ledger
from hisa.plugins.benchmarks.cli.best_of import best_of
from hisa.plugins.benchmarks.tasks.judge import judge
from hisa.plugins.benchmarks.tasks.metrics import METRICS, find_metric
from hisa.plugins.benchmarks.tasks.problems import problems
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.offline.serve import http_client
from hisa.protocols import Task
from hisa.runs import RunLog, load_run, resume_point
from hisa.screen.geometry import Point, Size
from hisa.screen.observation import Screenshot
from hisa.tasks.taskfile import task_from_text
from hisa.testing import FakeEnvironment, ScriptedModel, tool_call
from tests.models.support import Events, ask

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "tests" / "outside_package" / "hisa_example_tools"

pytestmark = [pytest.mark.usefixtures("outside"), pytest.mark.process]


def planner(name: str) -> Settings:
    return Settings(models={"planner": ModelSettings(model=name)})


def models_of(
    settings: Settings, events: Events | None = None, ledger: Ledger | None = None
) -> Models:
    return open_models(
        settings, events or Events(), Budget(), ledger or Ledger(), offline=http_client, environ={}
    )


def hisa(folder: Path, outside: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": str(outside), "HISA_PATTERNS__ENABLED": "false"}
    return subprocess.run(
        [sys.executable, "-m", "hisa", *words],
        cwd=folder, env=environ, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_every_door_is_announced_and_documented() -> None:
    page = (ROOT / "docs" / "adding.md").read_text("utf-8")
    for door in ENTRY_POINT_GROUPS:
        assert f'[project.entry-points."hisa.{door}"]' in page
        assert len(announced_names(door)) >= 3


def test_the_examples_of_the_page_are_those_that_are_tested() -> None:
    page = (ROOT / "docs" / "adding.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    assert len(blocks) == 4
    modules = [path.read_text("utf-8") for path in PACKAGE.glob("*.py")]
    assert [block for block in blocks if block not in modules] == []


def test_nothing_is_imported_before_it_is_asked_for(outside: Path) -> None:
    code = (
        "import sys; from hisa.models.open_models import require_models; "
        "from hisa.config import Settings; "
        "from hisa.machine.plugins import announced_names; require_models(Settings()); "
        "print(announced_names('models')); "
        "print(any(name.startswith('hisa_example_tools') for name in sys.modules))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(outside)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    names, loaded = ran.stdout.splitlines()
    assert "modest" in names
    assert loaded == "False"


# ---------------------------------------------------------------- grounders


def test_a_grounder_format_is_found_and_reads_answers() -> None:
    form = open_format("percent")
    shown, (message,) = form.prepare(Screenshot(Image.new("RGB", (201, 101))), "the OK button")
    assert "the OK button" in str(message.parts)
    assert form.parse("50% 100%", shown) == Point(100.0, 100.0)
    with pytest.raises(NotFound, match="not two percentages"):
        form.parse("in the middle", shown)


def test_a_grounder_format_that_fails_is_named() -> None:
    with pytest.raises(PluginFailed, match=r"'broken_format' of package 'hisa-example-tools'.*nee"):
        open_format("broken_format")
    with pytest.raises(ConfigError, match=r"no such format; known are .*percent"):
        open_format("nothing")


# ---------------------------------------------------------------- environments


async def test_an_environment_is_found_and_gets_what_stands_behind_its_name() -> None:
    opened = open_environment(EnvironmentSettings(kind="form=kiosk", width=800, height=600))
    async with opened as environment:
        assert (await environment.observe()).screen == Size(800, 600)
        assert (await environment.execute("hostname")).output == "kiosk\n"


def test_an_environment_that_fails_is_named() -> None:
    with pytest.raises(
        PluginFailed, match=r"environment 'broken_machine' of package 'hisa-example-tools'.*needs"
    ):
        open_environment(EnvironmentSettings(kind="broken_machine"))
    with pytest.raises(UsageError, match=r"allowed are desktop, .*, form"):
        open_environment(EnvironmentSettings(kind="nothing"))


def test_several_attempts_are_refused_where_what_comes_up_keeps_what_they_do(
    tmp_path: Path,
) -> None:
    tree = {
        "patterns": {"enabled": False},
        "run": {"folder": tmp_path / "runs", "confirm": "never"},
        "environment": {"kind": "kept_form"},
    }
    task = task_from_text('Click the "Save" button.', domain="")
    with pytest.raises(UsageError, match=r"'kept_form' keeps what an attempt does"):
        best_of(Settings.model_validate(tree), task, 2, as_json=True, report=False)
    assert not list(tmp_path.rglob("*.json")), "neither a run nor a record is left"


async def test_acts_are_not_repeated_in_an_environment_where_they_stayed(tmp_path: Path) -> None:
    click = tool_call("gui_action", "pyautogui.click(X_COORD, Y_COORD)", "Save")
    tree = {
        "patterns": {"enabled": False},
        "run": {"folder": tmp_path, "confirm": "never"},
        "state": {"steps": "raw"},
    }
    settings = Settings.model_validate(tree)
    model = ScriptedModel([click, ModelUnavailable("gone")])
    result = await run("Save.", settings=settings, model=model, environment="kept_form")
    assert result.status == "model_error"
    point = resume_point(load_run(result.folder))
    assert point.step == 1
    chosen = Settings.model_validate(point.settings)
    with RunLog.reopen(result.folder) as log:
        environment, how, _ = await reattach_or_replay(chosen, log, point, lambda _: None)
    assert how == "reattached"
    assert isinstance(environment, FakeEnvironment)
    assert environment.acted == []


# ---------------------------------------------------------------- metrics


async def test_a_metric_is_found_and_asked_in_a_process_of_its_own(tmp_path: Path) -> None:
    left, wanted = tmp_path / "left.txt", tmp_path / "wanted.txt"
    left.write_text("Flour and MILK", "utf-8")
    wanted.write_text("flour milk", "utf-8")
    assert await judge("shared_words", left, wanted, {"case": False}) == (1.0, "lacks []")
    score, why = await judge("shared_words", left, wanted, {})
    assert (score, why) == (0.0, "lacks ['flour', 'milk']")


async def test_a_metric_that_fails_gives_no_score_and_is_named(tmp_path: Path) -> None:
    left, wanted = tmp_path / "left.txt", tmp_path / "wanted.txt"
    left.write_text("flour", "utf-8")
    wanted.write_text("", "utf-8")
    with pytest.raises(CheckFailed, match=r"'shared_words' of package 'hisa-example-tools'.*no wo"):
        await judge("shared_words", left, wanted, {})


def test_a_task_with_a_metric_that_cannot_be_loaded_is_refused_before_it_runs() -> None:
    def task(func: str) -> Task:
        found = {"type": "vm_file", "path": "/tmp/a.txt", "dest": "a.txt"}
        return Task("t", "Write.", check={"func": func, "result": found, "expected": found})

    assert list(problems(task("shared_words"))) == []
    (problem,) = problems(task("broken_metric"))
    assert "metric 'broken_metric' of package 'hisa-example-tools'" in problem
    assert "needs a library" in problem


# ---------------------------------------------------------------- models


async def test_a_model_is_found_and_has_ledger_and_log_around_it() -> None:
    require_models(planner("modest"), environ={})
    events, ledger = Events(), Ledger()
    opened = models_of(planner("modest"), events, ledger)
    async with opened as models:
        assert models["planner"].name == "modest"
        assert "beyond me" in (await models["planner"].complete(ask())).text
    assert ledger.total.calls == len(events.calls) == 1


def test_a_model_that_fails_is_named() -> None:
    with pytest.raises(PluginFailed, match=r"'broken_model' of package 'hisa-example-tools'.*ne"):
        models_of(planner("broken_model"))


# ---------------------------------------------------------------- all of them


async def test_no_package_takes_the_name_of_a_part_of_hisa() -> None:
    assert isinstance(open_format("gta1"), GTA1Format)
    assert isinstance(open_environment(EnvironmentSettings()), DesktopEnvironment)
    assert find_metric("exact_match") is METRICS.get("exact_match")
    async with models_of(Settings()) as models:
        assert models["planner"].name == OFFLINE_NAME


def test_a_run_in_an_outside_environment_with_an_outside_model(
    tmp_path: Path, outside: Path
) -> None:
    ran = hisa(
        tmp_path, outside, "run", "Go.", "--env", "form=kiosk", "--model", "modest", "--json"
    )
    told = json.loads(ran.stdout)
    assert (told["status"], told["message"]) == ("infeasible", "beyond me"), ran.stderr
    assert told["models"]["planner"] == "modest"
    wrong = hisa(tmp_path, outside, "run", "Go.", "--env", "broken_machine")
    assert wrong.returncode != 0
    assert "environment 'broken_machine' of package 'hisa-example-tools'" in wrong.stderr


def test_the_doctor_names_what_is_there_and_what_fails(tmp_path: Path, outside: Path) -> None:
    ran = hisa(tmp_path, outside, "doctor", "--json")
    found = {(one["area"], one["name"]): one for one in json.loads(ran.stdout)}
    assert found["environments", "form"]["ok"]
    assert found["models", "modest"]["detail"] == "of package hisa-example-tools"
    broken = found["metrics", "broken_metric"]
    assert not broken["ok"]
    assert not broken["needed"]
    assert "needs a library" in broken["detail"]
