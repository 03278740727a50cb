"""MiniWoB++ without a browser: which tasks there are, what the stage notes, what it is worth."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import pytest

from hisa.errors import EnvironmentFailed, UsageError
from hisa.plugins.gym.miniwob import package as pages
from hisa.plugins.gym.miniwob.outcome import STATE, outcome
from hisa.plugins.gym.miniwob.stage import Stage
from hisa.protocols import CommandResult
from hisa.tasks.find_format import problems
from hisa.tasks.taskfile import load_task
from tests.plugins.benchmarks.tasks.machine import Machine
from tests.plugins.benchmarks.tasks.pages import needs_pages

ReportEvent = Callable[..., dict[str, Any]]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    archive = tmp_path / "pages.zip"
    with zipfile.ZipFile(archive, "w") as archive_file:
        archive_file.writestr("html/core/core.js", "var core;")
        archive_file.writestr("html/miniwob/a.html", "<p>ö</p>")
        archive_file.writestr("episode.js", "begin()")
    with Stage(archive, tmp_path / "state", seed=7) as stage:
        thread = threading.Thread(target=stage.serve_forever, args=(0.05,))
        thread.start()
        yield stage
        stage.shutdown()
        thread.join()


@pytest.fixture
def client(stage: Stage) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{stage.server_address[1]}") as client:
        yield client


def read_state(folder: Path) -> dict[str, Any]:
    state: dict[str, Any] = json.loads((folder / "state").read_bytes())
    return state


def tell(client: httpx.Client, event: str, **body: Any) -> Any:
    return client.post(f"/stage/{event}", json=body).raise_for_status().json()


@needs_pages
def test_registered_tasks_are_complete_and_have_their_pages() -> None:
    names = pages.tasks()
    assert len(names) == 128
    assert [name for name in names if "." in name] == [
        "flight.AA",
        "flight.Alaska",
        "flight.Alaska-auto",
    ]
    with zipfile.ZipFile(BytesIO(pages.application())) as archive:
        members = set(archive.namelist())
    assert {f"html/{pages.page_path(name)}" for name in names} <= members
    assert {"__main__.py", "episode.js", "html/core/core.js"} <= members
    assert "chase-circle" in pages.left_out()
    assert not set(pages.left_out()) & set(names)


@needs_pages
def test_a_task_is_known_by_its_name_and_its_seed() -> None:
    task = load_task("miniwob:click-test", seed=5)
    assert (task.id, task.domain, problems(task)) == ("click-test", "browser", [])
    assert task.setup[0]["parameters"] == {"task": "click-test", "seed": 5}
    with pytest.raises(UsageError, match=r"task '\.\./core'; there are 128"):
        load_task("miniwob:../core")


def test_without_the_package_the_command_that_brings_it_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "miniwob", None)
    with pytest.raises(UsageError) as refused:
        load_task("miniwob:click-test")
    assert refused.value.fix == "hisa install miniwob"


def test_episode_counts_only_its_first_ending(client: httpx.Client, tmp_path: Path) -> None:
    assert client.get("/core/core.js").text == "var core;begin()"
    page = client.get("/miniwob/a.html")
    assert (page.text, page.headers["Content-Type"]) == ("<p>ö</p>", "text/html; charset=utf-8")
    assert client.get("/miniwob/none.html").status_code == 404
    assert tell(client, "load") == {"seed": 7, "first": True}
    tell(client, "ready", instruction="Do it.")
    tell(client, "done", reward=-1, reason="wrong")
    tell(client, "done", reward=1, reason="another episode")
    state = read_state(tmp_path)
    assert state["pid"] == os.getpid()
    assert (state["instruction"], state["reward"], state["reason"]) == ("Do it.", -1.0, "wrong")


def test_a_page_loaded_again_gives_nothing_any_more(client: httpx.Client, tmp_path: Path) -> None:
    tell(client, "load")
    assert tell(client, "load") == {"seed": 7, "first": False}
    tell(client, "done", reward=1, reason="")
    assert (read_state(tmp_path)["left"], read_state(tmp_path)["reward"]) == (True, None)


def test_a_page_that_goes_without_a_word_is_lost(
    stage: Stage, client: httpx.Client, tmp_path: Path
) -> None:
    with client.stream("GET", "/stage/line") as line:
        assert line.status_code == 200
        assert "lost" not in read_state(tmp_path)
    client.close()
    deadline = time.monotonic() + 60
    while "lost" not in read_state(tmp_path):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_later_stage_takes_over(stage: Stage, client: httpx.Client, tmp_path: Path) -> None:
    assert read_state(tmp_path)["pid"] == os.getpid()
    (tmp_path / "state").write_text('{"pid": 1}')
    tell(client, "done", reward=1, reason="")
    assert stage.replaced
    assert read_state(tmp_path) == {"pid": 1}


async def score_state(**state: Any) -> tuple[float, str]:
    gone = {"kill -0 9$": CommandResult(1, "")}
    machine = Machine(gone)
    await machine.write_file(STATE, json.dumps({"pid": 8, **state}).encode())
    return await outcome(machine)


@pytest.mark.parametrize(
    ("state", "reward", "reason"),
    [
        ({"reward": 0.5, "reason": "half", "exit": -11}, 0.5, "reward 0.5 half"),
        ({"reward": None, "left": True, "exit": 0}, 0.0, "left or reloaded"),
        ({"exit": 0, "lost": True}, 0.0, "browser was closed"),
        ({"instruction": "Do it."}, 0.0, "not over"),
    ],
)
async def test_abandoned_episode_scores_0(
    state: dict[str, Any], reward: float, reason: str
) -> None:
    result = await score_state(**state)
    assert result[0] == reward
    assert reason in result[1]


async def test_a_click_that_a_busy_browser_handles_late_still_counts() -> None:
    machine = Machine()
    await machine.write_file(STATE, json.dumps({"pid": 8, "instruction": "Do it."}).encode())
    outcome_task = asyncio.create_task(outcome(machine))
    await asyncio.sleep(0.2)
    assert not outcome_task.done()
    await machine.write_file(STATE, json.dumps({"pid": 8, "reward": 1}).encode())
    assert await outcome_task == (1.0, "reward 1")


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ({"exit": -11}, "browser crashed with -11"),
        ({"lost": True}, "page crashed"),
        ({"pid": 9}, "stage ended"),
        ({"pid": "none"}, STATE),
    ],
)
async def test_broken_machine_is_not_scored(state: dict[str, Any], reason: str) -> None:
    with pytest.raises(EnvironmentFailed, match=reason):
        await score_state(**state)


@pytest.mark.process
def test_the_stage_needs_nothing_but_python() -> None:
    program = Path(pages.__file__).with_name("stage.py")
    command = [sys.executable, "-I", "-S", str(program), "--help"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
