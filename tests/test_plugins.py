"""An outside package at each door: found by name, used, and named where it fails."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from PIL import Image

from hisa import plugins as hisa_plugins
from hisa.agent import run
from hisa.cli import cli
from hisa.cli.doctor import doctor
from hisa.cli.run_desktop import reattach_or_replay
from hisa.cli.tools import list_tools, tools
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
from hisa.events import Event, Noted, PlanRejected
from hisa.grounder.formats import GTA1Format, open_format
from hisa.hooks import Hook, name_of
from hisa.machine import plugins
from hisa.machine.plugins import (
    ENTRY_POINT_GROUPS,
    EntryPointGroup,
    announced_names,
    default_name,
    is_left_out,
)
from hisa.models.announced_model import AnnouncedModel, find_announced
from hisa.models.budget import Budget
from hisa.models.open_models import Models, open_models, require_models
from hisa.models.spending import Ledger
from hisa.plugins.benchmarks.cli.bench import bench
from hisa.plugins.benchmarks.cli.best_of import best_of
from hisa.plugins.benchmarks.tasks.judge import judge
from hisa.plugins.benchmarks.tasks.metrics import METRICS, find_metric
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.guard.policy_hook import PolicyHook
from hisa.plugins.gym.gym_format import MINIWOB_TASKS
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.plugins.matching.scene import Scene
from hisa.plugins.offline.offline_model import OfflineModel
from hisa.protocols import Detachable, Task
from hisa.runs import RunLog, load_run, resume_point
from hisa.screen.geometry import BoundingBox, Point, Size
from hisa.screen.observation import Screenshot, Window
from hisa.tasks.find_format import format_of, problems
from hisa.tasks.named_task import named_task
from hisa.tasks.scorer import TaskScorer
from hisa.tasks.taskfile import load_task, task_from_text
from hisa.testing import FakeEnvironment, ScriptedModel, tool_call
from hisa.wiring.base import HookParts
from hisa.wiring.hook_list import NEEDED, applied_hooks, open_hooks
from hisa.wiring.tool_parts import open_served_tools
from tests.grounder.scenes import call, scene
from tests.models.support import Events, ask

ROOT = Path(__file__).parent.parent
PACKAGES = ROOT / "tests" / "outside_packages"

pytestmark = [pytest.mark.usefixtures("outside"), pytest.mark.process]


def planner(name: str) -> Settings:
    return Settings(models={"planner": ModelSettings(model=name)})


def models_of(
    settings: Settings, events: Events | None = None, ledger: Ledger | None = None
) -> Models:
    return open_models(
        settings.models,
        settings.planner,
        events or Events(),
        Budget(),
        ledger or Ledger(),
        environ={},
    )


def hisa(folder: Path, outside: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {
        **os.environ,
        "PYTHONPATH": f"{outside}{os.pathsep}{ROOT}",
        "HISA_PATTERNS__ENABLED": "false",
    }
    return subprocess.run(
        [sys.executable, "-m", "hisa", *words],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_door_is_announced_and_documented() -> None:
    page = (ROOT / "docs" / "adding.md").read_text("utf-8")
    for door in ENTRY_POINT_GROUPS:
        assert f'[project.entry-points."hisa.{door}"]' in page
        assert len(announced_names(door)) >= 3


def test_the_examples_of_the_page_are_those_that_are_tested() -> None:
    page = (ROOT / "docs" / "adding.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    assert len(blocks) == 14
    files = [*PACKAGES.glob("*/*/__init__.py"), *(ROOT / "examples" / "python").glob("*.py")]
    modules = [path.read_text("utf-8") for path in files]
    assert [block for block in blocks if block not in modules] == []


def test_plugin_is_not_imported_before_it_is_needed(outside: Path) -> None:
    code = (
        "import sys; from hisa.models.open_models import require_models; "
        "from hisa.config import Settings; "
        "from hisa.machine.plugins import announced_names; "
        "require_models(Settings().models, Settings().planner); "
        "print(announced_names('models')); "
        "print(any(name.startswith('hisa_example') for name in sys.modules))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": f"{outside}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=True,
    )
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


# ---------------------------------------------------------------- hooks


async def test_a_hook_ends_a_run_and_a_broken_one_does_not_fail_it(tmp_path: Path) -> None:
    tree = {
        "patterns": {"enabled": False},
        "state": {"steps": "raw"},
        "run": {"folder": tmp_path, "confirm": "never"},
    }

    def stop(event: Event) -> None:
        if event.type == "acted":
            (folder,) = tmp_path.iterdir()
            (folder / "STOP").touch()

    model = ScriptedModel([tool_call("wait", "0.1")] * 3)
    settings = Settings.model_validate(tree)
    environment = FakeEnvironment()
    result = await run(
        "Wait.", settings=settings, model=model, environment=environment, on_event=stop
    )
    assert (result.status, result.steps) == ("ended", 1)
    assert result.message == "STOP lies in the run's folder"
    notes = [e.text for e in load_run(result.folder).events if isinstance(e, Noted)]
    (broken,) = [text for text in notes if "broken_hook" in text]
    assert "package 'hisa-example-broken'" in broken


def hooks_of(tmp_path: Path, events: Events, **sections: Any) -> list[Hook]:
    own = {"patterns": {"enabled": False}, "planner": {"guards": False}}
    settings = Settings.model_validate({**own, **sections})
    with RunLog.create(tmp_path, Task("t", "x")) as log:
        return open_hooks(HookParts(settings, log, events))


NO_REMOVAL = {"policy": {"rules": [{"then": "deny", "command": "rm *"}]}}


def test_no_package_takes_the_place_of_the_policy(tmp_path: Path) -> None:
    hooks = hooks_of(tmp_path, Events(), **NO_REMOVAL)
    (policy,) = [hook for hook in hooks if name_of(hook) == "policy"]
    assert isinstance(policy, PolicyHook)
    names = [name_of(hook) for hook in hooks]
    assert names.index("StopFile") < names.index("policy")


def test_a_run_that_needs_a_hook_that_fails_does_not_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where rules are set, or a person is to be asked, and the part that does so is broken."""
    every = plugins.points

    def list_broken_points(group: EntryPointGroup) -> tuple[EntryPoint, ...]:
        others = [p for p in every(group) if group != "hooks" or p.name not in NEEDED]
        lame = [p for p in every("hooks") if p.name == "broken_hook"]
        named = [EntryPoint(n, lame[0].value, "hisa.hooks") for n in NEEDED] if lame else []
        return (*others, *named) if group == "hooks" else tuple(others)

    monkeypatch.setattr(plugins, "points", list_broken_points)
    for sections, reason in (
        (NO_REMOVAL, "policy.rules"),
        ({"run": {"confirm": "always"}}, "run.confirm = 'always'"),
        ({"policy": {"sites": ["example.org"]}}, "policy.sites"),
        ({"policy": {"dry_run": True}}, "policy.dry_run"),
        ({"secrets": {"a": {"env": "A"}}}, "secrets"),
        ({"planner": {"guards": True}}, "planner.guards"),
    ):
        with pytest.raises(PluginFailed, match=rf"needs a library.*; {re.escape(reason)} needs it"):
            hooks_of(tmp_path, Events(), **sections)
    hooks = hooks_of(tmp_path, Events())
    settings = Settings.model_validate(
        {"patterns": {"enabled": False}, "planner": {"guards": False}}
    )
    applied = applied_hooks(hooks, settings, FakeEnvironment())
    assert not {name_of(hook) for hook in applied} & set(NEEDED), "nothing needs one there"
    with pytest.raises(PluginFailed, match=r"needs a library.*policy\.defaults = 'auto' needs it"):
        applied_hooks(hooks, settings, OwnForm())


