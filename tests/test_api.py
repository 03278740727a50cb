"""`hisa.run` and `hisa.run_sync`: what they take, what they give, and what they tell."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import hisa
from hisa.errors import ConfigError, UsageError
from hisa.events import Event
from hisa.plugins.machines.guests.remote import RemoteEnvironment
from hisa.testing import (
    FakeEnvironment,
    FakeServer,
    FunctionModel,
    ReceivedRequest,
    ScriptedModel,
    tool_call,
)

ROOT = Path(__file__).parent.parent
TYPE_ADA = tool_call(
    "gui_action", "pyautogui.click(X_COORD, Y_COORD); pyautogui.write('Ada')", "Name"
)
SAVE = tool_call("gui_action", "pyautogui.click(X_COORD, Y_COORD)", "Save")
DONE = tool_call("termination", "The name is entered.")


def settings(folder: Path, **run: object) -> hisa.Settings:
    tree = {"patterns": {"enabled": False}, "run": {"folder": folder, **run}}
    return hisa.Settings.model_validate(tree)


def planner() -> FunctionModel:
    """A model for every role: types, then ends."""
    script = ScriptedModel([TYPE_ADA, DONE])

    async def answer(request: object) -> str:
        role = getattr(request, "role", "")
        return (await script.complete(request)).text if role == "planner" else "Succeeded. It did."  # type: ignore[arg-type]

    return FunctionModel(answer)


def answer_form(request: ReceivedRequest) -> str:
    if request.role != "planner":
        return "Succeeded. It did."
    return DONE if "Ada" in request.text.partition("Step 1")[2] else TYPE_ADA


async def test_a_run_with_a_model_of_ones_own(tmp_path: Path) -> None:
    form = FakeEnvironment()
    result = await hisa.run(
        'Enter "Ada".', settings=settings(tmp_path), model=planner(), environment=form
    )
    assert isinstance(result, hisa.RunResult)
    assert (result.status, result.score, result.score_state) == ("succeeded", None, "no_check")
    assert form.text == "Ada"
    loaded_run = hisa.load_run(result.folder)
    assert (loaded_run.id, loaded_run.status, len(loaded_run.steps)) == (
        result.run_id,
        "succeeded",
        2,
    )
    assert loaded_run.manifest.settings["run"]["folder"] == str(tmp_path)


@pytest.mark.parametrize("kind", [Path, str])
async def test_a_task_file_is_scored(kind: type[Path] | type[str], tmp_path: Path) -> None:
    task = tmp_path / "task.yaml"
    check = "[{file: /home/user/form.txt, contains: Ada}]"
    task.write_text(f"instruction: Enter Ada.\ncheck: {check}\n", "utf-8")
    script = ScriptedModel([TYPE_ADA, SAVE, DONE])
    result = await hisa.run(
        kind(task),
        settings=settings(tmp_path),
        model={"planner": script, "state": FunctionModel(lambda _: "Succeeded. It did.")},
        environment=FakeEnvironment(),
    )
    assert (result.score, result.success) == (1.0, True), result.score_detail


async def test_model_by_name_is_at_the_address_of_the_settings(tmp_path: Path) -> None:
    with FakeServer(then=answer_form) as server:
        chosen = settings(tmp_path).model_copy(
            update={
                "models": hisa.Settings.model_validate(
                    {"models": {"planner": {"base_url": server.url}}}
                ).models
            }
        )
        result = await hisa.run(
            hisa.Task("form", 'Enter "Ada".'),
            settings=chosen,
            model="my-model",
            environment=FakeEnvironment(),
        )
    assert result.status == "succeeded"
    assert {request.body["model"] for request in server.requests} == {"my-model"}


async def test_a_listener_that_raises_ends_the_run_and_the_log_has_an_end(tmp_path: Path) -> None:
    def listen(event: Event) -> None:
        if event.type == "planned":
            raise ValueError("the listener is broken")

    with pytest.raises(ValueError, match="the listener is broken"):
        await hisa.run(
            'Enter "Ada".',
            settings=settings(tmp_path),
            model=planner(),
            environment=FakeEnvironment(),
            on_event=listen,
        )
    assert hisa.load_run("latest", tmp_path).status == "defect"


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"environment": "cloud"}, UsageError),
        ({"task": "no_such_task.yaml", "environment": FakeEnvironment()}, UsageError),
        ({"task": "  ", "environment": FakeEnvironment()}, UsageError),
        ({"settings": {"confirm": "never"}, "kind": "vision"}, ConfigError),
    ],
)
async def test_refused_run_leaves_no_folder(
    wrong: dict[str, object], error: type[Exception], tmp_path: Path
) -> None:
    sections = wrong.get("settings")
    chosen = settings(tmp_path / "runs", **(sections if isinstance(sections, dict) else {}))
    if "kind" in wrong:
        grounder = chosen.grounder.model_copy(update={"kind": wrong["kind"]})
        chosen = chosen.model_copy(update={"grounder": grounder})
    environment = wrong.get("environment", FakeEnvironment())
    assert isinstance(environment, str | FakeEnvironment)
    with pytest.raises(error):
        await hisa.run(
            str(wrong.get("task", "Go.")),
            settings=chosen,
            model=planner(),
            environment=environment,
        )
    assert not (tmp_path / "runs").exists()


async def test_run_sync_works_where_a_loop_runs(tmp_path: Path) -> None:
    threads = set()
    result = hisa.run_sync(
        'Enter "Ada".',
        settings=settings(tmp_path),
        model=planner(),
        environment=FakeEnvironment(),
        on_event=lambda _: threads.add(threading.current_thread().name),
    )
    assert result.status == "succeeded"
    assert threads == {"hisa-run"}


async def test_run_sync_raises_errors_of_the_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cloud"):
        hisa.run_sync("Go.", settings=settings(tmp_path), model=planner(), environment="cloud")


async def test_run_sync_refuses_a_started_guest_where_a_loop_runs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="while an event loop is running") as refused:
        hisa.run_sync("Go.", environment=RemoteEnvironment("http://127.0.0.1:1"))
    assert "await agent.run" in refused.value.fix


STOPPED = """
import asyncio, os, signal, sys
import hisa
from hisa.testing import FakeEnvironment, FunctionModel

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job has it ignored