def test_a_run_that_needs_a_hook_that_nobody_announces_does_not_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = plugins.points
    monkeypatch.setattr(plugins, "points", lambda group: () if group == "hooks" else every(group))
    with pytest.raises(ConfigError, match=r"provides the hook 'policy'.*policy\.rules needs it"):
        hooks_of(tmp_path, Events(), **NO_REMOVAL)
    names = [name_of(hook) for hook in hooks_of(tmp_path, Events())]
    assert {"policy", "confirm"} <= set(names)
    with pytest.raises(ConfigError, match=r"policy\.defaults = 'auto' needs it"):
        applied_hooks(hooks_of(tmp_path, Events()), Settings(), OwnForm())


def test_entry_without_a_hook_is_noted_and_replaces_no_hook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = plugins.points
    odd = tuple(EntryPoint(name, "builtins:repr", "hisa.hooks") for name in ("odd", "policy"))
    monkeypatch.setattr(plugins, "points", lambda group: odd if group == "hooks" else every(group))
    events = Events()
    hooks_of(tmp_path, events, policy={"defaults": "never"}, run={"confirm": "never"})
    assert any("is not a hisa.hooks.Hook" in e.text for e in events.all if isinstance(e, Noted))
    with pytest.raises(PluginFailed, match=r"is not a hisa\.hooks\.Hook; policy\.rules needs it"):
        hooks_of(tmp_path, Events(), **NO_REMOVAL)


class OwnForm(FakeEnvironment):
    """Somebody's own machine: not thrown away."""

    @property
    def capabilities(self) -> frozenset[str]:
        return super().capabilities - {"throw_away"}


# ---------------------------------------------------------------- planners


async def test_a_planner_asks_and_reads_in_its_own_form(tmp_path: Path) -> None:
    tree = {
        "patterns": {"enabled": False},
        "planner": {"kind": "line"},
        "state": {"steps": "raw"},
        "run": {"folder": tmp_path, "confirm": "never"},
    }
    settings = Settings.model_validate(tree)
    model = ScriptedModel(["Well, click", "click Save", "done It is saved."])
    result = await run("Save.", settings=settings, model=model, environment="kept_form")
    assert (result.status, result.steps) == ("succeeded", 2)
    log = load_run(result.folder).events
    refused = [event.error for event in log if isinstance(event, PlanRejected)]
    assert refused == ["'Well,': the line begins with click, type or done"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("broken_planner", r"planner 'broken_planner' of package 'hisa-example-broken'.*needs"),
        (
            "nothing",
            r"planner\.kind = 'nothing': allowed are auto, .*line, .*pointer, .*reference, short",
        ),
    ],
)
async def test_a_planner_that_fails_or_is_none_is_named(
    tmp_path: Path, name: str, message: str
) -> None:
    tree = {
        "patterns": {"enabled": False},
        "planner": {"kind": name},
        "run": {"folder": tmp_path, "confirm": "never"},
    }
    settings = Settings.model_validate(tree)
    with pytest.raises((ConfigError, PluginFailed), match=message):
        await run("Save.", settings=settings, model=ScriptedModel([]), environment="kept_form")


# ---------------------------------------------------------------- lists of things


async def test_outside_element_list_is_used_for_grounding() -> None:
    window = Window("1", "Tickets", "kiosk", BoundingBox(0, 0, 600, 400, "screen"), active=True)
    grounder = ElementsGrounder(emit=lambda _: None, read=lambda _picture, _box: ())
    grounded_call = await grounder.resolve(call("the help corner"), scene(windows=(window,)))
    assert grounded_call.places[0].point == Point(580, 380)


def test_a_list_that_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def announce(value: str) -> None:
        folder = tmp_path / value.partition(":")[2]
        metadata = folder / "hisa_more_lists-1.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: hisa-more-lists\n")
        (metadata / "entry_points.txt").write_text(f"[hisa.lists]\nmore = {value}\n")
        monkeypatch.syspath_prepend(str(folder))

    with monkeypatch.context() as path:
        path.setattr(sys, "path", sys.path[:])
        announce("hisa_example_broken.broken:LIST")
        with pytest.raises(PluginFailed, match=r"list 'more' of package 'hisa-more-lists'.*needs"):
            _ = Scene(scene()).things
    announce("hisa_example_grounders:PercentFormat")
    with pytest.raises(PluginFailed, match=r"'hisa-more-lists'.*must be a .*ThingList"):
        _ = Scene(scene()).things