async def stop(request):
    os.kill(os.getpid(), signal.SIGINT)
    await asyncio.sleep(600)

def go():
    chosen = hisa.Settings.model_validate({"patterns": {"enabled": False}})
    model = FunctionModel(stop)
    print(hisa.run_sync("Go.", settings=chosen, model=model, environment=FakeEnvironment()).status)

async def inside():
    go()

asyncio.run(inside()) if "inside" in sys.argv else go()
"""


@pytest.mark.process
@pytest.mark.parametrize("where", ["outside", "inside"])
def test_ctrl_c_ends_the_run_and_keeps_it(where: str, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", STOPPED, where],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.stdout == "stopped\n", ran.stderr
    assert hisa.load_run("latest", tmp_path / "runs").status == "stopped"


@pytest.mark.process
@pytest.mark.parametrize("prelude", ["", "import logging; logging.basicConfig(level='INFO')\n"])
def test_first_steps_run_and_are_quiet_unless_logging_is_on(prelude: str, tmp_path: Path) -> None:
    script = tmp_path / "first.py"
    script.write_text(prelude + (ROOT / "examples" / "first_steps.py").read_text("utf-8"), "utf-8")
    ran = subprocess.run(
        [sys.executable, script.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ},
    )
    lines = ran.stdout.splitlines()
    assert "   found 'Name'" in lines
    assert "the form says: Ada" in lines
    assert any(line.startswith("step 3: termination, succeeded") for line in lines)
    assert (tmp_path / lines[-1].removeprefix("picture: ")).is_file()
    assert ("INFO:hisa:run: Enter" in ran.stderr) == bool(prelude)
    assert bool(ran.stderr) == bool(prelude)