# ---------------------------------------------------------------- environments


async def test_outside_environment_gets_the_text_after_its_name() -> None:
    opened = open_environment(EnvironmentSettings(kind="form=kiosk", width=800, height=600))
    async with opened as environment:
        assert (await environment.observe()).screen == Size(800, 600)
        assert (await environment.execute("hostname")).output == "kiosk\n"


def test_several_attempts_are_refused_on_a_persistent_environment(
    tmp_path: Path,
) -> None:
    tree = {
        "patterns": {"enabled": False},
        "run": {"folder": tmp_path / "runs", "confirm": "never"},
        "environment": {"kind": "kept_form"},
    }
    task = task_from_text('Click the "Save" button.', domain="")
    with pytest.raises(UsageError, match=r"'kept_form' keeps what an attempt changes"):
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
        environment, method, _ = await reattach_or_replay(chosen, log, point)
    assert method == "reattached"
    assert isinstance(environment, FakeEnvironment)
    assert environment.acted == []


async def test_environment_kind_declares_its_options_and_gets_the_notes(tmp_path: Path) -> None:
    notes: list[str] = []
    chosen = EnvironmentSettings(kind="parked_form=kiosk", share=(str(tmp_path),))
    opened = open_environment(chosen, note=notes.append)
    assert notes == ["parked form kiosk"]
    assert opened.shared == (str(tmp_path),)  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="'form' cannot share a folder"):
        open_environment(EnvironmentSettings(kind="form", share=(str(tmp_path),)))


async def test_run_resumes_in_an_environment_that_a_package_left_running(tmp_path: Path) -> None:
    click = tool_call("gui_action", "pyautogui.click(X_COORD, Y_COORD)", "Save")
    tree = {
        "patterns": {"enabled": False},
        "run": {"folder": tmp_path, "confirm": "never"},
        "state": {"steps": "raw"},
        "environment": {"kind": "parked_form"},
    }
    settings = Settings.model_validate(tree)
    parked = open_environment(settings.environment)
    model = ScriptedModel([click, ModelUnavailable("gone")])
    async with parked:
        result = await run("Save.", settings=settings, model=model, environment=parked)
    point = resume_point(load_run(result.folder))
    assert point.desktop == {"run": result.folder.name}
    with RunLog.reopen(result.folder) as log:
        environment, method, why = await reattach_or_replay(settings, log, point)
        assert (method, why) == ("replayed", f"1 actions, because parked form of {log.id} is gone")
        assert isinstance(parked, Detachable)
        await parked.detach()
        environment, method, _ = await reattach_or_replay(settings, log, point)
    assert method == "reattached"
    assert environment is parked


def test_unknown_kind_error_names_the_kinds_of_outside_packages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    every = plugins.points
    monkeypatch.setattr(
        plugins,
        "points",
        lambda group: tuple(p for p in every(group) if not p.value.startswith("hisa.plugins.")),
    )
    with pytest.raises(UsageError, match=r"minimal': allowed are .*form"):
        open_environment(EnvironmentSettings(kind="desktop:minimal"))
    result = CliRunner().invoke(doctor, ["--json"], obj=Settings())
    lines = {(row["area"], row["name"]): row for row in json.loads(result.stdout)}
    assert not lines["machine", "environment"]["ok"]
    assert "'desktop': allowed are" in lines["machine", "environment"]["detail"]
    assert ("machine", "private desktops") not in lines


# ---------------------------------------------------------------- metrics


async def test_metric_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    left, expected = tmp_path / "left.txt", tmp_path / "wanted.txt"
    left.write_text("Flour and MILK", "utf-8")
    expected.write_text("flour milk", "utf-8")
    assert await judge("shared_words", left, expected, {"case": False}) == (1.0, "lacks []")
    score, why = await judge("shared_words", left, expected, {})
    assert (score, why) == (0.0, "lacks ['flour', 'milk']")


async def test_a_metric_that_fails_gives_no_score_and_is_named(tmp_path: Path) -> None:
    left, expected = tmp_path / "left.txt", tmp_path / "wanted.txt"
    left.write_text("flour", "utf-8")
    expected.write_text("", "utf-8")
    with pytest.raises(
        CheckFailed, match=r"'shared_words' of package 'hisa-example-metrics'.*no w"
    ):
        await judge("shared_words", left, expected, {})


def test_a_task_with_a_metric_that_cannot_be_loaded_is_refused_before_it_runs() -> None:
    def task(func: str) -> Task:
        source = {"type": "vm_file", "path": "/tmp/a.txt", "dest": "a.txt"}
        return Task("t", "Write.", check={"func": func, "result": source, "expected": source})

    assert list(problems(task("shared_words"))) == []
    (problem,) = problems(task("broken_metric"))
    assert "metric 'broken_metric' of package 'hisa-example-broken'" in problem
    assert "needs a library" in problem


# ---------------------------------------------------------------- task formats


@pytest.mark.parametrize(
    ("left", "score", "why"),
    [
        (b"Paris\n", 1.0, "wanted: Paris"),
        (b"Rome", 0.0, "wanted: Paris"),
        (b"\xff", 0.0, "the answer is no text"),
    ],
)
async def test_a_task_of_a_format_is_named_prepared_and_scored(
    left: bytes, score: float, why: str
) -> None:
    task = named_task("riddle:france")
    assert (task.id, task.format, problems(task)) == ("france", "riddle", [])
    machine, scorer = FakeEnvironment(), TaskScorer()
    await scorer.prepare(task, machine)
    assert await machine.read_file("/tmp/riddle.txt") == b"The capital of france?"
    missing = await scorer.score(task, machine, "succeeded")
    assert (missing.state, missing.value, missing.detail) == ("scored", 0.0, "there is no answer")
    await machine.write_file("/tmp/answer.txt", left)
    result = await scorer.score(task, machine, "succeeded")
    assert (result.state, result.value, result.partial) == ("scored", score, score)
    assert result.detail.startswith(why)


def test_a_file_whose_keys_are_a_formats_is_read_by_it(tmp_path: Path) -> None:
    path = tmp_path / "task.yaml"
    path.write_text("riddle: italy\n", "utf-8")
    assert load_task(path) == load_task("riddle:italy")
    path.write_text("riddle: atlantis\n", "utf-8")
    with pytest.raises(UsageError, match=r"no riddle about 'atlantis'; there are france, italy"):
        load_task(path)


def test_file_that_nobody_reads_names_the_format_that_failed(tmp_path: Path) -> None:
    path = tmp_path / "task.yaml"
    path.write_text("instruction: x\nsurprise: 1\n", "utf-8")
    with pytest.raises(UsageError, match=r"surprise: .*task 'broken_riddle' of package 'hisa-ex"):
        load_task(path)


def test_a_task_format_that_fails_is_named() -> None:
    with pytest.raises(
        PluginFailed, match=r"task 'broken_riddle' of package 'hisa-example-broken'.*needs a lib"
    ):
        named_task("broken_riddle:france")
    with pytest.raises(UsageError, match=r"no riddle about 'atlantis'"):
        named_task("riddle:atlantis")
    with pytest.raises(UsageError, match=r"no task format 'rhyme', .* known formats are .*riddle"):
        named_task("rhyme:france")


def test_a_word_with_a_colon_is_a_task_where_it_names_no_format() -> None:
    for text in ("https://example.org/", "Save:", "Open riddle:france and read it."):
        assert named_task(text).format == ""


def test_a_run_of_an_outside_task_is_scored_and_known_when_it_comes_back(
    tmp_path: Path, outside: Path
) -> None:
    ran = hisa(
        tmp_path, outside, "run", "riddle:france", "--env", "form", "--model", "modest", "--json"
    )
    output = json.loads(ran.stdout)
    assert (output["status"], output["score"]) == ("infeasible", 0.0), ran.stderr
    (manifest,) = tmp_path.rglob("run.json")
    task = load_run(manifest.parent).manifest.task.task()
    assert format_of(task) is format_of(named_task("riddle:italy"))
    with pytest.raises(UsageError, match=r"'france' is of the format 'rhyme', which no installed"):
        format_of(replace(task, format="rhyme"))


# ---------------------------------------------------------------- models


async def test_a_model_is_found_and_has_ledger_and_log_around_it() -> None:
    modest = planner("modest")
    require_models(modest.models, modest.planner, environ={})
    events, ledger = Events(), Ledger()
    opened = models_of(planner("modest"), events, ledger)
    async with opened as models:
        assert models["planner"].name == "modest"
        assert "beyond me" in (await models["planner"].complete(ask())).text
    assert ledger.total.calls == len(events.calls) == 1


async def test_the_default_model_is_the_one_announced_as_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert ModelSettings().model == default_name("models") == "offline"
    brought = find_announced("offline")
    assert brought is not None
    assert (brought.title, brought.by_rules) == (OfflineModel.title, True)
    assert find_announced("modest") == AnnouncedModel(title="modest")
    with monkeypatch.context() as nothing_installed:
        nothing_installed.setattr(sys, "path", [])
        assert ModelSettings().model == ""
        with pytest.raises(ConfigError, match=r"models\.planner names no model, and no installed"):
            require_models(Settings().models, Settings().planner)


# ---------------------------------------------------------------- tools of a run


async def test_servers_of_tools_take_a_package_that_opens_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = Settings.model_validate({"tools": {"mcp": {"time": {"command": ["true"]}}}})
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(ConfigError, match=r"tools\.mcp names time, but no installed package opens"):
        await open_served_tools(settings.tools, Events()).__aenter__()


# ---------------------------------------------------------------- commands


def test_a_command_is_found_listed_and_called(tmp_path: Path, outside: Path) -> None:
    page = hisa(tmp_path, outside, "--help").stdout
    assert re.search(r"^  runs .*\n  kept +Print how many are kept\.$", page, re.M)
    assert re.search(r"^  count-runs +Print how many runs are kept\.$", page, re.M)
    nested = hisa(tmp_path, outside, "tools", "--help").stdout
    assert re.search(r"^  kept +Print how many are kept\.$", nested, re.M)
    for words in (["count-runs"], ["kept"], ["tools", "kept"]):
        assert hisa(tmp_path, outside, *words).stdout == "0\n"


def test_a_command_that_fails_is_named_and_breaks_no_list(tmp_path: Path, outside: Path) -> None:
    listed = hisa(tmp_path, outside, "--help")
    page = " ".join(listed.stdout.split()).replace("- ", "-")  # lines end at hyphens too
    assert listed.returncode == 0
    assert "FAILED TO LOAD: command 'broken_command' of package 'hisa-example-broken'" in page
    assert "command 'no_command' of package 'hisa-example-broken' is a function, but" in page
    for name, reason in {
        "broken_command": ": ImportError: this plug-in needs a library",
        "absent_command": ": ModuleNotFoundError: No module named 'hisa_example_commands.absent'",
        "no_command": " is a function, but must be a click.Command",
    }.items():
        ran = hisa(tmp_path, outside, name)
        first, *rest = ran.stderr.splitlines()
        package = "hisa-example-commands" if name == "absent_command" else "hisa-example-broken"
        assert first.startswith(f"hisa: command {name!r} of package {package!r}{reason}")
        assert (ran.returncode, rest) == (3, ["  try: hisa doctor"])


def test_a_part_of_hisa_that_is_not_there_is_named_too(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['hisa.plugins.benchmarks.cli.best_of'] = None; "
        "sys.modules['hisa.plugins.reading.grounder_test'] = None; "
        "sys.modules['hisa.plugins.benchmarks.cli.bench'] = None; from hisa.cli import main; main()"
    )
    for words, name in (
        (["bench"], "bench"),
        (["run", "Go.", "--attempts", "2"], "run.attempts"),
        (["doctor", "--grounder"], "doctor.grounder"),
    ):
        ran = subprocess.run(
            [sys.executable, "-c", code, *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 3
        assert f"command {name!r} of package 'hisa-agent': ModuleNotFoundError" in ran.stderr


def test_the_list_of_commands_imports_none_of_them(outside: Path) -> None:
    code = (
        "import sys; from hisa.cli import cli; cli.main(['--help'], standalone_mode=False); "
        "print(*(name for name in sys.modules if name.startswith('hisa.plugins.')))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": f"{outside}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = ran.stdout.splitlines()[-1].split()
    assert loaded
    assert [name for name in loaded if name.count(".") > 2] == []


# ---------------------------------------------------------------- all of them


async def test_no_package_takes_the_name_of_a_part_of_hisa() -> None:
    assert isinstance(open_format("gta1"), GTA1Format)
    assert isinstance(open_environment(EnvironmentSettings()), DesktopEnvironment)
    assert cli.get_command(click.Context(cli), "doctor") is doctor
    assert cli.get_command(click.Context(cli), "bench") is bench
    assert tools.get_command(click.Context(tools), "ls") is list_tools
    assert find_metric("exact_match") is METRICS.get("exact_match")
    assert format_of(Task("t", "x", format="miniwob")) is MINIWOB_TASKS
    async with models_of(Settings()) as models:
        assert models["planner"].name == OfflineModel.title


def test_a_run_in_an_outside_environment_with_an_outside_model(
    tmp_path: Path, outside: Path
) -> None:
    ran = hisa(
        tmp_path, outside, "run", "Go.", "--env", "form=kiosk", "--model", "modest", "--json"
    )
    output = json.loads(ran.stdout)
    assert (output["status"], output["message"]) == ("infeasible", "beyond me"), ran.stderr
    assert output["models"]["planner"] == "modest"
    wrong = hisa(tmp_path, outside, "run", "Go.", "--env", "broken_machine")
    assert wrong.returncode != 0
    assert "environment 'broken_machine' of package 'hisa-example-broken'" in wrong.stderr


def test_doctor_names_working_and_failing_plugins(tmp_path: Path, outside: Path) -> None:
    ran = hisa(tmp_path, outside, "doctor", "--json")
    findings = {(row["area"], row["name"]): row for row in json.loads(ran.stdout)}
    assert findings["environments", "form"]["ok"]
    assert findings["models", "modest"]["detail"] == "from package hisa-example-models"
    assert findings["commands", "kept"]["ok"]
    assert "No module named" in findings["commands", "absent_command"]["detail"]
    assert ("commands", "machine") not in findings, "of HiSA's own parts, those that fail"
    assert ("environments", "desktop") in findings, (
        "a package took this name, and cannot be imported"
    )
    assert not findings["environments", "desktop"]["ok"]
    assert findings["machine", "parked_form"]["detail"] == "the park is closed"
    assert findings["machine", "parked_form"]["fix"] == "open the park"
    assert {"private desktops", "systems of profiles", "isolation"} <= {
        name for area, name in findings if area == "machine"
    }
    order = findings["hooks", "order"]["detail"].split(", ")
    assert order.index("stop_file") < order.index("held_acts") < order.index("policy")
    assert order.index("policy") < order.index("confirm")
    assert "needs a library" in findings["hooks", "broken_hook"]["detail"]
    broken = findings["metrics", "broken_metric"]
    assert not broken["ok"]
    assert not broken["needed"]
    assert "needs a library" in broken["detail"]


def test_a_plugin_of_ours_may_be_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "emptied" / "__pycache__").mkdir(parents=True)
    monkeypatch.setattr(hisa_plugins, "__path__", [*hisa_plugins.__path__, str(tmp_path)])
    left_out = {
        name: is_left_out(EntryPoint("x", f"{name}.part:PART", "hisa.lists"))
        for name in ("hisa.plugins.reading", "hisa.plugins.gone", "hisa.plugins.emptied", "other")
    }
    assert list(left_out.values()) == [False, True, True, False]
